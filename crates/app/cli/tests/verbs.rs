//! Properties of every verb and every result: help with an example, JSON, a file; and the form.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, complaint, json, text, trace};

const SCHEMA: &str = include_str!("../../../../docs/result.schema.json");
#[cfg(feature = "doctor")]
const DOCTOR_SCHEMA: &str = include_str!("../../../../docs/doctor.schema.json");

fn output_of(arguments: &[&str]) -> String {
    let output = anabranch(arguments);
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The verbs, as the command lists them.
fn verbs() -> Vec<String> {
    let help = output_of(&["--help"]);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // What a verb does may go on in a line of its own, further in.
    let names = lines.take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !["", "help"].contains(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_verb_stands_in_the_list_of_verbs() {
    let page = include_str!("../../../../docs/verbs.md");
    for verb in verbs() {
        let call = format!("anabranch {verb}");
        let mut ends = page
            .match_indices(&call)
            .map(|(at, _)| page.get(at + call.len()..));
        let stands =
            ends.any(|rest| rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)));
        assert!(stands, "docs/verbs.md lacks {verb}");
    }
}

#[test]
fn every_verb_has_help_with_an_example_json_and_an_output() {
    let verbs = verbs();
    assert!(verbs.len() >= 16, "{verbs:?}");
    for verb in verbs {
        let help = output_of(&[&verb, "--help"]);
        // A recording is a trace, which is -t wherever a program is run.
        let output = if verb == "record" {
            "-t, --trace"
        } else {
            "-o, --output"
        };
        for words in ["Example", "--json", output] {
            assert!(help.contains(words), "{verb} --help lacks {words}");
        }
    }
}

#[test]
fn each_load_made_by_rule_stands_in_the_help_of_replay() {
    let refused = complaint(&["replay", "synthetic:none"], 2);
    let names = refused.split("there are ").nth(1).unwrap();
    let help = output_of(&["replay", "--help"]);
    let help: Vec<&str> = help.split_whitespace().collect();
    for name in names.trim_end().split(", ") {
        let stands = help
            .iter()
            .any(|word| word.trim_end_matches([',', '.']) == name);
        assert!(stands, "replay --help lacks {name}");
    }
}

#[test]
fn what_is_listed_is_written_as_it_is_printed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("list.json");
    for verb in ["schemes", "devices", "workloads"] {
        let printed = json(&anabranch(&[verb, "--json", "-o", text(&path)]));
        assert_eq!(printed, read(&path), "{verb}");
        output_of(&[verb, "-o", text(&path)]);
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_grid_is_one_table_and_as_csv_nothing_else() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let grid = [
        "replay",
        text(&trace),
        "--scheme",
        "baseline,pcstream",
        "--streams",
        "2,4",
        "--unit",
        "1MiB",
    ];
    let table = output_of(&grid);
    assert_eq!(table.matches("| scheme ").count(), 1, "{table}");
    assert_eq!(
        table.matches("offered ").count(),
        3,
        "a column, and a line for each answer: {table}"
    );
    let csv = output_of(&[&grid[..], &["--csv"]].concat());
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("offered,scheme,streams,host_page_bytes,"),
        "{csv}"
    );
    assert_eq!(lines.len(), 5, "{csv}");
    let host: u64 = lines[1].split(',').nth(3).unwrap().parse().unwrap();
    assert_eq!(host, 1200 << 20);
}

/// Output on a terminal of 80 columns.
fn on_a_terminal(trace: &Path, settings: &str) -> String {
    let command = env!("CARGO_BIN_EXE_anabranch");
    let line = format!(
        "stty rows 24 cols 80; TERM=xterm {settings} '{command}' replay '{}' --scheme baseline+gc,pcstream --unit 1MiB",
        text(trace)
    );
    let script = ["--quiet", "--return", "--command", &line, "/dev/null"];
    let mut shown = std::process::Command::new("script");
    let shown = shown
        .args(script)
        .stdin(std::process::Stdio::null())
        .output();
    String::from_utf8(
        shown
            .expect("script is missing: apt install bsdutils")
            .stdout,
    )
    .unwrap()
}

#[test]
fn a_table_is_no_wider_than_the_terminal_and_coloured_only_where_that_is_wanted() {
    // A trace that has an answer: without one there is nothing to colour.
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../traces/sqlite-wal.parquet");
    let shown = on_a_terminal(&trace, "");
    let rows = shown.lines().filter(|line| line.starts_with('|'));
    let widest = rows.map(|line| line.trim_end().chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 80), "{shown}");
    assert!(shown.contains("--wide shows all"), "{shown}");
    assert!(
        shown.contains("\u{1b}[32;1m") || shown.contains("\u{1b}[33m"),
        "{shown}"
    );
    let plain = on_a_terminal(&trace, "NO_COLOR=1");
    assert!(
        !plain.contains("\u{1b}[32;1m") && !plain.contains("\u{1b}[33m"),
        "{plain}"
    );
}

#[test]
fn results_are_of_the_form_that_the_schema_tells() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let replay = |options: &[&str]| {
        let fixed = ["replay", text(&trace), "--unit", "1MiB", "--json"];
        json(&anabranch(&[&fixed[..], options].concat()))
    };
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let check = |value: &Value| fault(&schema, &schema, value, "result");
    let one = replay(&["--scheme", "all", "--details", "--time", "closed"]);
    assert_eq!(check(&one), None);
    let grid = replay(&["--scheme", "baseline,pcstream", "--streams", "2,4"]);
    assert_eq!(check(&grid), None);
    let mut wrong = one.clone();
    wrong["verdict"]["answer"] = "perhaps".into();
    assert!(check(&wrong).is_some());
    wrong = one.clone();
    wrong["schemes"][0]["waf"] = "1.0".into();
    assert!(check(&wrong).is_some());
    wrong = one;
    wrong.as_object_mut().unwrap().remove("device");
    assert!(check(&wrong).is_some());
}

/// A full disk.
#[cfg(feature = "doctor")]
#[test]
fn a_file_without_room_does_not_take_the_printed_finding_along() {
    let output = anabranch(&["doctor", "--json", "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/dev/full"));
    assert_eq!(json(&output)["schema"], 1);
    let output = anabranch(&["doctor", "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("ublk"));
}

/// Whatever this machine has or lacks.
#[cfg(feature = "doctor")]
#[test]
fn the_doctors_words_are_of_the_form_that_its_schema_tells() {
    let schema: Value = serde_json::from_str(DOCTOR_SCHEMA).unwrap();
    let check = |value: &Value| fault(&schema, &schema, value, "doctor");
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("found.json");
    let asked = |words: &[&str]| {
        let output = anabranch(words);
        assert!(
            [Some(0), Some(3)].contains(&output.status.code()),
            "{words:?}"
        );
        output
    };
    let host = json(&asked(&["doctor", "--json", "-o", text(&path)]));
    assert_eq!(check(&host), None);
    assert_eq!(host, read(&path));
    let conduits = |found: &Value| found["verdicts"].as_array().unwrap().len();
    assert_eq!(conduits(&host), 2);
    let mut devices = std::fs::read_dir("/sys/class/block").unwrap();
    let name = devices.next().unwrap().unwrap().file_name();
    let device = Path::new("/dev").join(name);
    let device = json(&asked(&["doctor", text(&device), "-o", "-"]));
    assert_eq!((check(&device), conduits(&device)), (None, 6));
    let mut wrong = device;
    wrong["verdicts"][0]["reach"] = "perhaps".into();
    assert!(check(&wrong).is_some());
}

/// The words of JSON Schema that ours is made of: another in it would be passed over unseen.
const WORDS: [&str; 14] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "anyOf",
    "const",
    "enum",
    "type",
    "minimum",
    "required",
    "properties",
    "additionalProperties",
    "items",
];

/// Returns the first violation of the schema, if there is one.
fn fault(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = schema.as_object().unwrap();
    for word in schema.keys() {
        assert!(WORDS.contains(&word.as_str()), "{word} is not looked at");
    }
    let say = |words: String| Some(format!("{at}: {words}"));
    if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
        let definition = root.pointer(place.strip_prefix('#').unwrap()).unwrap();
        return fault(root, definition, value, at);
    }
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        let faults: Vec<_> = any.iter().map(|one| fault(root, one, value, at)).collect();
        return if faults.contains(&None) {
            None
        } else {
            faults.into_iter().flatten().next()
        };
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return say(format!("{value} is another value"));
    }
    let listed = schema.get("enum").and_then(Value::as_array);
    if listed.is_some_and(|listed| !listed.contains(value)) {
        return say(format!("{value} is not listed"));
    }
    if schema.get("type").is_some_and(|kind| !is_of(kind, value)) {
        return say(format!("{value} is not of the type"));
    }
    let least = schema.get("minimum").and_then(Value::as_f64);
    if least.is_some_and(|least| value.as_f64().is_some_and(|value| value < least)) {
        return say(format!("{value} is too small"));
    }
    inside(root, schema, value, at)
}

fn inside(
    root: &Value,
    schema: &serde_json::Map<String, Value>,
    value: &Value,
    at: &str,
) -> Option<String> {
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        let mut faults = values.iter().map(|one| fault(root, items, one, at));
        return faults.find_map(|found| found);
    }
    let fields = value.as_object()?;
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required
        .into_iter()
        .find(|name| !fields.contains_key(*name))
    {
        return Some(format!("{at}: {missing} is missing"));
    }
    let known = schema.get("properties").and_then(Value::as_object);
    fields.iter().find_map(|(name, value)| {
        let own = known.and_then(|known| known.get(name));
        let form = own.or_else(|| schema.get("additionalProperties"))?;
        fault(root, form, value, &format!("{at}.{name}"))
    })
}

fn is_of(kind: &Value, value: &Value) -> bool {
    if let Some(kinds) = kind.as_array() {
        return kinds.iter().any(|kind| is_of(kind, value));
    }
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}
