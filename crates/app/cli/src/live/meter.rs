//! The progress of a recording on standard error: on a terminal a line that is redrawn in place,
//! otherwise a line now and then. It also decides when the recording has seen enough.

use std::time::{Duration, Instant};

use anabranch_trace::{Io, Operation};
use indicatif::{ProgressBar, ProgressStyle};

use crate::say;

/// The time between two drawings of the line (our choice).
const EVERY: Duration = Duration::from_millis(250);
/// The time between two lines where there is no terminal (our choice: a log stays readable).
const EVERY_LINE: Duration = Duration::from_secs(10);

/// Counts requests, shows them, and decides when to stop.
pub struct Meter {
    requests: u64,
    written_bytes: u64,
    lasts: Option<Duration>,
    most_bytes: Option<u64>,
    line: Option<ProgressBar>,
    began: Instant,
    drawn: Instant,
}

impl Meter {
    /// The meter of a recording that ends after some time, or after some bytes written, if they are
    /// given.
    pub fn new(lasts: Option<Duration>, most_bytes: Option<u64>) -> Meter {
        let line = say::draws().then(|| {
            let style = ProgressStyle::with_template("{msg}");
            ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let now = Instant::now();
        Meter {
            requests: 0,
            written_bytes: 0,
            lasts,
            most_bytes,
            line,
            began: now,
            drawn: now,
        }
    }

    /// Counts the requests that were recorded.
    pub fn count(&mut self, ios: &[Io]) {
        self.requests += ios.len() as u64;
        let writes = ios.iter().filter(|io| io.operation == Operation::Write);
        self.written_bytes += writes.map(|io| io.length_bytes).sum::<u64>();
    }

    /// Whether the recording has lasted as long, or seen as many bytes, as was asked for.
    pub fn is_full(&self) -> bool {
        let is_late = self
            .lasts
            .is_some_and(|lasts| self.began.elapsed() >= lasts);
        is_late
            || self
                .most_bytes
                .is_some_and(|most| self.written_bytes >= most)
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes written so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Draws the line if it is time.
    pub fn draw(&mut self, lost_events: u64) {
        let pause = match &self.line {
            Some(_) => EVERY,
            None => EVERY_LINE,
        };
        if self.drawn.elapsed() < pause {
            return;
        }
        self.drawn = Instant::now();
        let words = self.words(self.began.elapsed().as_secs_f64(), lost_events);
        match &self.line {
            Some(line) => line.set_message(words),
            None => say::print_note(&words),
        }
    }

    fn words(&self, elapsed_s: f64, lost_events: u64) -> String {
        let end = match (self.lasts, self.most_bytes) {
            (Some(lasts), _) => {
                format!("{:.0} s to go", (lasts.as_secs_f64() - elapsed_s).max(0.0))
            }
            (None, Some(most)) => format!("until {}", anabranch_report::bytes(most)),
            (None, None) => "Ctrl-C ends it".to_owned(),
        };
        format!(
            "recording: {elapsed_s:.0} s, {} requests, {} written, {lost_events} events lost; {end}",
            self.requests,
            anabranch_report::bytes(self.written_bytes)
        )
    }

    /// Removes the line.
    pub fn clear(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_full_after_so_many_bytes_written() {
        let mut meter = Meter::new(None, Some(8192));
        meter.count(&[Io::write(0, 4096)]);
        assert!(!meter.is_full());
        meter.count(&[Io::write(0, 4096)]);
        assert!(meter.is_full());
        assert_eq!(
            meter.words(3.2, 0),
            "recording: 3 s, 2 requests, 8.00 KiB written, 0 events lost; until 8.00 KiB"
        );
    }

    #[test]
    fn a_recording_without_limits_says_how_to_end_it() {
        assert!(
            Meter::new(None, None)
                .words(0.0, 0)
                .ends_with("; Ctrl-C ends it")
        );
        assert!(Meter::new(Some(Duration::ZERO), None).is_full());
    }
}
