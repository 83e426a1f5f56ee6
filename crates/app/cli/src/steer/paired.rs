//! The mean of paired differences, and the interval that chance leaves for it. Pure.
//!
//! The order of a pair's two periods was drawn. So without an effect each difference might as well have had the
//! other sign. Effects under which fewer than 25 of 1000 draws of the signs give so large a mean are too small, and as
//! many too large. The rest lies between two means of subsets of the differences (Hartigan, "Using Subsample Values as
//! Typical Values", Journal of the American Statistical Association 64, 1969). Nothing is assumed of how
//! periods are spread; the ends take the effect to be the same in each pair.

/// Fewest pairs that have an interval: of the 32 signs of five, none is rare enough.
pub const FEWEST: usize = 6;
/// Most pairs, since a set of them is a word of bits.
pub const MOST: usize = 64;
/// From so many pairs on, subsets are drawn in place of all of them (our choice).
const DRAWN: usize = 17;
/// Subsets that are drawn, the empty one included (our choice).
const SUBSETS: usize = 1 << 16;
/// One of so many draws is left out at each end: 95 of 100 are in between.
const ONE_OF: usize = 40;
/// A number of pairs that nobody waits for (our choice).
const TOO_MANY: f64 = 1000.0;

/// A mean, and the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedInterval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl PairedInterval {
    /// The interval of these differences; `None` for fewer than [`FEWEST`], or more than [`MOST`].
    pub fn of(differences: &[f64]) -> Option<PairedInterval> {
        let count = differences.len();
        let is_in_range = (FEWEST..=MOST).contains(&count);
        if !is_in_range || differences.iter().any(|one| !one.is_finite()) {
            return None;
        }
        let mut means: Vec<f64> = subsets(count)
            .map(|subset| mean_of(differences, subset))
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        // With the empty one, which has no mean.
        let left_out = (means.len() + 1) / ONE_OF;
        Some(PairedInterval {
            mean: mean_of(differences, u64::MAX),
            low: *means.get(left_out.checked_sub(1)?)?,
            high: *means.get(means.len().checked_sub(left_out)?)?,
        })
    }

    /// Whether chance alone does not explain the mean.
    pub fn is_beyond_chance(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Pairs, in all, that would tell this mean from chance, where their spread stays: an interval narrows with the root
    /// of their number. `None` where it is more than anybody waits for.
    pub fn pairs_needed(self, pairs: usize) -> Option<usize> {
        let reach = if self.mean > 0.0 {
            self.mean - self.low
        } else {
            self.high - self.mean
        };
        let needed = pairs as f64 * (reach / self.mean).powi(2);
        (needed <= TOO_MANY).then(|| needed.ceil() as usize)
    }
}

/// The subsets of so many, but the empty one: all of them, or drawn ones.
fn subsets(count: usize) -> Box<dyn Iterator<Item = u64>> {
    if count < DRAWN {
        return Box::new(1..1 << count);
    }
    let mut draw = RandomBits(count as u64);
    let drawn = std::iter::repeat_with(move || draw.next() >> (MOST - count));
    Box::new(drawn.filter(|subset| *subset > 0).take(SUBSETS - 1))
}

fn mean_of(differences: &[f64], subset: u64) -> f64 {
    let is_in = |at: usize| subset >> at & 1 == 1;
    let all = differences.iter().enumerate();
    let chosen = all.filter(|(at, _)| is_in(*at));
    let (count, sum) = chosen.fold((0.0, 0.0), |(count, sum), (_, one)| {
        (count + 1.0, sum + one)
    });
    sum / count
}

/// Words of random bits from a seed (SplitMix64: Steele, Lea, Flood, OOPSLA 2014, figure 17).
#[derive(Debug)]
pub struct RandomBits(pub u64);

impl RandomBits {
    /// The next word.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of all signs under which the sum of these is at least as large as theirs.
    fn as_large(differences: &[f64]) -> f64 {
        let count = differences.len();
        let found: f64 = differences.iter().sum();
        let sums = (0..1_u64 << count).map(|signs| -> f64 {
            let all = differences.iter().enumerate();
            all.map(|(at, one)| if signs >> at & 1 == 1 { -one } else { *one })
                .sum()
        });
        let as_large = sums.filter(|sum| *sum >= found - 1e-12).count();
        as_large as f64 / (1_u64 << count) as f64
    }

    fn moved(differences: &[f64], by: f64) -> Vec<f64> {
        differences.iter().map(|one| one - by).collect()
    }

    #[test]
    fn an_interval_holds_the_effects_that_no_enumeration_of_signs_refuses() {
        let mut draw = RandomBits(1);
        for count in FEWEST..=10 {
            let any = |word: u64| (word >> 11) as f64 / (1_u64 << 53) as f64;
            let differences: Vec<f64> = (0..count).map(|_| any(draw.next()) - 0.3).collect();
            let PairedInterval { low, high, .. } = PairedInterval::of(&differences).unwrap();
            let is_refused = |effect: f64| {
                let above = moved(&differences, effect);
                let below: Vec<f64> = above.iter().map(|one| -one).collect();
                as_large(&above) <= 0.025 || as_large(&below) <= 0.025
            };
            let step = 1e-6;
            for (effect, expected) in [
                (low - step, true),
                (low + step, false),
                (high - step, false),
                (high + step, true),
            ] {
                assert_eq!(is_refused(effect), expected, "{differences:?} {effect}");
            }
        }
    }

    #[test]
    fn the_interval_of_six_pairs_is_their_range_and_of_fewer_there_is_none() {
        let six = [0.3, 0.1, 0.2, 0.6, 0.5, 0.4];
        let found = PairedInterval::of(&six).unwrap();
        assert_eq!((found.low, found.high), (0.1, 0.6));
        assert!((found.mean - 0.35).abs() < 1e-12 && found.is_beyond_chance());
        assert_eq!(PairedInterval::of(&six[1..]), None);
        assert_eq!(PairedInterval::of(&[]), None);
        assert_eq!(PairedInterval::of(&[1.0; MOST + 1]), None);
        for wrong in [f64::NAN, f64::INFINITY] {
            assert_eq!(PairedInterval::of(&[1.0, 2.0, 3.0, 4.0, 5.0, wrong]), None);
        }
    }

    #[test]
    fn equal_differences_have_an_interval_without_width() {
        for count in [FEWEST, DRAWN - 1, DRAWN, MOST] {
            let same = PairedInterval::of(&vec![-0.5; count]).unwrap();
            assert_eq!((same.low, same.mean, same.high), (-0.5, -0.5, -0.5));
            assert!(same.is_beyond_chance());
            assert_eq!(same.pairs_needed(count), Some(0));
        }
        let none = PairedInterval::of(&[0.0; 6]).unwrap();
        assert!(!none.is_beyond_chance() && none.pairs_needed(6).is_none());
    }

    /// Student's interval of many near-normal differences is close by: 2.0 standard errors.
    #[test]
    fn drawn_subsets_and_all_of_them_agree_with_students_interval() {
        let mut draw = RandomBits(7);
        for count in [16_usize, 17, 40] {
            // Means of twelve uniform numbers.
            let mut normal =
                || (0..12).map(|_| (draw.next() >> 32) as f64).sum::<f64>() / 2_f64.powi(32) - 6.0;
            let differences: Vec<f64> = (0..count).map(|_| normal()).collect();
            let PairedInterval { mean, low, high } = PairedInterval::of(&differences).unwrap();
            let squares: f64 = differences.iter().map(|one| (one - mean).powi(2)).sum();
            let error = (squares / (count - 1) as f64 / count as f64).sqrt();
            for reach in [mean - low, high - mean] {
                assert!(
                    (1.6..2.6).contains(&(reach / error)),
                    "{count}: {reach} {error}"
                );
            }
        }
    }

    #[test]
    fn where_nothing_is_told_from_chance_more_pairs_are_named_or_none_in_reach() {
        let found = PairedInterval {
            mean: 0.1,
            low: -0.1,
            high: 0.3,
        };
        assert!(!found.is_beyond_chance());
        assert_eq!(found.pairs_needed(8), Some(32));
        let costs = PairedInterval {
            mean: -0.1,
            low: -0.3,
            high: 0.1,
        };
        assert_eq!(costs.pairs_needed(8), Some(32));
        let slight = PairedInterval {
            mean: 1e-6,
            ..found
        };
        assert_eq!(slight.pairs_needed(8), None);
    }
}
