//! A steered drive as people watch it: a screen that is drawn in place.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use super::{Drive, Modelled, Shadow, Steered};
use crate::{bytes, foreign, line, ratio, ratio_within, share};

/// A log that counts in more than bytes is believed from so many of its steps on (our choice: to a hundredth).
const STEPS: u64 = 100;
/// The width of the widest bar (our choice).
const BARS: f64 = 24.0;

impl Steered {
    /// The screen of this moment; with what the same server told `before` it has rates as well.
    pub fn screen(&self, before: Option<&Steered>) -> String {
        let before = before.and_then(|before| Some((before, self.after(before)?)));
        let mut lines = vec![self.head(), self.flow(before), self.waf(before)];
        lines.push(self.table(before).to_string());
        lines.extend(self.faults());
        lines.extend(self.limitations.iter().map(|words| line(words)));
        let comparison = self.comparison.as_ref().map(|found| &found.verdict);
        let verdicts = self.verdict.iter().chain(comparison);
        lines.extend(verdicts.map(|words| line(words)));
        let collected = self.collected.iter();
        lines.extend(collected.map(|collected| line(&collected.words)));
        lines.join("\n")
    }

    /// The time since the server told `before`; `None` if another did, as one that took over, which counts anew.
    fn after(&self, before: &Steered) -> Option<Duration> {
        let handles = |told: &Steered| -> Vec<u64> {
            told.handles.iter().map(|handle| handle.handle).collect()
        };
        let is_same = self.counts.written_bytes >= before.counts.written_bytes
            && self.drive.serial == before.drive.serial
            && handles(self) == handles(before);
        let time = Duration::try_from_secs_f64(self.steered_s? - before.steered_s?).ok()?;
        (is_same && !time.is_zero()).then_some(time)
    }

    /// Bytes a second that were written since the server told `before`.
    pub(super) fn write_rate(&self, before: &Steered) -> Option<f64> {
        let seconds = self.after(before)?.as_secs_f64();
        let new = self.counts.written_bytes - before.counts.written_bytes;
        Some(new as f64 / seconds)
    }

    /// The name of the block device, or words for one whose server does not tell it.
    pub(super) fn block_device(&self) -> String {
        let name = self.config.block_device.as_deref();
        name.map_or_else(|| "a steered drive".to_owned(), foreign)
    }

    fn head(&self) -> String {
        let Steered { config, drive, .. } = self;
        let is = if config.block_device.is_some() {
            " is"
        } else {
            ""
        };
        let block = self.block_device() + is;
        let steered_s = self.steered_s.unwrap_or_default();
        format!(
            "{block} {} (serial number {}, {}), steered by {} for {steered_s:.0} s",
            foreign(&drive.model),
            foreign(&drive.serial),
            bytes(drive.bytes),
            foreign(&config.scheme),
        )
    }

    fn flow(&self, before: Option<(&Steered, Duration)>) -> String {
        let told = |word: &str, now: u64, then: fn(&Steered) -> u64| {
            let rate = before.map(|(before, time)| rate(now, then(before), time));
            let rate = rate.map_or_else(String::new, |rate| format!(", {rate} now"));
            format!("{word} {}{rate}", bytes(now))
        };
        let counts = &self.counts;
        [
            told("written", counts.written_bytes, |told| {
                told.counts.written_bytes
            }),
            told("read", counts.read_bytes, |told| told.counts.read_bytes),
            told("discarded", counts.discarded_bytes, |told| {
                told.counts.discarded_bytes
            }),
        ]
        .join("; ")
    }

    /// The drive's own write amplification, and beside it the models'.
    fn waf(&self, before: Option<(&Steered, Duration)>) -> String {
        let now = |waf: Option<f64>| waf.map_or_else(String::new, |waf| format!(" (now {waf:.3})"));
        let before = before.map(|(before, _)| before);
        let mut words = match self.drive.waf {
            Some(_) => format!("the drive's WAF {}", ratio(self.drive.waf)),
            None => "the drive's WAF is not known yet, or not told by it".to_owned(),
        };
        words += &now(before.and_then(|before| self.drive.since(&before.drive)));
        if let Some(shadow) = &self.shadow {
            let since = |part: fn(&Shadow) -> &Modelled| {
                let before = part(before?.shadow.as_ref()?);
                part(shadow).since(before)
            };
            words += &format!(
                "; by the models {}{} as steered, {}{} in one stream",
                ratio_within(shadow.steered.waf, shadow.steered.error),
                now(since(|shadow| &shadow.steered)),
                ratio_within(shadow.baseline.waf, shadow.baseline.error),
                now(since(|shadow| &shadow.baseline)),
            );
        }
        words
    }

    fn table(&self, before: Option<(&Steered, Duration)>) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["handle", "for", "written", "share", "now", ""]);
        let written = |handle: usize| before.map(|(before, _)| &before.handles[handle]);
        let since = |at: usize| {
            let then = written(at).map(|handle| handle.written_bytes);
            then.map(|then| self.handles[at].written_bytes.saturating_sub(then))
        };
        let most = (0..self.handles.len()).filter_map(since).max();
        for (at, handle) in self.handles.iter().enumerate() {
            let rate = before.zip(since(at));
            let bar = since(at).unwrap_or(0) as f64 / most.unwrap_or(0).max(1) as f64;
            table.add_row([
                handle.handle.to_string(),
                foreign(&handle.r#for),
                bytes(handle.written_bytes),
                share(handle.written_bytes, self.counts.written_bytes),
                rate.map_or_else(String::new, |((_, time), new)| rate_of(new, time)),
                "▇".repeat((bar * BARS).ceil() as usize),
            ]);
        }
        for number in [0, 2, 3, 4] {
            if let Some(column) = table.column_mut(number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// Faults that happened.
    pub(super) fn faults(&self) -> Vec<String> {
        let counts = &self.counts;
        let handover = |name: &str| {
            let counts = self.handover.as_ref();
            counts
                .and_then(|counts| counts.get(name))
                .copied()
                .unwrap_or(0)
        };
        let missed = self.shadow.as_ref().map_or(0, |told| told.missed_requests);
        [
            (counts.errors, "requests failed"),
            (
                counts.repeated_commands,
                "commands were cut off by a reset, and asked for again",
            ),
            (
                counts.unknown_pages,
                "pages went to a handle without a known writer",
            ),
            (
                handover("missed_pages"),
                "pages were written where the probe saw no writer",
            ),
            (handover("skipped_requests"), "requests the probe skipped"),
            (missed, "requests came too fast for the model"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .chain((counts.unplaced_bytes > 0).then(|| {
            format!(
                "{} were written without a stream: the drive had forgotten its streams",
                bytes(counts.unplaced_bytes)
            )
        }))
        .collect()
    }
}

impl Drive {
    /// The WAF since `before`, once enough was written to tell it.
    fn since(&self, before: &Drive) -> Option<f64> {
        let host = self.host_bytes?.checked_sub(before.host_bytes?)?;
        let media = self.media_bytes?.checked_sub(before.media_bytes?)?;
        let step = self.grain_bytes.unwrap_or(1);
        let known = if step > 1 {
            step.saturating_mul(STEPS)
        } else {
            1
        };
        (host >= known).then(|| media as f64 / host as f64)
    }
}

impl Modelled {
    fn since(&self, before: &Modelled) -> Option<f64> {
        let host = self.host_pages.checked_sub(before.host_pages)?;
        let copied = self.copied_pages.checked_sub(before.copied_pages)?;
        (host > 0).then(|| 1.0 + copied as f64 / host as f64)
    }
}

fn rate(now: u64, then: u64, time: Duration) -> String {
    rate_of(now.saturating_sub(then), time)
}

fn rate_of(new: u64, time: Duration) -> String {
    rate_words(new as f64 / time.as_secs_f64().max(1e-3))
}

/// Bytes a second, in words.
pub(super) fn rate_words(rate: f64) -> String {
    format!("{}/s", bytes(rate as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::sample_report, *};

    fn read(change: impl FnOnce(&mut serde_json::Value)) -> Steered {
        let mut told = sample_report();
        told["drive"]["model"] = "\u{1b}[2Jdrive".into();
        change(&mut told);
        Steered::read(told).unwrap()
    }

    #[test]
    fn a_screen_has_totals_and_with_an_earlier_one_rates() {
        let before = read(|told| told["steered_s"] = 60.0.into());
        let alone = before.screen(None);
        assert!(alone.contains("written 4.00 KiB; read 0 B"), "{alone}");
        assert!(
            alone.contains("the drive's WAF is not known yet"),
            "{alone}"
        );
        assert!(
            !alone.contains('\u{1b}') && !alone.contains("now 1"),
            "{alone}"
        );
        let now = read(|told| {
            told["steered_s"] = 62.0.into();
            told["written_bytes"] = (4096 + (8 << 20)).into();
            told["handles"][0]["written_bytes"] = (4096 + (8 << 20)).into();
            told["errors"] = 2.into();
            told["handover"] = json!({ "missed_pages": 7 });
            told["shadow"] = json!({
                "missed_requests": 0,
                "baseline": { "host_pages": 10, "copied_pages": 5, "waf": 1.5 },
                "steered": { "host_pages": 10, "copied_pages": 1, "waf": 1.1 },
            });
            told["comparison"] = json!({
                "period_s": 60.0, "pairs": 6, "way": "steered", "dropped_pairs": 0, "periods": [],
                "mean_waf": null, "difference": null, "verdict": "no pair is compared yet",
            });
        });
        let screen = now.screen(Some(&before));
        for words in [
            "written 8.00 MiB, 4.00 MiB/s now",
            "by the models 1.100 as steered, 1.500 in one stream",
            "2 requests failed",
            "7 pages were written where the probe saw no writer",
            "\nno pair is compared yet",
        ] {
            assert!(screen.contains(words), "{words}: {screen}");
        }
        // A server that took over counts anew.
        let later = read(|told| {
            told["steered_s"] = 63.0.into();
            told["written_bytes"] = (9 << 20).into();
            told["handles"][0]["handle"] = 3.into();
        });
        for anew in [before.screen(Some(&now)), later.screen(Some(&now))] {
            assert!(!anew.contains("/s"), "{anew}");
        }
    }

    #[test]
    fn what_a_log_of_large_steps_tells_is_not_believed_too_early() {
        let drive = |host: u64, media: u64, step: u64| {
            read(|told| {
                told["drive"]["host_bytes"] = host.into();
                told["drive"]["media_bytes"] = media.into();
                told["drive"]["grain_bytes"] = step.into();
            })
            .drive
        };
        assert_eq!(drive(30, 35, 1).since(&drive(10, 10, 1)), Some(1.25));
        assert_eq!(drive(30, 35, 1).since(&drive(30, 30, 1)), None);
        assert_eq!(drive(10, 10, 1).since(&drive(30, 30, 1)), None);
        assert_eq!(drive(99_000, 99_000, 1000).since(&drive(0, 0, 1000)), None);
        let known = drive(100_000, 150_000, 1000).since(&drive(0, 0, 1000));
        assert_eq!(known, Some(1.5));
    }
}
