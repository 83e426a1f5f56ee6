//! When data will die: what only a trace that was read before can tell.

/// When each page the host writes will die, in the order they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Future {
    dies_at: Vec<u64>,
}

impl Future {
    /// The death of a page that outlives the trace.
    pub const NEVER: u64 = u64::MAX;

    /// `dies_at[n]` is when the page written as the `n`th (from 0) dies, in pages the host has
    /// written by then; [`Future::NEVER`] where it outlives the trace.
    pub fn new(dies_at: Vec<u64>) -> Future {
        Future { dies_at }
    }

    /// When the page that is written when the host has written `now_pages` before will die.
    pub fn dies_at(&self, now_pages: u64) -> u64 {
        let index = usize::try_from(now_pages).unwrap_or(usize::MAX);
        self.dies_at.get(index).copied().unwrap_or(Future::NEVER)
    }
}
