//! Gates between commands that must not overlap.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Gates of a target.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    /// Held by batches of I/O commands, and for a moment by a Format that begins.
    batches: RwLock<()>,
    /// Held by whoever makes, deletes or attaches namespaces.
    managing: Mutex<()>,
}

impl Gates {
    /// Begins a batch of I/O commands, which ends with the guard: no Format begins in between.
    pub(crate) fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.batches.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the batches under way, and keeps new ones out.
    pub(crate) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.batches.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the management of namespaces: one command at a time makes, deletes or attaches them.
    pub(crate) fn managing(&self) -> MutexGuard<'_, ()> {
        let locked = self.managing.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}
