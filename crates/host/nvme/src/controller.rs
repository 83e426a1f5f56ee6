//! Controllers: what each connected host has of its own.

mod events;
mod properties;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use anabranch_ssd::streams::StreamHost;
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    completion::{Completion, Status},
    namespace::{MOST_NAMESPACES, Namespace},
    options::ERROR_ENTRIES,
};

use events::DISCOVERY_NOTICES;
pub(crate) use events::HEALTH_WARNINGS;
pub(crate) use properties::{CAPABILITIES_OFFSET, Change, VERSION};

/// Notice to a connection from elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Notice {
    /// A command is answered.
    Complete(Completion),
    /// The time of a command has come, which the clock knows by this name.
    Due(u64),
    /// The controller is no more.
    Gone,
}

/// Purpose of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The drive.
    Io,
    /// Telling where the drive is.
    Discovery,
}

/// An entry of the error log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorEntry {
    pub(crate) count: u64,
    pub(crate) queue: u16,
    pub(crate) identifier: u16,
    pub(crate) status: Status,
    pub(crate) block: u64,
    pub(crate) namespace: u32,
    pub(crate) opcode: u8,
}

/// A controller of one host.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) id: u16,
    pub(crate) purpose: Purpose,
    pub(crate) host: u128,
    pub(crate) host_name: String,
    keep_alive_ms: AtomicU32,
    seen_ms: AtomicU64,
    /// Its host has authenticated, or need not.
    proven: AtomicBool,
    /// It is enabled, ready, and not shut down.
    serving: AtomicBool,
    /// Namespaces that are attached to it.
    namespaces: RwLock<BTreeMap<u32, Arc<Namespace>>>,
    state: Mutex<State>,
}

/// Mutable state of a controller.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Controller Configuration (CC) and Status (CSTS).
    pub(crate) configuration: u32,
    pub(crate) status: u32,
    /// The subsystem was reset before it began, and the host has not said that it knows.
    pub(crate) follows_reset: bool,
    /// Events that are wanted (feature 0Bh).
    pub(crate) wanted_events: u32,
    /// Identifiers of Asynchronous Event Requests under way.
    requests: VecDeque<u16>,
    /// Events that were not reported yet.
    events: VecDeque<u32>,
    /// Critical warnings that were reported to the host and still hold.
    pub(crate) warned: u8,
    /// Namespaces that have changed since the host read the list of those.
    pub(crate) changed_namespaces: BTreeSet<u32>,
    /// An event has reported to the host that there are such.
    pub(crate) told_changed: bool,
    pub(crate) errors: VecDeque<ErrorEntry>,
    pub(crate) error_count: u64,
    /// Timestamp feature: what the host set, and when.
    pub(crate) timestamp: Option<(u64, u64)>,
    /// Temperature thresholds, volatile write cache and the like: values kept as they were set.
    pub(crate) features: BTreeMap<(u8, u16), u32>,
    /// Senders of notices to the admin queue's connection, then to those of I/O queues.
    admin: Option<UnboundedSender<Notice>>,
    queues: BTreeMap<u16, UnboundedSender<Notice>>,
}

impl State {
    /// A reset: what the host asked for is forgotten.
    fn forget(&mut self) {
        self.requests.clear();
        self.events.clear();
        self.changed_namespaces.clear();
        self.told_changed = false;
        self.features.clear();
        self.wanted_events = 0;
        self.warned = 0;
    }
}

impl Controller {
    pub(crate) fn is_io(&self) -> bool {
        self.purpose == Purpose::Io
    }

    /// Whether its host has authenticated, or need not.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    pub(crate) fn host_key(&self) -> StreamHost {
        match self.host {
            0 => StreamHost::Anonymous(self.id),
            host => StreamHost::Identified(host),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it takes commands: it is enabled, ready, and not shut down.
    #[inline]
    pub(crate) fn is_serving(&self) -> bool {
        self.serving.load(Ordering::Relaxed)
    }

    fn serves(&self, serves: bool) {
        self.serving.store(serves, Ordering::Relaxed);
    }

    /// Whether it is enabled and ready, be it shut down.
    pub(crate) fn is_ready(&self) -> bool {
        self.state().status & 1 != 0
    }

    /// An attached namespace.
    ///
    /// # Errors
    /// When there can be none of that identifier (§3.2.1.2), or there is none attached (§3.2.1.5).
    #[inline]
    pub(crate) fn namespace(&self, id: u32) -> Result<Arc<Namespace>, Status> {
        if !(1..=MOST_NAMESPACES).contains(&id) {
            return Err(Status::INVALID_NAMESPACE);
        }
        let attached = self.attached();
        attached.get(&id).cloned().ok_or(Status::INVALID_FIELD)
    }

    /// All namespaces that are attached.
    pub(crate) fn namespaces(&self) -> Vec<Arc<Namespace>> {
        self.attached().values().cloned().collect()
    }

    fn attached(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<Namespace>>> {
        let attached = self.namespaces.read();
        attached.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a namespace is attached.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.attached().contains_key(&id)
    }

    pub(crate) fn attach(&self, namespace: &Arc<Namespace>) {
        let attached = self.namespaces.write();
        let mut attached = attached.unwrap_or_else(PoisonError::into_inner);
        attached.insert(namespace.id(), Arc::clone(namespace));
    }

    /// Detaches a namespace, and notifies the host if it was attached.
    pub(crate) fn detach(&self, id: u32) {
        let attached = self.namespaces.write();
        let removed = attached.unwrap_or_else(PoisonError::into_inner).remove(&id);
        if removed.is_some() {
            self.namespace_changed(id);
        }
    }

    /// I/O queues connected.
    pub(crate) fn queues(&self) -> usize {
        self.state().queues.len()
    }

    /// Connects an I/O queue; whether it was not connected already, of a controller that has not ended.
    pub(crate) fn add_queue(&self, queue: u16, notices: &UnboundedSender<Notice>) -> bool {
        let mut state = self.state();
        let vacant = state.admin.is_some() && !state.queues.contains_key(&queue);
        if vacant {
            state.queues.insert(queue, notices.clone());
        }
        vacant
    }

    /// Forgets an I/O queue, if it is still that connection's.
    pub(crate) fn remove_queue(&self, queue: u16, notices: &UnboundedSender<Notice>) {
        let mut state = self.state();
        if state
            .queues
            .get(&queue)
            .is_some_and(|held| held.same_channel(notices))
        {
            state.queues.remove(&queue);
        }
    }

    /// Ends the controller's I/O queues, as a reset does: their connections are notified.
    pub(crate) fn end_queues(&self) {
        let queues = std::mem::take(&mut self.state().queues);
        queues
            .into_values()
            .for_each(|notices| notify_end(&notices));
    }

    /// Ends the controller: every connection of it is notified.
    pub(crate) fn end(&self) {
        // First, so that no queue is added after those there are were told.
        let admin = self.state().admin.take();
        self.end_queues();
        if let Some(notices) = admin {
            notify_end(&notices);
        }
    }

    /// Records that the host has sent a command.
    #[inline]
    pub(crate) fn seen(&self, now_ms: u64) {
        self.seen_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Whether the host has been silent for longer than it said it would be. If it said nothing of
    /// that, a controller that serves it no drive is not kept for ever: of discovery §3.1.3.3 names
    /// two minutes; for one that is not enabled, or is shut down, it is our choice.
    pub(crate) fn is_silent(&self, now_ms: u64, idle: Duration) -> bool {
        let timeout = match u64::from(self.keep_alive_ms()) {
            0 if self.is_io() && self.is_serving() => return false,
            0 => idle.as_millis() as u64,
            timeout => timeout,
        };
        now_ms.saturating_sub(self.seen_ms.load(Ordering::Relaxed)) > timeout
    }

    pub(crate) fn keep_alive_ms(&self) -> u32 {
        self.keep_alive_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn set_keep_alive_ms(&self, timeout_ms: u32) {
        self.keep_alive_ms.store(timeout_ms, Ordering::Relaxed);
    }

    /// Notes a command that failed.
    pub(crate) fn record_error(&self, entry: ErrorEntry) {
        let mut state = self.state();
        state.error_count += 1;
        let count = state.error_count;
        if state.errors.len() >= ERROR_ENTRIES {
            state.errors.pop_back();
        }
        state.errors.push_front(ErrorEntry { count, ..entry });
    }
}

fn notify_end(notices: &UnboundedSender<Notice>) {
    // A connection that has ended hears nothing, and need not.
    let _ = notices.send(Notice::Gone);
}

/// All controllers there are.
#[derive(Debug)]
pub(crate) struct Controllers {
    most: u16,
    by_id: BTreeMap<u16, Arc<Controller>>,
}

/// Discovery controllers at a time: they take no host's place (our choice).
pub(crate) const MOST_DISCOVERIES: usize = 32;
/// Identifiers of dynamic controllers end here; above they are reserved (§3.1.1).
const MOST_ID: u16 = 0xffef;

impl Controllers {
    pub(crate) fn new(most: u16) -> Controllers {
        Controllers {
            most,
            by_id: BTreeMap::new(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Controller>> {
        self.by_id.values()
    }

    pub(crate) fn get(&self, id: u16) -> Option<Arc<Controller>> {
        self.by_id.get(&id).cloned()
    }

    /// Whether there are as many controllers of proven hosts as may be.
    fn is_full(&self, purpose: Purpose) -> bool {
        let most = match purpose {
            Purpose::Io => self.most.into(),
            Purpose::Discovery => MOST_DISCOVERIES,
        };
        let alike = |one: &&Arc<Controller>| one.purpose == purpose && one.is_proven();
        self.by_id.values().filter(alike).count() >= most
    }

    /// Counts a controller among those of proven hosts: its host has authenticated. Fails where others were faster, or
    /// the controller has ended.
    pub(crate) fn prove(&mut self, controller: &Controller) -> bool {
        let has_ended = controller.state().admin.is_none();
        let is_free = !has_ended && !self.is_full(controller.purpose);
        if is_free {
            controller.proven.store(true, Ordering::Relaxed);
        }
        is_free
    }

    /// Creates a controller of a host; `None` where there are too many. Those of hosts that have not authenticated take
    /// no place: the connections they come by are few ([`crate::places`]).
    pub(crate) fn create(
        &mut self,
        (purpose, is_proven): (Purpose, bool),
        host: (u128, String),
        (keep_alive_ms, now_ms): (u32, u64),
        notices: &UnboundedSender<Notice>,
    ) -> Option<Arc<Controller>> {
        if self.is_full(purpose) {
            return None;
        }
        // The lowest that is free, as on Linux' target: a host that resets its controller has the same again, which
        // nvme-cli's tests rely on.
        let id = (1..=MOST_ID).find(|id| !self.by_id.contains_key(id))?;
        // Who gives a timeout wants to stay connected to discovery, and to hear of changes (§3.1.3.3.1).
        let is_persistent = purpose == Purpose::Discovery && keep_alive_ms != 0;
        let controller = Arc::new(Controller {
            id,
            purpose,
            host: host.0,
            host_name: host.1,
            keep_alive_ms: AtomicU32::new(keep_alive_ms),
            seen_ms: AtomicU64::new(now_ms),
            proven: AtomicBool::new(is_proven),
            serving: AtomicBool::new(false),
            namespaces: RwLock::default(),
            state: Mutex::new(State {
                wanted_events: if is_persistent { DISCOVERY_NOTICES } else { 0 },
                admin: Some(notices.clone()),
                ..State::default()
            }),
        });
        self.by_id.insert(id, Arc::clone(&controller));
        Some(controller)
    }

    pub(crate) fn remove(&mut self, id: u16) {
        self.by_id.remove(&id);
    }
}
