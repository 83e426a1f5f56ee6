//! Messages beside the result, on standard error: notes, progress, and events for debugging.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Mutex, OnceLock, PoisonError},
};

use anabranch_report::{message, printable};
use clap::{ArgAction, Args, ValueEnum};
use indicatif::ProgressBar;
use tracing::Level;

/// Verbosity of standard error.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Standard error")]
pub struct SayArguments {
    /// Say nothing but errors: no progress, no notes
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say what is done and why, as events; twice for every step. Progress is then lines, too
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// The form of the events that -v shows
    #[arg(long, global = true, value_name = "FORM", default_value = "text")]
    pub log_format: LogFormat,
}

/// The form of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people
    #[default]
    Text,
    /// A line of JSON
    Json,
}

/// The options of messages; set once, before the first message.
static ASKED: OnceLock<SayArguments> = OnceLock::new();

impl SayArguments {
    /// Applies the options to all messages from now on.
    pub fn begin(self) {
        let _ = ASKED.set(self);
        let level = match self.verbose {
            0 => return,
            1 => Level::INFO,
            _ => Level::DEBUG,
        };
        let events = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(io::stderr);
        // There is no other: nothing else installs one.
        let _ = match self.log_format {
            LogFormat::Text => tracing::subscriber::set_global_default(events.finish()),
            LogFormat::Json => tracing::subscriber::set_global_default(events.json().finish()),
        };
    }
}

fn asked() -> SayArguments {
    ASKED.get().copied().unwrap_or_default()
}

/// Whether only errors are to be printed.
pub fn is_quiet() -> bool {
    asked().quiet
}

/// Whether progress can be redrawn in place: only on a terminal, and without events in between.
pub fn draws() -> bool {
    io::stderr().is_terminal() && !is_quiet() && asked().verbose == 0
}

/// The screen that is drawn in place: lines that are printed stay above it.
static SCREEN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Has lines printed above a screen from now on; without one, where they come.
#[cfg(feature = "live")]
pub fn above(screen: Option<ProgressBar>) {
    *SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = screen;
}

fn write(words: &str) {
    let written = || {
        let _ = writeln!(io::stderr(), "{words}");
    };
    match &*SCREEN.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(screen) => screen.suspend(written),
        None => written(),
    }
}

/// Prints lines, unless only errors are to be printed.
pub fn line(words: &str) {
    if !is_quiet() {
        write(&printable(words));
    }
}

/// Prints an error.
pub fn error(words: &str) {
    write(&format!("anabranch: {}", message(words)));
}

/// Prints a note, with the command's name.
pub fn print_note(words: &str) {
    line(&format!("anabranch: {}", message(words)));
}
