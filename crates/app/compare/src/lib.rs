//! Comparisons as people ask for them: traces, schemes and drives by name, multiplied into grids,
//! replayed, and put together as results. The command and the Python package both work through
//! this room, so that the same question gets the same answer, and the same words where it is wrong.
//!
//! - [`ReplayOptions`] is what can be asked; [`replay`] answers.
//! - [`TraceFile`] is a trace in any form, [`Requests`] anything that can be replayed.
//! - [`drives`] makes drives from options, [`schemes`] schemes, [`Running`] has them at work.
//!
//! Nothing here prints. A caller can [`Watch`] the work, and end it.
//!
//! ```
//! use std::path::Path;
//!
//! use anabranch_compare::{ReplayOptions, TraceFile, Unwatched, read_text, replay, schemes};
//!
//! // Four writers whose data live differently long. A trace file is opened by its path.
//! let load = "synthetic:fio-fms16:size=64MiB,write=512MiB";
//! let trace = TraceFile::open(Path::new(load), None, false)?;
//!
//! let mut options = ReplayOptions::default();
//! options.drive.unit = vec!["256KiB".to_owned()];
//! options.comparison.schemes = vec!["baseline".to_owned(), "hints".to_owned()];
//! let specs = schemes(&options.comparison, true, &read_text)?;
//!
//! // A result for each trace and drive, here one, which holds a row for each scheme.
//! let results = replay(&options, &specs, &[&trace], &mut Unwatched)?;
//! let wafs: Vec<f64> = results[0].schemes.iter().filter_map(|scheme| scheme.waf).collect();
//! assert_eq!(wafs.len(), 2);
//! assert!(wafs[1] < wafs[0], "a stream for each writer saves copies: {wafs:?}");
//! # Ok::<(), anabranch_compare::CompareError>(())
//! ```

mod compared_drive;
mod discards;
mod drive_grid;
mod endurance;
mod error;
mod feed;
mod files;
mod filling;
mod lifetimes;
mod numbers;
mod options;
mod pass;
mod profiles;
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

pub use compared_drive::ComparedDrive;
pub use discards::{Discards, NoDiscards};
pub use drive_grid::{
    DriveQuery, Size, TraceOrigin, aged_drives, drives, grid, one_drive, one_sampled,
};
pub use endurance::{add_endurance, check_endurance, endurance};
pub use error::{CompareError, CompareErrorKind, Result};
pub use files::Files;
pub use filling::{complete, filled, of_recording, options_of};
pub use lifetimes::Lifetimes;
pub use numbers::{Addresses, Learned, Numbers, learn};
pub use options::{
    ComparisonOptions, DEFAULT_SCHEMES, DriveOptions, EnduranceOptions, IssueKind, ReplayOptions,
    TimeOptions, from_one,
};
pub use profiles::{DEFAULT_PROFILE, load};
pub use recorded::Recorded;
pub use replay::{Case, Filled, Question, one_cell, replay};
pub use result::{json, results};
pub use running::Running;
pub use sampling::{SAMPLES, Sampling, Thinned, leaves_enough, samples};
pub use saved::open as open_saved;
pub use schemes::{read_text, schemes};
pub use source::{Format, Requests, Sink, TraceFile, matching, overlap};
pub use texts::{bytes, number, parsed_list, share, text, text_list};
pub use watch::{Unwatched, Watch};
