//! The language of the tree, as far as a machine can hold it: docs/design.md has its rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
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
/// Underscores from which a word in code is taken for a test's name.
const UNDERSCORES: usize = 3;
/// Words of others, and placeholders, that look like a test's name.
const FOREIGN: [&str; 4] = [
    "x86_rep_movsb_threshold",
    "x86_non_temporal_threshold",
    "atomic_write_unit_max_opt",
    "a_word_of_its_name",
];
/// Folders whose files are named in documents.
const FOLDERS: [&str; 10] = [
    "bench", "crates", "docs", "experiments", "fuzz", "lab", "python", "scripts", "traces", "workloads",
];

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

/// Spans of code within lines, and lines of code blocks.
fn code(text: &str) -> Vec<&str> {
    let mut is_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            found.push(line);
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

/// Words of code that name a test, a test's file or a file of the tree.
struct Named<'a> {
    tests: Vec<&'a str>,
    targets: Vec<&'a str>,
    paths: Vec<&'a str>,
}

fn named(text: &str) -> Named<'_> {
    let mut named = Named {
        tests: Vec::new(),
        targets: Vec::new(),
        paths: Vec::new(),
    };
    for span in code(text) {
        let is_test = |word: &&str| {
            word.matches('_').count() >= UNDERSCORES
                && !word.contains(|letter: char| letter.is_ascii_uppercase())
                && !word.starts_with('_')
                && !["_total", "_ratio"].iter().any(|metric| word.ends_with(metric))
                && !FOREIGN.contains(word)
        };
        let words = span.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric());
        named.tests.extend(words.filter(is_test));
        let targets = span.split("--test ").skip(1);
        named.targets.extend(targets.filter_map(|rest| rest.split_whitespace().next()));
        let is_path = |word: &&str| {
            let folder = word.split('/').next().unwrap();
            let is_placeholder = word.contains(['*', '{', '$', '<', '…', '='])
                || ["NAME", "TRACE", "@"].iter().any(|part| word.contains(part));
            word.contains('/') && FOLDERS.contains(&folder) && !is_placeholder
        };
        let words = span.split([' ', ',', ';', '(', ')', '\'', '"']);
        named.paths.extend(words.map(|word| word.trim_end_matches(['.', ':'])).filter(is_path));
    }
    named
}

#[test]
fn code_of_documents_is_taken_apart() {
    let sample = "Run `cargo test --test guest` or `it_is_so_here`.\n```\ncat docs/a.md\n```\n`traces/NAME.parquet`\n";
    let found = named(sample);
    assert_eq!(found.tests, ["it_is_so_here"]);
    assert_eq!(found.targets, ["guest"]);
    assert_eq!(found.paths, ["docs/a.md"]);
}

#[test]
fn a_test_and_a_file_that_a_document_names_exist() {
    let sources: String = [".rs", ".py", ".c", ".h", ".sh", ".js"]
        .iter()
        .flat_map(|ending| files(".", ending))
        .filter(|path| !path.ends_with("replay/tests/words.rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let is_target = |name: &str| {
        let found = files("crates", ".rs");
        found.iter().any(|path| {
            path.ends_with(format!("tests/{name}.rs")) || path.ends_with(format!("tests/{name}/main.rs"))
        })
    };
    let mut wrong = Vec::new();
    for document in files(".", ".md") {
        let text = fs::read_to_string(&document).unwrap();
        let named = named(&text);
        let tests = named.tests.iter().filter(|name| !sources.contains(**name));
        let targets = named.targets.iter().filter(|name| !is_target(name));
        let paths = named.paths.iter().filter(|path| !root().join(path).exists());
        let missing = tests.chain(targets).chain(paths);
        wrong.extend(missing.map(|name| format!("{}: {name}", document.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
