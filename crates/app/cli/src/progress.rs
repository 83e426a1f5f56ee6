//! The progress of a replay: shown on a terminal only, on standard error only.

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
