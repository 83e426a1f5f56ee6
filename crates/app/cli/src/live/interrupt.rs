//! Interruptions such as Ctrl-C: they are noticed, not obeyed at once, so that everything is left
//! clean.

use anabranch_disk::InterruptSource;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::siginfo::Cause,
};

use crate::error::{CommandError, Result};

/// Catches SIGINT, SIGTERM and SIGHUP, which then no longer end the command by themselves.
#[derive(Debug)]
pub struct Interrupt {
    signals: SignalsInfo<WithOrigin>,
}

impl Interrupt {
    /// Catches them from now on.
    pub fn watch() -> Result<Interrupt> {
        let signals = SignalsInfo::new([SIGINT, SIGTERM, SIGHUP]).map_err(CommandError::work)?;
        Ok(Interrupt { signals })
    }

    /// The origin of an interruption since the last call, if there was one: a terminal sends Ctrl-C
    /// to the program as well, another process does not.
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
