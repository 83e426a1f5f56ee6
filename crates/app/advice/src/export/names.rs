//! Advice by file and thread: as rules, and as the kernel's life-time hints.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_compare::{Result, Watch};
use anabranch_trace::{ContextKind, WriteHint};

use super::{
    advice::{Advice, Checked},
    plan::Plan,
    rules::{LEAST_GAIN, Line, MAX_RULES, Way, best, by_lifetime, lost, told, ways},
    survey::{Name, Survey, Tally},
};

/// The hints that stand for one handle each; writes without a hint go to the default handle.
const HINTS: [WriteHint; 4] = [
    WriteHint::Short,
    WriteHint::Medium,
    WriteHint::Long,
    WriteHint::Extreme,
];

/// Makes rules by file and thread.
pub fn by_name(plan: &Plan, survey: &Survey, advice: &mut Advice, watch: &mut dyn Watch) -> Result {
    let rows = survey.names.by_weight();
    let tallies: Vec<&Tally> = rows.iter().map(|(_, tally)| *tally).collect();
    let ways = ways(&tallies, plan.drive.host_streams, survey.written_pages);
    let lines = |way: &Way| {
        (
            way.told,
            name_lines(plan, survey, &rows, &way.streams, None),
        )
    };
    let Some((way, text, counters)) = best(
        plan,
        "streams by file and thread",
        ways.iter().map(lines).collect(),
        watch,
    )?
    else {
        return Ok(());
    };
    advice.file("rules.toml", text);
    let own: Vec<u16> = tallies.iter().map(|tally| tally.stream()).collect();
    advice.checks.push(Checked {
        what: format!("rules.toml, {way}"),
        counters,
        loses: lost(&tallies, &own, survey.written_pages, "file and thread"),
    });
    Ok(())
}

/// Makes the rules that use the four hints of the kernel.
pub fn as_hints(
    plan: &Plan,
    survey: &Survey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    let rows = survey.names.by_weight();
    let tallies: Vec<&Tally> = rows.iter().map(|(_, tally)| *tally).collect();
    let few = |groups, gain| by_lifetime(&tallies, groups, survey.written_pages, gain);
    let ways = [
        ("four lifetimes", few(4, 0.0)),
        ("three lifetimes", few(3, 0.0)),
        ("few lifetimes", few(4, LEAST_GAIN)),
    ];
    let lines = ways.iter().map(|(told, groups)| {
        // The default handle is of what has no hint.
        let streams: Vec<u16> = groups.iter().map(|group| group + 1).collect();
        (
            *told,
            name_lines(plan, survey, &rows, &streams, Some(&HINTS)),
        )
    });
    let Some((way, text, counters)) = best(plan, "write life-time hints", lines.collect(), watch)?
    else {
        return Ok(());
    };
    advice.file("hints.toml", text);
    let own: Vec<u16> = tallies.iter().map(|tally| tally.stream()).collect();
    advice.checks.push(Checked {
        what: format!("hints.toml, {way}"),
        counters,
        loses: lost(
            &tallies,
            &own,
            survey.written_pages,
            "four hints by file and thread",
        ),
    });
    Ok(())
}

/// The rules by name: by the file alone where its writers agree, the narrowest first.
fn name_lines(
    plan: &Plan,
    survey: &Survey,
    rows: &[(&Name, &Tally)],
    streams: &[u16],
    hints: Option<&[WriteHint]>,
) -> Vec<Line> {
    let mut of_file: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for ((name, _), stream) in rows.iter().zip(streams) {
        of_file.entry(&name.file).or_default().insert(*stream);
    }
    let agrees = |file: &str| of_file.get(file).is_some_and(|streams| streams.len() == 1);
    let mut lines: Vec<(u64, Line)> = Vec::new();
    for ((name, tally), &stream) in rows.iter().zip(streams) {
        let asks = asks(name, agrees(&name.file));
        if asks.is_empty() {
            continue;
        }
        let pages = tally.profile.written_pages;
        let what = told(
            tally,
            u64::from(plan.drive.page_bytes),
            survey.written_pages,
        );
        let comment = format!("{} {}: {what}", name.role, kind(name.kind));
        match lines.iter_mut().find(|(_, line)| line.asks == asks) {
            Some((all, line)) => {
                *all += pages;
                line.comments.push(comment);
            }
            None => lines.push((
                pages,
                Line {
                    asks,
                    stream,
                    hint: hints
                        .and_then(|hints| hints.get(usize::from(stream).checked_sub(1)?).copied()),
                    comments: vec![comment],
                },
            )),
        }
    }
    lines.sort_by_key(|(pages, _)| std::cmp::Reverse(*pages));
    lines.truncate(MAX_RULES);
    let mut lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(narrowness(&line.asks)));
    lines
}

pub fn kind(kind: ContextKind) -> String {
    match toml::Value::try_from(kind) {
        Ok(toml::Value::String(name)) => name,
        _ => String::new(),
    }
}

fn asks(name: &Name, file_alone: bool) -> Vec<(&'static str, String)> {
    let mut asks = Vec::new();
    if !name.file.is_empty() {
        asks.push(("file", name.file.clone()));
        if file_alone {
            return asks;
        }
    }
    if !name.role.is_empty() {
        asks.push(("role", name.role.replace(['*', '?', '[', ']'], "?")));
    }
    if name.kind != ContextKind::Application && name.kind != ContextKind::Unknown {
        asks.push(("kind", kind(name.kind)));
    }
    asks
}

/// The key that sorts rules, since the first that matches wins: rules with a file first, then those
/// with more letters.
fn narrowness(asks: &[(&'static str, String)]) -> (bool, usize, usize) {
    let file = asks.iter().find(|(key, _)| *key == "file");
    let letters = |text: &str| {
        text.chars()
            .filter(|letter| !"*?".contains(*letter))
            .count()
    };
    (
        file.is_some(),
        file.map_or(0, |(_, pattern)| letters(pattern)),
        asks.len(),
    )
}
