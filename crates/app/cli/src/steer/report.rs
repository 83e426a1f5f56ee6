//! Report of a steered drive: a line and JSON while it works, a table and JSON at the end.

use std::time::Duration;

use anabranch_compare::EnduranceOptions;
use anabranch_nvme_host::Written;
use anabranch_probe::HandoverCounts;
use anabranch_replay::Stands;
use anabranch_report::{
    Cell, Column, Compared, Grid, HostCollected, Look, ratio_within, stands_table,
};
use anabranch_steer::{Counters, Server};
use anabranch_trace::{Rate, Tenant};
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::{
    compare::LogComparison,
    shadow::{Counted, Model, Modelled, Shadow},
    worth::{self, DriveLoad},
};
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

/// The write amplification of counts, where they are large enough to tell it.
pub fn waf(written: Option<Written>) -> Option<f64> {
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
            "; by the models {} as steered, {} in one stream",
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
pub struct ReportLimits {
    /// Whether the drive's log counts other namespaces' writes, too.
    pub is_counted_with_others: bool,
    /// A sentence on the reason that there is no model of the drive; `None` where there is one, or none was wanted.
    pub unmodelled: Option<String>,
    /// The drive's endurance, as far as it was given.
    pub endurance: EnduranceOptions,
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
    /// The sentence on what steering is worth, by the models.
    pub verdict: Option<String>,
    /// Endurance in one stream and as steered, where it is known and there is an answer.
    pub stands: Vec<Stands>,
    /// The comparison by the drive's own log, where it was asked for.
    pub comparison: Option<Compared>,
    /// The counts of a host that collects.
    pub collected: Option<HostCollected>,
}

impl SteerReport<'_> {
    fn place(&self, stream: usize) -> &'static str {
        if self.metadata.is_some_and(|own| usize::from(own) == stream) {
            "metadata and journals"
        } else {
            "data"
        }
    }

    /// Judges what steering is worth by the models and by the drive's own log; years are of the latter, where both answer.
    pub fn judge(&mut self, limits: &ReportLimits, comparison: Option<&LogComparison>) {
        self.limit(limits);
        let models = self
            .shadow
            .as_ref()
            .map(|(counted, _, _)| worth::by_models(counted));
        let log = comparison.map(LogComparison::verdict);
        self.limitations
            .extend(comparison.into_iter().flat_map(LogComparison::limitations));
        self.comparison = comparison.map(LogComparison::compared);
        self.verdict = models.as_ref().map(|verdict| verdict.words.clone());
        let by_log = log.and_then(|verdict| verdict.wafs);
        let by_models = models.and_then(|verdict| verdict.wafs);
        let both = by_models.zip(by_log);
        self.limitations
            .extend(both.and_then(|(models, log)| worth::contradiction(models, log)));
        let Some(wafs) = by_log.or(by_models) else {
            return;
        };
        let load = DriveLoad {
            host_bytes: self.server.counters().host_bytes(),
            seconds: self.steered.as_secs_f64(),
            drive_bytes: self.server.drive().abilities().bytes,
        };
        // The options were checked before anything began.
        let Ok((stands, words)) = worth::years(&limits.endurance, self.scheme, wafs, &load) else {
            return;
        };
        self.stands = stands;
        let sentence = match by_log {
            Some(_) => self.comparison.as_mut().map(|found| &mut found.verdict),
            None => self.verdict.as_mut(),
        };
        if let Some(sentence) = sentence {
            *sentence += &words;
        }
    }

    /// Adds the limits of the drive's log and of the models to the limitations.
    fn limit(&mut self, limits: &ReportLimits) {
        let collected = self.collected.iter();
        self.limitations
            .extend(collected.flat_map(HostCollected::limitations));
        self.limitations.extend(limits.unmodelled.clone());
        if limits.is_counted_with_others && self.drive.is_some() {
            let words =
                "the drive's log counts its whole endurance group: other namespaces are in its WAF";
            self.limitations.push(words.to_owned());
        }
    }

    /// The bytes written by each handle, as JSON.
    fn handles_json(&self) -> Vec<Value> {
        let counters = self.server.counters();
        let counts = counters.written_bytes.iter().zip(&counters.rewritten_bytes);
        let handles = self.handles.iter().zip(counts).enumerate();
        handles
            .map(|(stream, (handle, (written, rewritten)))| {
                json!({
                    "handle": handle,
                    "stream": stream,
                    "for": self.place(stream),
                    "written_bytes": written.get(),
                    "rewritten_bytes": rewritten.get(),
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
            "verdict": self.verdict,
            "comparison": self.comparison,
            "collected": self.collected,
            "stands": self.stands,
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
        let collects = self.collected.is_some();
        let heads = ["handle", "for", "written", "written anew"];
        table.set_header(&heads[..if collects { 4 } else { 3 }]);
        let counts = counters.written_bytes.iter().zip(&counters.rewritten_bytes);
        for (stream, (handle, (written, rewritten))) in self.handles.iter().zip(counts).enumerate()
        {
            let mut row = vec![
                handle.to_string(),
                self.place(stream).to_owned(),
                bytes(written.get()),
            ];
            row.extend(collects.then(|| bytes(rewritten.get())));
            table.add_row(row);
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
        text += &self.comparison.as_ref().map_or_else(String::new, periods);
        let by_log = self.comparison.as_ref().map(|found| &found.verdict);
        for words in self.verdict.iter().chain(by_log) {
            text += &format!("{words}\n");
        }
        if let Some(collected) = &self.collected {
            text += &format!("{}\n", collected.words);
        }
        text += &stands_table(&self.stands, &Look::default());
        text
    }
}

/// The table of the compared periods.
fn periods(compared: &Compared) -> String {
    let figures = ["settling", "written", "flash", "WAF"].map(Column::number);
    let words = ["pair", "compared"].map(Column::words);
    let mut grid = Grid::new(words.into_iter().chain(figures));
    let amount = |number: u64| Cell::new(bytes(number), number);
    for period in &compared.periods {
        grid.push([
            Cell::from(&period.pair.to_string()),
            Cell::from(&period.way.name().to_owned()),
            amount(period.settling_bytes),
            amount(period.host_bytes),
            amount(period.media_bytes),
            Cell::new(format!("{:.3}", period.waf), period.waf),
        ]);
    }
    if grid.is_empty() {
        return String::new();
    }
    format!("{}\n", grid.text(&Look::default()))
}

fn modelled(counted: &Modelled) -> Value {
    json!({
        "host_pages": counted.host_pages,
        "copied_pages": counted.copied_pages,
        "waf": counted.waf,
        "error": counted.error,
    })
}

/// A count as JSON has it.
pub fn small(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use anabranch_report::{ComparedPeriod, ComparedWay};

    use super::*;

    #[test]
    fn each_compared_period_has_a_row() {
        let mut compared = Compared {
            period_s: 60.0,
            pairs: 6,
            way: ComparedWay::Steered,
            dropped_pairs: 0,
            periods: Vec::new(),
            mean_waf: None,
            difference: None,
            verdict: String::new(),
        };
        assert_eq!(periods(&compared), "");
        compared.periods.push(ComparedPeriod {
            pair: 1,
            way: ComparedWay::OneHandle,
            settling_bytes: 1 << 30,
            host_bytes: 1000,
            media_bytes: 1250,
            waf: 1.25,
            foreign_bytes: 0,
        });
        let table = periods(&compared);
        let row = table.lines().nth(2).unwrap_or_default();
        for word in [
            "| 1 ",
            "one handle",
            "1.00 GiB",
            "1000 B",
            "1.22 KiB",
            "1.250",
        ] {
            assert!(row.contains(word), "{word}: {table}");
        }
    }
}
