//! Ctrl-C and its like: noticed, not obeyed at once, so that everything is left clean.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Failure, Outcome};

/// Counts the interruptions since it was made.
#[derive(Debug, Clone)]
pub struct Interrupt {
    count: Arc<AtomicUsize>,
}

impl Interrupt {
    /// From now on SIGINT, SIGTERM and SIGHUP are counted, and no longer end the command.
    pub fn watch() -> Outcome<Interrupt> {
        let count = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let count = Arc::clone(&count);
            // SAFETY-free form: the handler only stores, which signal-hook wraps for us.
            signal_hook::flag::register_usize(signal, count, 1).map_err(Failure::work)?;
        }
        Ok(Interrupt { count })
    }

    /// Whether an interruption came since it was last asked.
    pub fn came(&self) -> bool {
        self.count.swap(0, Ordering::Relaxed) > 0
    }
}
