//! What a person sees while it replays: on a terminal only, on standard error only.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar with a percentage and the time to go, for work of known size.
pub fn bar(what: &str) -> ProgressBar {
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {eta} to go")
    {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}
