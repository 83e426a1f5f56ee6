//! Traces of other people, as a stream of [`Io`](crate::Io).
//!
//! [`Input`] is a file or any other source of bytes, plain or packed; [`Format`] is named or
//! guessed by [`Input::sniff`]; [`Importer`] reads inputs as one trace; [`Survey`] says what it
//! amounts to. The other way, [`Exporter`] writes a trace in a [`Form`]. Each format has a file of
//! its own here, which says its units and codes and where they are from: formats contradict each
//! other.
//!
//! A malformed record is an error that names the file, the line or record, and its content. All
//! lengths and counts are bounded, and so is the memory.

mod alibaba;
mod blkparse;
mod blktrace;
mod columns;
mod csv;
mod error;
mod exporter;
mod fault;
mod fields;
mod fio;
mod fiu;
mod footprint;
mod form;
mod format;
mod found;
mod ftrace;
mod importer;
mod input;
mod mqsim;
mod msr;
mod names;
mod options;
mod oracle_general;
mod pack;
mod reader;
mod records;
mod rwbs;
mod sniff;
mod spc;
mod survey;
mod tencent;
mod unpack;
mod writer;

pub use columns::ColumnMap;
pub use error::{ColumnsError, ImportError, Place};
pub use exporter::{Exported, Exporter};
pub use fault::Fault;
pub use form::Holds;
pub use format::{Form, Format};
pub use found::Skipped;
pub use importer::Importer;
pub use input::Input;
pub use options::{Event, Options};
pub use pack::Packed;
pub use survey::{Summary, Survey, Total};
