//! Sweeps: traces × schemes × drives × parameters, on the cores of one machine or of many.
//!
//! A **cell** is one scheme on one drive fed with one trace. Cells that share trace and drive go
//! together in a [`Batch`], which reads the trace once; a batch is the unit of work, whoever does
//! it, and [`run`] does it the same way everywhere. What it found is a Parquet file, a row a cell,
//! which depends on nothing but the batch; a sweep's result is the directory of these files.
//!
//! 1. [`Grid`] is the question.
//! 2. [`look`] at each trace: its size, and where the plan must know, what it writes.
//! 3. [`Plan`] resolves every drive and scheme, says how much memory each batch takes at most, and
//!    leaves out what is [`Finished`].
//! 4. [`run`] each batch, [`keep`] its file, then say that it is done.
//! 5. [`summary`] tells how figures are distributed over the traces; [`cells`] are the rows, [`fleet`] what a page of them needs.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use anabranch_sweep::{Grid, Limits, Reporter, local, summary};
//!
//! struct Silent;
//! impl Reporter for Silent {}
//!
//! let question = r#"
//!     traces = ["synthetic:fio-fms16:size=64MiB", "synthetic:fio-emmc:size=64MiB"]
//!     schemes = ["baseline", "hints"]
//!     drive.unit = "256KiB"
//! "#;
//! let grid = Grid::parse("question", question)?;
//! let directory = tempfile::tempdir()?;
//! let limits = Limits { workers: NonZeroUsize::MIN, cells: 16, memory_bytes: 1 << 30 };
//! let sweep = local(&grid, directory.path(), &limits, &mut Silent)?;
//! assert_eq!((sweep.cells, sweep.done, sweep.failed.len()), (4, 4, 0));
//!
//! // A group is a scheme on a drive, over all traces. Here each writer gives a hint of its own.
//! let groups = summary(directory.path())?;
//! let waf = |name: &str| groups.iter().find(|group| group.scheme == name)?.waf_of_all;
//! assert!(Some(1.0) <= waf("hints") && waf("hints") < waf("baseline"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod cells;
mod finished;
mod fleet;
mod grid;
mod key;
mod local;
mod memory;
mod plan;
mod rows;
mod run;
mod summary;
mod trace_survey;
mod traces;

pub use batch::Batch;
pub use cells::{Cell, GridDrive, cells};
pub use finished::{Finished, directories, files, keep, load_survey, save_survey};
pub use fleet::fleet;
pub use grid::Grid;
pub use local::{Done, Limits, Reporter, Sweep, local};
pub use plan::{Failures, Plan};
pub use rows::schema;
pub use run::run;
pub use summary::{FEW, Group, Quantiles, summary, summed_up};
pub use trace_survey::{Look, Seen, survey_trace};
pub use traces::local_traces;
