//! The future: when data will die, known only of a trace that was read before.

/// The lives that a first pass over a trace found: how long each page written will live, and how
/// long each logical page's data live on average.
///
/// Memory: 4 bytes a page written and 4 a logical page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Future {
    lives_pages: Vec<u32>,
    mean_lives_pages: Vec<u32>,
}

impl Future {
    /// The time of death of a page that outlives the trace.
    pub const NEVER: u64 = u64::MAX;

    /// The life of a page that outlives the trace. Longer lives (16 TiB of writes in pages of 4
    /// KiB) count as this one, since a life is kept in 32 bits whatever the length of the trace.
    pub const ENDLESS: u32 = u32::MAX;

    /// `lives_pages[n]` is how long the page written as the `n`th (from 0) lives, in pages the
    /// host writes from that one on, itself included: 1 if the next one overwrites it.
    /// `mean_lives_pages[page]` is how long the data of a logical page live in the mean. Both are
    /// [`Future::ENDLESS`] where nothing dies within the trace.
    pub fn new(lives_pages: Vec<u32>, mean_lives_pages: Vec<u32>) -> Future {
        Future {
            lives_pages,
            mean_lives_pages,
        }
    }

    /// The time of death of the page that is written after `now_pages` others, in pages the host
    /// has written by then; [`Future::NEVER`] if it outlives the trace.
    #[inline]
    pub fn dies_at(&self, now_pages: u64) -> u64 {
        let index = usize::try_from(now_pages).unwrap_or(usize::MAX);
        match self.lives_pages.get(index) {
            None | Some(&Future::ENDLESS) => Future::NEVER,
            Some(&life) => now_pages + u64::from(life),
        }
    }

    /// The mean life of a logical page's data over the whole trace, in pages the host writes
    /// meanwhile, or [`Future::NEVER`]. It is the reciprocal of the page's rate of death.
    #[inline]
    pub fn mean_life_pages(&self, page: u32) -> u64 {
        match self.mean_lives_pages.get(page as usize) {
            None | Some(&Future::ENDLESS) => Future::NEVER,
            Some(&life) => u64::from(life),
        }
    }

    /// The life of each page, in the order of writing; [`Future::ENDLESS`] where it outlives the
    /// trace.
    pub fn lives_pages(&self) -> &[u32] {
        &self.lives_pages
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        (self.lives_pages.capacity() + self.mean_lives_pages.capacity()) * size_of::<u32>()
    }
}
