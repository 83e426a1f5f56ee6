//! What pictures need beyond the figures: collected only when asked for, in bounded size.
//!
//! A comparison that keeps details remembers who wrote each logical page (8 bytes a page and
//! scheme) and looks at the whole drive a few dozen times; one that does not pays nothing.

mod kept;
mod map;
mod owners;
mod survey;
mod thinned;
mod watch;

use anabranch_trace::ContextKind;
use serde::{Deserialize, Serialize};

pub use kept::{Alive, KeptContext, KeptSurvey};
pub use map::{DriveMap, Moment};
pub use survey::Survey;
pub(crate) use watch::Watch;

/// Who wrote, and how long it lived: the same for every scheme.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Details {
    /// Program contexts, those with most bytes first.
    pub contexts: Vec<ContextLives>,
    /// Contexts that are not listed, because they wrote least.
    pub unlisted_contexts: u64,
    /// Bytes those wrote.
    pub unlisted_bytes: u64,
    /// A sample of the lives that ended.
    pub points: LifePoints,
}

/// One program context over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextLives {
    /// Its number in the trace.
    pub id: u32,
    /// 16 hexadecimal digits, the same after a restart.
    pub signature: String,
    /// What it is called where people read of it, unlike all others of the result; empty in results
    /// of older versions.
    #[serde(default)]
    pub label: String,
    /// What kind of writer it is; null where the source does not tell.
    pub kind: Option<ContextKind>,
    /// The thread's role.
    pub role: String,
    /// The call path, innermost call first.
    pub path: Vec<String>,
    /// Write requests.
    pub writes: u64,
    /// Bytes written, in whole pages.
    pub written_bytes: u64,
    /// Lifetimes of its data.
    #[serde(flatten)]
    pub lives: Lives,
}

/// Lifetimes of data that was overwritten or discarded within the run. Data that still lives at
/// its end is not in them. Quantiles are exact to one part in a hundred.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lives {
    /// Bytes whose life ended: what the quantiles are drawn from.
    pub ended_bytes: u64,
    /// Lifetimes that 5, 25, 50, 75 and 95 % of those bytes did not outlive, in bytes written to
    /// the drive; empty where none ended.
    pub quantiles_bytes: Vec<u64>,
    /// The histogram's first class that is not empty. Class `k` holds lifetimes from
    /// `2^(k/2)` to `2^((k+1)/2)` pages; class 0, also those of no page at all.
    pub first_class: u32,
    /// Bytes that ended, class by class.
    pub classes_bytes: Vec<u64>,
}

/// A sample of the pages whose life ended, each as likely as any other (PCStream, Fig. 1). Four
/// columns of equal length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LifePoints {
    /// Pages that ended, all in all.
    pub of_pages: u64,
    /// Bytes the host had written when the page was.
    pub written_at_bytes: Vec<u64>,
    /// Where on the drive.
    pub offset_bytes: Vec<u64>,
    /// How long it lived, in bytes written to the drive.
    pub lifetime_bytes: Vec<u64>,
    /// The context that wrote it.
    pub context: Vec<u32>,
}

/// What one scheme's drive looked like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchemeDetails {
    /// How much of the drive held data.
    pub fill: Vec<Fill>,
    /// What lay in its erase units, over time.
    pub map: DriveMap,
    /// Lifetimes of what the host wrote to each stream.
    pub stream_lives: Vec<StreamLives>,
    /// Where each context's bytes went, those with most bytes first.
    pub placements: Vec<Placement>,
    /// How many units were erased how often.
    pub erases: Vec<ErasedUnits>,
}

/// How much of the drive held data at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Bytes the host had written.
    pub host_bytes: u64,
    /// Bytes that held data.
    pub mapped_bytes: u64,
}

/// Lifetimes of one host stream's data; where garbage collection moves them does not matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamLives {
    /// The stream.
    pub id: u16,
    /// Their lifetimes.
    #[serde(flatten)]
    pub lives: Lives,
}

/// Where one context's writes went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The context.
    pub context: u32,
    /// The stream that got most of its bytes.
    pub stream: u16,
    /// The share of them it got.
    pub share: f64,
}

/// Units that were erased as often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedUnits {
    /// Erases of the least worn of them, since the drive was new.
    pub least_erases: u32,
    /// Erases of the most worn.
    pub most_erases: u32,
    /// How many they are.
    pub units: u32,
}
