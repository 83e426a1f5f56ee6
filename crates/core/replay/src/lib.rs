//! The one loop: a source of requests, schemes on devices, results. Live or from a trace, the
//! same requests give the same counts.
//!
//! ```
//! use std::{num::NonZeroUsize, sync::Arc};
//!
//! use anabranch_placement::SchemeSpec;
//! use anabranch_replay::{Fleet, Lane, Start};
//! use anabranch_ssd::Config;
//! use anabranch_trace::Io;
//!
//! // 64 MiB in units of 256 KiB with eight streams; half of all writes go to a tenth of the pages.
//! let drive = Config { host_streams: 8, internal_streams: 8, ..Config::new(16_384, 64, 288) };
//! let page = |step: u64| step * 7919 % [16_384, 1638][step as usize % 2];
//! let ios: Arc<[Io]> = (0..100_000).map(|step| Io::write(page(step) * 4096, 4096)).collect();
//!
//! // Each scheme drives a device of its own, on a thread of its own.
//! let specs = SchemeSpec::parse_list("baseline,dac,sepbit")?;
//! let lanes = specs.iter().map(|spec| Lane::build(spec, &drive, &Start::default()));
//! let fleet = Fleet::start(lanes.collect::<Result<_, _>>()?, NonZeroUsize::MIN);
//! fleet.send(&ios)?;
//! for (spec, lane) in specs.iter().zip(fleet.finish()?) {
//!     println!("{}: WAF {:?}", spec.name(), lane.counters().waf());
//!     assert_eq!(lane.counters().host_pages, 100_000);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod any_device;
mod clock;
mod collected;
mod details;
mod draw;
mod endurance;
mod engine;
mod fleet;
mod future;
mod gap;
mod judge;
mod label;
mod lane;
mod outcome;
mod pack;
mod pages;
mod pooled;
mod precondition;
mod renumber;
mod sampled;
mod series;
mod space;
mod steady;
pub mod synthetic;
mod verdict;
mod ways;

pub use any_device::AnyDevice;
pub use clock::Clock;
pub use collected::{CannotCollect, Collected, CollectedBytes};
pub use details::{
    Alive, ContextLives, ContextStream, Details, DriveMap, ErasedUnits, Fill, KeptContext,
    KeptSurvey, Leader, LifePoints, Lives, Moment, SchemeDetails, SettingCost, StreamLives, Survey,
};
pub use endurance::{Endurance, Limit, Stands};
pub use engine::Engine;
pub use fleet::{Fleet, FleetError, Progress};
pub use future::Foresight;
pub use gap::close_gaps;
pub use label::{FilesWritten, NamePatterns, labels, short, without_parameters};
pub use lane::{Lane, LaneError, Shown, Start, UnfitLane, best};
pub use outcome::{
    Comparison, Drive, Point, SCHEMA, SchemeResult, Source, StreamResult, WIDENED, WholeDrive,
    outcome,
};
pub use pack::Pack;
pub use pages::{BeyondDrive, Pages};
pub use pooled::pooled;
pub use precondition::{Aged, Pattern, Precondition};
pub use renumber::Renumber;
pub use sampled::{Drawn, SampledDrive, SampledWaf};
pub use series::Series;
// The result holds these, and who shows it need not know the device.
pub use anabranch_placement::RuleUse;
pub use anabranch_ssd::{
    time::{Interval, IntervalLatency, LatencySummary, TimeReport},
    wear::WearReport,
};
pub use steady::{Band, Steady, verdict};
pub use verdict::{Answer, DriveAnswer, DriveKind, ORDINARY, OtherVictims, SOLD, Verdict, WORTH};
pub use ways::{Lever, OtherWay, OtherWays, WafAtSpare};
