//! The device's only source of chance: seeded, small, the same everywhere.

use serde::{Deserialize, Serialize};

/// Vigna's splitmix64 (public domain reference; the generator of Steele, Lea and Flood,
/// OOPSLA'14).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// The generator's state: [`Random::new`] makes the same generator of it.
    pub(crate) fn state(&self) -> u64 {
        self.state
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, by multiplication: the bias is below one in four billion.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next() as u32) * u64::from(bound)) >> 32) as u32
    }
}
