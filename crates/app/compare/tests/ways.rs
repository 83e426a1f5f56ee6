//! Other ways than streams to spare copies, and when discards reach the drive.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use anabranch_compare::{ReplayOptions, Result, TraceFile, Unwatched, read_text, replay, schemes};
use anabranch_replay::{Comparison, Lever, ORDINARY};
use serde_json::{Value, json};

/// Four writers whose data live differently long.
const LOAD: &str = "synthetic:fio-fms16:size=64MiB,write=512MiB";

fn shipped(name: &str) -> String {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../traces");
    traces.join(name).to_str().unwrap().to_owned()
}

fn compared(trace: &str, options: &Value) -> Result<Comparison> {
    let options = options.as_object().unwrap().clone();
    let options = ReplayOptions::named(options)?;
    let specs = schemes(&options.comparison, true, &read_text)?;
    let trace = TraceFile::open(Path::new(trace), None, false)?;
    let mut results = replay(&options, &specs, &[&trace], &mut Unwatched)?;
    Ok(results.remove(0))
}

#[test]
fn a_drive_with_the_spare_that_is_named_is_as_good_as_streams() {
    let found = compared(LOAD, &json!({ "unit": "256KiB" })).unwrap();
    let verdict = found.verdict.clone().unwrap();
    let more = verdict
        .other_ways
        .iter()
        .find(|way| way.way == Lever::MoreSpare);
    let (spare, waf) = more
        .map(|way| (way.spare.unwrap(), way.waf.unwrap()))
        .unwrap();
    let ways = found.other_ways.unwrap();
    let falls = |pair: &[anabranch_replay::WafAtSpare]| {
        pair[0].spare < pair[1].spare && pair[0].waf >= pair[1].waf * 0.99
    };
    assert!(ways.spares.windows(2).all(falls), "{:?}", ways.spares);
    // The same drive by its option has that WAF.
    let named = json!({
        "unit": "256KiB", "scheme": [ORDINARY], "over-provisioning": spare.to_string(),
    });
    let own = compared(LOAD, &named).unwrap();
    let own_waf = own.schemes[0].waf_window.unwrap();
    assert!(
        (own_waf / waf - 1.0).abs() < 0.05,
        "{spare}: {own_waf} and {waf}"
    );
    // Nothing is measured where schemes are named.
    assert!(own.other_ways.is_none());
}

#[test]
fn endurance_is_reckoned_from_what_is_known_and_asked_for_otherwise() {
    let load = "synthetic:fio-fms16:size=64MiB,write=256MiB";
    let with = |options: Value| {
        let mut all = json!({ "unit": "256KiB", "scheme": [ORDINARY, "anabranch+fdp"] });
        let options = options.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(options);
        compared(load, &all)
    };
    for (options, remedy) in [
        (json!({ "years": 5 }), "--tbw BYTES, or --rated-erases N"),
        (json!({ "writes-per-day": "1TB" }), "--tbw BYTES"),
        (
            json!({ "tbw": "1000TB", "price": 300 }),
            "--writes-per-day BYTES",
        ),
        (json!({ "tbw": "1000TB", "years": -1 }), "above 0"),
        (json!({ "tbw": "0", "years": 5 }), "above 0"),
        (json!({ "tbw": "many" }), "64MiB"),
    ] {
        let fault = with(options.clone()).unwrap_err().to_string();
        assert!(fault.contains(remedy), "{options}: {fault}");
    }
    let known = json!({
        "fill": "90%", "scheme": [ORDINARY, "anabranch+fdp"],
        "rated-erases": 3000, "writes-per-day": "1GiB", "years": 5, "price": 300
    });
    let found = compared(&shipped("sqlite-rollback.parquet"), &known).unwrap();
    let stands = found.verdict.unwrap().stands;
    assert_eq!(stands.len(), 2);
    let flash = 3000.0 * found.device.physical_bytes as f64;
    let waf = found.schemes[0].waf_window.unwrap();
    assert!((stands[0].host_bytes * waf / flash - 1.0).abs() < 1e-9);
    assert!(
        stands.iter().all(|one| one.price_per_year.is_some()),
        "{stands:?}"
    );
}

#[test]
fn a_trace_with_discards_is_told_without_them_as_the_option_has_it() {
    let trace = shipped("sqlite-rollback.parquet");
    let found = compared(&trace, &json!({ "fill": "90%" })).unwrap();
    let ways = found.other_ways.unwrap();
    let without = ways.no_discards.unwrap();
    let waf = |option: Value| {
        let mut options = json!({ "fill": "90%", "scheme": [ORDINARY] });
        let option = option.as_object().unwrap().clone();
        options.as_object_mut().unwrap().extend(option);
        compared(&trace, &options).map(|found| found.schemes[0].waf_window.unwrap())
    };
    assert_eq!(waf(json!({ "discards": "never" })).unwrap(), without);
    assert_eq!(waf(json!({ "no-discards": true })).unwrap(), without);
    let late = waf(json!({ "discards": "every=1GiB" })).unwrap();
    let at_once = waf(json!({})).unwrap();
    assert!(
        at_once <= late && late <= without,
        "{at_once} {late} {without}"
    );
    // The recording is of minutes.
    assert_eq!(ways.daily_discards, None);
    let short = waf(json!({ "discards": "daily" })).unwrap_err().to_string();
    assert!(
        short.contains("less than a day") && short.contains("every=BYTES"),
        "{short}"
    );
    let both = waf(json!({ "discards": "daily", "no-discards": true })).unwrap_err();
    assert!(both.to_string().contains("leave one out"), "{both}");
}
