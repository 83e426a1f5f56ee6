//! Directives that are enabled: by hosts, each for itself, or for the whole drive.

use std::{
    collections::HashSet,
    sync::{
        PoisonError, RwLock, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use anabranch_ssd::streams::Scope;

use crate::drive::{Hint, ServedDrive};

/// Directives that are enabled.
#[derive(Debug, Default)]
pub(crate) struct EnabledDirectives {
    /// Hosts that have enabled the Streams Directive, and where.
    streaming: RwLock<HashSet<Scope>>,
    /// Flexible Data Placement is enabled.
    places: AtomicBool,
}

impl EnabledDirectives {
    pub(crate) fn of(drive: &ServedDrive) -> EnabledDirectives {
        EnabledDirectives {
            places: AtomicBool::new(drive.fdp_configuration().is_some()),
            ..EnabledDirectives::default()
        }
    }

    /// Whether Flexible Data Placement is enabled.
    pub(crate) fn places(&self) -> bool {
        self.places.load(Ordering::Relaxed)
    }

    /// Enables Flexible Data Placement, or disables it.
    pub(crate) fn set_places(&self, places: bool) {
        self.places.store(places, Ordering::Relaxed);
    }

    /// Whether a host has the Streams Directive enabled for a namespace.
    pub(crate) fn is_streaming(&self, scope: Scope) -> bool {
        let streaming = self.streaming.read();
        streaming
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&scope)
    }

    pub(crate) fn streaming_mut(&self) -> RwLockWriteGuard<'_, HashSet<Scope>> {
        let streaming = self.streaming.write();
        streaming.unwrap_or_else(PoisonError::into_inner)
    }

    /// The hint of a write whose data came after its command: streams may have been disabled in between,
    /// and then it opens none, which nobody would close.
    #[inline]
    pub(crate) fn still(&self, scope: Scope, hint: Hint) -> Hint {
        match hint {
            Hint::Stream(_) if !self.is_streaming(scope) => Hint::None,
            hint => hint,
        }
    }
}
