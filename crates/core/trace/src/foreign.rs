//! Traces of other people, as a stream of [`Io`](crate::Io).
//!
//! [`Input`] is a file or any other source of bytes, plain or packed; [`Format`] is named or
//! guessed by [`Input::sniff`]; [`Importer`] reads inputs as one trace; [`Survey`] says what it
//! amounts to. The other way, [`Exporter`] writes a trace in a [`Form`]. Each format has a file of
//! its own in `formats/`, which says its units and codes and where they are from: formats contradict each
//! other.
//!
//! ```
//! use anabranch_trace::{Operation, foreign::{Importer, Input, Options}};
//!
//! // A line of an MSR Cambridge trace: a write of 8 KiB at 1 MiB.
//! let text = b"128166372003061629,web,0,Write,1048576,8192,1331\n";
//! let mut input = Input::new("web_0.csv", &text[..])?;
//! let format = input.sniff()?;
//! assert_eq!(format.name(), "msr");
//! let mut importer = Importer::new(vec![input], format, &Options::default())?;
//! let mut ios = Vec::new();
//! while importer.read_batch(&mut ios)? {
//!     assert_eq!((ios[0].operation, ios[0].length_bytes), (Operation::Write, 8192));
//! }
//! # Ok::<(), anabranch_trace::foreign::ImportError>(())
//! ```
//!
//! A malformed record is an error that names the file, the line or record, and its content. All
//! lengths and counts are bounded, and so is the memory.

mod block_event;
mod calendar;
mod columns;
mod doubts;
mod error;
mod exporter;
mod fields;
mod footprint;
mod form;
mod formats;
mod importer;
mod in_flight;
mod input;
mod mmc;
mod names;
mod options;
mod pack;
mod parse_error;
mod reader;
mod record_outcome;
mod records;
mod reorder;
mod row;
mod rwbs;
mod sniff;
mod survey;
mod times;
mod unpack;
mod writer;

pub use columns::ColumnMap;
pub use doubts::span;
pub use error::{ColumnsError, ImportError, Position};
pub use exporter::{Exported, Exporter};
pub use form::Holds;
pub use formats::{Form, Format, MmcCommand};
pub use importer::Importer;
pub use input::Input;
pub use mmc::MmcCommands;
pub use options::{ALL_VOLUMES, Event, Options};
pub use pack::Packed;
pub use parse_error::ParseError;
pub use record_outcome::Skipped;
pub use survey::{Summary, Survey, Total};
