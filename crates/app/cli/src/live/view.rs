//! The live view for people, on standard error only: on a terminal it is redrawn in place, otherwise a plain line is
//! printed now and then.

use std::time::{Duration, Instant};

use anabranch_compare::Running;
use anabranch_replay::Progress;
use anabranch_report::foreign;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{output::note_above, spark::Spark};
use crate::say;

/// The time between two drawings of the view (our choice).
const EVERY: Duration = Duration::from_millis(250);
/// The time between two lines where there is no terminal (our choice: a log stays readable).
const EVERY_LINE: Duration = Duration::from_secs(10);
/// The most schemes that are shown: more lines would push the program's output off the screen (our choice).
const MOST_SCHEMES: usize = 16;
/// Capacities that must be written before the steady state can be judged.
const CAPACITIES_TO_JUDGE: f64 = 2.5;

/// The live view of a run: a line for the requests, a line for each scheme's WAF.
#[derive(Debug)]
pub struct View {
    lines: Option<Vec<ProgressBar>>,
    sparks: Vec<Spark>,
    multi: MultiProgress,
    began: Instant,
    drawn: Instant,
}

impl View {
    /// A view with a line for each of `schemes` schemes; it shows nothing in place where standard error is no terminal.
    pub fn new(schemes: usize) -> View {
        let multi = MultiProgress::new();
        let shown = schemes.min(MOST_SCHEMES);
        let lines = say::draws().then(|| {
            let style = ProgressStyle::with_template("{msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            (0..=shown)
                .map(|_| multi.add(ProgressBar::new_spinner().with_style(style.clone())))
                .collect()
        });
        let now = Instant::now();
        View {
            lines,
            sparks: vec![Spark::default(); shown],
            multi,
            began: now,
            drawn: now,
        }
    }

    /// The terminal, to print other lines above the view.
    pub fn terminal(&self) -> MultiProgress {
        self.multi.clone()
    }

    /// Draws the view if it is time.
    pub fn draw(&mut self, running: &Running, lost_events: u64) {
        let pause = match &self.lines {
            Some(_) => EVERY,
            None => EVERY_LINE,
        };
        if self.drawn.elapsed() < pause {
            return;
        }
        self.drawn = Instant::now();
        let schemes = running.progress().into_iter();
        let schemes: Vec<_> = schemes.map(|(name, now)| (foreign(&name), now)).collect();
        let flow = self.flow(running, &schemes, lost_events);
        let Some(lines) = &self.lines else {
            let wafs = schemes.iter().map(|(name, progress)| {
                format!("{name} {:.2}", progress.counters.waf().unwrap_or(1.0))
            });
            let wafs: Vec<String> = wafs.collect();
            let line = format!("{flow}; WAF {}", wafs.join(", "));
            return note_above(&self.multi, &line);
        };
        lines[0].set_message(flow);
        for (spark, (_, progress)) in self.sparks.iter_mut().zip(&schemes) {
            spark.record(&progress.counters);
        }
        let highest = self.sparks.iter().map(Spark::highest).fold(1.1, f64::max);
        let names = schemes.iter().map(|(name, _)| name.chars().count());
        let width = names.max().unwrap_or(0);
        let rows = self.sparks.iter().zip(&schemes);
        for (line, (spark, (name, progress))) in lines[1..].iter().zip(rows) {
            let waf = progress.counters.waf().unwrap_or(1.0);
            let curve = spark.curve(highest);
            line.set_message(format!("{name:>width$}  WAF {waf:5.2}  {curve}"));
        }
    }

    /// The line for the requests: time, bytes, how full the drive is, and the events lost.
    fn flow(&self, running: &Running, schemes: &[(String, Progress)], lost_events: u64) -> String {
        let elapsed_s = self.began.elapsed().as_secs_f64().max(0.001);
        let written_bytes = running.source().write_bytes;
        let drive = running.drive();
        let mapped = schemes.first().map_or(0, |(_, first)| first.mapped_pages);
        let full = 100.0 * mapped as f64 / f64::from(drive.logical_pages.max(1));
        let capacities = written_bytes as f64 / drive.logical_bytes().max(1) as f64;
        format!(
            "{elapsed_s:.0} s, {} written, {:.1} MiB/s, drive {full:.0} % full, {}, {lost_events} events lost",
            anabranch_report::bytes(written_bytes),
            written_bytes as f64 / f64::from(1 << 20) / elapsed_s,
            until_judged(capacities, elapsed_s),
        )
    }

    /// Removes the view for good. A line that is not finished would be drawn once more when dropped.
    pub fn clear(self) {
        for line in self.lines.into_iter().flatten() {
            line.finish_and_clear();
        }
    }
}

/// An estimate of when enough will have been written to judge whether the drive is steady. It is what a run is for, and
/// the only end that can be foreseen of a program that may end at any time.
fn until_judged(capacities: f64, elapsed_s: f64) -> String {
    let left = CAPACITIES_TO_JUDGE - capacities;
    if left <= 0.0 {
        return format!("{capacities:.1} capacities");
    }
    if capacities <= 0.0 {
        return format!("{CAPACITIES_TO_JUDGE} capacities to go until it can be judged");
    }
    let seconds = left / capacities * elapsed_s;
    format!("{left:.1} capacities to go until it can be judged (about {seconds:.0} s)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_judgement_is_told_until_it_is_done() {
        assert_eq!(
            until_judged(0.5, 10.0),
            "2.0 capacities to go until it can be judged (about 40 s)"
        );
        assert_eq!(
            until_judged(0.0, 1.0),
            "2.5 capacities to go until it can be judged"
        );
        assert_eq!(until_judged(3.0, 1.0), "3.0 capacities");
    }
}
