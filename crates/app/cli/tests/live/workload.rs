//! Scenarios: three verbs, one drive, and nothing left behind however they end.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use nix::sys::signal::Signal;

use super::support::{ANABRANCH, Place, Started, anabranch, ended_by, wait_until};

const DESCRIPTION: &str = r#"
summary = "a server and its client"
writes = "a file"

[[tools]]
program = "dd"
install = "apt-get install coreutils"

[parameters]
BLOCKS = 4

[quick]
drive = "64MiB"
unit = "1MiB"
parameters = { CLIENT = "dd if=/dev/zero of=data bs=1M count=$BLOCKS conv=fsync status=none" }

[full]
drive = "96MiB"
unit = "1MiB"
parameters = { CLIENT = "true" }
"#;
/// A server in a session of its own, which tells its id.
const SETUP: &str =
    "setsid tail -f \"$PLACE/workloads/small/workload.toml\" >/dev/null & echo $! >\"$1/pid\"
    echo setup >>\"$PLACE/told\"";
const RUN: &str = "cd \"$1\"; echo run >>\"$PLACE/told\"; eval \"$CLIENT\"";
/// It waits for the server that it ends: one that is still there afterwards is told of as left running.
const TEARDOWN: &str = "echo teardown >>\"$PLACE/told\"; pid=$(cat \"$1/pid\"); kill \"$pid\"
    for _ in $(seq 500); do
        case $(cut -d ' ' -f 3 \"/proc/$pid/stat\" 2>/dev/null) in '' | Z | X) break ;; esac
        sleep 0.01
    done";

/// A place with a scenario in it.
fn scenario(run: &str, teardown: &str) -> Place {
    let place = Place::new();
    let folder = place.path("workloads/small");
    fs::create_dir_all(&folder).unwrap();
    fs::write(format!("{folder}/workload.toml"), DESCRIPTION).unwrap();
    for (verb, text) in [("setup", SETUP), ("run", run), ("teardown", teardown)] {
        let place = place.directory();
        let text = format!("PLACE='{place}'\n{text}\n");
        fs::write(format!("{folder}/{verb}.sh"), text).unwrap();
    }
    place
}

fn words<'a>(folder: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["run", "--workload", folder, "--scheme", "baseline"];
    let trace: &[&str] = if options.contains(&"-t") {
        &[]
    } else {
        &["--no-trace"]
    };
    [&fixed[..], trace, options].concat()
}

fn steps(place: &Place) -> String {
    fs::read_to_string(place.path("told")).unwrap_or_default()
}

/// The run in a group of its own, once its client has begun.
fn started(place: &Place) -> Started {
    let folder = place.path("workloads/small");
    let mut command = Command::new(ANABRANCH);
    // Without `exec`, a SIGINT at the moment at which bash 5.2 begins to wait makes it send itself SIGINT for good.
    command.args(words(&folder, &["--set", "CLIENT=exec sleep 1000"]));
    let started = Started::new(command.process_group(0).stdin(Stdio::null()));
    wait_until("the client to begin", || steps(place).ends_with("run\n"));
    started
}

#[test]
fn a_scenario_is_set_up_run_and_torn_down_twice_in_a_row() {
    let place = scenario(RUN, TEARDOWN);
    let (folder, trace) = (place.path("workloads/small"), place.path("t.parquet"));
    for round in 1..=2 {
        let options = ["-t", &trace, "--set", "BLOCKS=7"];
        let ended = anabranch(&words(&folder, &options)).with_status(0);
        ended.shows_table();
        assert!(
            ended.stdout.contains("drive: 64.00 MiB"),
            "{}",
            ended.stdout
        );
        assert_eq!(steps(&place), "setup\nrun\nteardown\n".repeat(round));
        let words = match round {
            1 => String::new(),
            _ => format!("anabranch: the trace is in {trace} (the older one is now {trace}.old)\n"),
        };
        assert_eq!(ended.stderr, words);
        place.wait_until_abandoned();
    }
    let reader = anabranch_trace::Reader::open(&trace).unwrap();
    let command = &reader.tables().capture.command;
    assert_eq!(command[..4], ["--workload", "small", "--size", "quick"]);
    assert!(command.contains(&"BLOCKS=7".to_owned()), "{command:?}");
}

#[test]
fn the_full_size_and_xfs_have_drives_of_their_own() {
    let place = scenario(RUN, TEARDOWN);
    let folder = place.path("workloads/small");
    let full = anabranch(&words(&folder, &["--size", "full"])).with_status(0);
    assert!(full.stdout.contains("drive: 96.00 MiB"), "{}", full.stdout);
    let own = ["--size", "320MiB", "--unit", "2MiB", "--file-system", "xfs"];
    let own = anabranch(&words(&folder, &own)).with_status(0);
    assert!(own.stdout.contains("drive: 320.00 MiB"), "{}", own.stdout);
    assert!(own.stdout.contains("units of 2.00 MiB"), "{}", own.stdout);
}

#[test]
fn ctrl_c_tears_down_and_leaves_no_process_mount_or_device() {
    for signal_group in [true, false] {
        let place = scenario(RUN, TEARDOWN);
        let started = started(&place);
        if signal_group {
            started.signal_group(Signal::SIGINT)
        } else {
            started.signal(Signal::SIGINT)
        }
        let ended = started.end().with_status(130);
        ended.shows_table();
        assert_eq!(steps(&place), "setup\nrun\nteardown\n");
        place.wait_until_abandoned();
    }
}

#[test]
fn a_crash_is_passed_on_after_the_scenario_is_torn_down() {
    let place = scenario("echo run >>\"$PLACE/told\"; kill -SEGV $$", TEARDOWN);
    let folder = place.path("workloads/small");
    let ended = anabranch(&words(&folder, &[])).with_status(139);
    for words in ["run.sh", "nothing is compared"] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    assert_eq!(steps(&place), "setup\nrun\nteardown\n");
    place.wait_until_abandoned();
}

#[test]
fn a_server_that_is_not_torn_down_is_ended_and_named() {
    let place = scenario(RUN, "echo teardown >>\"$PLACE/told\"");
    let folder = place.path("workloads/small");
    let ended = anabranch(&words(&folder, &[])).with_status(0);
    assert!(
        ended.stderr.contains("left running: tail ("),
        "{}",
        ended.stderr
    );
    place.wait_until_abandoned();
}

#[test]
fn a_killed_run_leaves_nothing_of_its_servers() {
    let place = scenario(RUN, TEARDOWN);
    let started = started(&place);
    started.signal(Signal::SIGKILL);
    assert!(ended_by(started.end().status, Signal::SIGKILL));
    place.wait_until_abandoned();
}

#[test]
fn a_missing_tool_is_named_with_what_brings_it_and_nothing_is_run() {
    let place = scenario(RUN, TEARDOWN);
    let description = place.path("workloads/small/workload.toml");
    let text = DESCRIPTION.replace("\"dd\"", "\"no-such-tool\"");
    fs::write(description, text).unwrap();
    let folder = place.path("workloads/small");
    let ended = anabranch(&words(&folder, &[])).with_status(2);
    ended.complains(&["no-such-tool", "apt-get install coreutils"]);
    assert_eq!(steps(&place), "");
}

#[test]
fn an_unknown_scenario_is_told_where_they_are_listed() {
    let ended = anabranch(&["run", "--workload", "no-such-workload"]).with_status(2);
    ended.complains(&["no-such-workload", "anabranch workloads"]);
    let listed = anabranch(&["run", "--workload", "list"]).with_status(0);
    assert!(
        listed.stdout.contains("| rocksdb-update "),
        "{}",
        listed.stdout
    );
}

#[test]
fn a_real_application_runs_on_ext4_and_on_xfs() {
    for file_system in ["ext4", "xfs"] {
        let few = ["ROWS=4000", "OPERATIONS=2000"].map(|setting| ["--set", setting]);
        let options = ["--file-system", file_system];
        let options = [&options[..], &few.concat()].concat();
        let ended = anabranch(&words("sqlite-wal", &options)).with_status(0);
        ended.shows_table();
        assert!(ended.stderr.contains("operations 2000"), "{}", ended.stderr);
    }
}

#[test]
fn programs_that_share_a_drive_are_the_scenarios_own_and_start_when_all_have_a_directory() {
    let place = Place::new();
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../lab/workloads");
    for (name, files) in [
        ("mixed", &["each.sh", "setup.sh"][..]),
        ("three-databases", &["setup.sh"]),
    ] {
        fs::create_dir_all(place.path(name)).unwrap();
        for file in files {
            fs::copy(
                format!("{ours}/{name}/{file}"),
                place.path(&format!("{name}/{file}")),
            )
            .unwrap();
        }
    }
    for name in ["postgres-pgbench", "rocksdb-update", "mariadb-tpcc"] {
        fs::create_dir(place.path(name)).unwrap();
        let text = format!("echo $(basename $1) {name}");
        fs::write(place.path(&format!("{name}/setup.sh")), text).unwrap();
    }
    let setup = |name: &str, directory: &str| {
        fs::create_dir_all(place.path(directory)).unwrap();
        let mut setup = Command::new("bash");
        setup.args([
            place.path(&format!("{name}/setup.sh")),
            place.path(directory),
        ]);
        // A variable of the caller's own decides nothing.
        let ended = setup.env("TENANTS", "other").output().unwrap();
        let told = String::from_utf8(ended.stdout).unwrap();
        let mut told: Vec<String> = told.lines().map(str::to_owned).collect();
        told.sort_unstable();
        (ended.status.success(), told)
    };
    let all = [
        "tenant-1 postgres-pgbench",
        "tenant-2 rocksdb-update",
        "tenant-3 mariadb-tpcc",
    ];
    assert_eq!(
        setup("mixed", "two"),
        (true, all[..2].iter().map(|one| (*one).to_owned()).collect())
    );
    assert_eq!(
        setup("three-databases", "three"),
        (true, all.map(str::to_owned).to_vec())
    );
    fs::create_dir_all(place.path("taken/tenant-2")).unwrap();
    assert_eq!(setup("mixed", "taken"), (false, Vec::new()));
}
