//! Findings on a drive.

use serde::Serialize;

/// A figure with what it lies between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    /// No less than this.
    pub low: f64,
    /// The best guess.
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
}
