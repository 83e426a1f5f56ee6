//! Collection by the host: the settings of `SCHEME+host`, whose copies the host makes itself.

use crate::parameter::{one_of, parameters};

one_of! {
    /// When the host collects.
    Choice {
        /// Until a rehearsal of the host half alone, run beside it, proves better.
        Rehearsed = "rehearsed",
        /// From the first unit to the last, whatever it costs.
        Always = "always",
        /// Never: the host half alone, under the same disturbances.
        Never = "never",
    }
}

one_of! {
    /// Source of the boundaries of the drive's reclaim units.
    Boundaries {
        /// It makes them: it updates the handle where its model ends a unit (I/O Management Send, Reclaim Unit Handle Update:
        /// NVM Express NVM Command Set Specification 1.1, I/O Management Send command).
        Made = "made",
        /// It reckons them from the unit's size.
        Reckoned = "reckoned",
    }
}

parameters! {
    /// Options of collection by the host, and its disturbances. The defaults are an undisturbed drive.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Collection {
        /// Units that the model has fewer than each reclaim group of the drive.
        spare as "host-spare": Count(1..=4096) = 1,
            "units that the host's model has fewer than the drive, so that it collects first. Our choice";
        /// Handles of each reclaim group for rewrites; 0 for a quarter of them, one at least.
        copies as "host-copies": Count(0..=256) = 0,
            "handles for rewrites; 0: a quarter of them. Our choice";
        /// When the host collects.
        choice as "host-collects": Word(Choice) = Choice::Rehearsed,
            "`rehearsed`: until the host half alone, rehearsed beside it, is better; `always`; `never`. Our choice";
        /// Source of the units' boundaries.
        boundaries as "host-ends": Word(Boundaries) = Boundaries::Made,
            "ends of units are `made` by a handle update, or `reckoned`. Our choice";
        /// The error of the unit's size as believed: 0.01 is 1 % too large.
        size_error as "host-misjudges": Number(-0.5..=0.5) = 0.0,
            "disturbance: the share by which the unit is believed too large. Our choice";
        /// The share of a unit that each handle had been written with before the host came.
        phase as "host-phase": Number(0.0..=0.999) = 0.0,
            "disturbance: the share of each handle's unit that was written before. Our choice";
        /// The share of the drive's writes that come from another host.
        tenant as "host-tenant": Number(0.0..=0.5) = 0.0,
            "disturbance: the share of writes by another host, on the default handle. Our choice";
        /// Writes by which another may be overtaken on its way to the drive.
        jitter as "host-jitter": Count(0..=65_536) = 0,
            "disturbance: writes under way at a time, which the drive takes in any order. Our choice";
        /// Capacities of writes after which the host forgets its model once; 0 for never.
        restart as "host-restart": Number(0.0..=1000.0) = 0.0,
            "disturbance: capacities of writes after which the model is forgotten once; 0: never. Our choice";
    }
}

/// Suffix of a scheme's name where the host collects.
pub(crate) const SUFFIX: &str = "+host";
/// Prefix of the keys of its settings.
const PREFIX: &str = "host-";

impl Collection {
    /// Leaves those settings out of a scheme's text that are of the collection.
    pub(crate) fn without(settings: &str) -> Option<String> {
        let own = |setting: &&str| !setting.starts_with(PREFIX);
        let rest: Vec<&str> = settings.split(',').filter(own).collect();
        (!rest.is_empty()).then(|| rest.join(","))
    }

    /// Leaves those parameters out that are of the collection.
    pub(crate) fn others(parameters: &[(String, String)]) -> Vec<(String, String)> {
        let other = |pair: &&(String, String)| !pair.0.starts_with(PREFIX);
        parameters.iter().filter(other).cloned().collect()
    }

    /// Whether others write to the drive, or it takes writes in another order than they were sent in.
    pub fn is_disturbed_by_others(&self) -> bool {
        self.tenant > 0.0 || self.phase > 0.0 || self.jitter > 0
    }

    /// Handles of each reclaim group that take rewrites, of so many.
    pub fn copy_handles(&self, handles: u16) -> u16 {
        match self.copies {
            0 => (handles / 4).max(1),
            copies => u16::try_from(copies).unwrap_or(u16::MAX),
        }
    }
}
