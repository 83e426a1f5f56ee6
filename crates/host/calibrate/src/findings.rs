//! Findings on a drive.

use anabranch_collect::{FEWEST_HANDLES, FEWEST_SPARE_UNITS};
use anabranch_ssd::victims::VictimRule;
use serde::Serialize;

/// A figure with what it lies between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    /// No less than this.
    pub low: f64,
    /// Figure that explains the counters best.
    pub best: f64,
    /// No more than this.
    pub high: f64,
}

impl Band {
    /// A figure that is known as far as the counters go.
    pub fn exact(best: u64) -> Band {
        let best = best as f64;
        Band {
            low: best,
            best,
            high: best,
        }
    }
}

/// A figure that the drive may report, measured if it could be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// Bytes that the drive reports.
    pub told_bytes: Option<u64>,
    /// Bytes that the series showed.
    pub bytes: Option<Band>,
}

impl Measured {
    /// A figure that no drive reports, and that was only measured.
    pub fn alone(bytes: Option<Band>) -> Measured {
        let told_bytes = None;
        Measured { told_bytes, bytes }
    }

    /// The best guess: the measured figure, else the reported one.
    pub fn best_bytes(&self) -> Option<u64> {
        let measured = self.bytes.map(|band| band.best.round() as u64);
        measured.or(self.told_bytes)
    }
}

/// Whether garbage collection keeps a handle's data apart from other handles'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Its data and others' never met in a unit.
    Persistent,
    /// Once collected, its data lay among others'.
    Initial,
}

/// A placement handle, or a stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Handle {
    /// The identifier that writes carry.
    pub identifier: u16,
    /// The drive's own report.
    pub told: Option<Isolation>,
    /// Result of the series.
    pub measured: Option<Isolation>,
    /// Bytes copied for each byte that was written again where all of the handle's data had been dropped.
    pub copied_share: Option<f64>,
    /// Whether writes with the identifier were counted in a unit of their own; `None` where no count shows it.
    pub has_own_unit: Option<bool>,
}

/// Effect of a discard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Discard {
    /// The room of what was discarded is had at once.
    FreesRoom,
    /// Discarded data are still copied, or were not given up.
    FreesNothing,
    /// Not known: no copy was ever counted that it could have saved.
    NotKnown,
    /// The drive takes none.
    NotTaken,
}

/// Units of data from which collecting by the host counts as on a drive of many (our choice: between the drives of about
/// 100 units and those of 720 and 822 that were replayed).
const MANY_UNITS: u64 = 400;

/// The rule by which a drive chooses the units that it empties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Victims {
    /// The unit with the least valid data.
    Greedy,
    /// Valid data weighed with age, as by cost and benefit.
    Age,
    /// The unit that was filled first.
    Fifo,
}

impl Victims {
    /// The emulated drive's rule.
    pub fn rule(self) -> VictimRule {
        match self {
            Victims::Greedy => VictimRule::Greedy,
            Victims::Age => VictimRule::CostBenefit,
            Victims::Fifo => VictimRule::Fifo,
        }
    }
}

/// Garbage collection as its copies show it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ObservedCollection {
    /// The rule by which units are chosen, where it was told apart from others.
    pub victims: Option<Victims>,
    /// Distance of the copies to those of a model drive under that rule, or under the one that fits best, as a share of
    /// all copies.
    pub misfit: Option<f64>,
    /// The same of the best rule that is another answer.
    pub next_misfit: Option<f64>,
    /// Units without valid data are taken before others, whatever their age.
    pub takes_empty_units_first: Option<bool>,
    /// Bytes that an empty drive took before it copied anything.
    pub begins_after_bytes: Option<u64>,
    /// Units that are freed at a time once collection begins.
    pub units_at_once: Option<u64>,
    /// Length of a pause without writes, in seconds.
    pub idle_seconds: Option<u64>,
    /// Bytes copied in the pause.
    pub idle_copied_bytes: Option<u64>,
    /// Bytes that could be written after such copies before anything was copied again.
    pub idle_freed_bytes: Option<u64>,
}

/// Ends of units, with Flexible Data Placement.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct UnitEnds {
    /// The room of a handle's unit (RUAMW) falls by the bytes that are written.
    pub room_is_true: Option<bool>,
    /// A Reclaim Unit Handle Update ends the unit.
    pub update_ends_unit: Option<bool>,
    /// Bytes that the host sent between an end made by an update and the next end.
    pub host_bytes: Option<u64>,
}

/// Findings on a drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// Its serial number.
    pub serial: String,
    /// Its model number.
    pub model: String,
    /// The log that counted what went to the flash.
    pub counter: &'static str,
    /// Bytes the host sees.
    pub logical_bytes: u64,
    /// Directive by which writes to it are placed: `fdp`, `streams` or `none`.
    pub placement: &'static str,
    /// Reclaim groups it says it has.
    pub reclaim_groups: u32,
    /// The mapping unit; told is the preferred write granularity (NPWG).
    pub mapping_unit: Measured,
    /// Lag of the flash's count behind the bytes sent.
    pub write_buffer: Measured,
    /// The reclaim unit.
    pub unit: Measured,
    /// Source of the unit's measure.
    pub unit_by: Option<&'static str>,
    /// Flash for data, spare included; measured by the writes that it took until something had to be copied.
    pub physical: Measured,
    /// Spare as a share of the logical bytes.
    pub spare: Option<Band>,
    /// Handles that were tried.
    pub handles: Vec<Handle>,
    /// Handles there are, tried or not.
    pub handle_count: u16,
    /// Effect of a discard.
    pub discard: Discard,
    /// Whether discarded blocks read as zeroes.
    pub discarded_read_as_zeroes: bool,
    /// Its garbage collection.
    pub collection: ObservedCollection,
    /// Cause that ends a reclaim unit on this drive.
    pub unit_ends: UnitEnds,
    /// Facts that could not be learned, and why; one sentence each.
    pub notes: Vec<String>,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Bytes that the drive counted on its flash meanwhile.
    pub media_bytes: u64,
}

impl Findings {
    /// Describes the effect of a discard.
    pub fn discard_words(&self) -> &'static str {
        match (self.discard, self.discarded_read_as_zeroes) {
            (Discard::FreesRoom, true) => "frees room at once; discarded blocks read as zeroes",
            (Discard::FreesRoom, false) => "frees room at once; discarded blocks keep their bytes",
            (Discard::FreesNothing, true) => "frees nothing; discarded blocks read as zeroes",
            (Discard::FreesNothing, false) => "frees nothing; discarded blocks keep their bytes",
            (Discard::NotKnown, true) => {
                "whether it frees room is not known; discarded blocks read as zeroes"
            }
            (Discard::NotKnown, false) => {
                "whether it frees room is not known; discarded blocks keep their bytes"
            }
            (Discard::NotTaken, _) => "the drive takes none",
        }
    }

    /// Judges whether it could pay that the host collects on this drive, by the replays of docs/results/parts.md.
    pub fn host_collection_words(&self) -> String {
        let units = self.unit.best_bytes().filter(|&unit| unit > 0);
        let spare_bytes = self
            .spare
            .map(|spare| spare.best * self.logical_bytes as f64);
        let spare_units = units.zip(spare_bytes);
        let spare_units = spare_units.map(|(unit, bytes)| (bytes / unit as f64).round() as u32);
        let units = units.map(|unit| self.logical_bytes / unit);
        let is_fdp = self.placement == "fdp" && self.handle_count >= FEWEST_HANDLES;
        let why = match (self.collection.victims, units) {
            _ if !is_fdp => {
                "could not pay: it needs Flexible Data Placement and more than two handles"
            }
            (None, _) => {
                "cannot be promised: the rule by which the drive chooses its victims is not known"
            }
            (Some(Victims::Age), _) => {
                "does not pay: in replays of drives that weigh age it saved nothing"
            }
            (Some(Victims::Fifo), _) => {
                "cannot be promised: drives that empty what was filled first were not replayed"
            }
            (Some(Victims::Greedy), None) => "cannot be promised: the unit is not known",
            (Some(Victims::Greedy), Some(units)) => {
                if let Some(spare) = spare_units.filter(|&spare| spare < FEWEST_SPARE_UNITS) {
                    return format!(
                        "does not pay: it has {spare} spare units, and in replays {FEWEST_SPARE_UNITS} were the fewest that \
                         saved something"
                    );
                }
                let saved = if units < MANY_UNITS {
                    "could pay a little: replays of greedy drives of about a hundred units saved 3 to 6 % of copies"
                } else {
                    "could pay: replays of greedy drives of some 700 units and more saved 17 to 21 % of copies"
                };
                return format!("{saved}; this one has {units} units of data");
            }
        };
        why.to_owned()
    }
}
