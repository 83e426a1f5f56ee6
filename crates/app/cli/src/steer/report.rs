//! Report of a steered drive: a line and JSON while it works, a table and JSON at the end.

use std::time::Duration;

use anabranch_nvme_host::Written;
use anabranch_probe::HandoverCounts;
use anabranch_report::ratio_within;
use anabranch_steer::{Counters, Server};
use anabranch_trace::{Rate, Tenant};
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::shadow::{Counted, Model, Modelled, Shadow};
use crate::tenants;

/// The drive's counts since `before`.
pub fn since(now: Option<Written>, before: Option<Written>) -> Option<Written> {
    let (now, before) = (now?, before?);
    Some(Written {
        host_bytes: now.host_bytes.saturating_sub(before.host_bytes),
        media_bytes: now.media_bytes.saturating_sub(before.media_bytes),
        grain_bytes: now.grain_bytes,
    })
}

/// From so many of what a log counts in (our choice: a hundredth is known then).
const GRAINS: u128 = 100;

fn waf(written: Option<Written>) -> Option<f64> {
    let written = written?;
    let known = match written.grain_bytes {
        0 | 1 => 1,
        grain => u128::from(grain) * GRAINS,
    };
    (written.host_bytes >= known).then(|| written.media_bytes as f64 / written.host_bytes as f64)
}

fn bytes(number: u64) -> String {
    anabranch_report::bytes(number)
}

/// The line of a moment.
pub fn line(counters: &Counters, drive: Option<Written>, shadow: Option<&Shadow>) -> String {
    let mut line = format!(
        "written {}, read {}, discarded {}",
        bytes(counters.all_written_bytes()),
        bytes(counters.read_bytes.get()),
        bytes(counters.discarded_bytes.get()),
    );
    if drive.is_some() {
        line += &format!("; the drive's WAF {}", anabranch_report::ratio(waf(drive)));
    }
    if let Some(shadow) = shadow {
        let counted = shadow.counted();
        line += &format!(
            "; modelled: {}, in one stream {}",
            ratio_within(counted.steered.waf, counted.steered.error),
            ratio_within(counted.baseline.waf, counted.baseline.error)
        );
    }
    let errors = counters.errors.get();
    if errors > 0 {
        line += &format!("; {errors} requests failed");
    }
    line
}

/// Limits of the report that are known from the beginning.
pub struct Limits {
    /// Whether the drive's log counts other namespaces' writes, too.
    pub is_counted_with_others: bool,
    /// A sentence on the reason that there is no model of the drive; `None` where there is one, or none was wanted.
    pub unmodelled: Option<String>,
}

/// The report of a moment, and of the end.
pub struct SteerReport<'a> {
    pub server: &'a Server,
    /// Time since the server began.
    pub steered: Duration,
    pub scheme: &'a str,
    pub handles: &'a [u16],
    /// The stream of metadata and journals.
    pub metadata: Option<u16>,
    pub drive: Option<Written>,
    pub handover: Option<HandoverCounts>,
    /// The tenants by control group.
    pub tenants: Vec<Tenant>,
    /// Sentences on tenants that could not be seen.
    pub limitations: Vec<String>,
    pub shadow: Option<(Counted, u64, Model)>,
}

impl SteerReport<'_> {
    fn place(&self, stream: usize) -> &'static str {
        if self.metadata.is_some_and(|own| usize::from(own) == stream) {
            "metadata and journals"
        } else {
            "data"
        }
    }

    /// Adds the limits of the drive's log and of the models to the limitations.
    pub fn limit(&mut self, limits: &Limits) {
        self.limitations.extend(limits.unmodelled.clone());
        if limits.is_counted_with_others && self.drive.is_some() {
            let words =
                "the drive's log counts its whole endurance group: other namespaces are in its WAF";
            self.limitations.push(words.to_owned());
        }
    }

    /// The sentence on what steering is worth, by the models.
    fn verdict(&self) -> Option<String> {
        let (counted, _, _) = self.shadow.as_ref()?;
        Some(verdict(counted))
    }

    /// The bytes written by each handle, as JSON.
    fn handles_json(&self) -> Vec<Value> {
        let written = &self.server.counters().written_bytes;
        let handles = self.handles.iter().zip(written).enumerate();
        handles
            .map(|(stream, (handle, written))| {
                json!({
                    "handle": handle,
                    "stream": stream,
                    "for": self.place(stream),
                    "written_bytes": written.get(),
                })
            })
            .collect()
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let counters = self.server.counters();
        let drive = self.server.drive();
        let (queues, depth) = self.server.queues();
        json!({
            "schema": anabranch_report::STEERED_SCHEMA,
            "config": {
                "verb": "steer",
                "scheme": self.scheme,
                "queues": queues,
                "depth": depth,
                "zero_copy": self.server.is_zero_copy(),
                "directive": drive.directive().name(),
                "block_device": self.server.block_device().to_string_lossy(),
            },
            "steered_s": self.steered.as_secs_f64(),
            "drive": {
                "model": drive.model(),
                "serial": drive.serial(),
                "bytes": drive.abilities().bytes,
                "host_bytes": self.drive.map(|written| small(written.host_bytes)),
                "media_bytes": self.drive.map(|written| small(written.media_bytes)),
                "grain_bytes": self.drive.map(|written| written.grain_bytes),
                "waf": waf(self.drive),
            },
            "verdict": self.verdict(),
            "handles": self.handles_json(),
            "written_bytes": counters.all_written_bytes(),
            "read_bytes": counters.read_bytes.get(),
            "discarded_bytes": counters.discarded_bytes.get(),
            "zeroed_bytes": counters.zeroed_bytes.get(),
            "writes": counters.writes.get(),
            "split_writes": counters.split_writes.get(),
            "flushes": counters.flushes.get(),
            "errors": counters.errors.get(),
            "repeated_commands": counters.repeated_commands.get(),
            "unknown_pages": counters.unknown_pages.get(),
            "metadata_pages": counters.metadata_pages.get(),
            "unplaced_bytes": counters.unplaced_bytes.get(),
            "tenants": self.tenants,
            "limitations": self.limitations,
            "handover": self.handover.map(|counts| json!({
                "found_pages": counts.found,
                "kernel_thread_pages": counts.by_kernel,
                "missed_pages": counts.missed,
                "evicted_pages": counts.evicted,
                "nameless_pages": counts.nameless,
                "skipped_requests": counts.skipped,
                "late_requests": counts.late,
            })),
            "shadow": self.shadow.as_ref().map(|(counted, missed, model)| json!({
                "drive": model.config,
                "sample": model.rate,
                "kept_bytes": model.kept_bytes,
                "missed_requests": missed,
                "baseline": modelled(&counted.baseline),
                "steered": modelled(&counted.steered),
            })),
        })
    }

    /// The report as a table and sentences.
    pub fn text(&self) -> String {
        let counters = self.server.counters();
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["handle", "for", "written"]);
        for (stream, (handle, written)) in
            self.handles.iter().zip(&counters.written_bytes).enumerate()
        {
            table.add_row([
                handle.to_string(),
                self.place(stream).to_owned(),
                bytes(written.get()),
            ]);
        }
        let mut text = format!("{table}\n{}\n", line(counters, self.drive, None));
        for line in tenants::report_lines(&self.tenants, &self.limitations, "note: ") {
            text += &(line + "\n");
        }
        if let Some((counted, missed, model)) = &self.shadow {
            let of = match model.rate {
                Rate::WHOLE => "a model of the drive".to_owned(),
                rate => format!("models of {rate} of the drive"),
            };
            text += &format!(
                "{of}, fed with the same writes: WAF {} in these streams, {} in one stream\n",
                ratio_within(counted.steered.waf, counted.steered.error),
                ratio_within(counted.baseline.waf, counted.baseline.error)
            );
            if model.kept_bytes > 0 {
                text += &format!(
                    "these models go on from earlier starts, which wrote {}\n",
                    bytes(model.kept_bytes)
                );
            }
            if *missed > 0 {
                text += &format!(
                    "{missed} requests came too fast for the model, which did not see them\n"
                );
            }
        }
        let unknown = counters.unknown_pages.get();
        if unknown > 0 {
            text += &format!("{unknown} pages had no known writer\n");
        }
        let unplaced = counters.unplaced_bytes.get();
        if unplaced > 0 {
            text += &format!(
                "{} were written without a stream: the drive had forgotten its streams\n",
                bytes(unplaced)
            );
        }
        if let Some(words) = self.verdict() {
            text += &(words + "\n");
        }
        text
    }
}

/// A difference of less is none (our choice): to the three decimals that are shown.
const LEAST_SHARE: f64 = 0.001;

/// Judges what steering is worth: the model in the scheme's streams beside that in one stream, whose copies are apart, as those of a
/// drive are that nobody steers.
fn verdict(counted: &Counted) -> String {
    let Some((saved, error)) = counted.saved else {
        return "nothing was written yet: there is no verdict".to_owned();
    };
    if counted.steered.copied_pages == 0 && counted.baseline.copied_pages == 0 {
        return "no verdict yet: the models of the drive are not full, and have copied nothing"
            .to_owned();
    }
    let percent = 100.0 * saved.abs();
    let by = match error {
        0.0 => "by the models".to_owned(),
        error => format!("by the models (± {:.1} %)", 100.0 * error),
    };
    if saved.abs() < error {
        format!("whether steering saves or costs flash writes is not known yet, {by}")
    } else if saved.abs() < LEAST_SHARE {
        format!("steering neither saves nor costs flash writes, {by}")
    } else if saved > 0.0 {
        format!("steering saves {percent:.1} % of flash writes, {by}")
    } else {
        format!("steering costs {percent:.1} % more flash writes, {by}: stop")
    }
}

fn modelled(counted: &Modelled) -> Value {
    json!({
        "host_pages": counted.host_pages,
        "copied_pages": counted.copied_pages,
        "waf": counted.waf,
        "error": counted.error,
    })
}

fn small(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Models that copied so many pages for a thousand of the host's, and how much the saved share may be off.
    fn counted(steered: u64, one: u64, error: f64) -> Counted {
        let modelled = |copied_pages: u64| Modelled {
            host_pages: 1000,
            copied_pages,
            waf: Some(1.0 + copied_pages as f64 / 1000.0),
            error: None,
        };
        let (steered, baseline) = (modelled(steered), modelled(one));
        let ratio = steered.waf.unwrap() / baseline.waf.unwrap();
        Counted {
            baseline,
            steered,
            saved: Some((1.0 - ratio, error)),
        }
    }

    #[test]
    fn the_verdict_says_what_steering_saves_or_costs_once_a_model_has_copied() {
        let words = |steered, one| verdict(&counted(steered, one, 0.0));
        assert!(verdict(&Counted::default()).contains("nothing was written"));
        assert!(words(0, 0).starts_with("no verdict yet"));
        assert!(words(0, 100).starts_with("steering saves 9.1 % of flash writes"));
        assert!(words(109, 100).starts_with("steering costs 0.8 % more flash writes"));
        assert!(words(109, 100).ends_with("stop"));
        assert!(words(100, 100).starts_with("steering neither saves nor costs"));
        assert!(words(101, 101).starts_with("steering neither"));
    }

    #[test]
    fn samples_that_differ_by_more_than_steering_saves_give_no_verdict() {
        let words = |error| verdict(&counted(50, 100, error));
        assert!(words(0.01).starts_with("steering saves 4.5 % of flash writes"));
        assert!(words(0.01).ends_with("(± 1.0 %)"));
        assert!(words(0.05).starts_with("whether steering saves or costs"));
    }
}
