//! The report on an import.

use std::fmt::Write as _;

use anabranch_report::bytes;
use anabranch_trace::foreign::{Format, Importer, Skipped, Summary, Survey, span};
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
        let mut notes = self.importer.remarks();
        if let Some(first) = self.importer.skipped().first_malformed {
            notes.push(format!("the first malformed record: {first}"));
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
    let advice = skipped_records.most_untaken().map(|(event, count)| {
        let name = event.name();
        format!("; --event {name} takes {count} of the other events")
    });
    // Untaken events are of the volume that is wanted: devices like dm's have others than the drives below them.
    if skipped_records.other_volumes > 0 && advice.is_none() {
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
    let of_volume = match skipped_records.other_volumes {
        0 => "in it",
        _ => "of the volume that --volume names",
    };
    let mut words = format!(
        "there is no request {of_volume}; {}",
        skipped(&skipped_records)
    );
    words.extend(advice);
    if let Some(first) = skipped_records.first_malformed {
        let _ = write!(words, "; the first malformed record: {first}");
    }
    CommandError::wrong_use(words)
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

#[cfg(test)]
mod tests {
    use super::*;

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
