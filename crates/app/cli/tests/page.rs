//! The page, in a real browser: it opens in silence, its pictures answer, its numbers are the result's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod command;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anabranch_trace::{Context, ContextId, ContextKind, Frame, Io, Writer};
use serde_json::Value;
use tempfile::TempDir;

use browser::{Browser, assert_silent, opens_everywhere, words};
use command::{anabranch, complaint, text, trace};

/// Bytes of a page at most.
const MOST_BYTES: u64 = 2_000_000;
const ROCKSDB: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../traces/rocksdb-demo.parquet"
);

/// Replays with a page and a result, and answers both.
fn replay(directory: &TempDir, arguments: &[&str]) -> (PathBuf, Value) {
    let (page, result, _) = replay_printed(directory, arguments);
    (page, result)
}

/// Replays with a page and a result, and answers both, and the text that is printed.
fn replay_printed(directory: &TempDir, arguments: &[&str]) -> (PathBuf, Value, String) {
    let page = directory.path().join("page.html");
    let result = directory.path().join("result.json");
    let files = ["--html", text(&page), "-o", text(&result)];
    let output = anabranch(&[&["replay"], arguments, &files].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert!(fs::metadata(&page).unwrap().len() <= MOST_BYTES);
    let result = serde_json::from_slice(&fs::read(result).unwrap()).unwrap();
    (page, result, String::from_utf8(output.stdout).unwrap())
}

fn open(page: &Path) -> Browser {
    let browser = Browser::open(page, 1280, "light");
    assert_silent(&browser);
    browser
}

/// The rows of a CSV file without quoted cells.
fn rows(csv: &str) -> Vec<Vec<&str>> {
    let lines = csv.lines().skip(1);
    lines.map(|line| line.split(',').collect()).collect()
}

#[test]
fn the_page_of_a_rocksdb_replay_opens_in_silence_and_has_every_picture() {
    let directory = TempDir::new().unwrap();
    // A path longer than a telephone is wide.
    let far = directory.path().join("x".repeat(60));
    fs::create_dir(&far).unwrap();
    let trace = far.join("rocksdb-demo.parquet");
    fs::copy(ROCKSDB, &trace).unwrap();
    let (page, _) = replay(&directory, &[text(&trace), "--time", "closed"]);
    let sections = "verdict,waf,map,flame,contexts,streams,scatter,histograms,latency,latency-over-time,throughput,\
                    erases,schemes,settings";
    opens_everywhere(&page, sections, |browser| {
        let headline = words(browser, "h1");
        assert!(headline.contains("the flash lasts"), "{headline}");
    });
}

#[test]
fn the_slider_moves_the_map_and_pointing_tells_a_unit() {
    let directory = TempDir::new().unwrap();
    let (page, result) = replay(&directory, &[ROCKSDB, "--scheme", "baseline,pcstream"]);
    let mut browser = open(&page);
    let picture =
        "[...document.querySelectorAll('.maps canvas')].map((one) => one.toDataURL()).join()";
    let moments = &result["schemes"][0]["details"]["map"]["moments"];
    assert_eq!(
        browser.evaluate("Number(document.querySelector('#map input').max)"),
        moments.as_array().unwrap().len() - 1
    );
    let end = browser.evaluate(picture);
    browser.evaluate(
        "{ const slider = document.querySelector('#map input'); slider.value = '2'; \
         slider.dispatchEvent(new Event('input')); }",
    );
    let early = browser.evaluate(picture);
    assert_ne!(end, early);
    browser.evaluate("document.querySelector('#map .choice button:last-child').click()");
    let by_stream = browser.evaluate(picture);
    assert_ne!(by_stream, early, "streams have other colours than writers");
    browser.evaluate(
        "{ const canvas = document.querySelector('.maps canvas'); \
         const box = canvas.getBoundingClientRect(); \
         const place = { clientX: box.left + 5, clientY: box.top + 5 }; \
         canvas.dispatchEvent(new PointerEvent('pointermove', place)); }",
    );
    let told = words(&mut browser, "#map .note-line");
    assert!(told.starts_with("baseline, unit 0"), "{told}");
    assert_silent(&browser);
}

#[test]
fn a_table_sorts_and_filters() {
    let directory = TempDir::new().unwrap();
    let (page, _) = replay(&directory, &[ROCKSDB, "--scheme", "baseline,pcstream"]);
    let mut browser = open(&page);
    let ids = "[...document.querySelectorAll('#contexts tbody tr')]\
               .map((row) => Number(row.cells[0].textContent))";
    let by_bytes = browser.evaluate(ids);
    browser.evaluate("document.querySelector('#contexts th button').click()");
    let by_id = browser.evaluate(ids);
    let numbers = by_id.as_array().unwrap().iter();
    let numbers: Vec<i64> = numbers.map(|id| id.as_i64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    assert_ne!(by_bytes, by_id);
    browser.evaluate(
        "{ const filter = document.querySelector('#contexts input'); filter.value = 'journal'; \
         filter.dispatchEvent(new Event('input')); }",
    );
    let left = browser.evaluate(
        "[...document.querySelectorAll('#contexts tbody tr')].map((row) => row.textContent)",
    );
    let left = left.as_array().unwrap();
    let is_journal = |row: &Value| row.as_str().unwrap().contains("journal");
    assert!(!left.is_empty() && left.iter().all(is_journal), "{left:?}");
}

#[test]
fn the_csv_holds_the_results_numbers() {
    let directory = TempDir::new().unwrap();
    let schemes = ["--scheme", "baseline+gc,pcstream"];
    let (page, result) = replay(&directory, &[&[ROCKSDB], &schemes[..]].concat());
    let mut browser = open(&page);
    let schemes = result["schemes"].as_array().unwrap();
    let csv = browser.download("schemes");
    assert_eq!(rows(&csv).len(), schemes.len());
    for (row, scheme) in rows(&csv).iter().zip(schemes) {
        assert_eq!(row[0], scheme["name"]);
        assert_eq!(row[1].parse::<f64>().unwrap(), scheme["waf_window"]);
        assert_eq!(row[2].parse::<f64>().unwrap(), scheme["waf"]);
        assert_eq!(row[7].parse::<u64>().unwrap(), scheme["copied_bytes"]);
    }
    browser.evaluate("document.querySelector('#waf summary').click()");
    browser.settle();
    let csv = browser.download("waf");
    let points: Vec<[u64; 2]> = rows(&csv)
        .iter()
        .filter(|row| row[0] == schemes[0]["name"])
        .map(|row| [row[1].parse().unwrap(), row[2].parse().unwrap()])
        .collect();
    let series = schemes[0]["series"].as_array().unwrap().iter();
    let series = series.map(|point| {
        let of = |key: &str| point[key].as_u64().unwrap();
        [of("host_page_bytes"), of("media_bytes")]
    });
    assert_eq!(points, series.collect::<Vec<_>>());
    let csv = browser.download("contexts");
    let first = &result["details"]["contexts"][0];
    let id = first["id"].as_u64().unwrap().to_string();
    let row = csv.lines().find(|line| line.starts_with(&format!("{id},")));
    let written = first["written_bytes"].to_string();
    assert!(row.unwrap().contains(&format!(",{written},")), "{row:?}");
    assert_silent(&browser);
}

#[test]
fn latencies_are_drawn_over_time_with_collection_behind_them() {
    let directory = TempDir::new().unwrap();
    let schemes = ["--scheme", "baseline,pcstream"];
    let (page, result) = replay(
        &directory,
        &[&[ROCKSDB, "--time", "closed"], &schemes[..]].concat(),
    );
    let mut browser = open(&page);
    let figure = "document.querySelector('#latency-over-time')";
    let panels = browser.evaluate(&format!("{figure}.querySelectorAll('.uplot').length"));
    assert_eq!(panels, 2, "baseline and the best scheme");
    let picture = format!("{figure}.querySelector('canvas').toDataURL()");
    let drawn = browser.evaluate(&picture);
    browser.evaluate(&format!("{figure}.querySelector('.legend button').click()"));
    browser.settle();
    assert_ne!(browser.evaluate(&picture), drawn, "a curve can be hidden");
    browser.evaluate(&format!("{figure}.querySelector('summary').click()"));
    browser.settle();
    let csv = browser.download("latency-over-time");
    let mut lines = rows(&csv).into_iter();
    let mut collecting = 0;
    for scheme in result["schemes"].as_array().unwrap() {
        for interval in scheme["time"]["intervals"].as_array().unwrap() {
            let latency = &interval["write_latency"];
            if latency.is_null() {
                continue;
            }
            let row = lines.next().unwrap();
            assert_eq!(
                (row[0], row[2]),
                (scheme["name"].as_str().unwrap(), "write")
            );
            for (cell, value) in [
                (row[1], &interval["start_ns"]),
                (row[3], &latency["p50_ns"]),
                (row[4], &latency["p99_ns"]),
                (row[5], &latency["p99_9_ns"]),
                (row[6], &interval["collection_busy_ns"]),
            ] {
                assert_eq!(cell.parse::<u64>().unwrap(), value.as_u64().unwrap());
            }
            collecting += u32::from(interval["collection_busy_ns"] != 0);
        }
    }
    assert!(lines.next().is_none() && collecting > 0, "{collecting}");
    assert_silent(&browser);
}

#[test]
fn a_grid_is_a_heat_map_whose_cells_open_their_result() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let streams = ["--streams", "2,4", "--internal-streams", "2,4,8"];
    let arguments = [&[text(&trace), "--unit", "1MiB"], &streams[..]].concat();
    let (page, result) = replay(&directory, &arguments);
    assert_eq!(result["results"].as_array().unwrap().len(), 6);
    let mut browser = open(&page);
    let cells = "document.querySelectorAll('#heat rect')";
    assert_eq!(browser.evaluate(&format!("{cells}.length")), 6);
    let shown = "document.querySelector('main > .controls select').value";
    assert_eq!(browser.evaluate(shown), "0");
    let click = "dispatchEvent(new MouseEvent('click'))";
    browser.evaluate(&format!("[...{cells}].at(-1).{click}"));
    assert_eq!(browser.evaluate(shown), "5");
    assert_silent(&browser);
}

/// The sentences of a verdict.
fn sentences(result: &Value) -> Vec<String> {
    let verdict = &result["verdict"];
    let warnings = verdict["warnings"].as_array().unwrap().iter();
    let all = ["headline", "evidence", "takes", "next"].map(|key| &verdict[key]);
    let drives = verdict["drives"].as_array().unwrap().iter();
    let drives = drives.flat_map(|drive| [&drive["title"], &drive["words"]]);
    let all = all.into_iter().chain(warnings).chain(drives);
    let all = all.map(|words| words.as_str().unwrap().to_owned());
    all.filter(|words| !words.is_empty()).collect()
}

#[test]
fn the_verdict_has_the_same_words_on_the_terminal_on_the_page_and_as_json() {
    let directory = TempDir::new().unwrap();
    let own = trace(&directory);
    let own = text(&own);
    let uniform = directory.path().join("uniform.u32");
    fs::write(&uniform, random_pages(60_000, 1 << 12)).unwrap();
    // Worth it but for refused hints; not worth it; too little written to judge.
    let questions: [(&[&str], &str); 3] = [
        (&[ROCKSDB], "the kernel refused"),
        (
            &[text(&uniform), "--unit", "64KiB", "--fill", "90%"],
            "Not worth it",
        ),
        (&[own, "--size", "16GiB"], "No answer yet"),
    ];
    for (arguments, part) in questions {
        let (page, result, told) = replay_printed(&directory, arguments);
        let shown = words(&mut open(&page), "#verdict");
        let sentences = sentences(&result);
        assert!(sentences.concat().contains(part), "{sentences:?}");
        for sentence in sentences {
            assert!(told.contains(&sentence), "{sentence}: {told}");
            assert!(shown.contains(&sentence), "{sentence}: {shown}");
        }
    }
}

#[test]
fn one_scheme_and_all_schemes_have_a_page() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let drive = [text(&trace), "--unit", "1MiB", "--scheme"];
    let (page, _) = replay(&directory, &[&drive[..], &["pcstream"]].concat());
    let headline = words(&mut open(&page), "h1");
    assert!(headline.contains("pcstream"), "{headline}");
    let all = ["all", "--time", "closed"];
    let (page, result) = replay(&directory, &[&drive[..], &all].concat());
    let rows = open(&page).evaluate("document.querySelectorAll('#schemes tbody tr').length");
    assert_eq!(rows, result["schemes"].as_array().unwrap().len());
}

/// Page numbers as a file of them holds, drawn at random below a power of two.
fn random_pages(count: usize, pages: u32) -> Vec<u8> {
    // A generator of full period modulo 2^32 (Hull and Dobell); its high bits are the random ones.
    let next = |state: &u32| Some(state.wrapping_mul(0x2_F415).wrapping_add(0x3_0F01));
    let states = std::iter::successors(Some(1_u32), next).take(count);
    states
        .flat_map(|state| (state >> 14 & (pages - 1)).to_le_bytes())
        .collect()
}

#[test]
fn ten_million_writes_of_nobody_known_have_a_small_page() {
    let directory = TempDir::new().unwrap();
    let trace = directory.path().join("uniform.u32");
    // The pages of a 1 GiB drive.
    fs::write(&trace, random_pages(10_000_000, 1 << 18)).unwrap();
    let drive = ["--size", "1GiB", "--unit", "256KiB"];
    let schemes = ["--scheme", "baseline,autostream-sfr"];
    let arguments = [&[text(&trace)], &drive[..], &schemes[..]].concat();
    let (page, result) = replay(&directory, &arguments);
    assert_eq!(result["source"]["records"], 10_000_000);
    let map = &result["schemes"][0]["details"]["map"];
    assert!(map["cells"].as_u64().unwrap() <= 2048);
    assert!(map["units_per_cell"].as_u64().unwrap() > 1);
    let mut browser = open(&page);
    let map = words(&mut browser, "#map p");
    assert!(map.contains("Each cell stands for"), "{map}");
    let flame = words(&mut browser, "#flame p");
    assert!(flame.contains("no program contexts"), "{flame}");
}

const EVIL_ROLE: &str = "</script><script>stolen=1</script>";
const EVIL_CALL: &str = "<img src=x onerror=stolen=1>";

#[test]
fn names_are_shown_as_they_are_and_never_run() {
    let directory = TempDir::new().unwrap();
    let trace = hostile_trace(&directory);
    let schemes = ["--unit", "1MiB", "--scheme", "baseline,pcstream"];
    let (page, _) = replay(&directory, &[&[text(&trace)], &schemes[..]].concat());
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("</script>").count(), 2);
    let mut browser = open(&page);
    assert_eq!(browser.evaluate("typeof globalThis.stolen"), "undefined");
    let shown = words(&mut browser, "#contexts");
    assert!(
        shown.contains(EVIL_ROLE) && shown.contains(EVIL_CALL),
        "{shown}"
    );
    let csv = browser.download("contexts");
    assert!(csv.contains("\"'=HYPERLINK(\"\"x\"\")"), "{csv}");
    assert_silent(&browser);
}

/// A trace whose contexts have the worst names there are.
fn hostile_trace(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("hostile.parquet");
    let mut writer = Writer::create(&path).unwrap();
    for round in 0..900_u64 {
        let io = Io {
            context: ContextId(1 + (round % 2) as u32),
            ..Io::write((round * 7 % 60) << 20, 1 << 20)
        };
        writer.push(&io).unwrap();
    }
    let mut tables = command::tables(command::DEVICE_BYTES, &[]);
    for (id, role, call) in [(1, EVIL_ROLE, EVIL_CALL), (2, "b", "=HYPERLINK(\"x\")")] {
        tables.contexts.push(Context {
            id: ContextId(id),
            signature: u64::from(id),
            kind: ContextKind::Application,
            role: role.to_owned(),
            frames: vec![Frame {
                build_id: String::new(),
                object: "a.out".to_owned(),
                file_offset: 1,
                symbol: Some(call.to_owned()),
            }],
            generation: 0,
        });
    }
    writer.finish(&tables).unwrap();
    path
}

#[test]
fn a_result_without_details_shows_what_it_can_and_says_how_to_get_the_rest() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let result = directory.path().join("plain.json");
    let page = directory.path().join("plain.html");
    let made = anabranch(&[
        "replay",
        text(&trace),
        "--unit",
        "1MiB",
        "-o",
        text(&result),
    ]);
    assert!(made.status.success());
    let json = fs::read_to_string(&result).unwrap();
    assert!(!json.contains("\"details\""));
    let made = anabranch(&["report", text(&result), "-o", text(&page)]);
    assert!(made.status.success());
    let mut browser = open(&page);
    let map = words(&mut browser, "#map");
    assert!(map.contains("--details"), "{map}");
    let curves = browser.evaluate("document.querySelectorAll('#waf .uplot').length");
    assert_eq!(curves, 1);
}

#[test]
fn a_broken_result_is_wrong_input_and_leaves_no_page() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    let broken = directory.path().join("broken.json");
    for (content, word) in [
        ("{\"schema\": 3", "EOF"),
        ("{\"schema\": 3, \"results\": []}", "no result"),
        ("{\"schema\": 9}", "schema 9"),
        ("[1, 2]", "schema"),
        ("{\"schema\": 3, \"seed\": \"x\"}", "no result"),
    ] {
        fs::write(&broken, content).unwrap();
        let said = complaint(&["report", text(&broken), "-o", text(&page)], 2);
        assert!(
            said.contains(word) && said.contains("broken.json"),
            "{said}"
        );
        assert!(!page.exists());
    }
    let said = complaint(&["report", "nowhere.json"], 2);
    assert!(said.contains("nowhere.json"), "{said}");
}

#[test]
fn an_experiments_file_is_a_grid_over_what_it_varied() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let drive = ["--unit", "1MiB", "--scheme", "baseline,pcstream"];
    let (page, result) = replay(&directory, &[&[text(&trace)], &drive[..]].concat());
    let cell = |seen: &str| serde_json::json!({ "at": { "seen": seen }, "result": result });
    let run =
        serde_json::json!({ "name": "one", "comparisons": [cell("a"), cell("b"), cell("c")] });
    let file = directory.path().join("experiment.json");
    let json = serde_json::json!({ "schema": 3, "name": "mine", "runs": [run] });
    fs::write(&file, json.to_string()).unwrap();
    let made = anabranch(&["report", text(&file), "-o", text(&page)]);
    assert!(made.status.success(), "{made:?}");
    let mut browser = open(&page);
    let cells = browser.evaluate("document.querySelectorAll('#heat rect').length");
    assert_eq!(cells, 3);
    let heat = words(&mut browser, "#heat");
    assert!(heat.contains("seen"), "{heat}");
    assert_silent(&browser);
}
