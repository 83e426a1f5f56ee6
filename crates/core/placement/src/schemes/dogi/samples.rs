//! Samples: writes that are followed until they die, to learn from.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher},
};

use super::network::Input;

/// A write that was followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) input: Input,
    page: u32,
    written_at: u64,
    /// The life of the write in pages; 0 while it lives.
    lived_pages: u64,
}

impl Sample {
    /// Lifetime of the write, or, where it still lives, as long again as it has (our choice: the
    /// paper does not say what becomes of writes that outlive their time of observation).
    pub(super) fn life_pages(&self, now_pages: u64) -> u64 {
        match self.lived_pages {
            0 => now_pages.saturating_sub(self.written_at).saturating_mul(2),
            lived => lived,
        }
    }
}

/// The last writes that were followed; a new one takes the place of the oldest.
#[derive(Debug)]
pub(super) struct Samples {
    samples: Vec<Sample>,
    most: usize,
    next: usize,
    /// The latest sample of a page that still lives. Its hashes are the same in every run: how much room
    /// it takes, which is told, depends on them.
    living: HashMap<u32, u32, BuildHasherDefault<DefaultHasher>>,
}

impl Samples {
    pub(super) fn new(most: usize) -> Samples {
        Samples {
            samples: Vec::with_capacity(most),
            most,
            next: 0,
            living: HashMap::with_capacity_and_hasher(most, BuildHasherDefault::default()),
        }
    }

    pub(super) fn all(&self) -> &[Sample] {
        &self.samples
    }

    /// Follows a write. Answers with the page whose write is no longer followed, if there is one.
    pub(super) fn follow(&mut self, page: u32, input: Input, now_pages: u64) -> Option<u32> {
        let sample = Sample {
            input,
            page,
            written_at: now_pages,
            lived_pages: 0,
        };
        let slot = self.next as u32;
        let mut dropped = None;
        match self.samples.get_mut(self.next) {
            Some(old) => {
                if self.living.get(&old.page) == Some(&slot) {
                    self.living.remove(&old.page);
                    dropped = Some(old.page).filter(|&old| old != page);
                }
                *old = sample;
            }
            None => self.samples.push(sample),
        }
        self.living.insert(page, slot);
        self.next = (self.next + 1) % self.most.max(1);
        dropped
    }

    /// Notes that the last write of a followed page died.
    pub(super) fn end(&mut self, page: u32, now_pages: u64) {
        let slot = self.living.remove(&page);
        if let Some(sample) = slot.and_then(|slot| self.samples.get_mut(slot as usize)) {
            sample.lived_pages = now_pages.saturating_sub(sample.written_at).max(1);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.samples.capacity() * size_of::<Sample>()
            + self.living.capacity() * (size_of::<(u32, u32)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(samples: &Samples, now: u64) -> Vec<u64> {
        let all = samples.all().iter();
        all.map(|sample| sample.life_pages(now)).collect()
    }

    #[test]
    fn a_write_lived_until_its_end_or_is_held_to_live_as_long_again() {
        let mut samples = Samples::new(4);
        samples.follow(1, [0.0; 6], 10);
        samples.follow(2, [0.0; 6], 20);
        samples.end(1, 25);
        samples.end(1, 30);
        assert_eq!(lives(&samples, 50), [15, 60]);
    }

    #[test]
    fn equal_runs_take_equal_memory() {
        let taken = |_| {
            let mut samples = Samples::new(500);
            let mut taken = Vec::new();
            for write in 0..20_000_u32 {
                let page = write.wrapping_mul(2_654_435_761) % 3_000;
                samples.end(page, u64::from(write));
                samples.follow(page, [0.0; 6], u64::from(write));
                taken.push(samples.memory_bytes());
            }
            taken
        };
        let runs: Vec<Vec<usize>> = (0..8).map(taken).collect();
        assert!(runs.iter().all(|run| *run == runs[0]));
    }

    #[test]
    fn the_oldest_make_room() {
        let mut samples = Samples::new(2);
        assert_eq!(samples.follow(1, [0.0; 6], 10), None);
        samples.follow(2, [0.0; 6], 20);
        assert_eq!(samples.follow(3, [0.0; 6], 30), Some(1));
        samples.end(1, 35);
        samples.end(2, 40);
        assert_eq!(samples.follow(4, [0.0; 6], 45), None, "it had died");
        assert_eq!(lives(&samples, 50), [40, 10]);
        assert_eq!(samples.living.len(), 2);
    }
}
