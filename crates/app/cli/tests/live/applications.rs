//! The shipped scenarios with their real applications, twice in a row, and cut short in every way:
//! does anything stay behind? `make workloads-test` takes all of them; without it those whose
//! applications every machine that runs the tests has.

use std::{
    env, fs,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    remains::{Process, Run, open_for_writing, sockets_open_to_others},
    support::{ANABRANCH, Place, Started, anabranch, ended_by, wait_until},
};

/// Names the scenarios, `all` or some with commas between.
const WANTED: &str = "ANABRANCH_SCENARIOS";
/// Those that need no more than the other tests do.
const ANYWHERE: &str = "rocksdb-update,sqlite-wal";
/// Parameters and their values.
type Settings = &'static [(&'static str, &'static str)];
/// Whatever a scenario's size is called, so little that each verb takes seconds.
const SHORT: Settings = &[
    ("KEYS", "5000"),
    ("ROUNDS", "1"),
    ("BURST", "5000"),
    ("ROWS", "5000"),
    ("OPERATIONS", "4000"),
    ("SECONDS_RUN", "3"),
    ("SCALE", "2"),
    ("WAREHOUSES", "1"),
    ("MIB_EACH", "60"),
];
/// So much that the load goes on until it is ended.
const ENDLESS: Settings = &[
    ("ROUNDS", "2000"),
    ("OPERATIONS", "1000000000"),
    ("SECONDS_RUN", "900"),
    ("MIB_EACH", "100000"),
];
/// Time in which Ctrl-C ends a run before a person presses it again: longer than
/// any server's shutdown is given.
const PRESS: Duration = Duration::from_secs(45);

/// A scenario as it is shipped, but for its verbs, which tell when they begin.
struct Scenario {
    place: Place,
    name: String,
    parameters: Vec<String>,
}

impl Scenario {
    fn new(row: &Value) -> Scenario {
        let name = row["name"].as_str().unwrap().to_owned();
        let parameters = row["parameters"].as_object().unwrap().keys();
        let scenario = Scenario {
            place: Place::new(),
            parameters: parameters.cloned().collect(),
            name,
        };
        scenario.lay_out();
        scenario
    }

    fn lay_out(&self) {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3);
        let project = project.unwrap();
        let own = project.join("lab/workloads").join(&self.name);
        let description = fs::read_to_string(own.join("workload.toml")).unwrap();
        let lender = description.lines().find_map(|line| {
            let name = line.strip_prefix("scripts = \"")?;
            name.strip_suffix('"')
        });
        let scripts = lender.map_or(own.clone(), |name| own.with_file_name(name));
        let folder = self.folder();
        fs::create_dir_all(&folder).unwrap();
        let without_lender: Vec<&str> = description
            .lines()
            .filter(|line| !line.starts_with("scripts = "))
            .collect();
        fs::write(format!("{folder}/workload.toml"), without_lender.join("\n")).unwrap();
        for verb in ["setup", "run", "teardown"] {
            let (place, script) = (self.place.directory(), scripts.join(format!("{verb}.sh")));
            // An application may need longer for its first file than a test waits before it presses Ctrl-C.
            let first = if verb == "setup" {
                "echo begun >\"$1/begun\""
            } else {
                ""
            };
            let text = format!(
                "readlink /proc/self/ns/mnt >'{place}/namespace'
                grep -F \" $1 \" /proc/self/mountinfo | cut -d ' ' -f 3 >'{place}/device'
                cat \"/sys/dev/block/$(cat '{place}/device')/diskseq\" >'{place}/sequence' 2>/dev/null
                {first}
                echo {verb} >>'{place}/told'
                exec bash '{}' \"$1\"\n",
                script.display()
            );
            fs::write(format!("{folder}/{verb}.sh"), text).unwrap();
        }
        fs::create_dir(self.place.path("target")).unwrap();
        let tools = project.join("target/workloads");
        std::os::unix::fs::symlink(tools, self.place.path("target/workloads")).unwrap();
    }

    fn folder(&self) -> String {
        self.place.path(&format!("lab/workloads/{}", self.name))
    }

    /// The arguments of a run with those of the settings that it knows.
    fn arguments(&self, settings: &[Settings]) -> Vec<String> {
        let folder = self.folder();
        let fixed = [
            "run",
            "--workload",
            &folder,
            "--no-trace",
            "--scheme",
            "baseline",
        ];
        let mut words: Vec<String> = fixed.map(str::to_owned).to_vec();
        for (key, value) in settings.iter().copied().flatten() {
            if !self.parameters.iter().any(|one| one == key) {
                continue;
            }
            words.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        words
    }

    /// A run in a process group of its own that says what it says to files of the place.
    fn start(&self, settings: &[Settings]) -> Started {
        let words = self.arguments(settings);
        let mut command = Command::new("sh");
        let script = "exec \"$@\" >\"$0/out\" 2>\"$0/err\"";
        command.args(["-c", script, self.place.directory(), ANABRANCH]);
        Started::new(command.args(words).process_group(0).stdin(Stdio::null()))
    }

    /// The same in the foreground of a terminal.
    fn start_at_terminal(&self, settings: &[Settings]) -> Started {
        let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
        let words: Vec<String> = self.arguments(settings).iter().map(quoted).collect();
        let (place, words) = (self.place.directory(), words.join(" "));
        // Whoever runs the tests in the background ignores SIGINT, and so would all that they start.
        let line = format!(
            "exec env --default-signal=INT '{ANABRANCH}' {words} >'{place}/out' 2>'{place}/err'"
        );
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line]);
        Started::new(command.arg("/dev/null").stdin(Stdio::piped()))
    }

    fn steps(&self) -> String {
        fs::read_to_string(self.place.path("told")).unwrap_or_default()
    }

    fn said(&self) -> String {
        let said = |name| fs::read_to_string(self.place.path(name)).unwrap_or_default();
        format!("{}:\n{}{}", self.name, said("out"), said("err"))
    }

    /// Waits until a verb has begun, and then this long.
    fn reach(&self, started: &mut Started, verb: &str, delay: Duration) {
        wait_until(&format!("{verb} of {}", self.name), || {
            let ended = started.ends_within(Duration::ZERO);
            assert!(!ended, "ended before {verb}: {}", self.said());
            self.steps().lines().any(|line| line == verb)
        });
        sleep(delay);
    }

    /// The run that has told of itself.
    fn run(&self) -> Run {
        let told = |name| fs::read_to_string(self.place.path(name)).unwrap_or_default();
        Run {
            namespace: told("namespace").trim().to_owned(),
            device: told("device").trim().to_owned(),
            sequence: told("sequence").trim().to_owned(),
        }
    }

    /// The oldest of the application's processes that bear its name.
    fn main_process(&self) -> Process {
        let program = match self.name.split('-').next() {
            Some("rocksdb") => "db_bench",
            Some("cassandra") => "java",
            Some("mariadb") => "mariadbd",
            Some("postgres" | "mixed" | "three") => "postgres",
            Some("redis") => "redis-server",
            Some("fio") => "fio",
            _ => "python3",
        };
        let mut found = None;
        wait_until(program, || {
            let processes = self.run().processes();
            let named = processes.into_iter().filter(|one| one.name == program);
            found = named.min_by_key(|one| one.started);
            found.is_some()
        });
        found.unwrap()
    }

    /// A run whose load goes on until it is ended, a moment after that has begun.
    fn at_work(&self) -> Started {
        let mut started = self.start(&[SHORT, ENDLESS]);
        self.reach(&mut started, "run", Duration::from_millis(1500));
        started
    }

    /// Waits until nothing of the run is left.
    fn is_gone(&self) {
        let run = self.run();
        assert!(run.namespace.starts_with("mnt:"), "{}", self.said());
        wait_until("the processes and the device to be gone", || {
            run.processes().is_empty() && !run.has_device()
        });
        self.place.wait_until_abandoned();
    }
}

/// The scenarios that are wanted.
fn scenarios() -> Vec<Scenario> {
    let wanted = env::var(WANTED).unwrap_or_else(|_| ANYWHERE.to_owned());
    let listed = anabranch(&["workloads", "--json"]).with_status(0).json();
    let rows = listed["rows"].as_array().unwrap();
    let is_wanted = |row: &&Value| {
        let name = row["name"].as_str().unwrap();
        wanted == "all" || wanted.split(',').any(|one| one == name)
    };
    let scenarios: Vec<Scenario> = rows.iter().filter(is_wanted).map(Scenario::new).collect();
    let all = wanted.split(',').count();
    assert!(
        scenarios.len() >= all,
        "{WANTED}={wanted}: not all are known"
    );
    scenarios
}

/// Progress, for `--nocapture`.
#[allow(clippy::print_stderr, reason = "a test's own account")]
fn print_progress(scenario: &Scenario, what: &str, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    eprintln!("{}: {what}, {seconds:.1} s", scenario.name);
}

#[test]
fn each_scenario_runs_twice_in_a_row_and_leaves_nothing() {
    for scenario in scenarios() {
        for round in 1..=2 {
            let since = Instant::now();
            let ended = scenario.start(&[SHORT]).end();
            assert_eq!(ended.status.code(), Some(0), "{}", scenario.said());
            assert_eq!(scenario.steps(), "setup\nrun\nteardown\n".repeat(round));
            assert!(
                !scenario.said().contains("left running"),
                "{}",
                scenario.said()
            );
            scenario.is_gone();
            print_progress(&scenario, "ran to its end", since);
        }
    }
}

#[test]
fn ctrl_c_in_any_verb_of_a_scenario_leaves_nothing() {
    let cuts: [(&str, [u64; 2], &[Settings]); 3] = [
        ("setup", [100, 1500], &[]),
        ("run", [100, 2000], &[SHORT, ENDLESS]),
        ("teardown", [0, 30], &[SHORT]),
    ];
    for (verb, milliseconds, settings) in cuts {
        for delay in milliseconds.map(Duration::from_millis) {
            for scenario in scenarios() {
                let mut started = scenario.start_at_terminal(settings);
                scenario.reach(&mut started, verb, delay);
                let since = Instant::now();
                let presses = press_until_ended(&mut started);
                let status = started.end().status;
                let said = scenario.said();
                // One that has just ended by itself cannot be interrupted.
                let is_late = verb == "teardown" && status.code() == Some(0);
                assert!(
                    is_late || status.code() == Some(130),
                    "{verb} {delay:?} {status} {said}"
                );
                assert!(said.contains("| baseline "), "{said}");
                scenario.is_gone();
                let last = scenario
                    .steps()
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .to_owned();
                let what = format!(
                    "Ctrl-C {delay:?} into {verb}, {presses} presses, status {:?}, at last {last}, gone",
                    status.code()
                );
                print_progress(&scenario, &what, since);
            }
        }
    }
}

/// Presses Ctrl-C, again when nothing comes of it for long, as a person would. How often.
fn press_until_ended(started: &mut Started) -> u32 {
    for presses in 0..3 {
        // A program that has ended by itself meanwhile does not hear it.
        if started.ends_within(Duration::ZERO) {
            return presses;
        }
        started.type_in(b"\x03");
        if started.ends_within(PRESS) {
            return presses + 1;
        }
    }
    panic!("three presses of Ctrl-C did not end it");
}

#[test]
fn an_application_that_is_killed_ends_its_run_and_leaves_nothing() {
    for scenario in scenarios() {
        let started = scenario.at_work();
        let victim = scenario.main_process();
        let since = Instant::now();
        victim.signal(Signal::SIGKILL);
        let status = started.end().status;
        let said = scenario.said();
        assert!(
            status.code().is_some_and(|code| code != 0),
            "{status} {said}"
        );
        assert!(
            said.contains("| baseline ") || said.contains("nothing is compared"),
            "{said}"
        );
        assert!(said.contains("run.sh"), "{said}");
        scenario.is_gone();
        print_progress(&scenario, &format!("{} killed, gone", victim.name), since);
    }
}

#[test]
fn a_run_that_is_killed_leaves_nothing_of_its_application() {
    for scenario in scenarios() {
        let started = scenario.at_work();
        let since = Instant::now();
        started.signal(Signal::SIGKILL);
        assert!(ended_by(started.end().status, Signal::SIGKILL));
        scenario.is_gone();
        print_progress(&scenario, "anabranch killed, gone", since);
    }
}

#[test]
fn applications_write_to_the_drive_only_and_listen_on_loopback_only() {
    for scenario in scenarios() {
        let started = scenario.at_work();
        scenario.main_process();
        let run = scenario.run();
        let processes = run.programs();
        assert!(!processes.is_empty());
        for process in &processes {
            let (name, id) = (&process.name, process.id);
            let elsewhere: Vec<String> = open_for_writing(id)
                .into_iter()
                .filter(|file| !file.starts_with("/mnt/anabranch/"))
                .collect();
            assert_eq!(elsewhere, [""; 0], "{} of {}", name, scenario.name);
            assert_eq!(
                sockets_open_to_others(id),
                [""; 0],
                "{} of {}",
                name,
                scenario.name
            );
        }
        started.signal(Signal::SIGKILL);
        started.end();
        scenario.is_gone();
    }
}
