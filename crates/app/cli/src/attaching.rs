//! Attaching of a probe, which an interruption ends at once.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use anabranch_probe::{Probe, ProbeError, ProbeOptions};

use crate::{
    error::{CommandError, INTERRUPTED, Result},
    say,
};

/// The time between two looks for an interruption (our choice).
const PAUSE: Duration = Duration::from_millis(20);

/// Attaches a probe, and says so first: it takes seconds where the kernel is slow to verify its programs; gives up once `is_ended`.
pub fn attach(options: ProbeOptions, mut is_ended: impl FnMut() -> bool) -> Result<Probe> {
    say::print_note(&format!("attaching to {} …", options.device.display()));
    let (sender, attached) = channel();
    let attaching = thread::Builder::new().name("attaching".to_owned());
    // After an interruption this thread ends with the process.
    let spawned = attaching.spawn(move || {
        // Nobody waits for a probe that comes after an interruption.
        let _ = sender.send(Probe::attach(&options));
    });
    spawned.map_err(CommandError::work)?;
    loop {
        match attached.recv_timeout(PAUSE) {
            Ok(probe) => {
                return probe.map_err(|error| match error {
                    ProbeError::NotABlockDevice { .. } => CommandError::usage(error),
                    _ => CommandError::work(error),
                });
            }
            Err(RecvTimeoutError::Disconnected) => {
                let words = "the thread that attaches the probe has ended";
                return Err(CommandError::work(anyhow::anyhow!(words)));
            }
            Err(RecvTimeoutError::Timeout) if is_ended() => {
                return Err(CommandError {
                    status: INTERRUPTED,
                    error: Some(anyhow::anyhow!("interrupted before anything was recorded")),
                });
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
