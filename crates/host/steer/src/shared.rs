//! State that the queues of a block device share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use crate::command::Target;
use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::page_locks::PageLocks;
use crate::placer::Placer;
use crate::retry::Controllers;
use crate::writers::Writers;

/// State shared by all queues of a device.
pub struct Shared {
    pub target: Target,
    pub placer: Mutex<Placer>,
    pub writers: RwLock<Arc<dyn Writers>>,
    /// Of a host that collects.
    pub locks: Option<PageLocks>,
    pub counters: Counters,
    pub ledger: Ledger,
    pub controllers: Controllers,
    /// When each queue last went round, in milliseconds since the server began.
    pub pulses: Vec<AtomicU64>,
    pub began: Instant,
    /// Whether the queues were told to end: a silent one is not stuck then.
    pub has_ended: AtomicBool,
}

/// Time since the slowest queue last went round; none once they were told to end.
pub fn slowest(shared: &Shared) -> Duration {
    if shared.has_ended.load(Ordering::Relaxed) {
        return Duration::ZERO;
    }
    let now = shared.began.elapsed();
    let pulses = shared.pulses.iter();
    let since = pulses
        .map(|pulse| now.saturating_sub(Duration::from_millis(pulse.load(Ordering::Relaxed))));
    since.max().unwrap_or(Duration::ZERO)
}
