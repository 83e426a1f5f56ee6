//! The owner and time of writing of every logical page, so that lifetimes are exact.

use std::ops::Range;

/// The owner of a page that holds no data.
const NOBODY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    owner: u32,
    /// Pages the host had written when the page was written, modulo 2^32.
    written: u32,
}

/// Neighbouring pages of one owner and one time whose life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The first of the pages.
    pub first: u32,
    /// Number of pages.
    pub pages: u32,
    /// The owner that had written them.
    pub owner: u32,
    /// Their lifetime: pages the host wrote to the drive in between.
    pub life_pages: u64,
}

/// The owner of each page of a drive, 8 bytes a page. Lives below 2^32 pages (16 TiB of writes)
/// are exact.
#[derive(Debug, Clone)]
pub struct Owners {
    entries: Vec<Entry>,
}

impl Owners {
    /// A drive that holds nothing.
    pub fn new(logical_pages: u32) -> Owners {
        let nothing = Entry {
            owner: NOBODY,
            written: 0,
        };
        Owners {
            entries: vec![nothing; logical_pages as usize],
        }
    }

    /// The owner of a page; `None` where it holds nothing.
    #[inline]
    pub fn owner_of(&self, page: usize) -> Option<u32> {
        let owner = self.entries.get(page)?.owner;
        (owner != NOBODY).then_some(owner)
    }

    /// Records that `owner` (below `u32::MAX`) writes `pages` at logical time `now_pages`. The data
    /// there before ends.
    pub fn write(
        &mut self,
        pages: Range<usize>,
        owner: u32,
        now_pages: u64,
        on_end: impl FnMut(Ended),
    ) {
        self.replace(pages, owner, now_pages, on_end);
    }

    /// The data still alive at logical time `now_pages`, with its age as `life_pages`.
    pub fn alive(&self, now_pages: u64) -> impl Iterator<Item = Ended> + '_ {
        let mut first = 0;
        let now = now_pages as u32;
        self.entries.chunk_by(|a, b| a == b).filter_map(move |run| {
            let alive = Ended {
                first,
                pages: run.len() as u32,
                owner: run[0].owner,
                life_pages: u64::from(now.wrapping_sub(run[0].written)),
            };
            first += alive.pages;
            (alive.owner != NOBODY).then_some(alive)
        })
    }

    /// Records that `pages` are discarded: the data there ends.
    pub fn discard(&mut self, pages: Range<usize>, now_pages: u64, on_end: impl FnMut(Ended)) {
        self.replace(pages, NOBODY, now_pages, on_end);
    }

    fn replace(
        &mut self,
        pages: Range<usize>,
        owner: u32,
        now_pages: u64,
        mut on_end: impl FnMut(Ended),
    ) {
        let written = now_pages as u32;
        let mut first = pages.start as u32;
        let Some(entries) = self.entries.get_mut(pages) else {
            return;
        };
        for run in entries.chunk_by(|a, b| a == b) {
            let count = run.len() as u32;
            if run[0].owner != NOBODY {
                on_end(Ended {
                    first,
                    pages: count,
                    owner: run[0].owner,
                    life_pages: u64::from(written.wrapping_sub(run[0].written)),
                });
            }
            first += count;
        }
        entries.fill(Entry { owner, written });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_overwritten_or_discarded_ends_once_with_its_exact_life() {
        let mut owners = Owners::new(100);
        let mut ended = Vec::new();
        owners.write(0..40, 1, 0, |one| ended.push(one));
        owners.write(30..60, 2, 40, |one| ended.push(one));
        owners.discard(0..100, (1 << 32) + 39, |one| ended.push(one));
        owners.discard(0..100, (1 << 32) + 50, |one| ended.push(one));
        let one = |first, pages, owner, life_pages| Ended {
            first,
            pages,
            owner,
            life_pages,
        };
        let last = (1 << 32) - 1;
        // 2^32 + 39 pages after time 0 are taken modulo 2^32.
        assert_eq!(
            ended,
            [one(30, 10, 1, 40), one(0, 30, 1, 39), one(30, 30, 2, last)]
        );
        assert_eq!(owners.owner_of(5), None);
    }
}
