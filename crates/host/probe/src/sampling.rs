//! The samples of a device's pages that the kernel side tells of, and what it leaves out for that.

use std::sync::atomic::Ordering;

use anabranch_trace::Sampled;

use crate::shared_words::SharedWords;

/// As in `bpf/events.h`. The most samples of a drive.
const MAX_SAMPLES: usize = 16;
/// Operations that a request may have, as numbered in `bpf/events.h`.
const OPERATIONS: usize = 4;
const PAGE_BYTES: usize = 1;
const HASHES: usize = 2;
const REQUESTS: usize = HASHES + MAX_SAMPLES;
const BYTES: usize = REQUESTS + OPERATIONS;

/// Requests that were counted and not told, because no page of them is in a sample. One that several writers caused is
/// one request here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Untold {
    /// Number of requests of all operations.
    pub requests: u64,
    /// Bytes asked to be written.
    pub write_bytes: u64,
    /// Bytes asked to be discarded.
    pub discarded_bytes: u64,
    /// Bytes asked to be read, where reads are told.
    pub read_bytes: u64,
    /// Flushes, of which no sample has a page.
    pub flushes: u64,
}

impl Untold {
    /// Returns the difference to an `earlier` count.
    pub fn since(self, earlier: Untold) -> Untold {
        Untold {
            requests: self.requests.saturating_sub(earlier.requests),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
            discarded_bytes: self.discarded_bytes.saturating_sub(earlier.discarded_bytes),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            flushes: self.flushes.saturating_sub(earlier.flushes),
        }
    }
}

/// `struct sampling` of `bpf/events.h`.
#[derive(Debug)]
pub(crate) struct Sampling(SharedWords);

impl Sampling {
    pub(crate) const WORDS: usize = BYTES + OPERATIONS;

    pub(crate) fn new(words: SharedWords) -> Sampling {
        Sampling(words)
    }

    /// Has only requests told of which one of the samples has a page; without samples, all. They must be of one rate
    /// and one size of pages, and not too many: otherwise all are told. Answers the bytes for which one short request is
    /// told, on average; 0 where all are.
    pub(crate) fn tell_only(&self, samples: &[Sampled]) -> u64 {
        let shape = shape(samples);
        if shape == 0 {
            self.set(0, 0);
            return 0;
        }
        let first = samples.first().map_or(0, |sample| sample.page_bytes);
        let is_as_it_was = self.word(PAGE_BYTES) == u64::from(first)
            && samples
                .iter()
                .enumerate()
                .all(|(at, sample)| self.word(HASHES + at) == sample.hash);
        // Where a rate alone changes, no request meets the one's hashes and the other's rate.
        if !is_as_it_was {
            self.set(0, 0);
            self.set(PAGE_BYTES, u64::from(first));
            for (at, sample) in samples.iter().enumerate() {
                self.set(HASHES + at, sample.hash);
            }
        }
        self.set(0, shape);
        let pages = samples.first().map_or(0, |sample| sample.rate.pages());
        u64::from(first) * u64::from(pages) / samples.len() as u64
    }

    pub(crate) fn untold(&self) -> Untold {
        // As numbered in bpf/events.h.
        let [read, write, discard, flush] = [0, 1, 2, 3];
        Untold {
            requests: (0..OPERATIONS)
                .map(|operation| self.word(REQUESTS + operation))
                .sum(),
            write_bytes: self.word(BYTES + write),
            discarded_bytes: self.word(BYTES + discard),
            read_bytes: self.word(BYTES + read),
            flushes: self.word(REQUESTS + flush),
        }
    }

    fn word(&self, at: usize) -> u64 {
        self.0.word(at).load(Ordering::Acquire)
    }

    fn set(&self, at: usize, value: u64) {
        self.0.word(at).store(value, Ordering::Release);
    }
}

/// Number of samples, and above that the halvings of their rate; 0 where the kernel side cannot tell them apart.
fn shape(samples: &[Sampled]) -> u64 {
    let Some(first) = samples.first() else {
        return 0;
    };
    let is_alike = |one: &Sampled| one.rate == first.rate && one.page_bytes == first.page_bytes;
    if first.page_bytes == 0 || samples.len() > MAX_SAMPLES || !samples.iter().all(is_alike) {
        return 0;
    }
    let halvings = first.rate.pages().trailing_zeros();
    samples.len() as u64 | u64::from(halvings) << 32
}

#[cfg(test)]
mod tests {
    use anabranch_trace::Rate;

    use super::*;

    fn sampled(pages: u32, hash: u64, page_bytes: u32) -> Sampled {
        let rate = Rate::one_of(pages).unwrap();
        Sampled {
            rate,
            hash,
            page_bytes,
        }
    }

    #[test]
    fn samples_of_one_rate_are_told_and_all_else_is_as_if_there_were_none() {
        let alike = [sampled(64, 1, 4096), sampled(64, 2, 4096)];
        assert_eq!(shape(&alike), 2 | 6 << 32);
        assert_eq!(shape(&[]), 0);
        assert_eq!(shape(&[sampled(64, 1, 4096), sampled(32, 2, 4096)]), 0);
        assert_eq!(shape(&[sampled(64, 1, 4096), sampled(64, 2, 512)]), 0);
        assert_eq!(shape(&[sampled(64, 1, 0)]), 0);
        assert_eq!(shape(&[sampled(64, 1, 4096); 17]), 0);
    }
}
