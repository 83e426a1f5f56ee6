//! The commands of a connection that have come and were not answered yet.

use super::{
    batch::Batch, delayed::DelayedCompletions, sliced::SlicedCommands, transfers::Transfers,
};

/// Bytes of long commands that are taken in before some are done (our choice).
const MOST_LONG: usize = 512 << 10;

/// Commands under way, by what they wait for.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// Data of the host.
    pub(super) transfers: Transfers,
    /// The translation layer, at the end of the batch.
    pub(super) batch: Batch,
    /// Their next slice.
    pub(super) sliced: SlicedCommands,
    /// The flash.
    pub(super) delayed: DelayedCompletions,
}

impl UnderWay {
    /// Commands there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.batch.len() + self.delayed.len() + self.sliced.len() + self.transfers.len()
    }

    /// Bytes of memory that they take, or may take.
    pub(super) fn bytes(&self) -> usize {
        self.transfers.bytes() + self.batch.bytes() + self.sliced.bytes() + self.delayed.bytes()
    }

    /// Frees the memory of commands that are done.
    pub(super) fn shrink(&mut self) {
        self.transfers.shrink();
        self.batch.shrink();
        self.sliced.shrink();
        self.delayed.shrink();
    }

    /// Whether long commands that were begun come before any new one.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.sliced.bytes() >= MOST_LONG
    }
}
