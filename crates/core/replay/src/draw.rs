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

    /// A number below `bound`, of which only the first 2^32 are drawn.
    pub(crate) fn below_all(&mut self, bound: u64) -> u64 {
        u64::from(self.below(u32::try_from(bound).unwrap_or(u32::MAX)))
    }

    /// A number from 0 to 1, without 1: a multiple of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A time until something that comes at a rate of 1, without a logarithm, which machines take differently (von
    /// Neumann 1951): a run of numbers falls for an even number of steps as often as its first is passed over.
    pub(crate) fn exponential(&mut self) -> f64 {
        let mut whole = 0.0;
        loop {
            let first = self.unit();
            let (mut last, mut steps) = (first, 1_u32);
            loop {
                let next = self.unit();
                steps += 1;
                if next > last {
                    break;
                }
                last = next;
            }
            if steps.is_multiple_of(2) {
                return whole + first;
            }
            whole += 1.0;
        }
    }

    /// Other numbers by the same seed; its own for number 0.
    pub(crate) fn fork(&self, number: u64) -> Draw {
        let mut other = Draw {
            state: self.state ^ number,
        };
        match number {
            0 => self.clone(),
            _ => Draw {
                state: other.next(),
            },
        }
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

    #[test]
    fn times_are_exponential() {
        let mut draw = Draw::new(7);
        let times: Vec<f64> = (0..100_000).map(|_| draw.exponential()).collect();
        for at in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let later = times.iter().filter(|time| **time > at).count() as f64 / 1e5;
            // Four times the spread of a share of 100,000.
            let spread = 4.0 * ((-at).exp() * (1.0 - (-at).exp()) / 1e5).sqrt();
            assert!((later - (-at).exp()).abs() < spread, "{at} {later}");
        }
    }
}
