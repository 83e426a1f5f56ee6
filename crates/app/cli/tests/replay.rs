//! The command as a script uses it: what it prints, and how it ends on bad input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use command::{DEVICE_BYTES, anabranch, complaint, json, replay, text, trace};

#[test]
fn a_trace_is_compared_and_the_result_says_everything_that_decided_it() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let out = directory.path().join("result.json");
    let output = anabranch(&[
        "replay",
        text(&trace),
        "--scheme",
        "all",
        "--unit",
        "1MiB",
        "--json",
        "-o",
        text(&out),
        "--seed",
        "5",
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let result = json(&output);
    assert_eq!(
        result,
        serde_json::from_slice::<Value>(&fs::read(out).unwrap()).unwrap()
    );
    assert_eq!(result["schema"], 3);
    assert_eq!(result["seed"], 5);
    assert_eq!(result["source"]["host_page_bytes"], 1200_u64 << 20);
    assert_eq!(result["source"]["lost_events"], 0);
    assert_eq!(result["device"]["logical_bytes"], DEVICE_BYTES);
    assert_eq!(result["device"]["unit_bytes"], 1 << 20);
    let schemes = result["schemes"].as_array().unwrap();
    let names: Vec<&str> = schemes
        .iter()
        .map(|scheme| scheme["name"].as_str().unwrap())
        .collect();
    let all = anabranch_placement::SCHEMES
        .iter()
        .map(|scheme| scheme.name);
    assert_eq!(names, all.collect::<Vec<_>>());
    for scheme in schemes {
        let of = |key: &str| scheme[key].as_u64().unwrap();
        assert_eq!(
            of("media_bytes"),
            of("host_page_bytes") + of("copied_bytes")
        );
        let streams = scheme["streams"].as_array().unwrap();
        let sum: u64 = streams
            .iter()
            .map(|stream| stream["media_bytes"].as_u64().unwrap())
            .sum();
        assert_eq!(sum, of("media_bytes"));
        assert!(scheme["waf_window"].as_f64().unwrap() >= 1.0);
    }
}

#[test]
fn the_number_of_threads_changes_no_count() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let with = |threads| {
        let options = format!("--unit 1MiB --json --threads {threads}");
        let output = replay(&trace, &options);
        json(&output)["schemes"].clone()
    };
    assert_eq!(with("1"), with("4"));
}

#[test]
fn a_unit_that_does_not_fit_leaves_the_others_of_a_grid() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let one_of = |units| {
        [
            "replay",
            text(&trace),
            "--scheme",
            "baseline",
            "--unit",
            units,
            "--json",
        ]
    };
    let output = anabranch(&one_of("1MiB,1GiB"));
    assert!(output.status.success());
    assert_eq!(json(&output)["device"]["unit_bytes"], 1 << 20);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("1GiB") && said.contains("the other drives"),
        "{said}"
    );
    // Where none fits there is nothing to compare.
    complaint(&one_of("1GiB,2GiB"), 2);
}

#[test]
fn lists_multiply_into_a_grid() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let output = replay(
        &trace,
        "--scheme baseline,pcstream:samples=100,alpha=0.5 --streams 2,4 --unit 512KiB,1MiB --json",
    );
    let results = json(&output)["results"].clone();
    let drives: Vec<(u64, u64)> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            assert_eq!(result["schemes"].as_array().unwrap().len(), 2);
            assert_eq!(result["schemes"][1]["parameters"]["samples"], "100");
            let device = &result["device"];
            (
                device["host_streams"].as_u64().unwrap(),
                device["unit_bytes"].as_u64().unwrap() >> 19,
            )
        })
        .collect();
    assert_eq!(drives, [(2, 1), (2, 2), (4, 1), (4, 2)]);
}

#[test]
fn the_victim_rule_is_an_option_like_any_other() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let output = replay(&trace, "--unit 512KiB --victim fifo,3-choices --json");
    let results = json(&output)["results"].clone();
    let rule = |index: usize| results[index]["device"]["victim_rule"].clone();
    assert_eq!([rule(0), rule(1)], ["fifo", "3-choices"]);
    assert_ne!(
        results[0]["schemes"][0]["copied_bytes"],
        results[1]["schemes"][0]["copied_bytes"]
    );
    let said = complaint(&["replay", text(&trace), "--victim", "greddy"], 2);
    assert!(said.contains("cost-benefit"), "{said}");
}

#[test]
fn the_seed_decides_what_is_drawn_and_nothing_else_does() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let copied = |seed| {
        let options =
            format!("--unit 512KiB --victim random --scheme baseline --seed {seed} --json");
        let output = replay(&trace, &options);
        let result = json(&output);
        assert_eq!(result["seed"].to_string(), seed);
        result["schemes"][0]["copied_bytes"].clone()
    };
    assert_eq!(copied("1"), copied("1"));
    assert_ne!(copied("1"), copied("2"));
}

#[test]
fn fill_sizes_the_drive_by_what_is_ever_written() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let output = replay(&trace, "--scheme baseline --fill 50% --unit 1MiB --json");
    let device = json(&output)["device"].clone();
    assert_eq!(device["logical_bytes"], 2 * (56 << 20));
}

#[test]
fn raw_page_numbers_are_replayed_by_name_or_by_word() {
    let directory = TempDir::new().unwrap();
    let named = directory.path().join("pages.u32");
    let plain = directory.path().join("pages");
    let bytes: Vec<u8> = (0..5000_u32)
        .flat_map(|page| (page % 1000).to_le_bytes())
        .collect();
    fs::write(&named, &bytes).unwrap();
    fs::write(&plain, &bytes).unwrap();
    let by_name = anabranch(&["replay", text(&named), "--json", "--scheme", "baseline"]);
    let by_word = anabranch(&[
        "replay",
        text(&plain),
        "--format",
        "u32",
        "--json",
        "--scheme",
        "baseline",
    ]);
    assert_eq!(json(&by_name)["source"]["host_page_bytes"], 5000 * 4096);
    assert_eq!(json(&by_name)["schemes"], json(&by_word)["schemes"]);
}

#[test]
fn a_drive_that_never_filled_says_so_in_words() {
    let directory = TempDir::new().unwrap();
    let pages = directory.path().join("pages.u32");
    fs::write(&pages, 7_u32.to_le_bytes()).unwrap();
    let output = anabranch(&["replay", text(&pages), "--scheme", "baseline"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("steady state: NO") && table.contains("garbage collection never began"),
        "{table}"
    );
}

#[test]
fn contexts_are_listed_with_bytes_lifetimes_and_stream() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let output = anabranch(&["contexts", text(&trace), "--json"]);
    let rows = json(&output)["contexts"].clone();
    let row = |role: &str| {
        rows.as_array()
            .unwrap()
            .iter()
            .find(|row| row["role"] == role)
            .unwrap()
            .clone()
    };
    assert_eq!(row("role1")["written_bytes"], 600_u64 << 20);
    // The log is rewritten every eighth round, after 16 MiB of writes.
    let median = row("role1")["lifetime_p50_bytes"].as_f64().unwrap();
    assert!(
        (median / f64::from(16 << 20) - 1.0).abs() < 0.05,
        "{median}"
    );
    assert_ne!(row("role1")["stream"], row("role2")["stream"]);
    let table =
        String::from_utf8(anabranch(&["contexts", text(&trace), "--most", "1"]).stdout).unwrap();
    assert!(table.contains("1 more contexts wrote"), "{table}");
}

#[test]
fn wrong_use_is_met_with_the_remedy_and_status_2() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let trace = text(&trace);
    for (arguments, words) in [
        (vec!["--scheme", "pcstrem"], "did you mean `pcstream`"),
        (vec!["--scheme", "pcstream:sample=3"], "samples"),
        (
            vec!["--device", "pcstream-emulater"],
            "did you mean \"pcstream-emulator\"",
        ),
        (vec!["--device", "missing.toml"], "missing.toml"),
        (vec!["--unit", "1000"], "no whole number of 4096-byte pages"),
        (vec!["--unit", "lots"], "64MiB"),
        (vec!["--over-provisioning", "0"], "over-provisioning"),
        (
            vec!["--streams", "0"],
            "--streams 1 is one without placement",
        ),
        (
            vec!["--size", "16MiB", "--unit", "256KiB"],
            "does not fit a drive",
        ),
        (vec!["--fill", "0"], "above 0"),
        (vec!["--fill", "120%"], "no share"),
    ] {
        let all: Vec<&str> = ["replay", trace].into_iter().chain(arguments).collect();
        let said = complaint(&all, 2);
        assert!(
            said.starts_with("anabranch: ") && said.contains(words),
            "{all:?}: {said}"
        );
    }
    let said = complaint(&["replay", trace, "--threads", "0"], 2);
    assert!(
        said.contains("\"0\" is no whole number from 1 on"),
        "{said}"
    );
}

#[test]
fn a_file_that_is_no_trace_is_named_with_what_is_wrong() {
    let directory = TempDir::new().unwrap();
    let good = fs::read(trace(&directory)).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let cut = write("cut.parquet", &good[..good.len() / 2]);
    let empty = write("empty.parquet", b"");
    let foreign = write("notes.parquet", b"these are notes, and no trace at all");
    let odd = write("odd.u32", b"12345");
    let missing = directory.path().join("missing.parquet");
    for (path, words) in [
        (&cut, "cut off"),
        (&empty, "empty"),
        (&foreign, "not a Parquet file"),
        (&odd, "u32"),
        (&missing, "cannot open"),
        (&directory.path().to_owned(), "not a regular file"),
    ] {
        for verb in ["replay", "contexts"] {
            let said = complaint(&[verb, text(path)], 2);
            assert!(
                said.contains(path.file_name().unwrap().to_str().unwrap()),
                "{said}"
            );
            assert!(
                said.contains(words) || verb == "contexts" && said.contains("page numbers"),
                "{said}"
            );
        }
    }
}

#[test]
fn an_output_that_cannot_be_written_fails_and_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let output = replay(&trace, "--unit 1MiB -o /nonexistent/result.json");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("/nonexistent/result.json"), "{said}");
}

#[test]
fn every_verb_shows_an_example_and_every_list_its_rows() {
    for verb in ["replay", "contexts", "schemes", "devices"] {
        let help = String::from_utf8(anabranch(&[verb, "--help"]).stdout).unwrap();
        assert!(
            help.contains("Example") && help.contains(&format!("anabranch {verb}")),
            "{help}"
        );
    }
    let schemes = json(&anabranch(&["schemes", "--json"]));
    assert!(
        schemes["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["source"] != "")
    );
    let shown =
        String::from_utf8(anabranch(&["devices", "--show", "pcstream-emulator"]).stdout).unwrap();
    assert!(shown.contains("pages_per_block = 384"));
}

#[test]
fn a_load_that_ends_before_it_has_written_what_was_asked_for_says_so() {
    let said = |write: &str| {
        let load = format!("synthetic:rocksdb-update:size=512MiB,write={write}");
        let output = anabranch(&["replay", &load, "--scheme", "baseline", "--unit", "2MiB"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let words = said("40GiB");
    assert!(words.contains(" of the 40.00 GiB asked for"), "{words}");
    assert_eq!(said("600MiB"), "");
}
