//! The report on an import.

use std::fmt::Write as _;

use anabranch_report::{bytes, time_unit};
use anabranch_trace::foreign::{Format, Importer, Skipped, Summary, Survey};
use serde_json::json;

use super::dense::Dense;
use crate::{
    error::{CommandError, Result},
    output::print,
    say,
};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// An import that is done.
pub struct ImportReport<'a> {
    pub format: Format,
    pub importer: &'a Importer,
    pub survey: Survey,
    pub dense: Option<Dense>,
}

impl ImportReport<'_> {
    /// Prints one line on what was read, and notes that a user of the trace must know.
    pub fn print(&self, as_json: bool) -> Result {
        say::print_note(&line(&self.summary(), &self.importer.skipped()));
        for note in self.notes() {
            say::print_note(&note);
        }
        if as_json {
            print(&format!("{:#}\n", self.json()))?;
        }
        Ok(())
    }

    /// The summary, with the steps of the trace's own clock.
    fn summary(&self) -> Summary {
        let (steps_back, longest_step_back_ns) = self.importer.steps_back();
        Summary {
            steps_back,
            longest_step_back_ns,
            ..self.survey.summary()
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.importer.remarks());
        let summary = self.summary();
        notes.extend(no_time(&summary));
        notes.extend(wrong_clock(&summary));
        notes.extend(backward_clock(&summary));
        if let Some(first) = self.importer.skipped().first_malformed {
            notes.push(format!("the first malformed record: {first}"));
        }
        let lost_events = self.importer.tables().capture.lost_events;
        if lost_events > 0 {
            notes.push(format!(
                "the trace says that {lost_events} events are missing: bytes are at least what is told, and what is \
                 copied may be off either way"
            ));
        }
        if let Some(dense) = &self.dense {
            notes.push(format!(
                "renumbered: what is ever written fills a drive of {}; requests left out because \
                 they name only pages that are never written: {}",
                bytes(dense.device_bytes),
                dense.left_out
            ));
        }
        notes
    }

    fn json(&self) -> serde_json::Value {
        let capture = self.importer.tables().capture;
        json!({
            "schema": SCHEMA,
            "format": self.format.name(),
            "summary": self.summary(),
            "skipped": self.importer.skipped(),
            "lost_events": capture.lost_events,
            "started_unix_s": capture.started_unix_s,
            "volumes": self.importer.volumes(),
            "renumbered": self.dense.as_ref().map(|dense| json!({
                "device_bytes": dense.device_bytes,
                "left_out": dense.left_out,
            })),
        })
    }
}

/// The failure for inputs without a request; it says what they held instead.
pub fn nothing(importer: &Importer) -> CommandError {
    let skipped_records = importer.skipped();
    if skipped_records.other_volumes > 0 {
        let first = skipped_records.first_other_volume.unwrap_or_default();
        let (found, works) = match importer.volumes() {
            [] => ("its volumes are numbers".to_owned(), first.to_string()),
            some => (format!("it has {}", some.join(", ")), some[0].clone()),
        };
        return CommandError::wrong_use(format!(
            "no request is of the volume that --volume names, and {} are of others: {found}; --volume {works} has some",
            skipped_records.other_volumes
        ));
    }
    let mut words = format!("there is no request in it; {}", skipped(&skipped_records));
    if let Some((event, count)) = skipped_records.most_untaken() {
        let name = event.name();
        let _ = write!(words, "; --event {name} takes {count} of the other events");
    }
    if let Some(first) = skipped_records.first_malformed {
        let _ = write!(words, "; the first malformed record: {first}");
    }
    CommandError::wrong_use(words)
}

/// The shortest mean time between requests that a drive can have: ten million requests a second, some four times what
/// the fastest take (our choice).
const LEAST_NS: u64 = 100;

/// A note for a trace in which no time passes, or hardly any; `None` for others.
fn no_time(summary: &Summary) -> Option<String> {
    let requests = summary.requests();
    (requests > 1 && summary.span_ns < requests.saturating_mul(LEAST_NS)).then(|| {
        format!(
            "{requests} requests in {} are more than any drive takes: the times are in another unit, or the trace has \
             none",
            span(summary.span_ns)
        )
    })
}

/// The shortest pause that is reported as a wrong clock, and the least share of the span it must
/// have (our choice).
const PAUSE_NS: u64 = 86_400_000_000_000;
const PAUSE_SHARE: f64 = 0.5;

/// A note for a trace in which one pause is most of the time; `None` for others.
fn wrong_clock(summary: &Summary) -> Option<String> {
    let (pause_ns, all_ns) = (summary.longest_pause_ns, summary.span_ns);
    let is_most = pause_ns as f64 > PAUSE_SHARE * all_ns as f64;
    (pause_ns >= PAUSE_NS && is_most).then(|| {
        format!(
            "one pause of {} is most of that time: a record has a wrong clock, or the time is in another unit; \
             --time open would wait for it",
            span(pause_ns)
        )
    })
}

/// A note for a trace whose times go back.
fn backward_clock(summary: &Summary) -> Option<String> {
    (summary.steps_back > 0).then(|| {
        format!(
            "the clock goes back at {} of {} requests, by {} at most: records have a wrong clock, or are not in the \
             order of their time; they stay in the order of the trace, and a time before the first counts as the first",
            summary.steps_back,
            summary.requests(),
            span(summary.longest_step_back_ns)
        )
    })
}

/// The one line: span, bytes, footprint, addresses, and what was skipped.
fn line(summary: &Summary, skipped_records: &Skipped) -> String {
    let most = if summary.footprint_is_exact {
        ""
    } else {
        "at most "
    };
    format!(
        "{} requests in {}: read {}, wrote {}, discarded {}, flushes {}; ever written {most}{}; \
         bytes {} to {} ({}); {}",
        summary.requests(),
        span(summary.span_ns),
        bytes(summary.read.bytes),
        bytes(summary.written.bytes),
        bytes(summary.discarded.bytes),
        summary.flushes,
        bytes(summary.footprint_bytes),
        summary.first_byte,
        summary.end_byte,
        bytes(summary.end_byte - summary.first_byte),
        skipped(skipped_records)
    )
}

fn skipped(skipped: &Skipped) -> String {
    let reasons = [
        (skipped.other_events, "other events"),
        (skipped.without_data, "without data"),
        (skipped.notes, "notes"),
        (skipped.other_volumes, "to other volumes"),
        (skipped.malformed, "malformed"),
    ];
    let told: Vec<String> = reasons
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{reason} {count}"))
        .collect();
    if told.is_empty() {
        return "nothing skipped".into();
    }
    format!("skipped: {}", told.join(", "))
}

/// Nanoseconds as text, in the unit that suits them.
fn span(ns: u64) -> String {
    let s = ns as f64 / 1e9;
    match time_unit(s) {
        Some((unit, name)) => format!("{:.2} {name}", s / unit),
        None => format!("{s:.6} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_told_in_the_unit_that_suits_it() {
        assert_eq!(span(1_500), "0.000002 s");
        assert_eq!(span(119_000_000_000), "119.000000 s");
        assert_eq!(span(604_800_000_000_000), "7.00 days");
    }

    #[test]
    fn only_reasons_that_happened_are_told() {
        let skips = Skipped {
            notes: 2,
            malformed: 1,
            ..Skipped::default()
        };
        assert_eq!(skipped(&skips), "skipped: notes 2, malformed 1");
        assert_eq!(skipped(&Skipped::default()), "nothing skipped");
    }
}
