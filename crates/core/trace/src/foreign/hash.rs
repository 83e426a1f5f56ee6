//! The hash of the tables that an import asks for each request.
//!
//! An input can choose the keys, but not the seed, which is another in each process. So it cannot choose keys that
//! collide. The standard library's hash is as safe and takes several times as long for keys of a few bytes.
//!
//! ```text
//! for each word of 64 bits: the state becomes the product of (state ^ word) and an odd number, whose halves are joined
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A table by this hash.
pub(super) type FastMap<K, V> = HashMap<K, V, Seed>;

/// A number of 64 random-looking bits: the fraction of the golden ratio. Our choice.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The seed of a table.
#[derive(Debug, Clone)]
pub(super) struct Seed(u64);

impl Default for Seed {
    fn default() -> Seed {
        // The standard library draws it from the system, once for each thread.
        Seed(RandomState::new().hash_one(MULTIPLIER))
    }
}

impl BuildHasher for Seed {
    type Hasher = Fold;

    fn build_hasher(&self) -> Fold {
        Fold {
            state: self.0,
            seed: self.0,
        }
    }
}

/// The state of a hash.
#[derive(Debug)]
pub(super) struct Fold {
    state: u64,
    seed: u64,
}

impl Hasher for Fold {
    fn write_u64(&mut self, word: u64) {
        self.state = folded(self.state ^ word, MULTIPLIER);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, byte) in last.iter_mut().zip(rest) {
            *to = *byte;
        }
        // Byte strings come with their length, so that zeros at the end are told apart.
        self.write_u64(u64::from_le_bytes(last));
    }

    fn finish(&self) -> u64 {
        // The seed once more, so that it decides about the highest bits too.
        folded(self.state, self.seed | 1)
    }
}

/// The product of two numbers to 128 bits, its halves joined.
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn neighbours_are_strewn_over_all_bits() {
        let seed = Seed::default();
        let hashes: HashSet<u64> = (0..1_u64 << 16)
            .map(|number| seed.hash_one((7_u32, number)))
            .collect();
        assert_eq!(hashes.len(), 1 << 16);
        for bits in [0, 24, 57] {
            let found: HashSet<u64> = hashes.iter().map(|hash| hash >> bits & 0x7f).collect();
            assert_eq!(found.len(), 1 << 7, "bits from {bits}");
        }
    }

    #[test]
    fn byte_strings_that_differ_in_zeros_at_the_end_differ() {
        let seed = Seed::default();
        let all: HashSet<u64> = (0..20)
            .map(|length| seed.hash_one(vec![0_u8; length]))
            .collect();
        assert_eq!(all.len(), 20);
    }
}
