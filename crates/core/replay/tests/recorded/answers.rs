//! The words of verdicts, over figures drawn at random.

use anabranch_replay::{Comparison, Start, Verdict};
use serde_json::{Value, json};

use crate::{
    Random, Sum, hold,
    lanes::{compared, drive, requests},
};

/// The comparison with figures drawn anew, and some of its schemes.
fn drawn(of: &Comparison, random: &mut Random) -> Comparison {
    let mut drawn = of.clone();
    let all = std::mem::take(&mut drawn.schemes);
    let most = 1 + random.below(6) as usize;
    for mut scheme in all {
        if random.below(3) > 0 || drawn.schemes.len() >= most {
            continue;
        }
        let waf = 1.0 + random.below(400) as f64 / 100.0;
        scheme.waf_window = (random.below(9) > 0).then_some(waf);
        scheme.waf = (random.below(9) > 0).then_some(waf + 0.25);
        scheme.erased_units = random.one_of(&[0, 50, 50, 50]);
        scheme.steady = random.below(3) > 0;
        scheme.steady_reason = "reasons".to_owned();
        scheme.is_bound = random.below(8) == 0;
        scheme.goes_by_hints = random.below(3) == 0;
        scheme.drive_half = random
            .one_of(&[None, Some("mixed"), Some("gc"), Some("own")])
            .map(str::to_owned);
        scheme.mapped_bytes = random.below(of.device.logical_bytes);
        drawn.schemes.push(scheme);
    }
    let source = &mut drawn.source;
    source.hinted_bytes = random.one_of(&[0, 1000]);
    source.refused_hint_bytes = random.one_of(&[0, 10, 11, 900]);
    source.lost_events = random.one_of(&[0, 0, 3]);
    source.capacities_written = random.one_of(&[1.0, 2.5, 7.0]);
    let capture = json!({"device_bytes": 1, "command": ["x"]});
    for (key, value) in [
        ("trace", json!("a trace.parquet")),
        ("trace", json!("plain")),
        ("fill", json!(0.9)),
        ("verb", json!("replay")),
        ("verb", json!("run")),
        ("capture", capture),
        (
            "drive_options",
            json!(["--size", "1GiB", "--device", "it's"]),
        ),
    ] {
        if random.below(2) == 0 {
            let _: Option<Value> = drawn.config.insert(key.to_owned(), value);
        }
    }
    drawn
}

#[test]
fn verdicts_say_what_they_said() {
    let (comparison, _) = compared(&drive(), &Start::default(), &requests(4, 300), "any");
    let mut random = Random(9);
    let mut lines = Vec::new();
    for _ in 0..60 {
        let mut sum = Sum::default();
        let mut last = String::new();
        for _ in 0..20 {
            let verdict = Verdict::of(&drawn(&comparison, &mut random));
            sum.take(&verdict);
            last = verdict.headline;
        }
        lines.push(format!("{} {last}", sum.text()));
    }
    hold("answers", &lines);
}
