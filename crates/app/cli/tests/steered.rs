//! The page of a steered drive, in a real browser: what `steer` told is on it, and names that others chose are text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod command;

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use browser::{Browser, assert_silent, opens_everywhere, words};
use command::{anabranch, complaint, json as told_by, text};

const EVIL: &str = "</script><img src=x onerror=\"document.title='evil'\">&";

const VERDICT: &str = "steering saves 31.1 % of flash writes, by the models";

const BY_LOG: &str = "no pair is compared yet, by the drive's log";

/// Comparison by the drive's log, after one period.
fn comparison() -> Value {
    json!({
        "period_s": 3600.0, "pairs": 8, "way": "one handle", "dropped_pairs": 0,
        "periods": [{
            "pair": 1, "way": "steered", "settling_bytes": 1_u64 << 30, "host_bytes": 1000, "media_bytes": 1250,
            "waf": 1.25, "foreign_bytes": 0,
        }],
        "mean_waf": null, "difference": null, "verdict": BY_LOG,
    })
}

/// Output of `steer --json`, of a drive with a log and a model.
fn steer_report() -> Value {
    let handles: Vec<Value> = (0..8)
        .map(|handle| {
            let of = if handle == 7 { "metadata and journals" } else { "data" };
            json!({ "handle": handle, "stream": handle, "for": of, "written_bytes": (handle + 1) << 20 })
        })
        .collect();
    json!({
        "schema": 1,
        "config": {
            "verb": "steer", "scheme": "anabranch", "queues": 2, "depth": 64, "zero_copy": true, "directive": "fdp",
        },
        "drive": {
            "model": EVIL, "serial": "qemu-1", "bytes": 1_u64 << 30,
            "host_bytes": 38_000_000, "media_bytes": 47_500_000, "waf": 1.25,
        },
        "verdict": VERDICT,
        "comparison": comparison(),
        "handles": handles,
        "written_bytes": 36 << 20, "read_bytes": 4096, "discarded_bytes": 8192, "zeroed_bytes": 0, "unplaced_bytes": 4096,
        "writes": 9216, "split_writes": 3, "flushes": 12, "errors": 0, "repeated_commands": 0, "unknown_pages": 1,
        "metadata_pages": 2048,
        "tenants": [{ "number": 1, "control_group": format!("system.slice/{EVIL}") }],
        "limitations": [format!("The control group {EVIL} wrote nothing.")],
        "handover": { "found_pages": 9000, "missed_pages": 4 },
        "shadow": {
            "drive": {}, "missed_requests": 5,
            "steered": { "host_pages": 9216, "copied_pages": 2211, "waf": 1.24 },
            "baseline": { "host_pages": 9216, "copied_pages": 7372, "waf": 1.8 },
        },
    })
}

fn page(directory: &TempDir, told: &Value) -> PathBuf {
    let result = directory.path().join("steered.json");
    fs::write(&result, told.to_string()).unwrap();
    let page = directory.path().join("page.html");
    let shown = told_by(&anabranch(&[
        "report",
        text(&result),
        "-o",
        text(&page),
        "--json",
    ]));
    assert_eq!(shown["shown"][0]["steered"], *told);
    page
}

#[test]
fn the_page_of_a_steered_drive_opens_in_silence_and_has_every_picture() {
    let directory = TempDir::new().unwrap();
    let page = page(&directory, &steer_report());
    opens_everywhere(
        &page,
        "verdict,waf,compared,handles,counts,tenants",
        |browser| {
            let headline = words(browser, "h1");
            assert!(
                headline.contains("cost") && headline.contains("1.250 bytes of flash"),
                "{headline}"
            );
            assert!(headline.contains(EVIL), "{headline}");
            let verdict = words(browser, "#verdict");
            assert!(
                verdict.contains(VERDICT) && verdict.contains(BY_LOG),
                "{verdict}"
            );
            let facts = words(browser, ".facts");
            for fact in ["1.250", "1.240", "1.800", "45.3 MiB of flash for 36.2 MiB"] {
                assert!(facts.contains(fact), "{fact}: {facts}");
            }
        },
    );
}

#[test]
fn its_tables_have_the_results_numbers_and_its_names_are_text() {
    let directory = TempDir::new().unwrap();
    let told = steer_report();
    let mut browser = Browser::open(&page(&directory, &told), 1280, "light");
    let warnings = browser.evaluate(
        "[...document.querySelectorAll('.warning')].map((one) => one.textContent).join('|')",
    );
    let warnings = warnings.as_str().unwrap();
    for words in [
        EVIL,
        "5 requests came too fast",
        "4.00 KiB were written without a stream",
    ] {
        assert!(warnings.contains(words), "{words}: {warnings}");
    }
    assert!(words(&mut browser, "#tenants tbody").contains(EVIL));
    assert_eq!(
        browser.evaluate("document.querySelectorAll('img').length"),
        0
    );
    let title = browser.evaluate("document.title");
    assert!(
        title
            .as_str()
            .unwrap()
            .ends_with("steered by anabranch - Anabranch"),
        "{title}"
    );
    let csv = browser.download("handles");
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(rows.len(), 8);
    assert_eq!(rows[0], "0,data,1048576");
    assert_eq!(rows[7], "7,metadata and journals,8388608");
    let csv = browser.download("compared");
    assert_eq!(
        csv.lines().nth(1),
        Some("1,steered,1.25,1073741824,1000,1250,0")
    );
    let csv = browser.download("counts");
    for line in [
        "written_bytes,37748736",
        "split_writes,3",
        "handover.missed_pages,4",
        "shadow.baseline.copied_pages,7372",
    ] {
        assert!(csv.lines().any(|one| one == line), "{line}: {csv}");
    }
    assert_silent(&browser);
}

#[test]
fn a_host_that_collects_has_both_kinds_of_copies_on_the_page() {
    const COLLECTED: &str = "the host wrote 4.00 MiB anew, and the drive copied 1.00 MiB";
    let directory = TempDir::new().unwrap();
    let mut told = steer_report();
    told["collected"] = json!({
        "rewritten_bytes": 4 << 20, "copied_bytes": 1 << 20, "warranty_bytes": 40 << 20, "waf": 1.139, "half_waf": 1.24,
        "unknown_bytes": 0, "left_bytes": 0, "ended_units": 1, "failed_rewrites": 2, "waits": 3, "given_up_at_bytes": null,
        "memory_bytes": 4096, "words": COLLECTED,
    });
    for handle in told["handles"].as_array_mut().unwrap() {
        handle["rewritten_bytes"] = json!(handle["handle"].as_u64().unwrap() << 19);
    }
    let mut browser = Browser::open(&page(&directory, &told), 1280, "light");
    let headline = words(&mut browser, "h1");
    assert!(headline.contains("1.139 bytes of flash"), "{headline}");
    assert!(words(&mut browser, "#verdict").contains(COLLECTED));
    let facts = words(&mut browser, ".facts");
    for fact in ["4.00 MiB", "1.00 MiB", "40.0 MiB"] {
        assert!(facts.contains(fact), "{fact}: {facts}");
    }
    let csv = browser.download("handles");
    assert_eq!(csv.lines().nth(2), Some("1,data,2097152,524288"));
    let csv = browser.download("counts");
    assert!(csv.contains("collected.failed_rewrites,2"), "{csv}");
    assert_silent(&browser);
}

#[test]
fn a_drive_without_a_log_a_model_and_tenants_has_a_page_too() {
    let directory = TempDir::new().unwrap();
    let mut told = steer_report();
    for key in ["host_bytes", "media_bytes", "waf"] {
        told["drive"][key] = Value::Null;
    }
    (told["shadow"], told["handover"]) = (Value::Null, Value::Null);
    told.as_object_mut().unwrap().remove("comparison");
    (told["tenants"], told["limitations"]) = (json!([]), json!([]));
    opens_everywhere(
        &page(&directory, &told),
        "verdict,handles,counts",
        |browser| {
            let headline = words(browser, "h1");
            assert!(
                headline.contains("anabranch steered 36.0 MiB"),
                "{headline}"
            );
        },
    );
}

#[test]
fn a_result_that_is_cut_has_no_page_and_is_not_mixed_with_others() {
    let directory = TempDir::new().unwrap();
    let mut cut = steer_report();
    cut["handles"] = Value::Null;
    let result = directory.path().join("cut.json");
    fs::write(&result, cut.to_string()).unwrap();
    let page = directory.path().join("page.html");
    let words = complaint(&["report", text(&result), "-o", text(&page)], 2);
    assert!(words.contains("no result of `anabranch steer`"), "{words}");
    assert!(!page.exists());
    let words = complaint(
        &["report", text(&result), text(&result), "-o", text(&page)],
        2,
    );
    assert!(words.contains("name it alone"), "{words}");
    assert!(!page.exists());
    let words = complaint(&["diff", text(&result), text(&result)], 2);
    assert!(words.contains("holds no comparison"), "{words}");
}

#[test]
fn what_can_be_read_only_once_has_its_page() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    let mut report = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["report", "/dev/stdin", "-o", text(&page)])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = report.stdin.take().unwrap();
    pipe.write_all(steer_report().to_string().as_bytes())
        .unwrap();
    drop(pipe);
    assert!(report.wait().unwrap().success());
    assert!(fs::read_to_string(&page).unwrap().contains("steered by"));
}
