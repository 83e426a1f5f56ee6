//! When discards reach the drive: at once, as a mount option has it; now and then, as `fstrim` does; or never.
//!
//! A late discard is that of a file system's free room at that time: what was written again meanwhile is not discarded.

use std::{collections::BTreeMap, fmt, str::FromStr};

use anabranch_placement::Bytes;
use anabranch_trace::{Io, Operation, as_text};
use thiserror::Error;

use crate::error::{CompareError, Result};

/// Nanoseconds of a day.
pub(crate) const DAY_NS: u64 = 86_400_000_000_000;

/// When discards reach the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Discards {
    /// When the trace makes them.
    #[default]
    Now,
    /// Once a day by the trace's clock.
    Daily,
    /// Whenever so many bytes were written.
    Every(u64),
    /// No discard reaches the drive.
    Never,
}

/// A text that names no time for discards.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "\"{0}\" is no time for discards: write now, daily, every=BYTES as in every=10GiB, or never"
)]
pub struct NoDiscards(String);

impl fmt::Display for Discards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Discards::Now => f.write_str("now"),
            Discards::Daily => f.write_str("daily"),
            Discards::Every(bytes) => write!(f, "every={}", Bytes(*bytes)),
            Discards::Never => f.write_str("never"),
        }
    }
}

impl FromStr for Discards {
    type Err = NoDiscards;

    fn from_str(text: &str) -> Result<Discards, NoDiscards> {
        let every = |bytes: &str| {
            bytes
                .parse::<Bytes>()
                .ok()
                .filter(|Bytes(bytes)| *bytes > 0)
        };
        match (text, text.strip_prefix("every=")) {
            ("now", _) => Ok(Discards::Now),
            ("daily", _) => Ok(Discards::Daily),
            ("never", _) => Ok(Discards::Never),
            (_, Some(bytes)) => match every(bytes) {
                Some(Bytes(bytes)) => Ok(Discards::Every(bytes)),
                None => Err(NoDiscards(text.to_owned())),
            },
            _ => Err(NoDiscards(text.to_owned())),
        }
    }
}

as_text!(Discards, NoDiscards);

/// Requests with their discards delayed.
#[derive(Debug)]
pub(crate) struct Delay {
    when: Discards,
    /// Room discarded and not written since: the end of each range by its first byte. Ranges neither overlap nor touch.
    free: BTreeMap<u64, u64>,
    /// Bytes written since discards were last passed on.
    written: u64,
    /// The times of the first and the latest request.
    times: Option<(u64, u64)>,
    /// Days begun at which discards were passed on.
    days: u64,
}

impl Delay {
    pub fn new(when: Discards) -> Delay {
        Delay {
            when,
            free: BTreeMap::new(),
            written: 0,
            times: None,
            days: 0,
        }
    }

    /// Passes a request to `sink`, after the discards that are due before it.
    pub fn apply(&mut self, io: &Io, mut sink: impl FnMut(Io)) {
        match self.when {
            Discards::Now => return sink(*io),
            Discards::Never if io.operation == Operation::Discard => return,
            Discards::Never => return sink(*io),
            Discards::Daily | Discards::Every(_) => {}
        }
        if self.is_due(io.time_ns) {
            self.written = 0;
            for (first, end) in std::mem::take(&mut self.free) {
                sink(Io {
                    operation: Operation::Discard,
                    time_ns: io.time_ns,
                    ..Io::write(first, end - first)
                });
            }
        }
        let range = (
            io.offset_bytes,
            io.offset_bytes.saturating_add(io.length_bytes),
        );
        match io.operation {
            Operation::Discard => return self.release(range),
            Operation::Write => {
                self.written = self.written.saturating_add(io.length_bytes);
                self.occupy(range);
            }
            Operation::Read | Operation::Flush => {}
        }
        sink(*io);
    }

    /// Whether discards are to be passed on before a request of that time.
    fn is_due(&mut self, time_ns: u64) -> bool {
        let first = self.times.map_or(time_ns, |(first, _)| first);
        self.times = Some((first, time_ns));
        if let Discards::Every(bytes) = self.when {
            return self.written >= bytes;
        }
        let days = time_ns.saturating_sub(first) / DAY_NS;
        let is_due = days > self.days;
        self.days = self.days.max(days);
        is_due
    }

    /// Takes note of a discarded range, joined with those that it touches.
    fn release(&mut self, (mut first, mut end): (u64, u64)) {
        while let Some((&other, &other_end)) = self.free.range(..=end).next_back() {
            if other_end < first {
                break;
            }
            first = first.min(other);
            end = end.max(other_end);
            self.free.remove(&other);
        }
        if first < end {
            self.free.insert(first, end);
        }
    }

    /// Takes a written range out of the free room.
    fn occupy(&mut self, (first, end): (u64, u64)) {
        while let Some((&other, &other_end)) = self.free.range(..end).next_back() {
            if other_end <= first {
                break;
            }
            self.free.remove(&other);
            if end < other_end {
                self.free.insert(end, other_end);
            }
            if other < first {
                self.free.insert(other, first);
            }
        }
    }

    /// Refuses daily discards of a trace in which no day passes.
    ///
    /// # Errors
    /// When the trace has no clock, or is shorter than a day.
    pub fn check(&self, trace: &str) -> Result {
        let Some((first, last)) = self.times.filter(|_| self.when == Discards::Daily) else {
            return Ok(());
        };
        let why = match last.saturating_sub(first) {
            0 => "has no clock: all its requests have one time".to_owned(),
            short if short < DAY_NS => {
                format!("lasts {:.0} s, less than a day", short as f64 / 1e9)
            }
            _ => return Ok(()),
        };
        Err(CompareError::wrong_use(format!(
            "--discards daily: {trace} {why}; give --discards every=BYTES, with what a day writes"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(when: Discards, ios: &[Io]) -> Vec<(Operation, u64, u64)> {
        let mut delay = Delay::new(when);
        let mut made = Vec::new();
        for io in ios {
            delay.apply(io, |io| {
                made.push((io.operation, io.offset_bytes, io.length_bytes))
            });
        }
        made
    }

    fn discard(offset: u64, length: u64) -> Io {
        Io {
            operation: Operation::Discard,
            ..Io::write(offset, length)
        }
    }

    #[test]
    fn a_time_for_discards_reads_back_as_it_is_shown_and_others_are_refused() {
        for text in ["now", "daily", "never", "every=10GiB"] {
            assert_eq!(text.parse::<Discards>().unwrap().to_string(), text);
        }
        for wrong in ["", "weekly", "every=", "every=0", "every=x"] {
            let error = wrong.parse::<Discards>().unwrap_err().to_string();
            assert!(error.contains("every=10GiB"), "{error}");
        }
    }

    #[test]
    fn late_discards_join_and_leave_out_what_was_written_again() {
        let ios = [
            discard(0, 40),
            discard(60, 40),
            discard(40, 20),
            Io::write(10, 20),
            Io::write(200, 80),
            Io::write(300, 1),
        ];
        use Operation::{Discard, Write};
        assert_eq!(
            made(Discards::Every(100), &ios),
            [
                (Write, 10, 20),
                (Write, 200, 80),
                (Discard, 0, 10),
                (Discard, 30, 70),
                (Write, 300, 1)
            ]
        );
        assert_eq!(made(Discards::Never, &ios).len(), 3);
        assert_eq!(made(Discards::Now, &ios).len(), 6);
    }

    #[test]
    fn daily_discards_come_with_the_first_request_of_a_day_and_need_a_clock() {
        let at = |io: Io, days: f64| Io {
            time_ns: (days * DAY_NS as f64) as u64,
            ..io
        };
        let ios = [
            at(discard(0, 8), 0.5),
            at(Io::write(100, 1), 1.4),
            at(Io::write(101, 1), 1.6),
            at(discard(50, 8), 1.7),
            at(Io::write(102, 1), 3.9),
        ];
        let offsets: Vec<u64> = made(Discards::Daily, &ios)
            .iter()
            .map(|one| one.1)
            .collect();
        assert_eq!(offsets, [100, 0, 101, 50, 102]);
        let refusal = |ios: &[Io]| {
            let mut delay = Delay::new(Discards::Daily);
            ios.iter().for_each(|io| delay.apply(io, |_| ()));
            delay.check("a.u32").err().map(|fault| fault.to_string())
        };
        assert_eq!(refusal(&ios), None);
        let timeless = refusal(&[discard(0, 8), Io::write(0, 8)]).unwrap();
        assert!(
            timeless.contains("no clock") && timeless.contains("every=BYTES"),
            "{timeless}"
        );
        let short = refusal(&ios[..1]).is_some() && refusal(&ios[1..3]).is_some();
        assert!(short);
    }
}
