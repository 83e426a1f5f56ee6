//! Refusals of wrong use: before anything is made, with the remedy, and with nothing left behind.

use super::support::{Place, anabranch, run};

#[test]
fn a_command_that_is_not_there_is_named_and_nothing_is_left() {
    let place = Place::new();
    let trace = place.path("trace.parquet");
    let options = ["--backing", place.directory(), "-t", &trace];
    run(&options, &["no-such-program"])
        .with_status(2)
        .complains(&["no-such-program: command not found", "apt-file"]);
    run(&options, &["./no-such-program"])
        .with_status(2)
        .complains(&["/no-such-program: no such file"]);
    place.wait_until_abandoned();
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_drive_too_small_for_its_file_system_is_told_the_smallest_size() {
    let wrong = ["run", "--size", "1MiB", "--unit", "8KiB", "--", "true"];
    anabranch(&wrong)
        .with_status(2)
        .complains(&["too small for ext4", "8388608 bytes (8 MiB)"]);
    run(&["--file-system", "xfs"], &["true"])
        .with_status(2)
        .complains(&["too small for xfs", "(300 MiB)"]);
}

#[test]
fn wrong_options_are_met_with_the_remedy_before_the_program_starts() {
    let place = Place::new();
    let began = place.path("began");
    for (options, words) in [
        (["--scheme", "pcstrem"], "did you mean `pcstream`"),
        (["--scheme", "all,oracle"], "then `anabranch replay"),
        (["--streams", "2,4"], "a live run has one drive"),
        (["--device", "demo,golden"], "a live run has one drive"),
        (["--device", "gold"], "did you mean \"golden\""),
        (["--file-system", "ext5"], "take ext4 or xfs"),
        (["--ring", "4GiB"], "at most 2GiB"),
        (["--ring", "much"], "64MiB"),
        (["--years", "5"], "--tbw BYTES, or --rated-erases N"),
        (["--tbw", "0"], "above 0"),
    ] {
        let size = ["--size", "64MiB", "--unit", "1MiB"];
        let command = ["--", "touch", &began];
        anabranch(&[&["run"], &size[..], &options, &command].concat())
            .with_status(2)
            .complains(&[words]);
    }
    let record = ["record", "--device", "/dev/null", "--price", "300"];
    anabranch(&[&record[..], &["--", "touch", &began]].concat())
        .with_status(2)
        .complains(&["give the data sheet's --tbw BYTES"]);
    for option in ["-o", "-t", "--log"] {
        run(&[option, "/nonexistent/file"], &["touch", &began])
            .with_status(1)
            .complains(&["/nonexistent"]);
    }
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_run_without_a_program_shows_how_to_give_one() {
    let ended = anabranch(&["run", "--size", "64MiB"]).with_status(2);
    assert!(ended.stderr.contains("<CMD>"), "{}", ended.stderr);
}
