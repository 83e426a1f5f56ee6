//! The drive's health: what wears out, what is spare, and what hosts are warned of.

use crate::{
    controller::{Controller, State},
    drive::ServedDrive,
    target::Target,
};

/// Composite temperature, in kelvin (our choice: a drive of software has none).
pub(crate) const KELVIN: u16 = 300;
/// Composite temperature thresholds, in kelvin (our choice; controllers of version 1.2 and later must
/// say something).
pub(crate) const WARNING_KELVIN: u16 = 343;
pub(crate) const CRITICAL_KELVIN: u16 = 353;
/// Spare, in percent, below which hosts are warned (our choice).
pub(crate) const SPARE_THRESHOLD: u8 = 10;

/// Bits of Critical Warning (§5.1.12.1.3), and of feature 0Bh: the spare is below its threshold; the
/// temperature is beyond one; the media are read-only.
const SPARE: u8 = 1;
const TEMPERATURE: u8 = 1 << 1;
const READ_ONLY: u8 = 1 << 3;

/// Asynchronous events of type 1, SMART / Health Status, whose log page is 02h (§5.1.2, dword 0): the
/// bit that warns, and the event's information. Read-only media are a matter of reliability (00h).
const EVENTS: [(u8, u32); 3] = [(READ_ONLY, 0x00), (TEMPERATURE, 0x01), (SPARE, 0x02)];

/// Health of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Health {
    /// Share of the rated erases that the unit erased most has used, in percent; up to 255.
    pub(crate) used: u8,
    /// Share of the spare units that are left, in percent.
    pub(crate) spare: u8,
    /// The drive is read-only.
    pub(crate) read_only: bool,
}

impl Health {
    pub(crate) fn of(drive: &ServedDrive) -> Health {
        let ((erases, _), rated) = (drive.erases(), drive.config().wear.rated_erases);
        let used = match rated {
            0 => 0,
            rated => (u64::from(erases) * 100 / u64::from(rated)).min(255) as u8,
        };
        Health {
            used,
            spare: spare(drive),
            read_only: drive.is_read_only(),
        }
    }

    /// Critical warnings that are the drive's.
    pub(crate) fn warnings(self) -> u8 {
        let spare = if self.spare < SPARE_THRESHOLD {
            SPARE
        } else {
            0
        };
        spare | if self.read_only { READ_ONLY } else { 0 }
    }
}

/// Units beyond those the drive needs to take overwrites for ever, now and when it was new. One that
/// cannot lose any has all of them for good.
fn spare(drive: &ServedDrive) -> u8 {
    let config = drive.config();
    let least = config.least_physical_units();
    let spare = |lost: u64| u64::from(config.physical_units).saturating_sub(lost + least);
    let new = spare(config.faults.factory_bad_units.into());
    let left = spare(drive.counters().retired_units);
    match (new, drive.is_read_only()) {
        (_, true) => 0,
        (0, false) => 100,
        (new, false) => (left * 100 / new).min(100) as u8,
    }
}

impl Controller {
    /// Critical warnings: the drive's, and whether the temperature is beyond what the host set.
    pub(crate) fn warnings(&self, health: Health) -> u8 {
        self.state().warnings(health)
    }

    /// Reports warnings to the host that were not reported yet and that it has enabled.
    pub(crate) fn warn(&self, health: Health) {
        let mut state = self.state();
        let now = state.warnings(health);
        let new = now & state.wanted_events as u8 & !state.warned;
        state.warned = state.warned & now | new;
        for (_, information) in EVENTS.iter().filter(|(bit, _)| new & bit != 0) {
            state.happened(0x01 | information << 8 | 0x02 << 16);
        }
    }
}

impl State {
    fn warnings(&self, health: Health) -> u8 {
        let (under, over) = self.temperature_thresholds();
        let beyond = KELVIN >= over || KELVIN <= under;
        health.warnings() | if beyond { TEMPERATURE } else { 0 }
    }
}

impl Target {
    /// Reports losses to all hosts, if the drive has lost units since the last report.
    pub(crate) fn report_losses(&self) {
        if !self.facts.can_fail {
            return;
        }
        let lost = {
            let drive = self.drive();
            drive.counters().retired_units << 1 | u64::from(drive.is_read_only())
        };
        if self.incidents.loses(lost) {
            self.warn();
        }
    }

    /// Reports warnings to all hosts, after the drive's health has changed.
    pub(crate) fn warn(&self) {
        let health = Health::of(&self.drive());
        for controller in self.controllers().iter().filter(|one| one.is_io()) {
            controller.warn(health);
        }
    }
}
