//! Numbers drawn by a seed: the same everywhere.

/// Vigna's splitmix64 (public domain).
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    state: u64,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, brought there by multiplication; 0 where the bound is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_below_their_bound_and_are_spread() {
        let mut draw = Draw::new(7);
        let mut found = [0_u32; 10];
        for _ in 0..10_000 {
            found[draw.below(10) as usize] += 1;
        }
        assert!(
            found.iter().all(|&count| (900..1100).contains(&count)),
            "{found:?}"
        );
        assert_eq!(draw.below(0), 0);
    }
}
