//! The garbage of a drive as its host collects it. The host has a model of the drive with a whole scheme; copies of the
//! model are rewrites of the same addresses with another placement handle. A unit that the model has emptied is dead in the
//! drive, which erases it without copies of its own. The model has fewer units than the drive, so that the host collects
//! first. It is advice: whatever it gets wrong costs copies, and no data. No drive and no I/O in here.
//!
//! ```
//! use anabranch_collect::{Collector, Step, model_of};
//! use anabranch_placement::SchemeSpec;
//! use anabranch_ssd::{Config, Keeps, PageRange, StreamId};
//!
//! // A drive of 512 pages in units of 16, with eight spare units and four handles.
//! let drive = Config { host_streams: 4, ..Config::new(512, 16, 40) };
//! let scheme: SchemeSpec = "sepbit+host".parse()?;
//! let settings = scheme.collection().ok_or("no collection by the host")?;
//! let model = model_of(&scheme, settings, &drive)?;
//! let mut policy = scheme.policy(&model, None)?;
//! let mut collector = Collector::new(model, &drive, Keeps::Places, policy.relocation_mut())?;
//!
//! collector.write(policy.relocation_mut(), PageRange::new(0, 8), StreamId(1))?;
//! let mut sent = Vec::new();
//! collector.each_step(false, |step| {
//!     if let Step::Write { handle, pages } = step {
//!         sent.push((handle.0, pages.len()));
//!     }
//!     Ok::<(), ()>(())
//! }).unwrap();
//! assert_eq!(sent, [(1, 8)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cannot_collect;
mod collector;
mod contest;
mod model;
mod rewriter;
mod tap;

pub use cannot_collect::CannotCollect;
pub use collector::{Collector, Step};
pub use contest::{Contest, FEWEST_HANDLES, FEWEST_SPARE_UNITS, Moved, can_pay};
pub use model::{handles_of, memory_bytes, model_of};
