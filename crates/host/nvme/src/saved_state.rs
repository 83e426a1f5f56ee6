//! The drive's state as it was written last, and the place that it is written to.

use std::sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64};

use crate::checkpoint::{Checkpoint, CheckpointError, Mark, Source};

/// State of a drive on its way to a file.
#[derive(Debug, Default)]
pub(crate) struct SavedState {
    /// Place of the drive's state, if it is kept.
    checkpoint: Option<Checkpoint>,
    /// Mark of the state written last; one thread writes it at a time.
    saved: Mutex<Option<Mark>>,
    /// Most bytes of state that were copied under one lock.
    pub(crate) most_at_once: AtomicU64,
}

impl SavedState {
    pub(crate) fn at(checkpoint: Option<Checkpoint>) -> SavedState {
        SavedState {
            checkpoint,
            ..SavedState::default()
        }
    }

    /// Writes the state, if it is kept anywhere.
    pub(crate) fn save(&self, source: Source<'_>) -> Result<(), CheckpointError> {
        let mut saved = self.saved();
        if let Some(checkpoint) = &self.checkpoint {
            *saved = Some(checkpoint.write(source)?);
        }
        Ok(())
    }

    /// Writes the state unless nothing but time has passed since it was written last. Returns whether it
    /// was written.
    pub(crate) fn save_changes(&self, source: Source<'_>) -> Result<bool, CheckpointError> {
        let mut saved = self.saved();
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(false);
        };
        let now = Mark::of(&source.drive(), source.totals);
        if saved.as_ref() == Some(&now) {
            return Ok(false);
        }
        *saved = Some(checkpoint.write(source)?);
        Ok(true)
    }

    /// Writes the state, and that the drive was stopped.
    pub(crate) fn end(&self, source: Source<'_>) -> Result<(), CheckpointError> {
        let _alone = self.saved();
        match &self.checkpoint {
            Some(checkpoint) => checkpoint.end(source),
            None => Ok(()),
        }
    }

    fn saved(&self) -> MutexGuard<'_, Option<Mark>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
