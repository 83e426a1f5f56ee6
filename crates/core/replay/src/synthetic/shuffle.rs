//! Numbers below a power of two in another order, drawn by three keys, which can be undone.

use crate::draw::Draw;

/// Odd, hence with an inverse: 2^64 over the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// An order of the numbers `0..=mask`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shuffle {
    keys: [u64; 3],
    mask: u64,
}

impl Shuffle {
    /// An order of so many numbers and those up to the next power of two.
    pub(super) fn drawn(numbers: u64, draw: &mut Draw) -> Shuffle {
        Shuffle {
            keys: std::array::from_fn(|_| u64::from(draw.below(u32::MAX))),
            mask: numbers.next_power_of_two() - 1,
        }
    }

    /// Number of numbers it orders.
    pub(super) fn numbers(&self) -> u64 {
        self.mask + 1
    }

    fn half(&self) -> u32 {
        (self.mask.count_ones() / 2).max(1)
    }

    /// The number that stands at a place: rounds of adding, multiplying by an odd number and folding the upper half
    /// into the lower, each of which can be undone.
    pub(super) fn at(&self, place: u64) -> u64 {
        self.keys.iter().fold(place, |number, key| {
            let sum = number.wrapping_add(*key) & self.mask;
            let product = sum.wrapping_mul(FACTOR) & self.mask;
            product ^ (product >> self.half())
        })
    }

    /// The place where a number stands.
    pub(super) fn place(&self, number: u64) -> u64 {
        self.keys.iter().rev().fold(number, |folded, key| {
            // Each step makes half the bits right that were not: three do for halves that were rounded down.
            let product = (0..3).fold(folded, |known, _| folded ^ (known >> self.half()));
            let sum = product.wrapping_mul(inverse(FACTOR)) & self.mask;
            sum.wrapping_sub(*key) & self.mask
        })
    }

    /// Of the numbers below a bound alone, the one at a place below it.
    pub(super) fn within(&self, bound: u64, place: u64) -> u64 {
        let mut number = self.at(place);
        while number >= bound {
            number = self.at(number);
        }
        number
    }

    /// Of the numbers below a bound alone, the place of one.
    pub(super) fn place_within(&self, bound: u64, number: u64) -> u64 {
        let mut place = self.place(number);
        while place >= bound {
            place = self.place(place);
        }
        place
    }
}

/// Returns the inverse of an odd number modulo 2^64 (Newton; each step doubles the correct bits).
const fn inverse(odd: u64) -> u64 {
    let mut found = odd;
    let mut step = 0;
    while step < 5 {
        found = found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found)));
        step += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_undone_whatever_its_size() {
        let mut draw = Draw::new(5);
        for bits in 0..40 {
            let shuffle = Shuffle::drawn(1 << bits, &mut draw);
            for _ in 0..200 {
                let place = u64::from(draw.below(u32::MAX)) << 8 & shuffle.mask;
                assert_eq!(shuffle.place(shuffle.at(place)), place, "{bits}");
            }
        }
        let shuffle = Shuffle::drawn(1000, &mut draw);
        for place in 0..1000 {
            let number = shuffle.within(1000, place);
            assert!(number < 1000);
            assert_eq!(shuffle.place_within(1000, number), place);
        }
    }
}
