//! Measures of a trace by itself, who wrote and how long it lived, and a scheme's placement in the
//! form that other programs understand.
//!
//! - [`contexts`] and [`coverage`] measure a trace; [`lifetimes`] groups what died by any scheme.
//! - [`advise`] makes rules, hints, placement tables and fio jobs of a scheme, each fed back.
//! - [`convert`] writes a trace in the form of another program.
//!
//! The command and the Python package both work through this room. Nothing here prints.
//!
//! ```
//! use std::path::Path;
//!
//! use anabranch_advice::{contexts, lifetimes};
//! use anabranch_compare::{TraceFile, Unwatched};
//!
//! // Four writers at equal rates, over 1, 10, 33 and 55 % of a drive.
//! let load = "synthetic:fio-fms16:size=64MiB,write=256MiB";
//! let trace = TraceFile::open(Path::new(load), None, false)?;
//!
//! // Data of the first writer are overwritten soonest.
//! let found = contexts(&trace, 8, &mut Unwatched)?.contexts;
//! let median = |id: u32| found.iter().find(|row| row.id == id)?.lifetime_p50_bytes;
//! assert_eq!(found.len(), 4);
//! assert!(Some(0) < median(1) && median(1) < median(2) && median(2) < median(3));
//!
//! // To know the writer is to know the lifetime here.
//! assert!(lifetimes(&trace, "context", 8, &mut Unwatched)?.explained > 0.99);
//! # Ok::<(), anabranch_compare::CompareError>(())
//! ```

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
pub use export::{Advice, Checked, Cost, Source, advise};
pub use lifetimes::{Group, Grouping, lifetimes};
pub use options::{ExportKind, ExportOptions, ExportTarget};
