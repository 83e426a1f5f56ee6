//! The pages of `docs/results` give every experiment's claims and findings as the command does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use command::{anabranch, json, text};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3);
    root.unwrap().to_owned()
}

/// All pages of results, one behind the other.
fn document() -> String {
    let pages = fs::read_dir(root().join("docs/results")).unwrap();
    let read = |entry: std::io::Result<fs::DirEntry>| fs::read_to_string(entry.unwrap().path());
    pages.map(|entry| read(entry).unwrap()).collect()
}

/// The names of the experiments, and what their files say.
fn experiments() -> Vec<(String, toml::Table)> {
    let entries = fs::read_dir(root().join("lab/experiments")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap().parse().unwrap())
        })
        // Counts of our own, where nothing is published, and tables without claims that take minutes.
        .filter(|(name, _)| name != "counts" && name != "host-collection")
        .collect()
}

/// The rows of an experiment's claims in the document: row, claim, published, ours, holds, drive, why.
fn rows(document: &str, name: &str) -> Vec<Vec<String>> {
    let begin = format!("<!-- experiment {name} -->\n");
    let (_, section) = document
        .split_once(&begin)
        .unwrap_or_else(|| panic!("docs/results has no section of {name}"));
    let (section, _) = section.split_once("<!-- end of ").unwrap();
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim_start_matches("| ").trim_end_matches(" |");
        let cells = line.replace("\\|", "\u{1}");
        let cells = cells
            .split(" | ")
            .map(|cell| cell.replace('\u{1}', "|").replace("\\*", "*"));
        cells.collect()
    };
    let lines = section.lines().map(cells);
    lines
        .filter(|cells| cells.len() == 7 && cells[0].parse::<u32>().is_ok())
        .collect()
}

fn claims(experiment: &toml::Table) -> &[toml::Value] {
    let claims = experiment.get("claim").and_then(toml::Value::as_array);
    claims.map_or(&[], Vec::as_slice)
}

#[test]
fn every_claim_has_its_row_in_the_document() {
    let document = document();
    let experiments = experiments();
    let (mut held, mut all) = (0, 0);
    for (name, experiment) in &experiments {
        let rows = rows(&document, name);
        let claims = claims(experiment);
        assert_eq!(rows.len(), claims.len(), "{name}");
        for (row, claim) in rows.iter().zip(claims) {
            let says = |key: &str| claim.get(key).map_or("", |value| value.as_str().unwrap());
            assert_eq!(row[1], says("claim"), "{name}");
            assert_eq!(row[6], says("why"), "{name}, row {}", row[0]);
            all += 1;
            held += u32::from(row[4] == "yes");
        }
    }
    // Its lines are broken anywhere.
    let words: Vec<&str> = document.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains(&format!("{held} of {all} claims hold")),
        "{held} of {all} claims hold, and the document says another number"
    );
}

/// Rows whose traces are recorded and whose drives have no clock: they are made again in moments.
fn quick(experiment: &toml::Table) -> Vec<usize> {
    let runs = experiment.get("run").and_then(toml::Value::as_array);
    let is_quick = |name: &toml::Value| {
        let run = runs
            .unwrap()
            .iter()
            .find(|run| run.get("name") == Some(name));
        run.is_some_and(|run| {
            let one = run.get("trace").into_iter();
            let mut traces = one.flat_map(|trace| match trace.as_array() {
                Some(several) => several.clone(),
                None => vec![trace.clone()],
            });
            let is_recorded = |trace: toml::Value| trace.as_str().unwrap().starts_with("traces/");
            traces.all(is_recorded) && run.get("time").is_none()
        })
    };
    (1..)
        .zip(claims(experiment))
        .filter(|(_, claim)| claim.get("run").is_some_and(is_quick))
        .map(|(row, _)| row)
        .collect()
}

#[test]
fn rows_of_recorded_traces_come_out_as_the_document_has_them() {
    let document = document();
    let mut seen = 0;
    for (name, experiment) in experiments() {
        let quick = quick(&experiment);
        if quick.is_empty() {
            continue;
        }
        let numbers: Vec<String> = quick.iter().map(usize::to_string).collect();
        let from = root().join("lab/experiments");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_anabranch"))
            .current_dir(root())
            .args(["experiment", &name, "--directory", text(&from), "--json"])
            .args(["--claim", &numbers.join(",")])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let rows = rows(&document, &name);
        for claim in json(&output)["claims"].as_array().unwrap() {
            let row = &rows[claim["row"].as_u64().unwrap() as usize - 1];
            let holds = if claim["holds"] == true {
                "yes"
            } else {
                "**no**"
            };
            let found = [&claim["published"], &claim["ours"]].map(|one| one.as_str().unwrap());
            assert_eq!(
                [row[2].as_str(), row[3].as_str(), row[4].as_str()],
                [found[0], found[1], holds]
            );
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn a_part_of_an_experiment_leaves_nothing_behind_and_names_its_commands() {
    let directory = tempfile::TempDir::new().unwrap();
    let from = directory.path().join("experiments");
    fs::create_dir(&from).unwrap();
    let counts = root().join("lab/experiments/counts.toml");
    fs::copy(counts, from.join("counts.toml")).unwrap();
    let output = anabranch(&[
        "experiment",
        "counts",
        "--directory",
        text(&from),
        "--claim",
        "12",
        "--json",
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let result = json(&output);
    assert_eq!(result["claims"].as_array().unwrap().len(), 1);
    assert_eq!(result["runs"].as_array().unwrap().len(), 1);
    let claim = &result["claims"][0];
    for key in ["fill", "unit", "spare", "steady"] {
        assert!(!claim[key].as_str().unwrap().is_empty(), "{key}");
    }
    assert!(!directory.path().join("out").exists());

    // The command alone, with the claim's scheme alone, gives the claim's figure.
    let again: Vec<&str> = claim["commands"][0].as_str().unwrap().split(' ').collect();
    let replayed: Value = json(&anabranch(&[&again[1..], &["--json"]].concat()));
    assert_eq!(replayed["schemes"].as_array().unwrap().len(), 1);
    assert_eq!(
        replayed["schemes"][0]["media_bytes"].as_f64(),
        claim["value"].as_f64()
    );
    let none = [
        "experiment",
        "counts",
        "--directory",
        text(&from),
        "--claim",
        "99",
    ];
    assert!(command::complaint(&none, 2).contains("99"));

    // A table of some rows would stand where all of them belong.
    let document = directory.path().join("results.md");
    let place = "<!-- experiment counts -->\n<!-- end of counts -->\n";
    fs::write(&document, place).unwrap();
    let both = [
        "experiment",
        "counts",
        "--claim",
        "12",
        "--document",
        text(&document),
    ];
    let complaint = command::complaint(&both, 2);
    assert!(complaint.contains("'--claim <ROW>' cannot be used with '--document <FILE>...'"));
    assert_eq!(fs::read_to_string(&document).unwrap(), place);
}
