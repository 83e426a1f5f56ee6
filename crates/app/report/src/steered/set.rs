//! Several steered drives together, as those of an array.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::{Steered, screen::rate_words};
use crate::{bytes, foreign, line, ratio};

/// Steered drives, each by a server of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteeredSet<'a>(&'a [Steered]);

/// Sums over a set of steered drives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SteeredTotals {
    /// Number of drives.
    pub drives: usize,
    /// Bytes that the block devices took.
    pub written_bytes: u64,
    /// Bytes that they gave.
    pub read_bytes: u64,
    /// Bytes that were discarded.
    pub discarded_bytes: u64,
    /// Bytes that hosts wrote, by the drives' own logs; `None` unless each drive tells it.
    pub host_bytes: Option<u64>,
    /// Bytes that the drives wrote to their flash; `None` unless each drive tells it.
    pub media_bytes: Option<u64>,
    /// The second over the first.
    pub waf: Option<f64>,
    /// The models' answer; `None` unless each drive that was written to is modelled.
    pub models: Option<ModelledTotals>,
}

/// Models of a set of drives, each weighted with what was written to its drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelledTotals {
    /// Write amplification as steered.
    pub steered_waf: f64,
    /// Write amplification in one stream.
    pub one_stream_waf: f64,
    /// Half the width of the interval of the share that steering saves: 0 where whole drives are modelled.
    pub saved_error: f64,
}

impl ModelledTotals {
    /// The share of flash writes that steering saves; negative where it costs some.
    pub fn saved(&self) -> f64 {
        1.0 - self.steered_waf / self.one_stream_waf
    }
}

impl<'a> SteeredSet<'a> {
    /// The set of these drives, in this order.
    pub fn new(drives: &'a [Steered]) -> SteeredSet<'a> {
        SteeredSet(drives)
    }

    /// Sums over the drives.
    pub fn totals(&self) -> SteeredTotals {
        let sum = |of: fn(&Steered) -> u64| self.0.iter().map(of).fold(0, u64::saturating_add);
        let told = |of: fn(&Steered) -> Option<u64>| -> Option<u64> {
            let each = self.0.iter().map(of);
            each.sum()
        };
        let host_bytes = told(|one| one.drive.host_bytes);
        let media_bytes = told(|one| one.drive.media_bytes);
        let waf = host_bytes.zip(media_bytes).filter(|(host, _)| *host > 0);
        SteeredTotals {
            drives: self.0.len(),
            written_bytes: sum(|one| one.counts.written_bytes),
            read_bytes: sum(|one| one.counts.read_bytes),
            discarded_bytes: sum(|one| one.counts.discarded_bytes),
            host_bytes,
            media_bytes,
            waf: waf.map(|(host, media)| media as f64 / host as f64),
            models: self.modelled(),
        }
    }

    fn modelled(&self) -> Option<ModelledTotals> {
        let written = |one: &&Steered| one.counts.written_bytes > 0;
        let (mut weight, mut steered, mut one_stream, mut variance) = (0.0, 0.0, 0.0, 0.0);
        for one in self.0.iter().filter(written) {
            let models = one.shadow.as_ref()?;
            let bytes = one.counts.written_bytes as f64;
            weight += bytes;
            steered += bytes * models.steered.waf?;
            one_stream += bytes * models.baseline.waf?;
            // Drives are modelled apart, so that their errors add up as those of independent samples do.
            let errors = [models.steered.error, models.baseline.error];
            let errors = errors.map(|error| bytes * error.unwrap_or(0.0));
            variance += errors.iter().map(|error| error * error).sum::<f64>();
        }
        (one_stream > 0.0).then(|| ModelledTotals {
            steered_waf: steered / weight,
            one_stream_waf: one_stream / weight,
            saved_error: variance.sqrt() / one_stream,
        })
    }

    /// A table of the drives with a line of all together, and what happened to each. With an earlier set of the same drives
    /// it has rates.
    pub fn screen(&self, before: Option<SteeredSet<'_>>) -> String {
        let mut lines = vec![self.table(before).to_string()];
        for one in self.0 {
            let name = one.block_device();
            let words = one.faults().into_iter();
            let words = words.chain(one.limitations.iter().map(|words| line(words)));
            lines.extend(words.map(|words| format!("{name}: {words}")));
        }
        lines.join("\n")
    }

    fn table(&self, before: Option<SteeredSet<'_>>) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "block device",
            "drive",
            "scheme",
            "written",
            "now",
            "read",
            "WAF",
            "as steered",
            "in one stream",
        ]);
        let mut rates = Vec::new();
        for (at, one) in self.0.iter().enumerate() {
            let then = before.and_then(|before| before.0.get(at));
            let rate = then.and_then(|then| one.write_rate(then));
            rates.extend(rate);
            let models = one.shadow.as_ref();
            table.add_row([
                one.block_device(),
                format!(
                    "{} {}",
                    foreign(&one.drive.model),
                    foreign(&one.drive.serial)
                ),
                foreign(&one.config.scheme),
                bytes(one.counts.written_bytes),
                rate.map_or_else(String::new, rate_words),
                bytes(one.counts.read_bytes),
                ratio(one.drive.waf),
                ratio(models.and_then(|models| models.steered.waf)),
                ratio(models.and_then(|models| models.baseline.waf)),
            ]);
        }
        let all = self.totals();
        table.add_row([
            "all".to_owned(),
            format!("{} drives", all.drives),
            String::new(),
            bytes(all.written_bytes),
            rates
                .into_iter()
                .reduce(|sum, rate| sum + rate)
                .map_or_else(String::new, rate_words),
            bytes(all.read_bytes),
            ratio(all.waf),
            ratio(all.models.map(|models| models.steered_waf)),
            ratio(all.models.map(|models| models.one_stream_waf)),
        ]);
        for number in 3..9 {
            if let Some(column) = table.column_mut(number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::sample_report, *};

    /// A drive with so much written, its log's bytes, and what its models copied for ten pages of the host's.
    fn drive(name: &str, written: u64, log: Option<[u64; 2]>, copied: Option<[u64; 2]>) -> Steered {
        let mut told = sample_report();
        told["config"]["block_device"] = name.into();
        told["written_bytes"] = written.into();
        if let Some([host, media]) = log {
            told["drive"]["host_bytes"] = host.into();
            told["drive"]["media_bytes"] = media.into();
        }
        if let Some(copied) = copied {
            let [steered, one] = copied.map(|copied| {
                json!({ "host_pages": 10, "copied_pages": copied, "waf": 1.0 + copied as f64 / 10.0, "error": 0.1 })
            });
            told["shadow"] = json!({ "missed_requests": 0, "baseline": one, "steered": steered });
        }
        Steered::read(told).unwrap()
    }

    #[test]
    fn drives_weigh_by_what_was_written_to_them() {
        let drives = [
            drive("/dev/ublkb0", 3000, Some([3000, 3300]), Some([1, 5])),
            drive("/dev/ublkb1", 1000, Some([1000, 1900]), Some([5, 9])),
            drive("/dev/ublkb2", 0, Some([0, 0]), None),
        ];
        let set = SteeredSet::new(&drives);
        let totals = set.totals();
        assert_eq!((totals.drives, totals.written_bytes), (3, 4000));
        assert_eq!(totals.waf, Some(1.3));
        let models = totals.models.unwrap();
        assert!((models.steered_waf - 1.2).abs() < 1e-9);
        assert!((models.one_stream_waf - 1.6).abs() < 1e-9);
        assert!((models.saved() - 0.25).abs() < 1e-9);
        // Four errors of 0.1, of which two weigh three quarters and two a quarter.
        assert!((models.saved_error - 0.1 * (2.0 * 0.625_f64).sqrt() / 1.6).abs() < 1e-9);
        let screen = set.screen(None);
        for words in ["3 drives", "1.300", "1.200", "1.600", "/dev/ublkb1"] {
            assert!(screen.contains(words), "{words}: {screen}");
        }
    }

    #[test]
    fn what_a_drive_does_not_tell_is_not_known_of_all() {
        let drives = [
            drive("/dev/ublkb0", 3000, Some([3000, 3300]), Some([1, 5])),
            drive("/dev/ublkb1", 1000, None, None),
        ];
        let set = SteeredSet::new(&drives);
        let totals = set.totals();
        assert_eq!((totals.host_bytes, totals.waf), (None, None));
        assert_eq!(totals.models, None);
    }

    #[test]
    fn rates_add_up_where_they_are_known() {
        let at = |seconds: f64, written: u64| {
            let mut one = drive("/dev/ublkb0", written, None, None);
            one.steered_s = Some(seconds);
            one
        };
        let then = [at(1.0, 0), at(1.0, 4 << 20)];
        let before = SteeredSet::new(&then);
        let both = [at(3.0, 4 << 20), at(5.0, 8 << 20)];
        let now = SteeredSet::new(&both);
        let screen = now.screen(Some(before));
        for words in ["2.00 MiB/s", "1.00 MiB/s", "3.00 MiB/s"] {
            assert!(screen.contains(words), "{words}: {screen}");
        }
        // The second server is another, and counts anew.
        let later = [at(5.0, 8 << 20), at(1.0, 4096)];
        let anew = SteeredSet::new(&later);
        let last = anew.screen(Some(now));
        assert!(
            last.lines()
                .rfind(|line| line.trim_start().starts_with("all"))
                .unwrap()
                .contains("2.00 MiB/s")
        );
    }
}
