//! The report on drives' counters: table, JSON, metrics.

use anabranch_counters::{Amplification, Count};
use anabranch_report::{Cell, Column, Exposition, Grid, Look, Metric, bytes, line, ratio};
use serde_json::{Value, json};

use super::{
    read_by,
    source::{Before, Reading},
};

/// A report on drives at one moment.
#[derive(Debug)]
pub struct Report {
    unix_s: u64,
    drives: Vec<DriveReport>,
}

#[derive(Debug)]
pub struct DriveReport {
    device: String,
    model: Option<String>,
    serial: Option<String>,
    counts: Vec<Count>,
    total: Amplification,
    /// Seconds of the interval, and its writes, or the reason why they are not known.
    interval: Option<(f64, Result<Amplification, String>)>,
    notes: Vec<String>,
}

impl Report {
    /// Reports readings, with those of before, in the same order, if there are any.
    pub fn of(now: &[Reading], before: Option<&[Before]>, unix_s: u64) -> Report {
        let drives = now.iter().enumerate().map(|(index, reading)| {
            let before = before.and_then(|before| before.get(index));
            let total = reading.amplification();
            let mut notes = reading.notes.clone();
            if notes.is_empty() {
                notes.extend(total.missing());
            }
            let since = |before: &Before| {
                let counts = before.counts.as_ref();
                let writes = counts
                    .map_err(Clone::clone)
                    .and_then(|before| total.since(before).map_err(str::to_owned));
                (before.seconds, writes)
            };
            DriveReport {
                device: reading.device.clone(),
                model: reading.model.clone(),
                serial: reading.serial.clone(),
                counts: reading.counts.clone(),
                total,
                interval: before.map(since),
                notes,
            }
        });
        Report {
            unix_s,
            drives: drives.collect(),
        }
    }

    pub fn json(&self) -> Value {
        let drives: Vec<Value> = self.drives.iter().map(DriveReport::json).collect();
        json!({ "schema": 1, "unix_s": self.unix_s, "drives": drives })
    }

    /// As a table, with a sentence for each figure that is missing.
    pub fn text(&self, look: &Look) -> String {
        let has_interval = self.drives.iter().any(|drive| drive.interval.is_some());
        let mut columns = vec![
            Column::words("drive"),
            Column::words("model").rank(1),
            Column::number("by hosts").key("host_bytes"),
            Column::number("to flash").key("flash_bytes"),
            Column::number("WAF").key("waf"),
        ];
        if has_interval {
            columns.extend([
                Column::number("seconds").rank(2),
                Column::number("by hosts then").key("interval_host_bytes"),
                Column::number("to flash then").key("interval_flash_bytes"),
                Column::number("WAF then").key("interval_waf"),
            ]);
        }
        columns.push(Column::words("counted by").key("logs").rank(3));
        let mut grid = Grid::new(columns);
        for drive in &self.drives {
            grid.push(drive.cells(has_interval));
        }
        let mut text = grid.text(look) + "\n";
        if !look.csv {
            for drive in &self.drives {
                for note in drive.sentences() {
                    text += &look.wrapped(&format!("{}: {}\n", line(&drive.device), line(&note)));
                }
            }
        }
        text
    }

    /// As OpenMetrics text.
    pub fn metrics(&self) -> String {
        metrics(&self.drives)
    }
}

impl DriveReport {
    fn json(&self) -> Value {
        let interval = self.interval.as_ref().map(|(seconds, writes)| {
            let known = writes.as_ref().ok();
            json!({
                "seconds": seconds,
                "host_bytes": known.and_then(|one| small(one.host_bytes())),
                "flash_bytes": known.and_then(|one| small(one.flash_bytes())),
                "waf": known.and_then(Amplification::waf),
                "missing": match writes {
                    Ok(known) => known.missing(),
                    Err(why) => Some(why.clone()),
                },
            })
        });
        let counts: Vec<Value> = self.counts.iter().map(count).collect();
        json!({
            "device": self.device,
            "model": self.model,
            "serial": self.serial,
            "host_bytes": small(self.total.host_bytes()),
            "flash_bytes": small(self.total.flash_bytes()),
            "waf": self.total.waf(),
            "logs": read_by(&self.counts),
            "missing": self.total.missing(),
            "notes": self.notes,
            "interval": interval,
            "counts": counts,
        })
    }

    fn cells(&self, has_interval: bool) -> Vec<Cell> {
        let size = |value: Option<u128>| Cell::maybe(small(value), |value| bytes(*value));
        let waf = |value: Option<f64>| Cell::maybe(value, |value| ratio(Some(*value)));
        let mut cells = vec![
            Cell::from(&self.device),
            Cell::maybe(self.model.as_ref(), |model| (*model).clone()),
            size(self.total.host_bytes()),
            size(self.total.flash_bytes()),
            waf(self.total.waf()),
        ];
        if has_interval {
            let seconds = self.interval.as_ref().map(|(seconds, _)| *seconds);
            let writes = self.interval.as_ref();
            let writes = writes.and_then(|(_, writes)| writes.as_ref().ok());
            cells.extend([
                Cell::maybe(seconds, |seconds| format!("{seconds:.0}")),
                size(writes.and_then(|one| one.host_bytes())),
                size(writes.and_then(|one| one.flash_bytes())),
                waf(writes.and_then(|one| one.waf())),
            ]);
        }
        cells.push(Cell::from(read_by(&self.counts)));
        cells
    }

    /// Sentences on what is missing.
    fn sentences(&self) -> Vec<String> {
        let failed = self.interval.as_ref();
        let failed = failed.and_then(|(_, writes)| writes.as_ref().err());
        let failed = failed.map(|why| format!("no figures of the interval: {why}"));
        self.notes.iter().cloned().chain(failed).collect()
    }
}

/// Bytes as programs read them, of 64 bits; more than that is 2^64 - 1.
fn small(bytes: Option<u128>) -> Option<u64> {
    bytes.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// A count for programs. Its value is text, since it may have 128 bits.
pub fn count(count: &Count) -> Value {
    json!({
        "log": count.log,
        "quantity": count.quantity.name(),
        "value": count.value.to_string(),
        "unit_bytes": count.unit_bytes(),
        "source": count.source,
    })
}

/// The counts of drives, as OpenMetrics text.
pub fn metrics(drives: &[DriveReport]) -> String {
    let mut text = Exposition::new("anabranch_drive");
    let labels = |drive: &DriveReport| {
        let model = drive.model.clone().unwrap_or_default();
        vec![("device", drive.device.clone()), ("model", model)]
    };
    let each = |of: fn(&DriveReport) -> Option<f64>| {
        let known = drives
            .iter()
            .filter_map(move |drive| Some((labels(drive), of(drive)?)));
        known.collect::<Vec<_>>()
    };
    text.family(
        "host_bytes",
        Metric::Counter,
        "Bytes that hosts wrote, by the drive's counter",
        each(|drive| drive.total.host_bytes().map(|bytes| bytes as f64)),
    );
    text.family(
        "flash_bytes",
        Metric::Counter,
        "Bytes written to the flash, by the drive's counter",
        each(|drive| drive.total.flash_bytes().map(|bytes| bytes as f64)),
    );
    text.family(
        "waf",
        Metric::Gauge,
        "Write amplification since the drive counts",
        each(|drive| drive.total.waf()),
    );
    text.family(
        "interval_waf",
        Metric::Gauge,
        "Write amplification between the last two readings",
        each(|drive| drive.interval.as_ref()?.1.as_ref().ok()?.waf()),
    );
    text.finish()
}
