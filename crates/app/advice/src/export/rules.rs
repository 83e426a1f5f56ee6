//! Advice as rules, with the ways to choose their streams.

use anabranch_compare::{Result, Watch};
use anabranch_lifetime::{Weighted, cluster};
use anabranch_placement::SchemeSpec;
use anabranch_report::bytes;
use anabranch_trace::WriteHint;
use toml::{Table, Value};

use super::{
    check::{Cost, measure, under_rules},
    plan::Plan,
    survey::Tally,
};

/// The most rules of a set ([`anabranch_placement::Rules`]).
pub const MAX_RULES: usize = 64;
/// With fewer groups on trial, groups of lifetimes are merged unless they lower the sum of
/// squares by this share (our choice).
pub const LEAST_GAIN: f64 = 0.05;
/// Conditions of a rule whose values are numbers.
const NUMBERS: [&str; 3] = ["from_byte", "to_byte", "tenant"];
/// A rule to be written: its conditions, its stream, and comments.
#[derive(Debug, Clone)]
pub struct Line {
    pub asks: Vec<(&'static str, String)>,
    pub stream: u16,
    pub hint: Option<WriteHint>,
    /// Comments, a line each, which hold names from elsewhere.
    pub comments: Vec<String>,
}

/// The document of rules that the scheme `manual` reads.
pub fn document(description: &str, lines: &[Line]) -> String {
    let head = [("description", description), ("source", "anabranch export")];
    let head = head.map(|(key, value)| (key.to_owned(), Value::from(value)));
    let mut text = Table::from_iter(head).to_string();
    for line in lines {
        text += "\n";
        for comment in &line.comments {
            text += &format!("# {}\n", anabranch_report::line(comment));
        }
        text += &format!("[[rule]]\n{}", line.table());
    }
    text
}

impl Line {
    fn table(&self) -> Table {
        let asks = self.asks.iter().map(|(key, text)| match text.parse() {
            Ok::<i64, _>(number) if NUMBERS.contains(key) => (*key, Value::from(number)),
            _ => (*key, Value::from(text.as_str())),
        });
        let hint = self.hint.map(|hint| ("write_hint", hint.name().into()));
        let stream = ("stream", Value::from(i64::from(self.stream)));
        let all = asks.chain(hint).chain([stream]);
        all.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// A choice of streams for some writers, to be tried.
pub struct Way {
    pub told: &'static str,
    pub streams: Vec<u16>,
}

/// The choices to try: the streams of the scheme, and groups by lifetime, in as many streams as
/// there are and in fewer.
pub fn ways(tallies: &[&Tally], host_streams: u16, trace_pages: u64) -> Vec<Way> {
    let by_lifetime = |told, gain| Way {
        told,
        streams: by_lifetime(tallies, host_streams, trace_pages, gain),
    };
    vec![
        Way {
            told: "as the scheme placed most of each",
            streams: tallies.iter().map(|tally| tally.stream()).collect(),
        },
        by_lifetime("by the lifetimes measured", 0.0),
        by_lifetime("by the lifetimes measured, few streams", LEAST_GAIN),
    ]
}

/// Groups the writers by lifetime, the shortest first, on a scale of doublings as PCStream does.
pub fn by_lifetime(tallies: &[&Tally], groups: u16, trace_pages: u64, gain: f64) -> Vec<u16> {
    let points: Vec<Weighted> = tallies
        .iter()
        .map(|tally| Weighted {
            value: (tally.lifetime_pages(trace_pages).max(1) as f64).log2(),
            weight: tally.profile.written_pages as f64,
        })
        .collect();
    self::groups(&points, groups, gain)
}

/// The group of each point, of at most `groups` groups.
pub fn groups(points: &[Weighted], groups: u16, gain: f64) -> Vec<u16> {
    let centres = cluster(points, usize::from(groups), gain);
    let nearest = |point: &Weighted| {
        let off = |centre: &Weighted| (centre.value - point.value).abs();
        let nearest = (0..)
            .zip(&centres)
            .min_by(|(_, a), (_, b)| off(a).total_cmp(&off(b)));
        nearest.map_or(0, |(group, _)| group)
    };
    points.iter().map(nearest).collect()
}

/// Feeds back the rules of each choice, and keeps the one that copies least of the first half of the writes.
pub fn best(
    plan: &Plan,
    told: &str,
    ways: Vec<(&'static str, Vec<Line>)>,
    watch: &mut dyn Watch,
) -> Result<Option<(String, String, Cost)>> {
    let describe = |way: &str| format!("{told}, {way}; made from {}", plan.scheme.name());
    let texts: Vec<(String, String)> = ways
        .iter()
        .map(|(way, lines)| ((*way).to_owned(), document(&describe(way), lines)))
        .collect();
    let specs: Vec<SchemeSpec> = texts
        .iter()
        .map(|(_, text)| under_rules(plan, text))
        .collect::<Result<_>>()?;
    let costs = measure(plan, &specs, watch)?;
    let tried = texts.into_iter().zip(costs);
    let best = tried.min_by_key(|(_, cost)| cost.seen_copied_pages());
    Ok(best.map(|((way, text), cost)| (way, text, cost)))
}

/// A sentence on what a choice of streams loses of the scheme's own placement; `None` if nothing.
pub fn lost(tallies: &[&Tally], streams: &[u16], all_pages: u64, by: &str) -> Option<String> {
    let mixed: u64 = tallies
        .iter()
        .zip(streams)
        .map(|(tally, stream)| tally.elsewhere(*stream))
        .sum();
    Some(format!(
        "{by} do not tell apart what the scheme does: it spread {:.0} % of the pages over other streams than \
         the one most of their kind went to",
        100.0 * mixed as f64 / all_pages.max(1) as f64
    ))
}

/// A phrase on what a writer wrote, and how long it lives.
pub fn describe_writer(tally: &Tally, page_bytes: u64, all_pages: u64) -> String {
    let pages = tally.profile.written_pages;
    let quantile = |quantile| {
        let pages = tally.profile.lifetimes.quantile_pages(quantile);
        pages.map_or_else(|| "-".to_owned(), |pages| bytes(pages * page_bytes))
    };
    format!(
        "{} ({:.1} %); lifetime p25 {}, p50 {}, p75 {}",
        bytes(pages * page_bytes),
        100.0 * pages as f64 / all_pages.max(1) as f64,
        quantile(0.25),
        quantile(0.5),
        quantile(0.75)
    )
}
