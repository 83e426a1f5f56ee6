//! The comparison as a table for a terminal.

use std::collections::BTreeSet;

use anabranch_replay::{Outcome, SchemeOutcome, Verdict};
use comfy_table::{CellAlignment, Table, presets};

use crate::format::{bytes, ratio};

const HEADER: [&str; 9] = [
    "scheme",
    "streams",
    "host GiB",
    "media GiB",
    "copied GiB",
    "WAF",
    "WAF window",
    "erases",
    "lifetime",
];

/// The schemes side by side, a row each.
pub fn comparison(outcome: &Outcome) -> String {
    let mut table = Table::new();
    let bounds = bounds(outcome);
    let gaps = bounds.iter().map(|bound| format!("gap to {bound}"));
    let header = HEADER.map(str::to_owned).into_iter().chain(gaps);
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for scheme in &outcome.schemes {
        let gaps = bounds.iter().map(|bound| gap(scheme, bound));
        table.add_row(row(scheme).into_iter().chain(gaps));
    }
    table.to_string()
}

/// The bounds that schemes are measured against, each once.
fn bounds(outcome: &Outcome) -> BTreeSet<&str> {
    let closed = outcome.schemes.iter().map(|scheme| &scheme.gap_closed);
    closed
        .flat_map(|gaps| gaps.keys().map(String::as_str))
        .collect()
}

/// How much of the gap between `baseline` and a bound a scheme closes.
fn gap(scheme: &SchemeOutcome, bound: &str) -> String {
    let share = scheme.gap_closed.get(bound);
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

fn row(scheme: &SchemeOutcome) -> [String; 9] {
    let gib = |bytes: u64| format!("{:.3}", bytes as f64 / (1_u64 << 30) as f64);
    [
        scheme.name.clone(),
        scheme.streams_used.to_string(),
        gib(scheme.host_bytes),
        gib(scheme.media_bytes),
        gib(scheme.copied_bytes),
        ratio(scheme.waf),
        ratio(scheme.waf_window),
        scheme.erased_units.to_string(),
        scheme
            .lifetime_vs_baseline
            .map_or_else(|| "-".to_owned(), |times| format!("{times:.2}x")),
    ]
}

/// The answer: its sentence, what it rests on, what speaks against it, and what comes next.
pub fn answer(outcome: &Outcome) -> String {
    let verdict = verdict_of(outcome);
    let lines = [&verdict.headline, &verdict.evidence];
    let lines = lines.into_iter().chain(&verdict.warnings);
    let lines = lines.chain([&verdict.takes, &verdict.next]);
    let lines: Vec<&str> = lines
        .map(String::as_str)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("\n")
}

/// The verdict of a result; that of an older version's is made up for.
pub(crate) fn verdict_of(outcome: &Outcome) -> Verdict {
    let known = outcome.verdict.clone();
    known.unwrap_or_else(|| Verdict::of(outcome))
}

/// What a reader must know beside the table: the drive, how much was written to it, whether the
/// figures of all schemes have settled, and whether events were lost.
pub fn notes(outcome: &Outcome) -> String {
    let device = &outcome.device;
    let mut lines = vec![
        format!(
            "drive: {} ({}, {:.1} % spare in {} erase units of {}, {} victims, {} host and {} internal \
             streams)",
            bytes(device.logical_bytes),
            device.profile,
            100.0 * (device.physical_bytes as f64 / device.logical_bytes.max(1) as f64 - 1.0),
            device.physical_units,
            bytes(device.unit_bytes),
            device.victim_rule,
            device.host_streams,
            device.internal_streams,
        ),
        format!(
            "written: {} = {:.2} capacities; at the end {:.0} % of the drive held data; window = the \
             last capacity of writes; lifetime = media bytes of baseline / of the scheme",
            bytes(outcome.source.host_bytes),
            outcome.source.capacities_written,
            100.0
                * outcome
                    .schemes
                    .first()
                    .map_or(0, |scheme| scheme.mapped_bytes) as f64
                / device.logical_bytes.max(1) as f64,
        ),
    ];
    lines.push(match outcome.steady {
        true => format!(
            "steady state: yes (the WAF of each scheme's last five windows of half a capacity stays \
             within 10 % of their mean, without a trend{})",
            steady_band(outcome)
        ),
        false => format!("steady state: NO - {}", outcome.steady_reason),
    });
    if !bounds(outcome).is_empty() {
        lines.push(
            "gap: of the copies between baseline and a bound, the share that a scheme saves"
                .to_owned(),
        );
    }
    lines.extend(hints(outcome));
    lines.extend(idle_rules(outcome));
    lines.extend(sealed(outcome));
    lines.extend(failed(outcome));
    lines.extend(life(outcome));
    if outcome.source.lost_events > 0 {
        lines.push(format!(
            "LOST EVENTS: {} kernel events were not captured; every figure is a lower bound",
            outcome.source.lost_events
        ));
    }
    lines.join("\n")
}

/// The band of the first scheme, as an example.
fn steady_band(outcome: &Outcome) -> String {
    let first = outcome.schemes.first();
    let band = first.and_then(|scheme| scheme.steady_band.map(|band| (&scheme.name, band)));
    band.map_or_else(String::new, |(name, band)| {
        format!(": {name} {:.2} to {:.2}", band.least, band.most)
    })
}

/// What the application asked for, and what became of it.
fn hints(outcome: &Outcome) -> Option<String> {
    let source = &outcome.source;
    let fate = match source.refused_hint_bytes {
        0 => String::new(),
        refused => format!(
            "; the kernel refused those of {} (`hints` goes by what was asked)",
            bytes(refused)
        ),
    };
    (source.hinted_bytes > 0).then(|| {
        format!(
            "hints: the application gave life-time hints for {} of its writes{fate}",
            bytes(source.hinted_bytes)
        )
    })
}

/// Rules that people wrote and no write went by: a wrong name passes unnoticed otherwise.
fn idle_rules(outcome: &Outcome) -> Vec<String> {
    let written = outcome.schemes.iter().filter(|one| one.host_bytes > 0);
    written
        .filter_map(|scheme| {
            let rules = scheme.rules.as_ref()?;
            let (set, all) = (&rules.set, rules.rules);
            let told = match rules.idle.len() {
                0 => return None,
                idle if idle == all as usize => format!(
                    "no write matched any of the {all} rules of {set}: every one went to stream 0"
                ),
                _ => format!(
                    "of the {all} rules of {set} these placed nothing, because no write matched or a rule \
                     before took it: {}",
                    numbers(&rules.idle)
                ),
            };
            Some(format!("{}: {told}", scheme.name))
        })
        .collect()
}

/// Ascending numbers, with runs of three and more as `first-last`.
fn numbers(all: &[u32]) -> String {
    let runs = all.chunk_by(|one, next| one + 1 == *next);
    let words = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first}-{last}")],
        few => few.iter().map(u32::to_string).collect(),
    });
    words.collect::<Vec<String>>().join(", ")
}

fn sealed(outcome: &Outcome) -> Option<String> {
    let sealed: Vec<String> = outcome
        .schemes
        .iter()
        .filter(|scheme| scheme.sealed_units > 0)
        .map(|scheme| format!("{} {}", scheme.name, scheme.sealed_units))
        .collect();
    (!sealed.is_empty()).then(|| {
        format!(
            "units closed half empty, because streams held all the spare room: {}",
            sealed.join(", ")
        )
    })
}

/// What failed, and which drives came to their end.
fn failed(outcome: &Outcome) -> Vec<String> {
    let any = |scheme: &&SchemeOutcome| scheme.retired_units > 0;
    let line = |scheme: &SchemeOutcome| {
        let end = match scheme.read_only {
            true => format!("; READ-ONLY after {} of writes", bytes(scheme.host_bytes)),
            false => String::new(),
        };
        format!(
            "{}: {} units retired ({} programs and {} erases failed){end}",
            scheme.name, scheme.retired_units, scheme.failed_programs, scheme.failed_erases
        )
    };
    outcome.schemes.iter().filter(any).map(line).collect()
}

/// What the host can write before the rated erases are used up, where a rating is known.
fn life(outcome: &Outcome) -> Option<String> {
    let lives: Vec<String> = outcome
        .schemes
        .iter()
        .filter_map(|scheme| {
            let wear = scheme.wear?;
            let life = bytes(wear.life_bytes?);
            Some(format!(
                "{} {life} ({} to {} erases a unit)",
                scheme.name, wear.least_erases, wear.most_erases
            ))
        })
        .collect();
    (!lives.is_empty()).then(|| {
        format!(
            "life at this load, until the most worn unit has its rated erases: {}",
            lives.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_run() {
        assert_eq!(numbers(&[1, 2, 4, 5, 6, 9]), "1, 2, 4-6, 9");
        assert_eq!(numbers(&[7]), "7");
    }
}
