//! Comparisons as people ask for them: traces, schemes and drives by name, multiplied into grids,
//! replayed, and put together as results. The command and the Python package both work through
//! this room, so that the same question gets the same answer, and the same words where it is wrong.
//!
//! - [`ReplayOptions`] is what can be asked; [`replay`] answers.
//! - [`TraceFile`] is a trace in any form, [`Requests`] anything that can be replayed.
//! - [`drives`] makes drives from options, [`schemes`] schemes, [`Running`] has them at work.
//!
//! Nothing here prints. A caller can [`Watch`] the work, and end it.

mod drives;
mod fault;
mod feed;
mod files;
mod grid;
mod lifetimes;
mod numbers;
mod options;
mod point;
mod recorded;
mod replay;
mod result;
mod running;
mod sampling;
mod saved;
mod schemes;
pub mod small_file;
mod source;
mod texts;
mod watch;

pub use drives::{DEFAULT_PROFILE, NamedDrive, Origin, Size, bytes, load, share};
pub use fault::{Fault, FaultKind, Result};
pub use files::Files;
pub use grid::{Asked, aged_drives, drives, grid, one_drive, one_sampled};
pub use lifetimes::Lifetimes;
pub use numbers::{Addresses, Learned, Numbers, learn};
pub use options::{
    ComparisonOptions, DEFAULT_SCHEMES, DriveOptions, IssueKind, ReplayOptions, TimeOptions,
};
pub use recorded::Recorded;
pub use replay::{Cell, Filled, one_cell, replay};
pub use result::{json, results};
pub use running::Running;
pub use sampling::{SAMPLES, Sampling, Thinned, samples};
pub use saved::open as open_saved;
pub use schemes::{read_text, schemes};
pub use source::{Format, Requests, Sink, TraceFile, matching, overlap};
pub use texts::{number, parsed_list, text, text_list};
pub use watch::{Unwatched, Watch};
