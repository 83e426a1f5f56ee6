//! What can be asked of a comparison, whoever asks.

use std::{num::NonZeroUsize, path::PathBuf};

use anabranch_ssd::{Levelling, RelocationKind, VictimRule};
use serde::{Deserialize, Serialize};

use crate::texts::{number, parsed_list, text, text_list};

/// What is compared unless other schemes are named: both baselines, what the papers compare, and ours.
pub const DEFAULT_SCHEMES: &str =
    "baseline,baseline+gc,hints,autostream-sfr,pcstream*,pcstream,anabranch";

/// The drives of a comparison. Lists multiply into a grid.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DriveOptions {
    /// Device profiles: shipped ones by name, or TOML files.
    #[serde(rename = "device", deserialize_with = "text_list")]
    pub profiles: Vec<String>,
    /// Bytes the host sees, as `24MiB`; the captured device's, or else the profile's, without it.
    #[serde(deserialize_with = "text")]
    pub size: Option<String>,
    /// Spare flash as shares of those bytes: `7%` or `0.07`.
    #[serde(deserialize_with = "text_list")]
    pub over_provisioning: Vec<String>,
    /// Bytes of an erase unit.
    #[serde(deserialize_with = "text_list")]
    pub unit: Vec<String>,
    /// Victims of garbage collection.
    #[serde(deserialize_with = "parsed_list")]
    pub victim: Vec<VictimRule>,
    /// Streams the host may name, the default one included.
    #[serde(deserialize_with = "parsed_list")]
    pub streams: Vec<u16>,
    /// Streams only garbage collection writes.
    #[serde(deserialize_with = "parsed_list")]
    pub internal_streams: Vec<u16>,
    /// How erases are spread over units.
    #[serde(deserialize_with = "parsed_list")]
    pub levelling: Vec<Levelling>,
    /// Erases a unit is rated for.
    #[serde(deserialize_with = "number")]
    pub rated_erases: Option<u32>,
    /// Faults to inject: `program=N`, `erase=N`, `factory=N`, `worn`.
    #[serde(deserialize_with = "text_list")]
    pub fault: Vec<String>,
}

impl Default for DriveOptions {
    /// The demo's drive as it is.
    fn default() -> DriveOptions {
        DriveOptions {
            profiles: vec!["demo".to_owned()],
            size: None,
            over_provisioning: Vec::new(),
            unit: Vec::new(),
            victim: Vec::new(),
            streams: Vec::new(),
            internal_streams: Vec::new(),
            levelling: Vec::new(),
            rated_erases: None,
            fault: Vec::new(),
        }
    }
}

/// Which schemes, and how they are run.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ComparisonOptions {
    /// Schemes by name, each entry a comma list; or `all`.
    #[serde(deserialize_with = "text_list")]
    pub schemes: Vec<String>,
    /// Device sides each scheme's host side is given, instead of its own.
    #[serde(deserialize_with = "parsed_list")]
    pub relocation: Vec<RelocationKind>,
    /// Lifetimes of program contexts, kept from run to run.
    pub profile: Option<PathBuf>,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads to replay on; one for each core without it.
    pub threads: Option<NonZeroUsize>,
    /// Whether the result keeps what pictures need: maps of the drives, lifetimes, contexts.
    pub details: bool,
}

impl Default for ComparisonOptions {
    fn default() -> ComparisonOptions {
        ComparisonOptions {
            schemes: vec![DEFAULT_SCHEMES.to_owned()],
            relocation: Vec::new(),
            profile: None,
            seed: 0,
            threads: None,
            details: false,
        }
    }
}

/// When requests are issued to a drive that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Issue {
    /// As fast as the drive answers.
    Closed,
    /// When the trace says.
    Open,
}

/// Simulated time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeOptions {
    /// Whether time is simulated, and how requests are issued then.
    pub issue: Option<Issue>,
    /// Requests under way at most.
    pub queue_depth: u32,
    /// Where the trace says when: its times are multiplied by this.
    pub time_scale: f64,
    /// Where the trace says when: idle milliseconds after which garbage is collected.
    #[serde(rename = "collect_after_idle_ms")]
    pub collect_after_idle: Option<u64>,
}

impl Default for TimeOptions {
    fn default() -> TimeOptions {
        TimeOptions {
            issue: None,
            queue_depth: 32,
            time_scale: 1.0,
            collect_after_idle: None,
        }
    }
}

/// A replay.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayOptions {
    /// The drives.
    pub drive: DriveOptions,
    /// The schemes.
    pub comparison: ComparisonOptions,
    /// Their time.
    pub time: TimeOptions,
    /// Shares of the drive that what a trace ever writes fills, addresses renumbered densely.
    #[serde(deserialize_with = "text_list")]
    pub fill: Vec<String>,
    /// With a fill: whether pages count that ever held data at one time, and not all that ever did.
    pub pack: bool,
    /// Whether the drive is told of no discards.
    pub no_discards: bool,
    /// A drive kept in a file that every scheme begins with.
    pub drive_file: Option<PathBuf>,
    /// Whether to stop after the first GiB of writes.
    pub quick: bool,
}
