//! The number of bytes that are ever written, in bounded memory.

use std::collections::HashMap;

use ahash::RandomState;

/// Bytes of the first grain, the unit of counting, as a power of two: a page.
const GRAIN_BITS: u32 = 12;

/// Words of 64 grains in a chunk. Our choice: one cache line for 2 MiB of pages, so that neighbours
/// share a chunk and far places cost little.
const CHUNK_WORDS: usize = 8;

const CHUNK_GRAINS: u64 = CHUNK_WORDS as u64 * 64;

/// Chunks of the first volume whose places are kept in a list, by their number: the look-up of most chunks of most
/// traces is no hash. Our choice: 1 MiB of list at most, for the first 512 GiB of pages.
const NEAR_CHUNKS: u64 = 1 << 18;

/// Chunks that are kept; where there are more, the grain is doubled. Our choice: some 60 MiB with
/// the table of their places, which is 1 TiB of pages.
const MOST_CHUNKS: usize = 1 << 19;

/// The coarsest grain, as a power of two.
const MOST_GRAIN_BITS: u32 = 63;

/// The distinct bytes of requests, a bit for each grain of a volume. The grain is a page until the
/// chunks become too many; then it doubles, and the answer is an upper bound.
#[derive(Debug, Clone)]
pub(super) struct Footprint {
    /// The place of each chunk of the first volume with a number below [`NEAR_CHUNKS`], plus one; 0 where there is none.
    near: Vec<u32>,
    first_volume: Option<u32>,
    /// The place of each other (volume, chunk number).
    far: HashMap<(u32, u64), u32, RandomState>,
    chunks: Vec<[u64; CHUNK_WORDS]>,
    most_chunks: usize,
    /// The grain's bytes as a power of two.
    grain_bits: u32,
}

impl Footprint {
    pub(super) fn new() -> Footprint {
        Footprint {
            near: Vec::new(),
            first_volume: None,
            far: HashMap::default(),
            chunks: Vec::new(),
            most_chunks: MOST_CHUNKS,
            grain_bits: GRAIN_BITS,
        }
    }

    /// Adds the bytes of a request, widened to grains.
    pub(super) fn add(&mut self, volume: u32, offset_bytes: u64, length_bytes: u64) {
        let end_bytes = offset_bytes.saturating_add(length_bytes);
        loop {
            let first = offset_bytes >> self.grain_bits;
            let end = grains(end_bytes, self.grain_bits);
            let chunks = end.div_ceil(CHUNK_GRAINS) - first / CHUNK_GRAINS;
            // Even a request of all bytes there are is a few chunks of the coarsest grain.
            if chunks <= self.most_chunks as u64 || self.grain_bits == MOST_GRAIN_BITS {
                self.mark(volume, first, end);
                break;
            }
            self.coarsen();
        }
        while self.chunks.len() > self.most_chunks && self.grain_bits < MOST_GRAIN_BITS {
            self.coarsen();
        }
    }

    /// The bytes so far, and whether they are exact to the page.
    pub(super) fn bytes(&self) -> (u64, bool) {
        let grains = |words: &[u64; CHUNK_WORDS]| -> u64 {
            words.iter().map(|word| u64::from(word.count_ones())).sum()
        };
        let grains: u64 = self.chunks.iter().map(grains).sum();
        let exact = self.grain_bits == GRAIN_BITS;
        (grains.saturating_mul(1 << self.grain_bits), exact)
    }

    /// Marks grains from `first` up to `end`.
    fn mark(&mut self, volume: u32, first: u64, end: u64) {
        let mut from = first;
        while from < end {
            let number = from / CHUNK_GRAINS;
            let chunk_end = (number + 1) * CHUNK_GRAINS;
            let to = end.min(chunk_end);
            let start = number * CHUNK_GRAINS;
            set(self.chunk(volume, number), from - start, to - start);
            from = to;
        }
    }

    fn chunk(&mut self, volume: u32, number: u64) -> &mut [u64; CHUNK_WORDS] {
        let is_near = number < NEAR_CHUNKS && *self.first_volume.get_or_insert(volume) == volume;
        let place = if is_near {
            let known = self.near.get(number as usize).copied();
            known.unwrap_or(0).checked_sub(1)
        } else {
            self.far.get(&(volume, number)).copied()
        };
        let place = match place {
            Some(place) => place as usize,
            None => self.add_chunk(volume, number, is_near),
        };
        &mut self.chunks[place]
    }

    fn add_chunk(&mut self, volume: u32, number: u64, is_near: bool) -> usize {
        let place = self.chunks.len();
        self.chunks.push([0; CHUNK_WORDS]);
        // Far fewer than 32 bits count: `add` sees to that.
        if is_near {
            let number = number as usize;
            self.near.resize(self.near.len().max(number + 1), 0);
            self.near[number] = place as u32 + 1;
        } else {
            self.far.insert((volume, number), place as u32);
        }
        place
    }

    /// Doubles the grain.
    fn coarsen(&mut self) {
        let fine = Footprint {
            first_volume: self.first_volume,
            most_chunks: self.most_chunks,
            grain_bits: self.grain_bits + 1,
            ..Footprint::new()
        };
        let fine = std::mem::replace(self, fine);
        let near = (0..).zip(fine.near).filter(|(_, place)| *place > 0);
        let near = near.filter_map(|(number, place)| Some((fine.first_volume?, number, place - 1)));
        let far = fine.far.into_iter();
        let far = far.map(|((volume, number), place)| (volume, number, place));
        for (volume, number, place) in near.chain(far) {
            let half = (number % 2) as usize * (CHUNK_WORDS / 2);
            let coarse = self.chunk(volume, number / 2);
            let pairs = fine.chunks[place as usize].as_chunks::<2>().0;
            for (word, [low, high]) in coarse[half..].iter_mut().zip(pairs) {
                *word |= folded(*low) | folded(*high) << 32;
            }
        }
    }
}

/// Grains that so many bytes from 0 on touch.
fn grains(bytes: u64, grain_bits: u32) -> u64 {
    let whole = bytes >> grain_bits;
    whole + u64::from(whole << grain_bits < bytes)
}

/// Sets bits from `first` up to `end`.
fn set(words: &mut [u64; CHUNK_WORDS], first: u64, end: u64) {
    let mut from = first;
    while from < end {
        let to = end.min((from / 64 + 1) * 64);
        let bits = u64::MAX >> (64 - (to - from)) << (from % 64);
        words[(from / 64) as usize] |= bits;
        from = to;
    }
}

/// The word at half the resolution, in its lower half: each pair of bits becomes one, set if either
/// was.
fn folded(word: u64) -> u64 {
    // The lower bit of each pair, gathered by moving ever larger groups together.
    let mut bits = (word | word >> 1) & 0x5555_5555_5555_5555;
    for (shift, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0f0f_0f0f_0f0f_0f0f),
        (4, 0x00ff_00ff_00ff_00ff),
        (8, 0x0000_ffff_0000_ffff),
        (16, 0x0000_0000_ffff_ffff),
    ] {
        bits = (bits | bits >> shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const GRAIN_BYTES: u64 = 1 << GRAIN_BITS;

    #[test]
    fn what_is_written_twice_counts_once_in_each_volume() {
        let mut footprint = Footprint::new();
        for (volume, offset, length) in [(0, 0, 1), (0, 4095, 2), (1, 0, 4096), (0, 0, 8192)] {
            footprint.add(volume, offset, length);
        }
        assert_eq!(footprint.bytes(), (3 * 4096, true));
        footprint.add(0, u64::MAX - 1, 1);
        footprint.add(1, u64::MAX - 1, 1);
        assert_eq!(footprint.bytes(), (5 * 4096, true));
    }

    #[test]
    fn volumes_without_end_are_counted_without_end() {
        let mut footprint = Footprint {
            most_chunks: 4,
            ..Footprint::new()
        };
        for volume in 0..10 {
            footprint.add(volume, 0, u64::MAX);
        }
        assert_eq!(footprint.bytes(), (u64::MAX, false));
    }

    proptest! {
        #[test]
        fn grains_count_as_a_set_of_them_counts(
            requests in prop::collection::vec((0_u32..3, 0_u64..1 << 32, 0_u64..1 << 24), 1..20),
            most_chunks in 3_usize..2000,
        ) {
            let mut footprint = Footprint { most_chunks, ..Footprint::new() };
            for (volume, offset, length) in &requests {
                footprint.add(*volume, *offset, *length);
            }
            let grain = 1_u64 << footprint.grain_bits;
            let mut set = BTreeSet::new();
            for (volume, offset, length) in &requests {
                // Grains are rounded outwards anew whenever they double.
                let mut range = (offset / GRAIN_BYTES, (offset + length).div_ceil(GRAIN_BYTES));
                let mut of = GRAIN_BYTES;
                while of < grain {
                    range = (range.0 / 2, range.1.div_ceil(2));
                    of *= 2;
                }
                set.extend((range.0..range.1).map(|at| (*volume, at)));
            }
            let exact = grain == GRAIN_BYTES;
            prop_assert_eq!(footprint.bytes(), (set.len() as u64 * grain, exact));
            prop_assert!(footprint.chunks.len() <= most_chunks);
        }
    }
}
