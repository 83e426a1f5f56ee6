//! Advice by file and thread: as rules, and as the kernel's life-time hints.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_compare::{Result, Watch};
use anabranch_trace::{ContextKind, WriteHint};
use glob::Pattern;

use super::{
    advice::{Advice, Checked},
    plan::Plan,
    rules::{LEAST_GAIN, Line, MAX_RULES, Way, best, by_lifetime, describe_writer, lost, ways},
    survey::{Name, Tally, WriterSurvey},
};

/// Rules for less than one page of so many are left out (our choice: a thousandth).
const LEAST_SHARE: u64 = 1000;
/// The hints that stand for one handle each; writes without a hint go to the default handle.
const HINTS: [WriteHint; 4] = [
    WriteHint::Short,
    WriteHint::Medium,
    WriteHint::Long,
    WriteHint::Extreme,
];

const BY_ADMIN: &str = "an administrator, with `anabranch steer --scheme manual:rules=rules.toml`";
const BY_APPLICATION: &str =
    "the application, with fcntl(F_SET_RW_HINT) on each file when it opens it";
/// The place of hints where a file system is another host's. NFS 4.2 tells a server of access patterns only (RFC 7862,
/// 15.5, IO_ADVISE); SMB and 9P have no message for lifetimes either.
const ON_SERVER: &str = "\
# Over a network file system (NFS, SMB, 9P) no hint leaves the client. Set them on the server, on the files it exports:
# `anabranch steer --mount EXPORT --scheme manual:rules=hints.toml`. It leaves rules by role out: the server's own
# threads write there.
";

/// A file of advice whose first line names who puts it to work.
pub fn issued(by: &str, text: &str) -> String {
    format!("# Issued by: {by}\n{text}")
}

/// Makes rules by file and thread.
pub fn by_name(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    let rows = survey.names.by_weight();
    let tallies: Vec<&Tally> = rows.iter().map(|(_, tally)| *tally).collect();
    let ways = ways(&tallies, plan.drive.host_streams, survey.written_pages);
    let lines = |way: &Way| {
        (
            way.told,
            name_lines(plan, survey, &rows, &way.streams, None),
        )
    };
    let Some((way, text, cost)) = best(
        plan,
        "streams by file and thread",
        ways.iter().map(lines).collect(),
        watch,
    )?
    else {
        return Ok(());
    };
    advice.file("rules.toml", issued(BY_ADMIN, &text));
    let own: Vec<u16> = tallies.iter().map(|tally| tally.stream()).collect();
    advice.checks.push(Checked {
        what: format!("rules.toml, {way}"),
        cost,
        loses: lost(&tallies, &own, survey.written_pages, "file and thread"),
    });
    Ok(())
}

/// Makes the rules that use the four hints of the kernel.
pub fn as_hints(
    plan: &Plan,
    survey: &WriterSurvey,
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
    let Some((way, text, cost)) = best(plan, "write life-time hints", lines.collect(), watch)?
    else {
        return Ok(());
    };
    let text = ON_SERVER.to_owned() + &text;
    advice.file("hints.toml", issued(BY_APPLICATION, &text));
    let own: Vec<u16> = tallies.iter().map(|tally| tally.stream()).collect();
    advice.checks.push(Checked {
        what: format!("hints.toml, {way}"),
        cost,
        loses: lost(
            &tallies,
            &own,
            survey.written_pages,
            "four hints by file and thread",
        ),
    });
    Ok(())
}

/// The rules by name: by the file alone where its writers agree.
fn name_lines(
    plan: &Plan,
    survey: &WriterSurvey,
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
        let what = describe_writer(
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
    let least = survey.written_pages / LEAST_SHARE;
    lines.retain(|(pages, _)| *pages >= least.max(1));
    lines.sort_by_key(|(pages, _)| std::cmp::Reverse(*pages));
    lines.truncate(MAX_RULES);
    in_order(lines.into_iter().map(|(_, line)| line).collect())
}

/// Sorts rules, those with most bytes first as they come. The first that matches wins, so that a rule which another one
/// also covers stands before that.
fn in_order(lines: Vec<Line>) -> Vec<Line> {
    let mut sorted: Vec<Line> = Vec::new();
    let mut left = lines;
    while !left.is_empty() {
        let is_free = |at: &usize| !left.iter().any(|other| left[*at].covers(other));
        let next = (0..left.len()).find(is_free).unwrap_or(0);
        sorted.push(left.remove(next));
    }
    sorted
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

impl Line {
    /// Whether it is broader than the other one: all that the other matches, it matches as well.
    fn covers(&self, other: &Line) -> bool {
        self.asks != other.asks
            && self.asks.iter().all(|(key, wide)| {
                let narrow = other.asks.iter().find(|(other, _)| other == key);
                narrow.is_some_and(|(_, narrow)| {
                    wide == narrow || Pattern::new(wide).is_ok_and(|wide| wide.matches(narrow))
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(asks: &[(&'static str, &str)]) -> Line {
        Line {
            asks: asks
                .iter()
                .map(|(key, text)| (*key, (*text).to_owned()))
                .collect(),
            stream: 0,
            hint: None,
            comments: Vec::new(),
        }
    }

    #[test]
    fn rules_stand_by_bytes_but_after_those_that_they_cover() {
        let most = line(&[("file", "*.sst")]);
        let all = line(&[("file", "*")]);
        let log = line(&[("file", "*.log")]);
        let by_thread = line(&[("file", "*.sst"), ("role", "low")]);
        let given = vec![most.clone(), all.clone(), by_thread.clone(), log.clone()];
        let sorted: Vec<_> = in_order(given).into_iter().map(|line| line.asks).collect();
        assert_eq!(sorted, [by_thread.asks, most.asks, log.asks, all.asks]);
    }
}
