//! Outputs destroy nothing: every verb, every file it reads and every output it has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use command::{anabranch, complaint, text, trace};

/// A verb with a file of every kind that it reads, and the options that name what it writes. `{dir}`
/// is a directory with the files of [`Place`].
struct Row {
    words: &'static str,
    inputs: &'static [&'static str],
    outputs: &'static [&'static str],
}

const ROWS: [Row; 14] = [
    Row {
        words: "diff {dir}/result.json {dir}/other.json",
        inputs: &["result.json", "other.json"],
        outputs: &["-o"],
    },
    Row {
        words: "coverage {dir}/t.parquet",
        inputs: &["t.parquet"],
        outputs: &["-o"],
    },
    Row {
        words: "replay {dir}/t.parquet --device {dir}/own.toml --scheme manual:rules={dir}/rules.toml",
        inputs: &["t.parquet", "own.toml", "rules.toml"],
        outputs: &["-o", "--html", "--lifetimes"],
    },
    Row {
        words: "replay {dir}/t.parquet --drive {dir}/aged.drive",
        inputs: &["t.parquet", "aged.drive"],
        outputs: &["-o", "--html", "--lifetimes"],
    },
    Row {
        words: "contexts {dir}/t.parquet",
        inputs: &["t.parquet"],
        outputs: &["-o"],
    },
    Row {
        words: "emmc {dir}/mmc.txt --device {dir}/own.toml",
        inputs: &["mmc.txt", "own.toml"],
        outputs: &["-o"],
    },
    Row {
        words: "export {dir}/t.parquet --to msr",
        inputs: &["t.parquet"],
        outputs: &["-o"],
    },
    Row {
        words: "export {dir}/t.parquet --to rules --lifetimes {dir}/lives.json",
        inputs: &["t.parquet", "lives.json"],
        outputs: &["-o {dir} #"],
    },
    Row {
        words: "import {dir}/msr.csv",
        inputs: &["msr.csv"],
        outputs: &["-o", "--renumber -o"],
    },
    Row {
        words: "precondition --device {dir}/own.toml",
        inputs: &["own.toml"],
        outputs: &["-o"],
    },
    Row {
        words: "devices --show {dir}/own.toml",
        inputs: &["own.toml"],
        outputs: &["-o"],
    },
    Row {
        words: "experiment {dir}/small.toml --directory {dir}/experiments",
        inputs: &["small.toml", "t.parquet"],
        outputs: &["-o", "--html", "--document"],
    },
    Row {
        words: "report {dir}/result.json",
        inputs: &["result.json"],
        outputs: &["-o"],
    },
    Row {
        words: "sweep {dir}/fleet/cells/grid.toml",
        inputs: &["fleet/cells/grid.toml", "fleet/cells/x.parquet"],
        outputs: &["-o {dir}/fleet #"],
    },
];

/// Verbs that need root or a port refuse too, before they ask for either.
#[cfg(all(feature = "live", feature = "serve"))]
const MORE: [Row; 3] = [
    Row {
        words: "run --device {dir}/own.toml -- true",
        inputs: &["own.toml"],
        outputs: &["-t", "-o", "--html", "--log", "--lifetimes"],
    },
    Row {
        words: "watch {dir}/t.parquet --device {dir}/own.toml --scheme manual:rules={dir}/rules.toml",
        inputs: &["t.parquet", "own.toml", "rules.toml"],
        outputs: &["-o", "--state"],
    },
    Row {
        words: "serve --drive {dir}/aged.drive",
        inputs: &["aged.drive"],
        outputs: &["--data", "--data memory --state", "-o"],
    },
];

#[cfg(feature = "doctor")]
const DOCTOR: [Row; 1] = [Row {
    words: "doctor {dir}/t.parquet",
    inputs: &["t.parquet"],
    outputs: &["-o"],
}];

#[cfg(feature = "calibrate")]
const CALIBRATE: [Row; 1] = [Row {
    words: "calibrate {dir}/t.parquet",
    inputs: &["t.parquet"],
    outputs: &["-o"],
}];

#[cfg(feature = "steer")]
const STEER: [Row; 3] = [
    Row {
        words: "waf {dir}/t.parquet",
        inputs: &["t.parquet"],
        outputs: &["-o"],
    },
    Row {
        words: "steer --device {dir}/t.parquet --scheme manual:rules={dir}/rules.toml",
        inputs: &["t.parquet", "rules.toml"],
        outputs: &["-o", "--html", "--lifetimes"],
    },
    Row {
        words: "steer --mount {dir} --scheme manual:rules={dir}/rules.toml",
        inputs: &["rules.toml"],
        outputs: &["-o"],
    },
];

/// Verbs that read no file, and `record`, which reads a device.
const WITHOUT: [&str; 6] = ["devices", "help", "record", "schemes", "top", "workloads"];

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let directory = TempDir::new().unwrap();
        trace(&directory);
        let place = Place(directory);
        fs::create_dir_all(place.at("fleet/cells")).unwrap();
        fs::create_dir(place.at("experiments")).unwrap();
        fs::copy(place.at("t.parquet"), place.at("fleet/cells/x.parquet")).unwrap();
        let grid = format!(
            "traces = '{}/fleet/cells/x.parquet'\nschemes = 'baseline'\n",
            place.name()
        );
        place.put("fleet/cells/grid.toml", &grid);
        let experiment = "title = 'a'\nsource = 'a'\nsetup = 'a'\n\
                          [[run]]\nname = 'a'\ntrace = 't.parquet'\nscheme = 'baseline'\n";
        place.put("small.toml", experiment);
        place.put(
            "mmc.txt",
            "a-1 [0] 1.0: mmc_request_start: mmc0: x: cmd_opcode=25 cmd_arg=0x8 blocks=8 block_size=512\n",
        );
        place.put("msr.csv", "128166372003061629,hm,1,Write,0,4096,100\n");
        for name in [
            "own.toml",
            "rules.toml",
            "aged.drive",
            "lives.json",
            "result.json",
            "other.json",
        ] {
            place.put(name, "what was there");
        }
        place
    }

    fn put(&self, name: &str, words: &str) {
        fs::write(self.at(name), words).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self) -> &str {
        text(self.0.path())
    }

    /// Every file with its bytes.
    fn all(&self) -> Vec<(PathBuf, u64, Vec<u8>)> {
        let mut found = Vec::new();
        let mut left = vec![self.0.path().to_owned()];
        while let Some(path) = left.pop() {
            let metadata = fs::metadata(&path).unwrap();
            if metadata.is_dir() {
                left.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else {
                found.push((path.clone(), metadata.ino(), fs::read(&path).unwrap()));
            }
        }
        found.sort();
        found
    }

    /// The words of a call; options stand before what follows `--`.
    fn call(&self, words: &str, option: &str, path: &Path) -> Vec<String> {
        let option = match option.strip_suffix(" #") {
            Some(whole) => whole.to_owned(),
            None => format!("{option} {}", path.display()),
        };
        let whole = match words.split_once(" -- ") {
            Some((before, after)) => format!("{before} {option} -- {after}"),
            None => format!("{words} {option}"),
        };
        let whole = whole.replace("{dir}", self.name());
        whole.split(' ').map(str::to_owned).collect()
    }

    fn refused(&self, call: &[String]) {
        let words: Vec<&str> = call.iter().map(String::as_str).collect();
        let told = complaint(&words, 2);
        let named = ["would overwrite", "holds", "one file"];
        assert!(
            named.iter().any(|name| told.contains(name)),
            "{call:?}: {told}"
        );
    }
}

fn rows() -> impl Iterator<Item = Row> {
    let rows = ROWS.into_iter();
    #[cfg(all(feature = "live", feature = "serve"))]
    let rows = rows.chain(MORE);
    #[cfg(feature = "steer")]
    let rows = rows.chain(STEER);
    #[cfg(feature = "doctor")]
    let rows = rows.chain(DOCTOR);
    #[cfg(feature = "calibrate")]
    let rows = rows.chain(CALIBRATE);
    rows
}

#[test]
fn no_output_of_any_verb_is_one_of_its_inputs_by_any_name() {
    let place = Place::new();
    symlink(place.name(), place.at("other")).unwrap();
    let before = {
        fs::remove_file(place.at("other")).unwrap();
        place.all()
    };
    for row in rows() {
        for input in row.inputs {
            for output in row.outputs {
                place.refused(&place.call(row.words, output, &place.at(input)));
            }
        }
        let (input, output) = (row.inputs[0], row.outputs[0]);
        for link in [fs::hard_link::<PathBuf, PathBuf>, symlink] {
            link(place.at(input), place.at("link")).unwrap();
            place.refused(&place.call(row.words, output, &place.at("link")));
            fs::remove_file(place.at("link")).unwrap();
        }
        place.refused(&place.call(row.words, output, &place.at("fleet/..").join(input)));
    }
    assert!(place.all() == before, "a file was touched");
}

#[test]
fn no_two_outputs_of_any_verb_are_one_file() {
    let place = Place::new();
    let before = place.all();
    for row in rows() {
        let outputs = row
            .outputs
            .iter()
            .filter(|output| !output.contains([' ', '#']));
        let outputs: Vec<&&str> = outputs.collect();
        for (index, one) in outputs.iter().enumerate() {
            for two in &outputs[..index] {
                let both = format!("{one} {}/fleet/../new {two}", place.name());
                place.refused(&place.call(row.words, &both, &place.at("new")));
            }
        }
    }
    assert!(place.all() == before, "a file was touched");
}

#[test]
fn every_verb_that_writes_has_its_row() {
    let help = anabranch(&["--help"]).stdout;
    let help = String::from_utf8(help).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap();
    let commands = commands.split("Options:").next().unwrap();
    let verbs = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for verb in verbs.filter_map(|line| line.split_whitespace().next()) {
        let walked = rows().any(|row| row.words.split(' ').next() == Some(verb));
        assert!(walked || WITHOUT.contains(&verb), "{verb} has no row here");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_the_work() {
    let place = Place::new();
    for row in rows() {
        for output in row.outputs.iter().filter(|output| !output.ends_with('#')) {
            // What is changed in place is opened at once by itself.
            if ["--data", "--data memory --state"].contains(output) {
                continue;
            }
            let call = place.call(row.words, output, Path::new("/nonexistent/directory/file"));
            let words: Vec<&str> = call.iter().map(String::as_str).collect();
            let told = complaint(&words, 1);
            assert!(
                told.contains("/nonexistent/directory/file"),
                "{call:?}: {told}"
            );
        }
    }
}

#[test]
fn a_dash_is_standard_output_and_no_file() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let call = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_anabranch"));
        let output = command
            .args(words)
            .current_dir(&directory)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let left = fs::read_dir(&directory).unwrap().count();
        assert_eq!(left, 1, "{words:?} left a file");
        output.stdout
    };
    let replay = [
        "replay",
        text(&trace),
        "--unit",
        "1MiB",
        "--scheme",
        "baseline",
    ];
    let with = |more: &[&str]| call(&[&replay[..], more].concat());
    assert_eq!(with(&["-o", "-"]), with(&["--json"]));
    assert!(with(&["--html", "-"]).starts_with(b"<!"));
    assert_eq!(
        call(&["contexts", text(&trace), "-o", "-"]),
        call(&["contexts", text(&trace), "--json"])
    );
    let exported = call(&["export", text(&trace), "--to", "msr", "-o", "-"]);
    assert_eq!(exported.iter().filter(|byte| **byte == b'\n').count(), 1200);
    let drive = [
        "precondition",
        "--size",
        "8MiB",
        "--unit",
        "64KiB",
        "--capacities",
        "1",
        "-o",
        "-",
    ];
    assert!(!call(&drive).is_ascii(), "a drive is kept in bytes");
    let both = complaint(&[&replay[..], &["-o", "-", "--html", "-"]].concat(), 2);
    assert!(both.contains("standard output"), "{both}");
}
