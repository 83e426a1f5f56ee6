//! Synthetic loads: their requests, their tables, what samples keep of them, and which settings they refuse.

use anabranch_replay::{
    Source,
    synthetic::{KINDS, Synthetic},
};
use anabranch_trace::{Rate, Sample, Sampled};

use crate::{Sum, hold};

/// Requests looked at of each load.
const REQUESTS: usize = 12_000;
const SIZES: [&str; 6] = ["1MiB", "64MiB", "256MiB", "1GiB", "6GiB", "64GiB"];
const VALUES: [&str; 8] = ["0", "1", "3", "10%", "50%", "0.9", "400%", "x"];

fn outcome_of(text: &str, most: usize) -> Result<String, String> {
    let load = Synthetic::parse(text).map_err(|error| error.to_string())?;
    let (mut sum, mut source) = (Sum::default(), Source::default());
    // No file of a load is renamed, and the record is older than the field.
    let tables = format!("{:?}", load.tables()).replace(", next_name: \"\"", "");
    sum.take(format_args!(
        "({}, {:?}, {tables})",
        load.size_bytes(),
        load.write_bytes()
    ));
    let mut requests = 0;
    for io in load.requests().take(most) {
        sum.take(io);
        source.count(&io);
        requests += 1;
    }
    sum.take(source);
    Ok(format!(
        "{requests} requests, {} bytes written, {}",
        source.write_bytes,
        sum.text()
    ))
}

fn kept(text: &str) -> String {
    let load = Synthetic::parse(text).unwrap();
    let sample = |hash| {
        let rate = Rate::one_of(16).unwrap();
        let page_bytes = 4096;
        Sample::new(Sampled {
            page_bytes,
            rate,
            hash,
        })
    };
    let samples = [sample(3), sample(9)];
    let Some(kept) = load.kept(&samples) else {
        return "not made by samples".to_owned();
    };
    let mut sum = Sum::default();
    sum.take(kept.whole());
    let mut requests = 0;
    for told in kept.take(REQUESTS / 5) {
        sum.take(told);
        requests += 1;
    }
    format!("{requests} kept, {}", sum.text())
}

/// The names of a load's settings, which its refusal of another tells.
fn settings(name: &str) -> Vec<String> {
    let refused = Synthetic::parse(&format!("{name}:none=1")).unwrap_err();
    let refused = refused.to_string();
    let (_, own) = refused.split_once("seed=N").unwrap();
    let names = own.split(", ").filter_map(|one| one.split_once('='));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn loads_write_what_they_wrote_and_refuse_in_the_same_words() {
    let mut lines = vec![
        format!("{:?}", outcome_of("none", 1)),
        format!("{:?}", outcome_of("zipf:seed=x", 1)),
    ];
    for kind in &KINDS {
        let name = kind.name;
        let fits = |size: &&&str| Synthetic::parse(&format!("{name}:size={size}")).is_ok();
        let least = SIZES.iter().find(fits).unwrap();
        lines.push(format!("{name}: {} {:?}", kind.summary, settings(name)));
        lines.push(format!(
            "{name}: {:?}",
            outcome_of(&format!("{name}:size=1KiB"), 1)
        ));
        lines.push(format!(
            "{name}: {:?}",
            outcome_of(&format!("{name}:none=1"), 1)
        ));
        let mut look = |more: &str, most: usize| {
            let text = format!("{name}:size={least}{more}");
            let told = outcome_of(&text, most);
            lines.push(format!("{text}: {}", told.unwrap_or_else(|error| error)));
        };
        for more in [
            "",
            ",seed=7",
            ",write=9MiB",
            ",held=40%",
            ",held=30%,overwritten=2",
        ] {
            look(more, REQUESTS);
        }
        // A drive of no whole number of MiB.
        let odd = Synthetic::parse(&format!("{name}:size={least}")).unwrap();
        look(&format!(",size={}", odd.size_bytes() + 3 * 4096), REQUESTS);
        for setting in settings(name) {
            for value in VALUES {
                look(&format!(",{setting}={value}"), REQUESTS / 10);
            }
        }
        let text = format!("{name}:size={least},write=6GiB");
        lines.push(format!("{text}: {}", kept(&text)));
    }
    hold("loads", &lines);
}
