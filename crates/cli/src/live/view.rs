//! What a person sees while it runs: on a terminal only, on standard error only.

use std::{
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use anabranch_compare::Running;

/// How often the view is drawn anew (our choice).
const EVERY: Duration = Duration::from_millis(250);
/// Cells of a bar: one for each tenth of WAF above 1.
const BAR_CELLS: usize = 30;

/// The live view of a run: a line for what flows, a line for each scheme's WAF.
#[derive(Debug)]
pub struct View {
    lines: Option<Vec<ProgressBar>>,
    multi: MultiProgress,
    began: Instant,
    drawn: Instant,
}

impl View {
    /// A view of `schemes` lines, or none where standard error is no terminal.
    pub fn new(schemes: usize) -> View {
        let multi = MultiProgress::new();
        let lines = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            (0..=schemes)
                .map(|_| multi.add(ProgressBar::new_spinner().with_style(style.clone())))
                .collect()
        });
        let now = Instant::now();
        View {
            lines,
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
        let Some(lines) = &self.lines else {
            return;
        };
        if self.drawn.elapsed() < EVERY {
            return;
        }
        self.drawn = Instant::now();
        let elapsed = self.began.elapsed();
        let mebibytes = running.source().write_bytes as f64 / (1 << 20) as f64;
        lines[0].set_message(format!(
            "{:>4} s   {:>9.1} MiB written   {:>7.1} MiB/s   {} events lost",
            elapsed.as_secs(),
            mebibytes,
            mebibytes / elapsed.as_secs_f64().max(0.001),
            lost_events,
        ));
        for (line, (name, counters)) in lines[1..].iter().zip(running.progress()) {
            let waf = counters.waf().unwrap_or(1.0);
            let cells = (((waf - 1.0) * 10.0).round() as usize).min(BAR_CELLS);
            line.set_message(format!("{name:>24}  WAF {waf:6.3} {}", "|".repeat(cells)));
        }
    }

    /// Takes the view away, for good: a line that is not finished would be drawn once more when dropped.
    pub fn clear(self) {
        for line in self.lines.into_iter().flatten() {
            line.finish_and_clear();
        }
    }
}
