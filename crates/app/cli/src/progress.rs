//! The progress of long work, on standard error: a bar on a terminal, and lines elsewhere for work of minutes.

use std::time::{Duration, Instant};

use anabranch_compare::{CompareError, Result, Watch};
use indicatif::{ProgressBar, ProgressStyle};

use crate::say;

/// A progress bar with a percentage and the remaining time, for work of known size.
pub fn bar(what: &str) -> ProgressBar {
    if !say::draws() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {eta} to go")
    {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}

/// The time between two lines of progress. Our choice.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The progress of work that may take minutes: a bar on a terminal, elsewhere a line from time to time.
pub struct Progress {
    what: String,
    bar: ProgressBar,
    began: Instant,
    last_line: Instant,
}

impl Progress {
    /// Begins work that notes call `what`.
    pub fn begin(what: &str) -> Progress {
        let now = Instant::now();
        Progress {
            what: what.to_owned(),
            bar: bar(what),
            began: now,
            last_line: now,
        }
    }

    /// Shows the share that is done, and how long the rest takes at this pace.
    pub fn show(&mut self, share: f64) {
        self.bar.set_position((share * 1000.0) as u64);
        if say::draws() || self.last_line.elapsed() < LINE_EVERY {
            return;
        }
        self.last_line = Instant::now();
        say::print_note(&line(&self.what, share, self.began.elapsed()));
    }

    /// Ends the work: the bar disappears.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// A line of progress.
fn line(what: &str, share: f64, taken: Duration) -> String {
    let left_s = taken.as_secs_f64() * (1.0 / share.max(f64::MIN_POSITIVE) - 1.0);
    let (percent, taken_s) = (share * 100.0, taken.as_secs_f64());
    format!(
        "{what}: {percent:.1} % of the most that it takes after {taken_s:.0} s; at most {left_s:.0} s to go"
    )
}

/// A watch that shows a progress bar for each pass over a trace.
#[derive(Default)]
pub struct Bar(Option<ProgressBar>);

impl Watch for Bar {
    fn begin(&mut self, what: &str) {
        self.0 = Some(bar(what));
    }

    fn done(&mut self, share: f64) -> Result {
        if let Some(bar) = &self.0 {
            bar.set_position((share * 1000.0) as u64);
        }
        Ok(())
    }

    fn pass_over(&mut self, fault: &CompareError) -> bool {
        say::print_note(&format!(
            "{fault}; the other drives are compared without it"
        ));
        true
    }

    fn say(&mut self, words: &str) {
        say::print_note(words);
    }

    fn end(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_long_the_rest_takes_at_the_pace_so_far() {
        assert_eq!(
            line("preconditioning", 0.25, Duration::from_secs(30)),
            "preconditioning: 25.0 % of the most that it takes after 30 s; at most 90 s to go"
        );
    }
}
