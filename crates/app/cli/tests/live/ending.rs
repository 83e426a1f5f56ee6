//! The end of a run when the program ends, well or badly.

use std::{fs, process::Command};

use super::support::{ANABRANCH, Place, SMALL, Started, anabranch, run, small_run};

const MIB: u64 = 1 << 20;

#[test]
fn a_program_that_fails_at_once_has_its_status_passed_on_and_no_table_of_zeros() {
    for (script, status) in [
        ("exit 7", 7),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
    ] {
        let ended = run(&[], &["sh", "-c", script]).with_status(status);
        let words = ["its status is passed on", "nothing is compared"];
        ended.complains(&words);
    }
}

#[test]
fn a_full_drive_is_seen_by_the_program() {
    let dd = ["dd", "if=/dev/zero", "of=x", "bs=1M", "count=100"];
    let ended = run(&[], &dd).with_status(1);
    assert!(
        ended.stderr.contains("No space left on device"),
        "{ended:?}"
    );
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.contains("the drive was full") && last.contains("--size"),
        "{last}"
    );
}

#[test]
fn a_program_runs_on_xfs_as_well() {
    let place = Place::new();
    let result = place.path("result.json");
    let script = "dd if=/dev/zero of=x bs=1M count=20 conv=fsync && rm x && sync";
    let options = [
        "--file-system",
        "xfs",
        "--size",
        "320MiB",
        "--unit",
        "1MiB",
        "--no-trace",
        "--chdir",
        "-o",
    ];
    let command = [&result, "--", "sh", "-c", script];
    let ended = anabranch(&[&["run"], &options[..], &command].concat()).with_status(0);
    ended.shows_table();
    let result = place.json("result.json");
    assert_eq!(result["config"]["capture"]["file_system"], "xfs");
    assert!(result["source"]["write_bytes"].as_u64().unwrap() >= 20 * MIB);
    assert!(result["source"]["discarded_bytes"].as_u64().unwrap() >= 20 * MIB);
}

#[test]
fn the_programs_output_goes_to_standard_error_or_to_the_log() {
    let place = Place::new();
    let log = place.path("log");
    let script = [
        "sh",
        "-c",
        "echo out; echo err >&2; pwd; echo $ANABRANCH_DIR $0",
        "{dir}",
    ];
    let ended = run(&[], &script).with_status(0);
    assert!(ended.stderr.contains("out\nerr\n"), "{ended:?}");
    assert!(!ended.stdout.contains("out\n"), "{ended:?}");
    let ended = run(&["--log", &log], &script).with_status(0);
    // The program's words are in the log; this one line is the command's own.
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    ended.compares_nothing();
    let said = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["out", "err"]);
    let directory = lines[2];
    assert_eq!(lines[3], format!("{directory} {directory}"));
}

#[test]
fn what_the_program_mounted_over_the_drive_is_said_and_taken_away() {
    let over =
        "mount -t tmpfs none \"$0\" && dd if=/dev/zero of=\"$0/x\" bs=1M count=4 status=none";
    let beside = "mount -t tmpfs none \"$0/lost+found\" && umount \"$0/lost+found\"";
    for (script, is_said) in [(over, true), (beside, false)] {
        let ended = run(&[], &["sh", "-c", script, "{dir}"]).with_status(0);
        let told = ended.stderr.contains("mounted something over")
            && ended
                .stderr
                .contains("written there did not reach the drive");
        assert_eq!(told, is_said, "{script}: {ended:?}");
        ended.compares_nothing();
    }
}

#[test]
fn what_the_program_left_running_is_ended_and_named() {
    let ended = run(&[], &["sh", "-c", "setsid sleep 60 & sleep 0.1"]).with_status(0);
    assert!(ended.stderr.contains("left running: sleep ("), "{ended:?}");
    ended.compares_nothing();
}

#[test]
fn what_the_program_left_running_is_waited_for_where_that_is_asked_for() {
    let place = Place::new();
    let done = place.path("done");
    let script = "setsid sh -c 'sleep 1; touch \"$0\"' \"$0\" & sleep 0.1";
    let ended = run(&["--wait"], &["sh", "-c", script, &done]).with_status(0);
    assert!(
        place.has("done") && !ended.stderr.contains("left running"),
        "{ended:?}"
    );
    ended.compares_nothing();
}

#[test]
fn a_run_whose_time_is_up_ends_what_still_runs_and_ends_well() {
    run(&["--until", "1s"], &["sleep", "60"])
        .with_status(0)
        .compares_nothing();
    let daemon = ["sh", "-c", "setsid sleep 60 & sleep 0.1"];
    let ended = run(&["--until", "1s"], &daemon).with_status(0);
    assert!(ended.stderr.contains("left running: sleep ("), "{ended:?}");
    run(&["--until", "soon"], &["true"]).with_status(2);
}

#[test]
fn a_program_starts_where_its_user_is_and_is_told_where_the_drive_is() {
    let place = Place::new();
    fs::write(place.path("script.sh"), "pwd; echo x > \"$1/x\"; ls \"$1\"").unwrap();
    let arguments = [&["run"], &SMALL[..], &["--", "sh", "script.sh", "{dir}"]].concat();
    let started = Started::new(
        Command::new(ANABRANCH)
            .args(arguments)
            .current_dir(place.directory()),
    );
    let ended = started.end().with_status(0);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines[..3], [place.directory(), "lost+found", "x"]);
    assert_eq!(lines[3], "anabranch: the trace is in anabranch.parquet");
    assert_eq!(place.names(), ["anabranch.parquet", "script.sh"]);
}

#[test]
fn an_older_trace_is_set_aside_and_said_to_be() {
    let place = Place::new();
    let trace = place.path("t.parquet");
    fs::write(&trace, "older").unwrap();
    let ended = run(&["-t", &trace], &["true"]).with_status(0);
    let older = place.path("t.parquet.old");
    assert!(
        ended
            .stderr
            .contains(&format!("the older one is now {older}")),
        "{ended:?}"
    );
    assert_eq!(fs::read(older).unwrap(), b"older");
}

#[test]
fn a_program_that_was_not_told_of_the_drive_is_named_the_ways() {
    let options = ["run", "--no-trace"];
    let ended = anabranch(&[&options[..], &SMALL, &["--", "true"]].concat()).with_status(0);
    assert!(
        ended.stderr.contains("--chdir starts it there"),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains("the program wrote nothing to the drive"),
        "{ended:?}"
    );
    assert_eq!(ended.stdout, "", "there is nothing to compare");
}

#[test]
fn two_runs_beside_each_other_do_not_see_each_others_writes() {
    let place = Place::new();
    // Each begins to write when both have begun, and ends when both have written.
    let script = "cd \"$1\"; touch $2.here; until [ -e $3.here ]; do sleep 0.02; done
        dd if=/dev/zero of=\"$0/$2\" bs=1M count=$4 conv=fsync status=none
        touch $2.done; until [ -e $3.done ]; do sleep 0.02; done; rmdir \"$0/lost+found\"; ls \"$0\"";
    let result = |name: &str| place.path(&format!("{name}.json"));
    let start = |own, other, count| {
        let result = result(own);
        let words = [
            "sh",
            "-c",
            script,
            "{dir}",
            place.directory(),
            own,
            other,
            count,
        ];
        let arguments = small_run(&["-o", &result], &words);
        Started::new(Command::new(ANABRANCH).args(arguments))
    };
    let (first, second) = (
        start("first", "second", "10"),
        start("second", "first", "30"),
    );
    for (ended, own, mebibytes) in [(first.end(), "first", 10), (second.end(), "second", 30)] {
        let ended = ended.with_status(0);
        assert_eq!(ended.stderr, format!("{own}\n"));
        let written = place.json(&format!("{own}.json"))["source"]["write_bytes"].clone();
        let written = written.as_u64().unwrap();
        assert!(
            (mebibytes * MIB..(mebibytes + 5) * MIB).contains(&written),
            "{own}: {written}"
        );
    }
}

#[test]
fn lost_events_are_shown_in_the_table_and_in_the_result() {
    let place = Place::new();
    let result = place.path("result.json");
    let dd = "dd if=/dev/zero of=$i bs=4k count=3000 oflag=direct status=none";
    let script = format!("for i in 1 2 3 4; do {dd} & done; wait");
    let options = ["--ring", "4KiB", "-o", &result];
    let ended = run(&options, &["sh", "-c", &script]).with_status(0);
    let lost = place.json("result.json")["source"]["lost_events"]
        .as_u64()
        .unwrap();
    assert!(lost > 0);
    let line = format!("LOST EVENTS: {lost} ");
    assert!(ended.stdout.contains(&line), "{}", ended.stdout);
}
