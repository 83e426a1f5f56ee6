//! The one loop: a source of requests, schemes on devices, results. Live or from a trace, the
//! same requests give the same counts.

mod details;
mod draw;
mod engine;
mod fleet;
mod future;
mod gap;
mod label;
mod lane;
mod outcome;
mod pack;
mod pages;
mod pooled;
mod precondition;
mod renumber;
mod series;
mod space;
mod steady;
pub mod synthetic;
mod verdict;

pub use details::{
    Alive, ContextLives, Details, DriveMap, ErasedUnits, Fill, KeptContext, KeptSurvey, LifePoints,
    Lives, Moment, Placement, SchemeDetails, StreamLives, Survey,
};
pub use engine::Engine;
pub use fleet::{Fleet, FleetError, Progress};
pub use future::Foresight;
pub use gap::close_gaps;
pub use label::{FilesWritten, labels, short};
pub use lane::{Clock, Lane, LaneError, Shown, Start, UnfitLane, best};
pub use outcome::{Drive, Outcome, Point, SCHEMA, SchemeOutcome, Source, StreamOutcome, outcome};
pub use pack::Pack;
pub use pages::{BeyondDrive, Pages};
pub use pooled::{Drawn, SampledDrive, SampledWaf, pooled};
pub use precondition::{Aged, Pattern, Precondition};
pub use renumber::Renumber;
pub use series::Series;
// The result holds these, and who shows it need not know the device.
pub use anabranch_placement::RuleUse;
pub use anabranch_ssd::{Interval, IntervalLatency, LatencySummary, TimeReport, WearReport};
pub use steady::{Band, Steady, verdict};
pub use verdict::{Answer, Verdict, WORTH};
