//! Comparisons as a table for a terminal, with notes on how far to trust it.

use std::collections::BTreeSet;

use anabranch_replay::{Answer, Comparison, SchemeResult, Stands, Verdict, WIDENED};
use serde_json::Value;

use crate::{
    foreign::line,
    format::{bytes, ratio},
    grid::{Cell, Column, Grid, Look},
    lost::lost_events,
    time::{self, Figure},
};

/// The terms of the table's columns.
pub const TERMS: &str = "WAF = of the last capacity of writes; lifetime = WAF of an ordinary drive, baseline+gc, / of the \
                         scheme; streams = the host's + those of copies";

/// The columns for a scheme's figures, in the order in which they are shown.
fn figures() -> Vec<Figure> {
    fn gib(bytes: u64) -> Cell {
        Cell::new(format!("{:.3}", bytes as f64 / (1_u64 << 30) as f64), bytes)
    }
    fn waf(waf: Option<f64>) -> Cell {
        Cell::maybe(waf, |waf| ratio(Some(*waf)))
    }
    fn life(scheme: &SchemeResult) -> Cell {
        Cell::maybe(scheme.lifetime_vs_ordinary, |times| format!("{times:.2}x"))
    }
    vec![
        (Column::words("scheme"), |one| Cell::from(&one.name)),
        (Column::number("streams").rank(1), |one| streams(one)),
        (
            Column::number("host GiB").key("host_page_bytes").rank(3),
            |one| gib(one.host_page_bytes),
        ),
        (
            Column::number("media GiB").key("media_bytes").rank(4),
            |one| gib(one.media_bytes),
        ),
        (
            Column::number("copied GiB").key("copied_bytes").rank(2),
            |one| gib(one.copied_bytes),
        ),
        (Column::number("WAF whole run").key("waf").rank(2), |one| {
            waf(one.waf)
        }),
        (Column::number("WAF").key("waf_window"), |one| {
            waf(one.waf_window)
        }),
        (Column::number("erases").rank(5), |one| {
            Cell::from(one.erased_units)
        }),
        (Column::number("lifetime"), life),
    ]
}

/// The streams used, the host's and those of copies, as in `6+1`.
fn streams(scheme: &SchemeResult) -> Cell {
    let internal = scheme.streams.iter().filter(|one| one.internal).count();
    let host = scheme.streams.len() - internal;
    Cell::new(format!("{host}+{internal}"), scheme.streams_used)
}

/// The schemes side by side, a row each; several comparisons as one table, told apart by the
/// settings they differ in.
pub fn comparison(outcomes: &[Comparison], look: &Look) -> String {
    let settings = differing(outcomes);
    let mut figures = figures();
    let is_sampled = |scheme: &SchemeResult| error(scheme).is_some();
    if outcomes.iter().flat_map(|one| &one.schemes).any(is_sampled) {
        let behind = figures
            .iter()
            .position(|(column, _)| column.name() == "WAF whole run");
        let column = Column::number("±").key("waf_error");
        figures.insert(
            behind.map_or(0, |at| at + 1),
            (column, |one| {
                Cell::maybe(error(one), |error| ratio(Some(*error)))
            }),
        );
    }
    if outcomes
        .iter()
        .flat_map(|one| &one.schemes)
        .any(|one| one.collected.is_some())
    {
        insert_collected(&mut figures);
    }
    if look.csv
        && outcomes
            .iter()
            .flat_map(|one| &one.schemes)
            .any(|one| one.time.is_some())
    {
        figures.extend(time::figures());
    }
    if outcomes.iter().any(|one| rounding(one).is_some()) {
        name_rounded(&mut figures);
    }
    let bounds = bounds(outcomes);
    let leading = settings.iter().map(|(name, _)| Column::words(*name));
    let gaps = bounds
        .iter()
        .map(|bound| Column::number(format!("gap to {bound}")));
    let heads = figures.iter().map(|(column, _)| column.clone());
    let mut grid = Grid::new(leading.chain(heads).chain(gaps));
    for outcome in outcomes {
        for scheme in &outcome.schemes {
            let leading = settings.iter().map(|(_, of)| of(outcome));
            let own = figures.iter().map(|(_, of)| of(scheme));
            let gaps = bounds.iter().map(|bound| gap(scheme, bound));
            grid.push(leading.chain(own).chain(gaps));
        }
    }
    grid.text(look)
}

/// Names the bytes of whole pages so where hosts asked for less.
fn name_rounded(figures: &mut [Figure]) {
    for (column, _) in figures {
        if column.name() == "host GiB" {
            *column = Column::number("page-rounded GiB")
                .key("host_page_bytes")
                .rank(3);
        }
    }
}

/// Parts the copies of schemes whose host collects into its rewrites and the drive's own.
fn insert_collected(figures: &mut Vec<Figure>) {
    fn gib(bytes: Option<u64>) -> Cell {
        Cell::maybe(bytes, |bytes| {
            format!("{:.3}", *bytes as f64 / (1_u64 << 30) as f64)
        })
    }
    let behind = figures
        .iter()
        .position(|(column, _)| column.name() == "copied GiB");
    let at = behind.map_or(0, |at| at + 1);
    let rewritten = Column::number("rewritten GiB").key("rewritten_bytes");
    figures.insert(
        at,
        (rewritten.rank(2), |one| {
            gib(one.collected.map(|bytes| bytes.rewritten_bytes))
        }),
    );
    let by_drive = Column::number("by drive GiB").key("copied_by_drive_bytes");
    figures.insert(
        at + 1,
        (by_drive.rank(3), |one| {
            gib(one.collected.map(|bytes| bytes.copied_bytes))
        }),
    );
}

/// The error bar of a scheme's WAF, where its drive is sampled.
fn error(scheme: &SchemeResult) -> Option<f64> {
    scheme.sampled.as_ref()?.error
}

/// A setting of a comparison: its name, and its cell.
type Setting = (&'static str, fn(&Comparison) -> Cell);

/// The settings in which comparisons differ.
fn differing(outcomes: &[Comparison]) -> Vec<Setting> {
    let all: [Setting; 10] = [
        ("trace", |one| config(one, "trace")),
        ("device", |one| Cell::from(&one.device.profile)),
        ("fill", |one| config(one, "fill")),
        ("size", |one| {
            Cell::new(bytes(one.device.logical_bytes), one.device.logical_bytes)
        }),
        ("unit", |one| {
            Cell::new(bytes(one.device.unit_bytes), one.device.unit_bytes)
        }),
        ("spare", |one| {
            let device = &one.device;
            let spare = device.physical_bytes as f64 / device.logical_bytes.max(1) as f64 - 1.0;
            Cell::new(format!("{:.1} %", 100.0 * spare), spare)
        }),
        ("victims", |one| Cell::from(one.device.victim_rule)),
        ("offered", |one| Cell::from(one.device.host_streams)),
        ("internal", |one| Cell::from(one.device.internal_streams)),
        ("seed", |one| Cell::from(one.seed)),
    ];
    let differs = |(_, of): &Setting| {
        let cells: BTreeSet<String> = outcomes
            .iter()
            .map(|one| of(one).raw().to_owned())
            .collect();
        cells.len() > 1
    };
    all.into_iter().filter(differs).collect()
}

fn config(outcome: &Comparison, key: &str) -> Cell {
    match outcome.config.get(key) {
        Some(Value::String(text)) => Cell::new(text.rsplit('/').next().unwrap_or(text), text),
        Some(value) => Cell::from(value),
        None => Cell::new("-", ""),
    }
}

/// The bounds that schemes are measured against, each once.
fn bounds(outcomes: &[Comparison]) -> BTreeSet<&str> {
    let schemes = outcomes.iter().flat_map(|outcome| &outcome.schemes);
    schemes
        .flat_map(|scheme| scheme.gap_closed.keys().map(String::as_str))
        .collect()
}

/// The share of the gap between the ordinary drive and a bound that a scheme closes.
fn gap(scheme: &SchemeResult, bound: &str) -> Cell {
    Cell::maybe(scheme.gap_closed.get(bound), |share| {
        format!("{:.1} %", 100.0 * **share)
    })
}

/// The answers of several comparisons, a line each, with the settings that tell them apart.
pub fn answers(outcomes: &[Comparison], look: &Look) -> String {
    let settings = differing(outcomes);
    let answer = |outcome: &Comparison| {
        let words = settings
            .iter()
            .map(|(name, of)| line(&format!("{name} {}", of(outcome).text())));
        let verdict = verdict(outcome);
        let headline = coloured(&verdict, look);
        format!("{}: {headline}", words.collect::<Vec<_>>().join(", "))
    };
    outcomes.iter().map(answer).collect::<Vec<_>>().join("\n")
}

fn coloured(verdict: &Verdict, look: &Look) -> String {
    match verdict.answer {
        Answer::WorthIt => look.good(&verdict.headline),
        Answer::NotWorthIt => look.bad(&verdict.headline),
        // No answer is neither.
        Answer::NoAnswerYet | Answer::NotCompared => line(&verdict.headline),
    }
}

/// The answer of a comparison: its sentence, the answer for each kind of drive, the evidence, warnings, and the next
/// command.
pub fn answer(outcome: &Comparison, look: &Look) -> String {
    let verdict = verdict(outcome);
    let drives = verdict.drives.iter();
    let drives = drives.map(|drive| line(&format!("  {}: {}", drive.title, drive.words)));
    let warnings = verdict.warnings.iter().map(|warning| look.bad(warning));
    let head = [coloured(&verdict, look), line(&verdict.about)];
    let lines = head.into_iter().chain(drives);
    let lines = lines.chain([
        other_ways(&verdict, look),
        line(&verdict.endurance),
        stands_table(&verdict.stands, look),
    ]);
    let lines = lines.chain([line(&verdict.evidence)]).chain(warnings);
    let lines = lines.chain([line(&verdict.takes), line(&verdict.next)]);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// The small table of the other ways than streams; empty where they were not measured.
fn other_ways(verdict: &Verdict, look: &Look) -> String {
    if verdict.other_ways.is_empty() {
        return String::new();
    }
    let figures = ["WAF", "lifetime"].map(Column::number);
    let mut grid = Grid::new(
        [Column::words("other ways: an ordinary drive")]
            .into_iter()
            .chain(figures),
    );
    for way in &verdict.other_ways {
        grid.push([
            Cell::from(&way.words),
            Cell::maybe(way.waf, |waf| ratio(Some(*waf))),
            Cell::maybe(way.life, |life| format!("{life:.2}x")),
        ]);
    }
    format!("\n{}\n", grid.text(look))
}

/// The small table of the drives' endurance; empty where none is known.
pub fn stands_table(stands: &[Stands], look: &Look) -> String {
    if stands.is_empty() {
        return String::new();
    }
    let figures = ["host writes", "years", "DWPD", "price a year"].map(Column::number);
    let mut grid = Grid::new([Column::words("drive with")].into_iter().chain(figures));
    let number = |value: Option<f64>| Cell::maybe(value, |value| format!("{value:.2}"));
    for one in stands {
        grid.push([
            Cell::from(&one.scheme),
            Cell::new(bytes(one.host_bytes as u64), one.host_bytes),
            number(one.years),
            number(one.drive_writes_per_day),
            number(one.price_per_year),
        ]);
    }
    format!("\n{}\n", grid.text(look))
}

/// The verdict of a result; it is computed where the result is of a version without one.
pub fn verdict(outcome: &Comparison) -> Verdict {
    let known = outcome.verdict.clone();
    known.unwrap_or_else(|| Verdict::of(outcome))
}

/// Notes that belong beside the table: the drive, how much was written to it, whether the figures
/// of all schemes have settled, and whether events were lost.
pub fn notes(outcome: &Comparison) -> String {
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
            "written: {} = {:.2} capacities; at the end {:.0} % of the drive held data; {TERMS}",
            written(outcome),
            outcome.source.capacities_written,
            100.0
                * outcome
                    .schemes
                    .first()
                    .map_or(0, |scheme| scheme.mapped_bytes) as f64
                / device.logical_bytes.max(1) as f64,
        ),
    ];
    lines.push(steady(outcome));
    if !bounds(std::slice::from_ref(outcome)).is_empty() {
        lines.push(
            "gap: of the copies of the whole run between baseline+gc and a bound, the share that a scheme saves"
                .to_owned(),
        );
    }
    lines.extend(widened(outcome));
    lines.extend(sampled(outcome));
    lines.extend(hints(outcome));
    lines.extend(idle_rules(outcome));
    lines.extend(sealed(outcome));
    lines.extend(failed(outcome));
    lines.extend(life(outcome));
    lines.extend(lost_events(
        outcome.source.lost_events,
        outcome.source.records,
    ));
    let lines: Vec<String> = lines.iter().map(|told| line(told)).collect();
    lines.join("\n")
}

/// A note on whether the two schemes that the verdict compares have settled, and on the others that have not; of all
/// schemes, where none are compared.
fn steady(outcome: &Comparison) -> String {
    let verdict = verdict(outcome);
    let (before, best) = (verdict.before.as_deref(), verdict.best.as_deref());
    let is_named = |one: &SchemeResult| {
        let name = Some(one.name.as_str());
        name == before || name == best
    };
    let all: Vec<&SchemeResult> = outcome.schemes.iter().collect();
    let (named, rest): (Vec<&SchemeResult>, Vec<&SchemeResult>) =
        all.iter().partition(|one| is_named(one));
    let (judged, others, whose) = if named.is_empty() {
        (all, Vec::new(), "each scheme's")
    } else {
        (named, rest, "the compared schemes'")
    };
    let others = others.iter().filter(|one| !one.steady);
    let others: Vec<&str> = others.map(|one| one.name.as_str()).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; others have not settled: {}", others.join(", "))
    };
    match judged.iter().find(|one| !one.steady) {
        Some(one) => format!(
            "steady state: NO - {}: {}{others}",
            one.name, one.steady_reason
        ),
        None => format!(
            "steady state: yes ({whose} WAF in the last five windows of half a capacity stays within 10 % of its mean, \
             without a trend{}){others}",
            band(&judged)
        ),
    }
}

/// The WAF's band of the first scheme, as an example.
fn band(judged: &[&SchemeResult]) -> String {
    let first = judged.first();
    let band = first.and_then(|one| Some((one, one.steady_band?)));
    band.map_or_else(String::new, |(one, band)| {
        format!(": {} {:.2} to {:.2}", one.name, band.least, band.most)
    })
}

/// Bytes of whole pages over those that writes asked for; `None` where they hardly differ.
fn rounding(outcome: &Comparison) -> Option<f64> {
    let source = &outcome.source;
    let times = source.page_rounding(outcome.sampled.is_some());
    (source.write_bytes > 0 && times > WIDENED).then_some(times)
}

/// Bytes that were written. The drive counts whole pages; where hosts asked for less, both are named.
fn written(outcome: &Comparison) -> String {
    let source = &outcome.source;
    let paged = bytes(source.host_page_bytes);
    match rounding(outcome) {
        Some(_) => format!(
            "{} by hosts, page-rounded {paged}",
            bytes(source.write_bytes)
        ),
        None => paged,
    }
}

/// A note on what writes of parts of pages cost, which no WAF here contains.
fn widened(outcome: &Comparison) -> Option<String> {
    let times = rounding(outcome)?;
    Some(format!(
        "parts of pages: {} were asked for, and the drive writes whole pages of {} (it reads the rest, and writes it \
         again): {times:.2} times as much, before any WAF",
        bytes(outcome.source.write_bytes),
        bytes(u64::from(outcome.device.page_bytes)),
    ))
}

/// A note on how the drive was sampled, and what the error bars mean; `None` if it was not.
fn sampled(outcome: &Comparison) -> Option<String> {
    let sampled = outcome.sampled.as_ref()?;
    let bars = match sampled.hashes.len() {
        1 if sampled.rate == "1/1" => {
            "that is the whole drive: no error comes from sampling".to_owned()
        }
        1 => "one sample: its error is not known".to_owned(),
        count => format!(
            "means of {count} samples; ± = where the whole drive's WAF mostly lies, by their spread and the \
             pages of a unit (docs/sampling.md)"
        ),
    };
    let trace = if sampled.trace_rate == "1/1" {
        String::new()
    } else {
        format!(" (the trace holds {})", sampled.trace_rate)
    };
    Some(format!(
        "sampled: {} of the pages{trace}, {} in an erase unit; {bars}",
        sampled.rate, sampled.unit_pages
    ))
}

/// A note on the life-time hints that the application gave, and on those refused; `None` without
/// hints.
fn hints(outcome: &Comparison) -> Option<String> {
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

/// Notes on rules that matched no write, since a wrong name would pass unnoticed otherwise.
fn idle_rules(outcome: &Comparison) -> Vec<String> {
    let written = outcome.schemes.iter().filter(|one| one.host_page_bytes > 0);
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

/// Ascending numbers as text, with runs of three and more as `first-last`.
fn numbers(all: &[u32]) -> String {
    let runs = all.chunk_by(|one, next| one + 1 == *next);
    let words = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first}-{last}")],
        few => few.iter().map(u32::to_string).collect(),
    });
    words.collect::<Vec<String>>().join(", ")
}

fn sealed(outcome: &Comparison) -> Option<String> {
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

/// Notes on units that failed, and on drives that became read-only.
fn failed(outcome: &Comparison) -> Vec<String> {
    let any = |scheme: &&SchemeResult| scheme.retired_units > 0;
    let line = |scheme: &SchemeResult| {
        let end = if scheme.read_only {
            format!(
                "; READ-ONLY after {} of writes",
                bytes(scheme.host_page_bytes)
            )
        } else {
            String::new()
        };
        format!(
            "{}: {} units retired ({} programs and {} erases failed){end}",
            scheme.name, scheme.retired_units, scheme.failed_programs, scheme.failed_erases
        )
    };
    outcome.schemes.iter().filter(any).map(line).collect()
}

/// A note on what the host can ask to write before the rated erases are used up; `None` where no rating is
/// known.
fn life(outcome: &Comparison) -> Option<String> {
    let page_rounding = rounding(outcome).unwrap_or(1.0);
    let lives: Vec<String> = outcome
        .schemes
        .iter()
        .filter_map(|scheme| {
            let wear = scheme.wear?;
            let life = bytes((wear.life_bytes? as f64 / page_rounding) as u64);
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
