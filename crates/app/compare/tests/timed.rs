//! A drive with a clock counts what one without counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use anabranch_compare::{ReplayOptions, TraceFile, Unwatched, read_text, replay, schemes};
use serde_json::json;

/// Schemes that learn from the drive: what they do follows from when they are notified.
const SCHEMES: [&str; 4] = ["sepbit", "sfs", "midas", "anabranch"];

/// Copied and erased bytes of each scheme on a recording with many flushes.
fn counted(time: Option<&str>) -> Vec<(String, u64, u64)> {
    let mut options = json!({ "scheme": SCHEMES, "fill": "90%", "quick": true });
    if let Some(time) = time {
        options["time"] = json!(time);
    }
    let options = ReplayOptions::named(options.as_object().unwrap().clone()).unwrap();
    let specs = schemes(&options.comparison, true, &read_text).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../traces/mariadb-tpcc.parquet");
    let trace = TraceFile::open(&path, None, true).unwrap();
    let found = replay(&options, &specs, &[&trace], &mut Unwatched).unwrap();
    let rows = found[0].schemes.iter();
    rows.map(|one| (one.name.clone(), one.copied_bytes, one.erased_bytes))
        .collect()
}

#[test]
fn a_drive_with_a_clock_counts_what_one_without_counts_to_the_page() {
    let counts = counted(None);
    assert!(
        counts.iter().all(|(_, copied, _)| *copied > 0),
        "{counts:?}"
    );
    for time in ["closed", "open"] {
        assert_eq!(counted(Some(time)), counts, "{time}");
    }
}
