//! The page of a sweep, in a real browser: its pictures are drawn, and its numbers are the cells'.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod command;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anabranch_trace::{Io, Writer};
use serde_json::Value;
use tempfile::TempDir;

use browser::{Browser, assert_silent, opens_everywhere, words};
use command::{anabranch, complaint, json, text};

const VOLUMES: u64 = 12;
/// Two kinds of drives.
const DRIVES: usize = 2;
const SCHEMES: usize = 4;

/// A volume whose writes are more skewed the higher its number.
fn volume(directory: &Path, number: u64) {
    let path = directory.join(format!("volume-{number:02}.parquet"));
    let mut writer = Writer::create(path).unwrap();
    let mut state = number + 1;
    for _ in 0..12_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uniform = (state >> 33) as f64 / f64::from(1_u32 << 31);
        let page = (uniform.powf(1.0 + number as f64 / 2.0) * 3_800.0) as u64;
        writer.push(&Io::write(page * 4096, 4096)).unwrap();
    }
    writer.finish(&command::tables(16 << 20, &[])).unwrap();
}

/// Sweeps a small fleet, and answers with its directory and its summary.
fn swept(directory: &TempDir) -> (PathBuf, Value) {
    (0..VOLUMES).for_each(|number| volume(directory.path(), number));
    let grid = directory.path().join("grid.toml");
    let words = format!(
        "traces = '{}/*.parquet'\nschemes = ['baseline+gc', 'sepbit', 'dac', 'oracle']\n[drive]\n\
         size = '16MiB'\nunit = '256KiB'\nover_provisioning = ['10%', '25%']\nstreams = 4\n",
        directory.path().display()
    );
    fs::write(&grid, words).unwrap();
    let fleet = directory.path().join("fleet");
    let output = anabranch(&["sweep", text(&grid), "-o", text(&fleet), "--json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (fleet, json(&output))
}

fn page(directory: &TempDir, fleet: &Path) -> PathBuf {
    let page = directory.path().join("fleet.html");
    let output = anabranch(&["report", text(fleet), "-o", text(&page)]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    page
}

#[test]
fn the_page_of_a_sweep_opens_in_silence_and_has_every_picture() {
    let directory = TempDir::new().unwrap();
    let (fleet, summary) = swept(&directory);
    let page = page(&directory, &fleet);
    let sections = "verdict,parameters,distribution,boxes,wins,cells";
    opens_everywhere(&page, sections, |_| ());
    the_verdict_is_of_the_summary(&page, &summary);
    what_is_clicked_answers(&page);
    the_csv_has_every_cell(&page, &summary);
}

/// The headline's scheme is the one under which the flash is written least, and can be built.
fn the_verdict_is_of_the_summary(page: &Path, summary: &Value) {
    let mut browser = Browser::open(page, 1280, "light");
    let groups = summary["groups"].as_array().unwrap();
    let drive = words(&mut browser, "#verdict .lead");
    assert!(drive.contains("16.0 MiB"), "{drive}");
    // Both have the drives in the order of their names.
    let of_drive = |group: &&Value| group["drive"] == groups[0]["drive"];
    let here: Vec<&Value> = groups.iter().filter(of_drive).collect();
    assert_eq!(here.len(), SCHEMES, "{drive}");
    let waf = |group: &Value| group["waf_of_all"].as_f64().unwrap();
    let buildable = here.iter().filter(|group| group["is_bound"] == false);
    let best = buildable
        .min_by(|one, other| waf(one).total_cmp(&waf(other)))
        .unwrap();
    let headline = words(&mut browser, "h1");
    assert!(
        headline.contains(best["scheme"].as_str().unwrap()),
        "{headline}"
    );
    let facts = words(&mut browser, ".facts");
    assert!(facts.contains(&format!("{:.2}", waf(best))), "{facts}");
    let worse = format!("{} of {VOLUMES}", best["worse_than_ordinary"]);
    assert!(facts.contains(&worse), "{facts}");
}

fn what_is_clicked_answers(page: &Path) {
    let mut browser = Browser::open(page, 1280, "light");
    let lines = "document.querySelectorAll('#distribution path').length";
    assert_eq!(browser.evaluate(lines), SCHEMES);
    browser.evaluate("document.querySelector('#distribution .legend button').click()");
    browser.settle();
    assert_eq!(browser.evaluate(lines), SCHEMES - 1);
    browser
        .evaluate("[...document.querySelectorAll('#distribution .choice button')].at(-1).click()");
    browser.settle();
    let axis = words(&mut browser, "#distribution svg");
    assert!(axis.contains("copies spared"), "{axis}");
    // The heat map has a cell a drive, and a click shows it.
    let cells = "document.querySelectorAll('#heat rect')";
    assert_eq!(browser.evaluate(&format!("{cells}.length")), DRIVES);
    let before = words(&mut browser, "#verdict .lead");
    browser.evaluate(&format!(
        "[...{cells}].at(-1).dispatchEvent(new MouseEvent('click'))"
    ));
    assert_ne!(words(&mut browser, "#verdict .lead"), before);
    assert_silent(&browser);
}

fn the_csv_has_every_cell(page: &Path, summary: &Value) {
    let mut browser = Browser::open(page, 1280, "light");
    let csv = browser.download("cells");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + VOLUMES as usize * DRIVES * SCHEMES);
    let heading: Vec<&str> = lines[0].split(',').collect();
    let at = |name: &str| heading.iter().position(|one| *one == name).unwrap();
    let (scheme, host, media) = (at("scheme"), at("host_page_bytes"), at("media_bytes"));
    let bytes = |of: usize| {
        let rows = lines[1..]
            .iter()
            .map(|line| line.split(',').collect::<Vec<&str>>());
        let of_baseline = rows.filter(|row| row[scheme] == "baseline+gc");
        of_baseline
            .map(|row| row[of].parse::<u64>().unwrap())
            .sum::<u64>()
    };
    let all = bytes(media) as f64 / bytes(host) as f64;
    let groups = summary["groups"].as_array().unwrap().iter();
    let bases: Vec<f64> = groups
        .filter(|group| group["scheme"] == "baseline+gc")
        .map(|group| group["waf_of_all"].as_f64().unwrap())
        .collect();
    let mean = bases.iter().sum::<f64>() / bases.len() as f64;
    assert!((all - mean).abs() < 1e-9, "{all} and {mean}");
    // A click on a heading sorts.
    let wafs = "[...document.querySelectorAll('#cells tbody tr')].map((row) => Number(row.cells[3].textContent))";
    browser.evaluate(
        "[...document.querySelectorAll('#cells th button')].find((one) => one.textContent === 'WAF').click()",
    );
    let sorted = browser.evaluate(wafs);
    let sorted: Vec<f64> = sorted
        .as_array()
        .unwrap()
        .iter()
        .map(|waf| waf.as_f64().unwrap())
        .collect();
    assert!(sorted.is_sorted_by(|one, next| one >= next), "{sorted:?}");
    assert_silent(&browser);
}

#[test]
fn what_is_no_sweep_is_wrong_input_and_leaves_no_page() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    let said = complaint(&["report", text(directory.path()), "-o", text(&page)], 2);
    assert!(said.contains("holds no cells of a sweep"), "{said}");
    let file = directory.path().join("result.json");
    fs::write(&file, "{}").unwrap();
    let said = complaint(
        &[
            "report",
            text(directory.path()),
            text(&file),
            "-o",
            text(&page),
        ],
        2,
    );
    assert!(said.contains("pages of their own"), "{said}");
    assert!(!page.exists());
}

#[test]
fn a_sweep_elsewhere_runs_no_module_of_the_current_directory() {
    let directory = TempDir::new().unwrap();
    let planted = "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()\n";
    for module in ["anabranch.py", "distributed.py", "runpy.py"] {
        fs::write(directory.path().join(module), planted).unwrap();
    }
    fs::write(
        directory.path().join("grid.toml"),
        "traces = ['x.parquet']\n",
    )
    .unwrap();
    let words = [
        "sweep",
        "grid.toml",
        "-o",
        "fleet",
        "--scheduler",
        "tcp://127.0.0.1:1",
    ];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(words)
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let ran: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "ran"))
        .collect();
    assert!(ran.is_empty(), "{ran:?}");
}
