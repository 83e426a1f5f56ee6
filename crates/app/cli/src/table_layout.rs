//! The look of tables: as wide as the terminal, in colour where it has some, or as CSV.

use std::io::IsTerminal as _;

use anabranch_report::Look;
use clap::Args;

#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Tables")]
pub struct TableArguments {
    /// Show tables whole, however wide the terminal is
    #[arg(long)]
    pub wide: bool,
    /// Print tables as comma-separated values: every column, figures in bytes and as they are
    #[arg(long, conflicts_with_all = ["json", "wide"])]
    pub csv: bool,
}

impl TableArguments {
    /// The look for standard output. A pipe or a file has no width and no colours.
    pub fn layout(self) -> Look {
        let is_terminal = std::io::stdout().is_terminal();
        let width = terminal_size::terminal_size().filter(|_| is_terminal && !self.wide);
        Look {
            width: width.map(|(columns, _)| usize::from(columns.0)),
            csv: self.csv,
            colour: is_terminal && !self.csv && allows_colour(),
        }
    }
}

/// The look of a screen that is drawn on a terminal's standard error.
#[cfg(feature = "live")]
pub fn drawn() -> Look {
    Look {
        width: terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0)),
        ..Look::default()
    }
}

/// Whether the environment allows colours: <https://no-color.org> has any value but the empty one
/// forbid them.
fn allows_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}
