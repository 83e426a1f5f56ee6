//! Measures of a trace by itself, who wrote and how long it lived, and a scheme's placement in the
//! form that other programs understand.
//!
//! - [`contexts`] and [`coverage`] measure a trace; [`lifetimes`] groups what died by any scheme.
//! - [`advise`] makes rules, hints, placement tables and fio jobs of a scheme, each fed back.
//! - [`convert`] writes a trace in the form of another program.
//!
//! The command and the Python package both work through this room. Nothing here prints.

mod contexts;
mod convert;
mod coverage;
mod export;
mod lifetimes;
mod options;
mod reading;

pub use contexts::{ContextRow, Contexts, contexts};
pub use convert::{Converted, convert};
pub use coverage::{Coverage, CoverageRow, Way, coverage};
pub use export::{Advice, Checked, Source, advise};
pub use lifetimes::{Group, Grouping, lifetimes};
pub use options::{ExportOptions, Kind, Target};
