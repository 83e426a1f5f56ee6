//! The answer of a comparison in sentences: whether streams are worth it, how much, with which scheme, what it takes,
//! and what comes next.

use anabranch_placement::{DeviceHalf, SchemeSpec};
use anabranch_ssd::relocate::RelocationKind;
use serde::{Deserialize, Serialize};

use crate::{endurance::Stands, ways::OtherWay};

/// The flash must last this many times as long for streams to be worth it (our choice: below a
/// twentieth, another day's load changes more).
pub const WORTH: f64 = 1.05;

/// The scheme that all others are compared with: an ordinary drive, which keeps copies apart from new data. `baseline`
/// mixes them, as the papers' drives do.
pub const ORDINARY: &str = "baseline+gc";

/// The scheme that stands for a drive that is sold: what `anabranch steer` does by default, on a drive that collects
/// garbage as Flexible Data Placement lets it.
pub const SOLD: &str = "anabranch+fdp";

/// The kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A scheme makes the flash last at least [`WORTH`] times as long.
    WorthIt,
    /// No scheme makes the flash last [`WORTH`] times as long.
    NotWorthIt,
    /// The drive was not full enough, the writes too few, or the figures have not settled.
    NoAnswerYet,
    /// There was no ordinary drive, or nothing beside it.
    NotCompared,
}

/// The kind of drive that a scheme needs, in the order in which answers are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveKind {
    /// An ordinary drive: writes carry no stream.
    Ordinary,
    /// A drive that is sold: the host names streams or FDP handles, the drive collects garbage by itself.
    Sold,
    /// A drive whose firmware runs the scheme: it places copies, and may choose victims.
    Firmware,
    /// A drive that knows the future, which nobody can build.
    Bound,
}

impl DriveKind {
    /// The kind of drive that a scheme needs, by its host half and what places its copies.
    pub(crate) fn of_halves(name: &str, drive_half: Option<&str>, is_bound: bool) -> DriveKind {
        if is_bound {
            DriveKind::Bound
        } else if name.split(['+', ':']).next() == Some("baseline") {
            DriveKind::Ordinary
        } else if matches!(drive_half, Some("mixed" | "gc" | "fdp")) {
            DriveKind::Sold
        } else {
            DriveKind::Firmware
        }
    }

    /// The kind of drive that a scheme of the catalogue needs, by its name; `None` for other names.
    pub fn of_name(name: &str) -> Option<DriveKind> {
        let spec: SchemeSpec = name.split(':').next()?.parse().ok()?;
        let half = match spec.relocation() {
            DeviceHalf::Relocation(kind) => RelocationKind::name(kind),
            DeviceHalf::Own => "own",
        };
        Some(DriveKind::of_halves(name, Some(half), spec.is_bound()))
    }
}

/// The figures with other victims of garbage collection: the other end of the band in which a drive on sale lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherVictims {
    /// Victim rule of the drives compared.
    pub victim_rule: String,
    /// WAF of the ordinary drive over the last capacity of writes.
    pub waf_before: Option<f64>,
    /// WAF of [`SOLD`] over the last capacity of writes.
    pub waf_with: Option<f64>,
}

impl OtherVictims {
    /// Life of the flash, as a multiple of an ordinary drive's with the same victims.
    pub fn life(&self) -> Option<f64> {
        Some(self.waf_before? / self.waf_with?)
    }
}

/// The answer for one kind of drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriveAnswer {
    /// The kind of drive.
    pub drive: DriveKind,
    /// The kind of answer.
    pub answer: Answer,
    /// The scheme: ours, or another that is better by more than 1 %.
    pub scheme: String,
    /// WAF with it over the last capacity of writes.
    pub waf: Option<f64>,
    /// Life of the flash, as a multiple of an ordinary drive's; null where there is no answer yet.
    pub life: Option<f64>,
    /// The share of an ordinary drive's copies that is spared; null where there is no answer yet.
    pub spared: Option<f64>,
    /// The same with other victims of garbage collection; null where that was not compared.
    pub life_other_victims: Option<f64>,
    /// The name of the drive, for a heading.
    pub title: String,
    /// The answer in words, to follow the title.
    pub words: String,
}

/// The answer of a comparison, with the figures it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The kind of answer.
    pub answer: Answer,
    /// The answer in one sentence: that of the first of `drives`.
    pub headline: String,
    /// The drive that the answer is about, where it is not the one that was recorded; otherwise empty.
    pub about: String,
    /// The answers for a drive that is sold, one with the scheme in its firmware, and the bound, as far as they were
    /// compared.
    pub drives: Vec<DriveAnswer>,
    /// The ordinary drive, and changes to it other than streams; empty where they were not measured.
    #[serde(default)]
    pub other_ways: Vec<OtherWay>,
    /// The grounds of `stands`, a sentence; empty where no endurance is known.
    #[serde(default)]
    pub endurance: String,
    /// The endurance of the ordinary drive, of one that is sold, and of one with a scheme in its firmware; empty where
    /// none is known.
    #[serde(default)]
    pub stands: Vec<Stands>,
    /// The figures behind it, a sentence; empty where there are none.
    pub evidence: String,
    /// Reasons not to trust the figures, or not to recommend a scheme; a sentence each.
    pub warnings: Vec<String>,
    /// Requirements of the best scheme on drive and host; empty where nothing is recommended.
    pub takes: String,
    /// The command to try next, and why; empty where there is none.
    pub next: String,
    /// The scheme that stands for an ordinary drive.
    pub before: Option<String>,
    /// The scheme of the headline.
    pub best: Option<String>,
    /// WAF of `before` over the last capacity of writes.
    pub waf_before: Option<f64>,
    /// WAF of `best` over the last capacity of writes.
    pub waf_with: Option<f64>,
    /// Life of the flash with `best`, as a multiple, over the last capacity of writes; null where there is no
    /// answer yet.
    pub life: Option<f64>,
    /// Whether the WAF of `before` and of `best` had settled.
    pub is_settled: bool,
}
