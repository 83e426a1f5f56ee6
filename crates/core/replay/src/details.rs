//! Details for pictures, beyond the figures: collected only when asked for, in bounded size.
//!
//! A comparison that keeps details remembers who wrote each logical page (8 bytes a page and
//! scheme) and looks at the whole drive a few dozen times; one that does not pays nothing.

mod kept_survey;
mod map;
mod owners;
mod survey;
mod thinned;
mod watch;

use anabranch_trace::ContextKind;
use serde::{Deserialize, Serialize};

pub use kept_survey::{Alive, KeptContext, KeptSurvey};
pub use map::{DriveMap, Moment};
pub use survey::Survey;
pub(crate) use watch::DetailsWatch;

/// The writers of a run, and the lifetimes of their data: the same for every scheme.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Details {
    /// Program contexts, those with most bytes first.
    pub contexts: Vec<ContextLives>,
    /// Contexts that are not listed, because they wrote least.
    pub unlisted_contexts: u64,
    /// Bytes that the contexts not listed wrote.
    pub unlisted_bytes: u64,
    /// A sample of the lives that ended.
    pub points: LifePoints,
}

/// One program context over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextLives {
    /// The context's number in the trace.
    pub id: u32,
    /// The context's signature: 16 hexadecimal digits, the same after a restart.
    pub signature: String,
    /// The name under which people read of the context, different from all others of the result;
    /// empty in results of older versions.
    #[serde(default)]
    pub label: String,
    /// Kind of the writer; null where the trace does not say.
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
    /// Bytes whose life ended, from which the quantiles are computed.
    pub ended_bytes: u64,
    /// Lifetimes that 5, 25, 50, 75 and 95 % of those bytes did not outlive, in bytes written to
    /// the drive; empty where none ended.
    pub quantiles_bytes: Vec<u64>,
    /// The histogram's first class that is not empty. Class `k` holds lifetimes from `2^(k/2)` to
    /// `2^((k+1)/2)` pages, and class 0 also lifetimes of 0.
    pub first_class: u32,
    /// Bytes that ended, in each class from the first on.
    pub classes_bytes: Vec<u64>,
}

/// A sample of the pages whose life ended, each as likely as any other (PCStream, Fig. 1). Four
/// columns of equal length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LifePoints {
    /// All pages that ended, of which this is a sample.
    pub of_pages: u64,
    /// Bytes the host had written when the page was written.
    pub written_at_bytes: Vec<u64>,
    /// The page's offset on the drive.
    pub offset_bytes: Vec<u64>,
    /// The page's lifetime, in bytes written to the drive.
    pub lifetime_bytes: Vec<u64>,
    /// The context that wrote the page.
    pub context: Vec<u32>,
}

/// The state of one scheme's drive during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchemeDetails {
    /// Bytes that held data, over time.
    pub fill: Vec<Fill>,
    /// Content of the erase units, over time.
    pub map: DriveMap,
    /// Lifetimes of the data that the host wrote to each stream.
    pub stream_lives: Vec<StreamLives>,
    /// The stream that got most of each context's bytes, contexts with most bytes first.
    pub placements: Vec<ContextStream>,
    /// Units by the number of their erases.
    pub erases: Vec<ErasedUnits>,
    /// The settings that led, in order, for a scheme that changes its setting while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaders: Vec<Leader>,
}

/// A setting of the scheme that leads from some time on. At most 64 are kept, the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leader {
    /// Bytes the host had written when it took over.
    pub since_bytes: u64,
    /// The setting's name.
    pub setting: String,
    /// The rule by which it took over: `first`, `cheaper`, `rules-match` or `rules-match-little`.
    pub reason: String,
    /// The costs of all settings when it took over; empty for the first leader.
    pub costs: Vec<SettingCost>,
}

/// Copies that a setting has made and owes, scaled to the drive. Older ones count less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingCost {
    /// The setting's name.
    pub setting: String,
    /// Bytes copied and owed.
    pub bytes: u64,
}

impl Leader {
    /// A scheme's leader, in the bytes of a drive.
    pub(crate) fn of(leader: &anabranch_placement::Leader, page_bytes: u64) -> Leader {
        let cost = |one: &anabranch_placement::SettingCost| SettingCost {
            setting: one.setting.to_owned(),
            bytes: (one.pages * page_bytes as f64) as u64,
        };
        Leader {
            since_bytes: leader.since_pages * page_bytes,
            setting: leader.setting.to_owned(),
            reason: leader.reason.name().to_owned(),
            costs: leader.costs.iter().map(cost).collect(),
        }
    }
}

/// Share of the drive that held data at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Bytes the host had written.
    pub host_page_bytes: u64,
    /// Bytes of the drive that held data.
    pub mapped_bytes: u64,
}

/// Lifetimes of the data written to one host stream; copies by garbage collection do not end a
/// life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamLives {
    /// The stream.
    pub id: u16,
    /// The lifetimes of its data.
    #[serde(flatten)]
    pub lives: Lives,
}

/// The stream that one context's writes mostly went to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ContextStream {
    /// The context's number.
    pub context: u32,
    /// The stream that got most of its bytes.
    pub stream: u16,
    /// The share of the context's bytes that the stream got, 0 to 1.
    pub share: f64,
}

/// Units with similar numbers of erases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedUnits {
    /// Erases of the least worn of these units, since the drive was new.
    pub least_erases: u32,
    /// Erases of the most worn of these units.
    pub most_erases: u32,
    /// Number of these units.
    pub units: u32,
}
