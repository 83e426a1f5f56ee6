//! Ctrl-C and its like: noticed, not obeyed at once, so that everything is left clean.

use anabranch_disk::InterruptSource;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::siginfo::Cause,
};

use crate::failure::{Failure, Result};

/// Watches for SIGINT, SIGTERM and SIGHUP, which no longer end the command by themselves.
#[derive(Debug)]
pub struct Interrupt {
    signals: SignalsInfo<WithOrigin>,
}

impl Interrupt {
    /// Watches from now on.
    pub fn watch() -> Result<Interrupt> {
        let signals = SignalsInfo::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::work)?;
        Ok(Interrupt { signals })
    }

    /// The interruption that came since it was last asked, if one did, by where it came from:
    /// the terminal sends its Ctrl-C to the program as well, another process does not.
    pub fn came(&mut self) -> Option<InterruptSource> {
        self.signals
            .pending()
            .last()
            .map(|origin| match origin.cause {
                Cause::Sent(_) => InterruptSource::Process,
                _ => InterruptSource::Terminal,
            })
    }
}
