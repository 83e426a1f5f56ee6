//! The end of a program: how it ended, and the exit status that follows.

use std::{
    process::ExitStatus,
    time::{Duration, Instant},
};

use anabranch_disk::{Workload, status_code};

use crate::{
    arguments::RunArguments,
    error::{CommandError, INTERRUPTED, Result},
};

/// Time that a program has to end before it is killed (our choice).
const GRACE: Duration = Duration::from_secs(10);
/// The share of free space below which a drive counts as full (our choice): ext4 keeps 2 % for
/// itself, XFS up to 5 %, and programs get none of that.
const FULL: f64 = 0.06;

/// The end of a program.
pub struct End {
    /// The program's name.
    pub what: &'static str,
    /// The program's exit status.
    pub status: ExitStatus,
    /// Whether somebody interrupted the run.
    pub was_interrupted: bool,
    /// Whether the program was stopped because its time (`--until`) was up.
    pub was_stopped: bool,
    /// The least free space on the drive during the run, as a share of the drive.
    pub least_free: f64,
}

impl End {
    /// Whether the program ended without an error, or was stopped when its time was up, and nobody
    /// interrupted it.
    pub fn is_good(&self) -> bool {
        (self.status.success() || self.was_stopped) && !self.was_interrupted
    }

    /// Whether the program itself ended badly.
    pub fn has_failed(&self) -> bool {
        !self.is_good() && !self.was_interrupted
    }

    /// The result of the run: the program's own status becomes ours. `is_void` if the schemes could
    /// not differ in anything.
    pub fn conclude(&self, is_void: bool, drive_bytes: u64) -> Result {
        if self.is_good() {
            return Ok(());
        }
        let status = if self.was_interrupted {
            INTERRUPTED
        } else {
            status_code(self.status)
        };
        let mut words = if self.was_interrupted {
            "interrupted".to_owned()
        } else {
            format!(
                "{} ended with {}; its status is passed on",
                self.what, self.status
            )
        };
        words += if is_void {
            ", and nothing is compared: it had not written enough for garbage collection to begin"
        } else if self.was_interrupted {
            "; the table holds what was seen until then"
        } else {
            ""
        };
        if self.least_free < FULL {
            words += &format!(
                "; the drive was full: give it more than {} with --size",
                anabranch_report::bytes(drive_bytes)
            );
        }
        Err(CommandError {
            status,
            error: Some(anyhow::anyhow!("{words}")),
        })
    }
}

/// The time that a run may take.
pub struct Patience {
    began: Instant,
    waits: bool,
    until: Option<Duration>,
    asked: Option<Instant>,
}

impl Patience {
    /// The time that the options allow, counted from now.
    pub fn of(arguments: &RunArguments) -> Patience {
        Patience {
            began: Instant::now(),
            waits: arguments.wait || arguments.until.is_some(),
            until: arguments.until,
            asked: None,
        }
    }

    /// Whether the time was up.
    pub fn is_up(&self) -> bool {
        self.until
            .is_some_and(|until| self.began.elapsed() >= until)
    }

    /// Ends a program that still runs though its time is up: asks it once, and kills it after
    /// [`GRACE`].
    pub fn end(&mut self, workload: &mut Workload) {
        let is_time = match self.asked {
            None => self.is_up(),
            Some(asked) => asked.elapsed() >= GRACE,
        };
        if is_time {
            workload.interrupt(anabranch_disk::InterruptSource::Process);
            self.asked = Some(Instant::now());
        }
    }

    /// Whether to wait for processes that the ended program left running.
    pub fn lingers(&self) -> bool {
        self.waits && !self.is_up()
    }
}
