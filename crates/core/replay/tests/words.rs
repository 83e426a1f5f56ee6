//! The language of the tree, as far as a machine can hold it: docs/design.md has its rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Words that begin a noun clause. A doc comment begins with a verb or a noun of the domain.
const CLAUSES: [&str; 7] = ["What", "Who", "Whose", "Why", "Where", "How", "Which"];
/// Characters of the longest line of prose in a document.
const MOST_CHARACTERS: usize = 120;
/// Lines of the longest page of the documents.
const MOST_LINES: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .unwrap()
        .to_owned()
}

/// Files with that ending below a folder, as git tracks them or would.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .arg(folder)
        .current_dir(root())
        .output()
        .expect("git lists the tree");
    let list = String::from_utf8(output.stdout).unwrap();
    let paths = list.lines().filter(|path| path.ends_with(ending));
    let found: Vec<PathBuf> = paths
        .map(|path| root().join(path))
        .filter(|path| path.exists())
        .collect();
    assert!(!found.is_empty(), "git lists no {ending} in {folder}");
    found
}

/// Lines of doc comments in a source text that begin with a noun clause, with their numbers. Questions may.
fn clauses(text: &str) -> Vec<(usize, &str)> {
    let is_clause = |line: &&str| {
        let line = line.trim_start();
        let comment = line
            .strip_prefix("/// ")
            .or_else(|| line.strip_prefix("//! "));
        comment.is_some_and(|comment| {
            let first = comment.split(|c: char| !c.is_alphabetic()).next().unwrap();
            CLAUSES.contains(&first) && !comment.ends_with('?')
        })
    };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| is_clause(line))
        .collect()
}

#[test]
fn a_doc_comment_begins_with_a_verb_or_a_noun() {
    let sample = "/// What it is.\n/// Returns it.\n    /// How far?\n//! Who.\n";
    assert_eq!(clauses(sample), [(1, "/// What it is."), (4, "//! Who.")]);
    let mut found = Vec::new();
    for path in files("crates", ".rs") {
        // The test's own sample.
        if path.ends_with("replay/tests/words.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = clauses(&text).into_iter();
        found.extend(lines.map(|(at, line)| format!("{}:{at}: {line}", path.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A line without what it quotes as code.
fn outside_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Lines of prose that are too long: outside of tables, code, HTML and lines that are one link.
fn long(text: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let is_prose = !is_code && !line.starts_with(['|', '<', '#']);
        // A single word, such as an address or a command in code, cannot be broken.
        let breaks = outside_code(line).split_whitespace().count() > 3;
        if is_prose && breaks && line.chars().count() > MOST_CHARACTERS {
            found.push(at);
        }
    }
    found
}

#[test]
fn a_line_of_prose_fits_a_screen() {
    for path in files("docs", ".md") {
        let text = fs::read_to_string(&path).unwrap();
        let long = long(&text);
        assert!(long.is_empty(), "{}: lines {long:?}", path.display());
    }
}

#[test]
fn a_page_of_the_documents_is_read_to_its_end() {
    for path in files("docs", ".md") {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
    }
}

/// Names that no definition and no file has: docs/design.md has the words instead.
const LISTED: [&str; 23] = [
    "told",
    "tell",
    "touch",
    "note",
    "hear",
    "look",
    "recall",
    "Told",
    "Asked",
    "Fault",
    "Failure",
    "NamedDrive",
    "Stage",
    "Recall",
    "Rehearsal",
    "Flows",
    "Room",
    "Unfinished",
    "Mind",
    "Senses",
    "Outlook",
    "Understudy",
    "Whose",
];

/// Names that no file of a room has: each says too little of what is in it.
const FILE_NAMES: [&str; 9] = [
    "way", "own", "truth", "again", "whose", "words", "thin", "kept", "found",
];

/// A definition in a source text.
struct Definition<'a> {
    name: &'a str,
    /// Whether it is a type that is `pub` without a restriction.
    is_public_type: bool,
}

/// Definitions in a source text, at any depth.
fn definitions(text: &str) -> impl Iterator<Item = Definition<'_>> {
    let lines = text.lines().map(str::trim_start);
    lines
        .filter(|line| !line.starts_with("//"))
        .filter_map(|line| {
            // A definition begins with its visibility and its qualities; whatever else is on the line is no definition.
            let before = [
                "pub", "crate", "super", "in", "const", "async", "unsafe", "extern", "C",
            ];
            let mut words = line
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| !word.is_empty())
                .skip_while(|word| before.contains(word));
            let kind = words.next()?;
            let is_type = ["struct", "enum", "trait", "type"].contains(&kind);
            let is_definition = is_type || ["fn", "mod"].contains(&kind);
            let name = words.next().filter(|_| is_definition)?;
            Some(Definition {
                name,
                is_public_type: is_type && line.starts_with("pub "),
            })
        })
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    let names = definitions(text).map(|one| one.name);
    names.filter(|name| LISTED.contains(name))
}

#[test]
fn no_definition_has_a_listed_name() {
    let sample = "pub(crate) fn tell(&self) {\nstruct Told;\nlet told = 1;\n// fn told\nfn report() {}\nmod look;\n";
    assert!(listed(sample).eq(["tell", "Told", "look"]));
    let mut found = Vec::new();
    for path in files("crates", ".rs") {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        found.extend(listed(&text).map(|name| format!("{}: {name}", path.display())));
        let is_source = path.components().any(|part| part.as_os_str() == "src");
        if LISTED.contains(&stem) || is_source && FILE_NAMES.contains(&stem) {
            found.push(format!("{}: the file", path.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Rooms in which one noun may be the name of a public type.
const MOST_ROOMS: usize = 2;

#[test]
fn a_public_type_shares_its_noun_with_one_other_room_at_most() {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files("crates", ".rs") {
        let inside = path.strip_prefix(root()).unwrap();
        let parts: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        let ["crates", _, room, "src", ..] = parts[..] else {
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        // Each room has its own `Result`, by custom.
        let public = definitions(&text).filter(|one| one.is_public_type && one.name != "Result");
        for one in public {
            let those = rooms.entry(one.name.to_owned()).or_default();
            those.insert(room.to_owned());
        }
    }
    assert!(rooms.len() > 500, "{} types", rooms.len());
    rooms.retain(|_, rooms| rooms.len() > MOST_ROOMS);
    assert!(rooms.is_empty(), "{rooms:#?}");
}
