//! Account of the drive's streams: how many each user has, and which was used longest ago.

use std::collections::{BTreeSet, HashMap};

use crate::types::StreamId;

/// Stream resources with one owner.
#[derive(Debug, Clone)]
pub(super) struct Account {
    /// The most resources that may be in use.
    pub(super) limit: u16,
    /// Open streams by their last use.
    by_use: BTreeSet<(u64, StreamId)>,
    used_at: HashMap<StreamId, u64>,
}

impl Account {
    pub(super) fn of(limit: u16) -> Account {
        Account {
            limit,
            by_use: BTreeSet::new(),
            used_at: HashMap::new(),
        }
    }

    pub(super) fn open(&self) -> u16 {
        self.by_use.len() as u16
    }

    pub(super) fn is_full(&self) -> bool {
        self.open() >= self.limit
    }

    /// The open stream used longest ago.
    pub(super) fn oldest(&self) -> Option<StreamId> {
        self.by_use.first().map(|&(_, stream)| stream)
    }

    /// A stream is opened or used.
    pub(super) fn mark_used(&mut self, stream: StreamId, now: u64) {
        if let Some(before) = self.used_at.insert(stream, now) {
            self.by_use.remove(&(before, stream));
        }
        self.by_use.insert((now, stream));
    }

    pub(super) fn drop(&mut self, stream: StreamId) -> Option<u64> {
        let used_at = self.used_at.remove(&stream)?;
        self.by_use.remove(&(used_at, stream));
        Some(used_at)
    }

    /// Passes an open stream on to another account.
    pub(super) fn give(&mut self, to: &mut Account, stream: StreamId) {
        if let Some(used_at) = self.drop(stream) {
            to.mark_used(stream, used_at);
        }
    }

    /// The streams, longest unused first, that are open beyond the limit.
    pub(super) fn excess(&self) -> impl Iterator<Item = StreamId> {
        let beyond = self.open().saturating_sub(self.limit);
        let oldest = self.by_use.iter().take(usize::from(beyond));
        oldest.map(|&(_, stream)| stream)
    }
}
