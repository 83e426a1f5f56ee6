//! The kernel side's window in memory: the pages on their way, and their writers. The layouts are those of
//! `bpf/window.bpf.h`.

use std::sync::atomic::Ordering;

use libbpf_rs::MapHandle;

use crate::event::FileKey;
use crate::shared_words::SharedWords;

const BUCKET_BITS: u32 = 18;
const SLOTS_PER_BUCKET: usize = 4;
/// The most sources that are remembered.
pub(crate) const MAX_SOURCES: usize = 16384;
const WORDS_PER_SOURCE: usize = 5;

/// A writer and the file it writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    pub writer: u64,
    pub file: FileKey,
    pub hint: u8,
    pub hint_granted: bool,
}

/// The kernel side's counts since the maps were made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub filled: u64,
    pub evicted: u64,
    /// Requests that another program than the first took.
    pub late: u64,
}

/// The window of pages, the sources of its numbers, and the counts.
#[derive(Debug)]
pub(crate) struct Window {
    slots: SharedWords,
    sources: SharedWords,
    tally: SharedWords,
}

impl Window {
    pub(crate) fn map(
        window: &MapHandle,
        sources: &MapHandle,
        tallies: &MapHandle,
    ) -> nix::Result<Window> {
        Ok(Window {
            slots: SharedWords::map(window, SLOTS_PER_BUCKET << BUCKET_BITS)?,
            sources: SharedWords::map(sources, MAX_SOURCES * WORDS_PER_SOURCE)?,
            tally: SharedWords::map(tallies, 4)?,
        })
    }

    /// The number of the source of a page; `None` if the page is not on its way.
    pub(crate) fn number(&self, page: u64) -> Option<u32> {
        let (bucket, tag) = place_of(page);
        (0..SLOTS_PER_BUCKET)
            .map(|slot| self.slots.word(bucket + slot).load(Ordering::Acquire))
            .find(|word| word >> 32 == tag)
            .map(|word| word as u32)
    }

    /// Forgets a page.
    pub(crate) fn clear(&self, page: u64) {
        let (bucket, tag) = place_of(page);
        for slot in 0..SLOTS_PER_BUCKET {
            let word = self.slots.word(bucket + slot);
            let seen = word.load(Ordering::Acquire);
            if seen >> 32 == tag {
                // Who took the slot meanwhile keeps it.
                let _ = word.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }

    /// The source that a number stands for; `None` if that is too long ago.
    pub(crate) fn source(&self, number: u32) -> Option<Source> {
        let first = number as usize % MAX_SOURCES * WORDS_PER_SOURCE;
        let word = |at: usize| self.sources.word(first + at).load(Ordering::Acquire);
        let before = word(0);
        let (writer, ino, generation, hint) = (word(1), word(2), word(3), word(4));
        if before != u64::from(number) || word(0) != before {
            return None;
        }
        Some(Source {
            writer,
            file: FileKey {
                ino,
                generation: low(generation),
                dev: high(generation),
            },
            hint: low(hint) as u8,
            hint_granted: high(hint) != 0,
        })
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally {
            filled: self.tally.word(1).load(Ordering::Relaxed),
            evicted: self.tally.word(2).load(Ordering::Relaxed),
            late: self.tally.word(3).load(Ordering::Relaxed),
        }
    }
}

/// The two four-byte fields of a word: this one is the first.
fn low(word: u64) -> u32 {
    let [a, b, c, d, ..] = word.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

fn high(word: u64) -> u32 {
    let [.., a, b, c, d] = word.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

/// The first slot of a page's bucket, and its tag there; as `fill_page` in `bpf/window.bpf.h`.
fn place_of(page: u64) -> (usize, u64) {
    let high = page >> BUCKET_BITS;
    // Knuth's multiplicative hashing (The Art of Computer Programming, 6.4), 32 bits.
    let bucket = (page ^ high.wrapping_mul(0x9e37_79b1)) & ((1 << BUCKET_BITS) - 1);
    (bucket as usize * SLOTS_PER_BUCKET, high + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_two_pages_have_place_and_tag_in_common(a in 0_u64..1 << 49, b in 0_u64..1 << 49) {
            prop_assert_eq!(place_of(a) == place_of(b), a == b);
        }

        #[test]
        fn a_tag_is_never_that_of_a_free_slot_and_fits(page in 0_u64..1 << 49) {
            let (bucket, tag) = place_of(page);
            prop_assert!(tag > 0 && tag <= u64::from(u32::MAX));
            prop_assert!(bucket < SLOTS_PER_BUCKET << BUCKET_BITS);
        }
    }

    #[test]
    fn neighbours_lie_in_buckets_of_their_own() {
        // As many as there are buckets, from a multiple of that on; runs across one may share some.
        let run = 27 << BUCKET_BITS..28 << BUCKET_BITS;
        let buckets: std::collections::HashSet<usize> = run.map(|page| place_of(page).0).collect();
        assert_eq!(buckets.len(), 1 << BUCKET_BITS);
    }
}
