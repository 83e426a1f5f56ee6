//! Names that try to command a terminal, or to pass for lines of ours, fed to every verb.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use anabranch_trace::{
    Capture, Context, ContextId, ContextKind, File, FileId, Frame, Io, Tables, Tenant, Writer,
};
use tempfile::TempDir;

use command::{DEVICE_BYTES, anabranch, json, text};

/// A terminal's title, a colour of ours, a cleared screen, a line of ours, a colour by one byte, and text turned around.
const EVIL: &str = "evil\u{1b}]0;owned\u{7}\u{1b}[33m\u{1b}[2J\nFORGED: all is well\r\u{9b}31m\u{202e}gpj.\u{2066}\u{200f}\u{7f}\"'#]=*.sst";

/// Characters that no output may hold. A line break is fine where it is ours.
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
        tenants: vec![Tenant {
            number: 1,
            control_group: EVIL.to_owned(),
        }],
        placements: Vec::new(),
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
            generation: 0,
        });
        tables.files.push(File {
            name: format!("{EVIL}{id}"),
            ..File::default()
        });
    }
    writer.finish(&tables).unwrap();
    path
}

/// Calls of every verb, on what can be read and on what cannot. Words in capitals are names and files of [`files`].
const CALLS: &str = "
run --scheme EVIL -- true
run --workload EVIL
run --backing NOWHERE --size 64MiB -- true
record --device NOWHERE -o NEW -- true
watch NOWHERE
watch /dev/null --traces NOWHERE
watch /dev/null --scheme EVIL
watch /dev/null --state NONSENSE --cpu EVIL
import NONSENSE -o NEW
import NOWHERE -o NOWHERE
replay TRACE --unit 1MiB --scheme MANUAL
replay TRACE --unit 1MiB --scheme MANUAL --json
replay TRACE --unit 1MiB --scheme MANUAL --csv --streams 2,4
replay TRACE --unit 1MiB --scheme MANUAL --streams 2,4
replay TRACE --unit 1MiB --scheme EVIL
replay TRACE --unit 1MiB --scheme BAD-RULES
replay TRACE --device EVIL
replay TRACE --device NONSENSE
replay TRACE EVIL
replay TRACE EVIL-OPTION
replay NONSENSE
replay NOWHERE
serve --size EVIL
serve --device NONSENSE
serve --listen EVIL
serve --namespaces EVIL
precondition --size 64MiB --unit 1MiB -o EVIL-FILE
precondition --size 64MiB --unit 1MiB -o NOWHERE
emmc COMMANDS --size 64MiB --unit 1MiB
emmc NONSENSE
emmc COMMANDS --card EVIL
experiment EVIL
experiment --directory EXPERIMENTS list
experiment --directory EXPERIMENTS evil
experiment --directory NOWHERE all
sweep GRID -o EVIL-DIRECTORY
sweep NONSENSE -o NEW
sweep NOWHERE -o NEW
contexts TRACE
contexts TRACE --json
contexts TRACE --csv
contexts NONSENSE
report RESULT -o PAGE
report NONSENSE -o PAGE
report RESULT -o NOWHERE
diff RESULT OTHER
diff RESULT OTHER --json
diff NONSENSE NOWHERE
export TRACE --unit 1MiB --to rules,hints,fdp -o ADVICE
export TRACE --unit 1MiB --to rocksdb --json -o ADVICE
export TRACE --to csv -o EVIL-FILE
export TRACE --to EVIL -o ADVICE
export TRACE --to rules -o NONSENSE
schemes EVIL
devices --show EVIL
devices --show NONSENSE
coverage TRACE
coverage TRACE --json
coverage NONSENSE
workloads EVIL
steer --device NOWHERE
steer --mount EVIL
waf EVIL
waf RESULT
waf NONSENSE
waf COUNTERS
waf COUNTERS --json
waf COUNTERS --since NONSENSE
doctor EVIL
doctor --device NOWHERE
calibrate EVIL -o RESULT
calibrate 127.0.0.1:1 --nqn EVIL --erase EVIL -o NEW
completions EVIL
man EVIL-DIRECTORY
help EVIL
";

/// The calls, with their names and files for the words in capitals.
fn calls(directory: &Path) -> Vec<Vec<String>> {
    let files = files(directory);
    let word = |word: &str| files.get(word).cloned().unwrap_or_else(|| word.to_owned());
    let calls = CALLS.trim().lines();
    calls
        .map(|call| call.split(' ').map(word).collect())
        .collect()
}

/// Values of the words in capitals; files that are read are made.
fn files(directory: &Path) -> BTreeMap<&'static str, String> {
    let at = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let file = |name: &str, content: &str| {
        fs::write(directory.join(name), content).unwrap();
        at(name)
    };
    let evil = toml::Value::from(EVIL);
    let trace = text(&evil_trace(directory)).to_owned();
    let quoted = toml::Value::from(trace.as_str());
    let nonsense = file(EVIL, &format!("{EVIL}\n{EVIL} = [\n"));
    let rules = format!("description = {evil}\n[[rule]]\nfile = \"x\"\nstream = 1\n");
    let rules = file(&format!("{EVIL}.toml"), &rules);
    let manual = format!("manual:rules={rules}");
    let (result, other) = results(directory, &trace, &manual);
    let grid = format!("traces = [{quoted}]\nschemes = [\"baseline\"]\n[drive]\nunit = \"1MiB\"\n");
    let experiment = format!(
        "title = {evil}\nsource = {evil}\nsetup = {evil}\n[[run]]\nname = {evil}\ntrace = {quoted}\n\
         scheme = \"baseline\"\nunit = \"1MiB\"\n"
    );
    fs::create_dir(directory.join("experiments")).unwrap();
    file("experiments/evil.toml", &experiment);
    let command = format!(
        "a-1 [0] 1.0: mmc_request_start: {EVIL}: start struct mmc_request[1]: cmd_opcode=25 cmd_arg=0x8 \
         sbc_opcode=23 sbc_arg=0x2000008 blocks=8 block_size=512 blk_addr=8"
    );
    let counters = serde_json::json!({"model_name": EVIL, "data_units_written": 500});
    BTreeMap::from([
        ("ADVICE", at(&format!("{EVIL}-advice"))),
        ("BAD-RULES", format!("manual:rules={nonsense}")),
        ("COMMANDS", file("mmc.txt", &command.replace('\n', " "))),
        (
            "COUNTERS",
            file(&format!("{EVIL}-counters"), &counters.to_string()),
        ),
        ("EVIL", EVIL.to_owned()),
        ("EVIL-DIRECTORY", at(&format!("{EVIL}-directory"))),
        ("EVIL-FILE", at(&format!("{EVIL}.out"))),
        ("EVIL-OPTION", format!("--{EVIL}")),
        ("EXPERIMENTS", at("experiments")),
        ("GRID", file("grid.toml", &grid)),
        ("MANUAL", manual),
        ("NEW", at("new.toml")),
        ("NONSENSE", nonsense),
        ("NOWHERE", at(&format!("{EVIL}/nowhere"))),
        ("OTHER", other),
        ("PAGE", at("page.html")),
        ("RESULT", result),
        ("TRACE", trace),
    ])
}

/// A result of a replay, and the same with another scheme, whose name is hostile too.
fn results(directory: &Path, trace: &str, scheme: &str) -> (String, String) {
    let at = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (result, other) = (at(&format!("{EVIL}.json")), at("other.json"));
    let replayed = anabranch(&[
        "replay", trace, "--unit", "1MiB", "--scheme", scheme, "--scheme", "baseline", "-o",
        &result,
    ]);
    assert!(replayed.status.success(), "{replayed:?}");
    let changed = fs::read_to_string(&result).unwrap();
    fs::write(&other, changed.replace("baseline", "b\\u001b[2J\\u202e")).unwrap();
    (result, other)
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
    // `top` asks a server that runs: tests/top.rs has one with hostile names.
    let called: BTreeSet<&str> = calls.iter().map(|call| call[0].as_str()).collect();
    let help = String::from_utf8(anabranch(&["--help"]).stdout).unwrap();
    let (_, verbs) = help.split_once("Commands:\n").unwrap();
    let verbs: BTreeSet<&str> = verbs
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let missed = verbs.difference(&called).filter(|verb| **verb != "top");
    let missed: Vec<_> = missed.collect();
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
