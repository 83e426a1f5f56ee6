//! The promises of docs/design.md that a machine can hold: who may know whom, how long a file may
//! be, and what must not stand in the tree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Rooms that each room may import.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("ssd", &[]),
    ("trace", &[]),
    ("lifetime", &["trace"]),
    ("placement", &["trace", "lifetime", "ssd"]),
    ("probe", &["trace"]),
    ("disk", &["ssd"]),
    ("security", &[]),
    ("nvme", &["ssd", "security"]),
    ("scsi", &["ssd", "nvme"]),
    // A host: tests know it, and the command for `calibrate`.
    ("initiator", &[]),
    ("collect", &["ssd", "placement"]),
    (
        "replay",
        &["ssd", "trace", "lifetime", "placement", "collect"],
    ),
    ("compare", &["ssd", "trace", "placement", "replay"]),
    (
        "advice",
        &[
            "ssd",
            "trace",
            "lifetime",
            "placement",
            "replay",
            "compare",
            "report",
        ],
    ),
    (
        "sweep",
        &["ssd", "trace", "placement", "replay", "compare", "report"],
    ),
    (
        "py",
        &[
            "ssd",
            "trace",
            "placement",
            "compare",
            "advice",
            "sweep",
            "report",
        ],
    ),
    ("report", &["replay"]),
    ("watch", &["trace", "replay", "report"]),
    ("counters", &[]),
    ("nvme-host", &["counters"]),
    (
        "steer",
        &[
            "ssd",
            "trace",
            "placement",
            "collect",
            "counters",
            "nvme-host",
        ],
    ),
    (
        "doctor",
        &[
            "ssd",
            "placement",
            "collect",
            "probe",
            "counters",
            "nvme-host",
            "steer",
        ],
    ),
    ("calibrate", &["ssd", "collect", "nvme-host"]),
    (
        "anabranch",
        &[
            "ssd",
            "trace",
            "lifetime",
            "placement",
            "probe",
            "disk",
            "security",
            "nvme",
            "scsi",
            "counters",
            "nvme-host",
            "steer",
            "doctor",
            "calibrate",
            "initiator",
            "collect",
            "replay",
            "compare",
            "advice",
            "sweep",
            "report",
            "watch",
        ],
    ),
];
/// The shelves, lowest first: a room knows rooms of its own shelf and of lower ones.
const SHELVES: [&str; 3] = ["core", "host", "app"];
/// Rooms that know the record of a trace and none of the forms it is kept in, so that they build without Parquet.
const READS_NO_FILES: [&str; 4] = ["lifetime", "placement", "replay", "watch"];
/// Lines of the longest file there may be.
const MOST_LINES: usize = 600;
/// Lines of the longest function there may be, comments within it among them.
const MOST_LINES_OF_A_FUNCTION: usize = 70;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .unwrap()
        .to_owned()
}

/// Files git tracks, or would.
fn files(ending: &[&str]) -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the tree");
    let list = String::from_utf8(output.stdout).unwrap();
    assert!(
        !list.is_empty(),
        "git lists no file: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let wanted = |path: &&str| ending.iter().any(|ending| path.ends_with(ending));
    list.lines()
        .filter(wanted)
        .map(|path| root().join(path))
        .filter(|path| path.exists())
        .collect()
}

/// A room's name and the number of its shelf, from its package in cargo's metadata.
fn shelf(package: &Value) -> (&str, usize) {
    let name = package["name"].as_str().unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    let inside = manifest.strip_prefix(root().join("crates")).unwrap();
    let shelf = inside.iter().next().and_then(|part| part.to_str()).unwrap();
    let number = SHELVES.iter().position(|known| *known == shelf);
    let room = name.strip_prefix("anabranch-").unwrap_or(name);
    (
        room,
        number.unwrap_or_else(|| panic!("{shelf} is no shelf")),
    )
}

#[test]
fn a_room_knows_no_other_than_the_plan_allows() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let shelves: BTreeMap<&str, usize> = packages.iter().map(shelf).collect();
    let mut plan: BTreeMap<&str, &[&str]> = MAY_KNOW.iter().copied().collect();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let room = name.strip_prefix("anabranch-").unwrap_or(name);
        let allowed = plan
            .remove(room)
            .unwrap_or_else(|| panic!("the plan has no room {room}"));
        for dependency in package["dependencies"].as_array().unwrap() {
            // What tests use, they may.
            if dependency["kind"] == "dev" {
                continue;
            }
            let known = dependency["name"]
                .as_str()
                .unwrap()
                .strip_prefix("anabranch-");
            assert!(
                known.is_none_or(|known| allowed.contains(&known)),
                "{room} must not know {known:?}"
            );
            assert!(
                known.is_none_or(|known| shelves[known] <= shelves[room]),
                "{room} must not know {known:?}, which stands on a higher shelf"
            );
            let features = dependency["features"].as_array().unwrap();
            assert!(
                known != Some("trace") || !READS_NO_FILES.contains(&room) || features.is_empty(),
                "{room} must not need {features:?}: it would no longer build in seconds"
            );
        }
    }
    assert!(
        plan.is_empty(),
        "rooms of the plan that are not there: {plan:?}"
    );
}

/// `anabranch` rehearses on devices of its own, which hold no data: `docs/design.md`.
const TUNER: [&str; 2] = ["anabranch/tuner/miniature.rs", "anabranch/tuner/tests.rs"];

#[test]
fn placement_touches_no_device() {
    let words = [
        "Device",
        "DeviceError",
        "Counters",
        "StreamCounters",
        "Profile",
    ];
    let room = root().join("crates/core/placement/src");
    let all = files(&[".rs"]);
    let decides =
        |path: &&PathBuf| path.starts_with(&room) && !TUNER.iter().any(|own| path.ends_with(own));
    for path in all.iter().filter(decides) {
        let text = fs::read_to_string(path).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for word in code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric())) {
            assert!(!words.contains(&word), "{}: {word}", path.display());
        }
    }
}

/// Returns the modules of its own room that a file imports: the first name behind every `crate::`.
fn imported(text: &str) -> BTreeSet<String> {
    let lines = text.lines();
    let code: String = lines
        .take_while(|line| *line != "#[cfg(test)]")
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        let mut depth = 0;
        let mut is_first = true;
        for piece in path.split_inclusive(['{', '}', ',', ';']) {
            let name: String = piece
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if is_first && depth < 2 && !name.is_empty() {
                found.insert(name);
            }
            match piece.chars().next_back() {
                Some('{') => depth += 1,
                Some('}') => depth -= 1,
                _ => {}
            }
            is_first = depth == 1;
            if depth == 0 {
                break;
            }
        }
    }
    found
}

#[test]
fn modules_of_a_room_import_each_other_in_one_direction() {
    let mut graph: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for path in files(&[".rs"]) {
        let inside = path.strip_prefix(root().join("crates")).map(Path::to_owned);
        let Ok(inside) = inside else { continue };
        let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        if let [_, room, "src", first, ..] = parts[..] {
            let module = (room.to_owned(), first.trim_end_matches(".rs").to_owned());
            let text = fs::read_to_string(&path).unwrap();
            graph.entry(module).or_default().extend(imported(&text));
        }
    }
    let reached = |from: &(String, String)| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(one) = next.pop() {
            for name in graph.get(&one).into_iter().flatten() {
                let to = (from.0.clone(), name.clone());
                if graph.contains_key(&to) && seen.insert(to.clone()) {
                    next.push(to);
                }
            }
        }
        seen
    };
    let mut circles: BTreeSet<(String, Vec<String>)> = BTreeSet::new();
    for module in graph.keys() {
        let beyond = reached(module);
        let circle = beyond
            .iter()
            .filter(|other| reached(other).contains(module));
        let circle: Vec<String> = circle.map(|other| other.1.clone()).collect();
        if circle.len() > 1 {
            circles.insert((module.0.clone(), circle));
        }
    }
    assert!(circles.is_empty(), "give these an order: {circles:?}");
}

#[test]
fn no_file_is_longer_than_can_be_read() {
    for path in files(&[".rs", ".c", ".h", ".sh", ".py"]) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
    }
}

/// Functions of a file as rustfmt writes it, each with the line it begins at and its number of lines: one ends where its
/// brace stands as far from the margin as it began. Attributes, and comments before it, do not count.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let margin = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let begins = |line: &str| {
        let mut words = line.split_whitespace();
        words.clone().any(|word| word == "fn")
            && words.all(|word| !word.starts_with("//") && !word.contains('"'))
    };
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        let is_end = |end: &&str| margin(end) == margin(line) && matches!(end.trim(), "}" | "};");
        let rest = &lines[at..];
        // A function without a body ends with its semicolon.
        let body = rest.iter().position(|line| line.ends_with('{'));
        let bare = rest.iter().position(|line| line.ends_with(';'));
        if body.is_some_and(|body| bare.is_none_or(|bare| body < bare))
            && let Some(length) = rest.iter().position(is_end)
        {
            found.push((at + 1, length + 1));
        }
    }
    found
}

#[test]
fn no_function_is_longer_than_can_be_seen_at_once() {
    let mut seen = 0;
    for path in files(&[".rs"]) {
        let text = fs::read_to_string(&path).unwrap();
        for (line, lines) in functions(&text) {
            seen += 1;
            assert!(
                lines <= MOST_LINES_OF_A_FUNCTION,
                "{}:{line} has {lines} lines",
                path.display()
            );
        }
    }
    assert!(seen > 7_500, "{seen} functions");
}

#[test]
fn no_path_of_a_machine_stands_in_the_tree() {
    for path in files(&[
        ".rs", ".c", ".h", ".sh", ".py", ".md", ".toml", "Makefile", "run",
    ]) {
        let text = fs::read_to_string(&path).unwrap();
        for place in [
            concat!("/wo", "rk/"),
            concat!("/ro", "ot/"),
            concat!("/ho", "me/"),
        ] {
            assert!(!text.contains(place), "{} names {place}", path.display());
        }
    }
}
