//! Names that try to command a terminal, or to pass for lines of ours, fed to every verb.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use anabranch_trace::{
    Capture, Context, ContextId, ContextKind, File, FileId, Frame, Io, Tables, Writer,
};
use tempfile::TempDir;

use command::{DEVICE_BYTES, anabranch, json, text};

/// A terminal's title, a colour of ours, a cleared screen, a line of ours, a colour by one byte, and text turned around.
const EVIL: &str = "evil\u{1b}]0;owned\u{7}\u{1b}[33m\u{1b}[2J\nFORGED: all is well\r\u{9b}31m\u{202e}gpj.\u{2066}\u{200f}\u{7f}\"'#]=*.sst";

/// What no output may hold. A line break is fine where it is ours.
fn is_hostile(letter: char) -> bool {
    let turns = ['\u{200e}', '\u{200f}', '\u{61c}'];
    letter.is_control() && letter != '\n'
        || ('\u{202a}'..='\u{202e}').contains(&letter)
        || ('\u{2066}'..='\u{2069}').contains(&letter)
        || turns.contains(&letter)
}

fn assert_harmless(arguments: &[&str], output: &Output) {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let words = String::from_utf8_lossy(bytes);
        let found = words.chars().position(is_hostile);
        assert_eq!(found, None, "{arguments:?}: {stream}: {words:?}");
        let forged = words.lines().any(|line| line.starts_with("FORGED"));
        assert!(!forged, "{arguments:?}: {stream}: {words}");
    }
    assert!(
        matches!(output.status.code(), Some(0..=2)),
        "{arguments:?}: {output:?}"
    );
}

/// A trace of contexts, calls and files with names like that, in a directory and a file with such names.
fn evil_trace(directory: &Path) -> PathBuf {
    let path = directory.join(format!("{EVIL}.parquet"));
    let mut writer = Writer::create(&path).unwrap();
    for round in 0..2_000_u64 {
        let id = (round % 3) as u32;
        let slot = (round * 7) % (8 + 24 * u64::from(id));
        let io = Io {
            context: ContextId(id),
            file: FileId(id),
            ..Io::write(slot << 20, 1 << 20)
        };
        writer.push(&io).unwrap();
    }
    let mut tables = Tables::new(Capture {
        device_bytes: DEVICE_BYTES,
        file_system: EVIL.to_owned(),
        command: vec![EVIL.to_owned()],
        kernel: EVIL.to_owned(),
        started_unix_s: 0,
        lost_events: 3,
        limitations: vec![EVIL.to_owned()],
        host: EVIL.to_owned(),
        drive: None,
        sampled: None,
    });
    for id in 1..=2 {
        let frame = |symbol: Option<String>| Frame {
            build_id: EVIL.to_owned(),
            object: EVIL.to_owned(),
            file_offset: u64::from(id),
            symbol,
        };
        tables.contexts.push(Context {
            id: ContextId(id),
            signature: u64::from(id),
            kind: ContextKind::Application,
            role: format!("{EVIL}{id}"),
            frames: vec![
                frame(Some(format!("{EVIL}::call{id}({EVIL})"))),
                frame(None),
            ],
        });
        tables.files.push(File {
            name: format!("{EVIL}{id}"),
        });
    }
    writer.finish(&tables).unwrap();
    path
}

/// Every verb, on what can be read and on what cannot.
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn calls(directory: &Path) -> Vec<Vec<String>> {
    let trace = evil_trace(directory);
    let trace = text(&trace);
    let at = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let file = |name: &str, content: &str| {
        fs::write(directory.join(name), content).unwrap();
        at(name)
    };
    let nowhere = at(&format!("{EVIL}/nowhere"));
    let words = file(EVIL, &format!("{EVIL}\n{EVIL} = [\n"));
    let rules = file(
        &format!("{EVIL}.toml"),
        &format!(
            "description = {}\n[[rule]]\nfile = \"x\"\nstream = 1\n",
            toml::Value::from(EVIL)
        ),
    );
    let result = at(&format!("{EVIL}.json"));
    let manual = format!("manual:rules={rules}");
    let replayed = anabranch(&[
        "replay", trace, "--unit", "1MiB", "--scheme", &manual, "--scheme", "baseline", "-o",
        &result,
    ]);
    assert!(replayed.status.success(), "{replayed:?}");
    let other = at("other.json");
    let changed = fs::read_to_string(&result)
        .unwrap()
        .replace("baseline", "b\\u001b[2J\\u202e");
    fs::write(&other, changed).unwrap();
    let grid = file(
        "grid.toml",
        &format!(
            "traces = [{}]\nschemes = [\"baseline\"]\n[drive]\nunit = \"1MiB\"\n",
            toml::Value::from(trace)
        ),
    );
    let experiments = at("experiments");
    fs::create_dir(&experiments).unwrap();
    let evil = toml::Value::from(EVIL);
    file(
        "experiments/evil.toml",
        &format!(
            "title = {evil}\nsource = {evil}\nsetup = {evil}\n[[run]]\nname = {evil}\ntrace = {}\nscheme = \"baseline\"\nunit = \"1MiB\"\n",
            toml::Value::from(trace)
        ),
    );
    let commands = file(
        "mmc.txt",
        &format!(
            "a-1 [0] 1.0: mmc_request_start: {EVIL}: start struct mmc_request[1]: cmd_opcode=25 cmd_arg=0x8 \
             sbc_opcode=23 sbc_arg=0x2000008 blocks=8 block_size=512 blk_addr=8"
        )
        .replace('\n', " "),
    );
    let html = at("page.html");
    let advice = at(&format!("{EVIL}-advice"));
    let cases: &[&[&str]] = &[
        &["run", "--scheme", EVIL, "--", "true"],
        &["run", "--workload", EVIL],
        &[
            "run",
            "--backing",
            &nowhere,
            "--size",
            "64MiB",
            "--",
            "true",
        ],
        &["record", "--device", &nowhere, "-o", &at("r"), "--", "true"],
        &["watch", &nowhere],
        &["watch", "/dev/null", "--traces", &nowhere],
        &["watch", "/dev/null", "--scheme", EVIL],
        &["watch", "/dev/null", "--state", &words, "--cpu", EVIL],
        &["import", &words, "-o", &at("i.parquet")],
        &["import", &nowhere, "-o", &nowhere],
        &["replay", trace, "--unit", "1MiB", "--scheme", &manual],
        &[
            "replay", trace, "--unit", "1MiB", "--scheme", &manual, "--json",
        ],
        &[
            "replay",
            trace,
            "--unit",
            "1MiB",
            "--scheme",
            &manual,
            "--csv",
            "--streams",
            "2,4",
        ],
        &[
            "replay",
            trace,
            "--unit",
            "1MiB",
            "--scheme",
            &manual,
            "--streams",
            "2,4",
        ],
        &["replay", trace, "--unit", "1MiB", "--scheme", EVIL],
        &[
            "replay",
            trace,
            "--unit",
            "1MiB",
            "--scheme",
            &format!("manual:rules={words}"),
        ],
        &["replay", trace, "--device", EVIL],
        &["replay", trace, "--device", &words],
        &["replay", trace, EVIL],
        &["replay", trace, &format!("--{EVIL}")],
        &["replay", &words],
        &["replay", &nowhere],
        &["serve", "--size", EVIL],
        &["serve", "--device", &words],
        &["serve", "--listen", EVIL],
        &["serve", "--namespaces", EVIL],
        &[
            "precondition",
            "--size",
            "64MiB",
            "--unit",
            "1MiB",
            "-o",
            &at(&format!("{EVIL}.drive")),
        ],
        &[
            "precondition",
            "--size",
            "64MiB",
            "--unit",
            "1MiB",
            "-o",
            &nowhere,
        ],
        &["emmc", &commands, "--size", "64MiB", "--unit", "1MiB"],
        &["emmc", &words],
        &["emmc", &commands, "--card", EVIL],
        &["experiment", EVIL],
        &["experiment", "--directory", &experiments, "list"],
        &["experiment", "--directory", &experiments, "evil"],
        &["experiment", "--directory", &nowhere, "all"],
        &["sweep", &grid, "-o", &at(&format!("{EVIL}-sweep"))],
        &["sweep", &words, "-o", &at("s")],
        &["sweep", &nowhere, "-o", &at("s")],
        &["contexts", trace],
        &["contexts", trace, "--json"],
        &["contexts", trace, "--csv"],
        &["contexts", &words],
        &["report", &result, "-o", &html],
        &["report", &words, "-o", &html],
        &["report", &result, "-o", &nowhere],
        &["diff", &result, &other],
        &["diff", &result, &other, "--json"],
        &["diff", &words, &nowhere],
        &[
            "export",
            trace,
            "--unit",
            "1MiB",
            "--to",
            "rules,hints,fdp",
            "-o",
            &advice,
        ],
        &[
            "export", trace, "--unit", "1MiB", "--to", "rocksdb", "--json", "-o", &advice,
        ],
        &[
            "export",
            trace,
            "--to",
            "csv",
            "-o",
            &at(&format!("{EVIL}.csv")),
        ],
        &["export", trace, "--to", EVIL, "-o", &advice],
        &["export", trace, "--to", "rules", "-o", &words],
        &["schemes", EVIL],
        &["devices", "--show", EVIL],
        &["devices", "--show", &words],
        &["coverage", trace],
        &["coverage", trace, "--json"],
        &["coverage", &words],
        &["workloads", EVIL],
        &["steer", "--device", &nowhere],
        &["steer", "--mount", EVIL],
        &["doctor", EVIL],
        &["calibrate", EVIL, "-o", &result],
        &[
            "calibrate",
            "127.0.0.1:1",
            "--nqn",
            EVIL,
            "--erase",
            EVIL,
            "-o",
            &at("cal.toml"),
        ],
        &["doctor", "--device", &nowhere],
        &["completions", EVIL],
        &["man", &at(&format!("{EVIL}-man"))],
        &["help", EVIL],
    ];
    let owned = |call: &&[&str]| call.iter().map(|word| (*word).to_owned()).collect();
    cases.iter().map(owned).collect()
}

#[test]
fn no_name_reaches_the_terminal_as_it_is_by_any_verb() {
    let directory = TempDir::new().unwrap();
    let calls = calls(directory.path());
    let mut told = BTreeSet::new();
    for call in &calls {
        let call: Vec<&str> = call.iter().map(String::as_str).collect();
        let output = anabranch(&call);
        assert_harmless(&call, &output);
        if output.status.success() {
            told.insert(call[0]);
        }
    }
    // These have their tables shown, not a complaint alone.
    for verb in [
        "diff",
        "contexts",
        "coverage",
        "experiment",
        "export",
        "precondition",
        "replay",
        "report",
        "sweep",
    ] {
        assert!(told.contains(verb), "{verb} told nothing");
    }
    let called: BTreeSet<&str> = calls.iter().map(|call| call[0].as_str()).collect();
    let help = String::from_utf8(anabranch(&["--help"]).stdout).unwrap();
    let (_, verbs) = help.split_once("Commands:\n").unwrap();
    let verbs: BTreeSet<&str> = verbs
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let missed: Vec<_> = verbs.difference(&called).collect();
    assert!(
        verbs.len() > 10 && missed.is_empty(),
        "{missed:?} of {help}"
    );
}

#[test]
fn escaped_json_still_tells_the_names_as_they_are() {
    let directory = TempDir::new().unwrap();
    let trace = evil_trace(directory.path());
    let told = json(&anabranch(&["contexts", text(&trace), "--json"]));
    let roles: Vec<&str> = told["contexts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["role"].as_str().unwrap())
        .collect();
    assert!(roles.contains(&format!("{EVIL}1").as_str()), "{roles:?}");
}
