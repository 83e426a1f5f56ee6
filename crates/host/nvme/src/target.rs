//! The subsystem: one drive, and the controllers through which hosts use it.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use anabranch_security::is_name;
use anabranch_ssd::{
    PageRange,
    streams::{Scope, StreamHost},
};

use crate::{
    checkpoint::{Checkpoint, CheckpointError, Source},
    clock::Clock,
    completion::Status,
    controller::{Controller, Controllers},
    drive::{Hint, ServedDrive},
    enabled::EnabledDirectives,
    extent::Extent,
    facts::DriveFacts,
    gates::Gates,
    gauges::Gauges,
    incidents::Incidents,
    namespace::Namespace,
    options::Options,
    saved_state::SavedState,
    store::Store,
    time::Time,
    totals::Totals,
};

/// A served drive. Shared by all connections.
#[derive(Debug)]
pub struct Target {
    pub(crate) options: Options,
    pub(crate) store: Store,
    pub(crate) totals: Totals,
    pub(crate) controllers: Mutex<Controllers>,
    /// The clock; `None` on a drive without simulated time.
    pub(crate) clock: Option<Clock>,
    pub(crate) facts: DriveFacts,
    pub(crate) enabled: EnabledDirectives,
    pub(crate) incidents: Incidents,
    pub(crate) gauges: Gauges,
    pub(crate) gates: Gates,
    drive: Mutex<ServedDrive>,
    state: SavedState,
    time: Time,
}

/// A name that is not a valid NVMe Qualified Name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no name: an NQN has 1 to 223 characters")]
pub struct BadName(pub String);

/// A drive that could not be stopped in good order.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// The contents could not be made safe.
    #[error("the contents could not be written: {0}")]
    Contents(#[from] io::Error),
    /// The state could not be written.
    #[error(transparent)]
    State(#[from] CheckpointError),
}

impl Target {
    /// A target that serves a drive with the contents of a store, and keeps its state where
    /// `checkpoint` says.
    ///
    /// # Errors
    /// When the subsystem's or a host's name is not a valid NQN.
    pub fn new(
        options: Options,
        drive: ServedDrive,
        store: Store,
        totals: Totals,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Arc<Target>, BadName> {
        let names = || options.allowed_hosts.iter().chain([&options.subsystem]);
        if let Some(bad) = names().find(|name| !is_name(name)) {
            return Err(BadName(bad.clone()));
        }
        Ok(Arc::new(Target {
            controllers: Mutex::new(Controllers::new(options.most_controllers)),
            clock: drive.flash().map(|_| Clock::new()),
            facts: DriveFacts::of(&drive),
            enabled: EnabledDirectives::of(&drive),
            incidents: Incidents::of(&drive),
            gauges: Gauges::default(),
            gates: Gates::default(),
            state: SavedState::at(checkpoint),
            time: Time::machine(),
            drive: Mutex::new(drive),
            options,
            store,
            totals,
        }))
    }

    /// The translation layer, for as long as the guard lives. Nothing may wait meanwhile.
    pub fn drive(&self) -> MutexGuard<'_, ServedDrive> {
        self.drive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The subsystem's name.
    pub fn name(&self) -> &str {
        &self.options.subsystem
    }

    /// The drive's contents.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Counters of commands.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The names of the connected hosts, with the number of their I/O queues.
    pub fn hosts(&self) -> Vec<(String, usize)> {
        let controllers = self.controllers();
        let io = controllers
            .iter()
            .filter(|one| one.is_io() && one.is_proven());
        let mut hosts: Vec<_> = io
            .map(|one| (one.host_name.clone(), one.queues()))
            .collect();
        hosts.sort();
        hosts
    }

    /// The namespaces there are, by their identifiers.
    pub fn namespaces(&self) -> Vec<Arc<Namespace>> {
        self.drive().namespaces().iter().cloned().collect()
    }

    /// Milliseconds since the target began.
    pub(crate) fn now_ms(&self) -> u64 {
        self.time.now_ms()
    }

    /// Sets the time, and stops it until the next call: for tests in which all events follow from a
    /// seed.
    #[doc(hidden)]
    pub fn set_now_ms(&self, now_ms: u64) {
        self.time.set_ms(now_ms);
    }

    pub(crate) fn controllers(&self) -> MutexGuard<'_, Controllers> {
        let locked = self.controllers.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a host of that name may connect.
    pub(crate) fn admits(&self, host_name: &str) -> bool {
        let allowed = &self.options.allowed_hosts;
        allowed.is_empty() || allowed.iter().any(|name| name == host_name)
    }

    /// Performs a controller level reset: releases the host's streams, if this was its last controller.
    pub(crate) fn reset(&self, controller: &Controller) {
        let host = controller.host_key();
        let (others, same) = {
            let controllers = self.controllers();
            let others = controllers
                .iter()
                .filter(|other| other.id != controller.id && other.is_io() && other.is_ready());
            let hosts: Vec<StreamHost> = others.map(|other| other.host_key()).collect();
            (!hosts.is_empty(), hosts.contains(&host))
        };
        // Streams are the host's (§8.1.8): they stay while it has another controller.
        if !same {
            let of_host: Vec<Scope> = {
                let streaming = self.enabled.streaming_mut();
                let all = streaming.iter().filter(|scope| scope.host == host);
                all.copied().collect()
            };
            of_host
                .into_iter()
                .for_each(|scope| self.stop_streaming(scope));
        }
        if !others {
            self.drive().forget_events();
        }
    }

    /// Disables the directive for a host at a namespace, and releases its streams. Identifiers that
    /// hosts share are theirs together, and stay while one of them has the directive enabled.
    pub(crate) fn stop_streaming(&self, scope: Scope) {
        let mut drive = self.drive();
        let mut streaming = self.enabled.streaming_mut();
        streaming.remove(&scope);
        let is_named = |host: StreamHost| matches!(host, StreamHost::Identified(_));
        let shares = |other: &Scope| other.namespace == scope.namespace && is_named(other.host);
        let shared = self.options.shared_streams && is_named(scope.host);
        if !(shared && streaming.iter().any(shares)) {
            drive.release_streams(scope);
        }
    }

    /// Bytes of memory that connections take for what hosts sent and are to be sent.
    pub fn connection_bytes(&self) -> u64 {
        self.gauges.connection_bytes()
    }

    /// Slices of long commands that were done: between any two of a queue, other queues have their
    /// turn.
    pub fn slices(&self) -> u64 {
        self.gauges.slices()
    }

    /// Most bytes of the drive's state that were copied under one lock, of all times it was written:
    /// what a host's write may have to wait for.
    pub fn most_saved_at_once(&self) -> u64 {
        self.state.most_at_once.load(Ordering::Relaxed)
    }

    /// Writes the drive's state, if it is kept anywhere.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self) -> Result<(), CheckpointError> {
        self.state.save(self.source())
    }

    /// Writes the state unless nothing but time has passed since it was written last. Returns whether it
    /// was written.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_changes(&self) -> Result<bool, CheckpointError> {
        self.state.save_changes(self.source())
    }

    /// Source of the state to write.
    fn source(&self) -> Source<'_> {
        Source {
            drive: &self.drive,
            totals: &self.totals,
            time: &self.time,
            most_saved: &self.state.most_at_once,
        }
    }

    /// Makes the contents safe, and writes the drive's state and that it was stopped.
    ///
    /// # Errors
    /// When either cannot be written.
    pub fn stop(&self) -> Result<(), StopError> {
        self.store.flush()?;
        Ok(self.state.end(self.source())?)
    }

    /// Records the part of a write whose end will never come. Its bytes are in the store: the
    /// translation layer records them, so that it maps all data there are.
    pub(crate) fn wrote_part(&self, scope: Scope, hint: Hint, at: u64, length: u64) {
        if length > 0 && !self.facts.can_fail {
            let pages = self.facts.touched(at, length);
            let hint = self.enabled.still(scope, hint);
            let mut drive = self.drive();
            // Of a namespace that was deleted meanwhile the bytes lie in nobody's pages, and are zeroed
            // before they are another's.
            if drive.namespaces().get(scope.namespace).is_none() {
                return;
            }
            let result = drive.write(scope, hint, pages);
            drop(drive);
            self.incidents.recorded(result);
        }
    }

    /// Puts bytes of a write into the store. Of a drive that can become read-only, the translation layer
    /// records their pages first, each once, and a drive that is read-only by then is not changed.
    pub(crate) fn put(
        &self,
        (scope, hint): (Scope, Hint),
        Extent { at, length }: Extent,
        reported: &mut u32,
        put: impl FnOnce(&Store) -> io::Result<()>,
    ) -> Result<(), Status> {
        let failed = |_| Status::INTERNAL;
        if !self.facts.can_fail || length == 0 {
            return put(&self.store).map_err(failed);
        }
        let pages = self.facts.touched(at, length);
        let end = pages.first + pages.count;
        let hint = self.enabled.still(scope, hint);
        // Under one lock, so that no page is discarded in between.
        let mut drive = self.drive();
        let known = pages.first < *reported && drive.locate(pages.first).is_some();
        let first = pages.first + u32::from(known);
        let status =
            self.incidents
                .recorded(drive.write(scope, hint, PageRange::new(first, end - first)));
        if !status.is_success() {
            return Err(status);
        }
        *reported = end;
        put(&self.store).map_err(failed)
    }

    /// Zeroes bytes whose pages were discarded. Where that fails their data are still there, and the
    /// translation layer records them again.
    pub(crate) fn zero(&self, scope: Scope, bytes: Extent, pages: PageRange) -> Status {
        match self.store.zero(bytes.at, bytes.length) {
            Ok(()) => Status::SUCCESS,
            Err(_) => {
                let result = self.drive().write(scope, Hint::None, pages);
                self.incidents.recorded(result);
                Status::INTERNAL
            }
        }
    }
}
