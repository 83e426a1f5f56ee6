//! How long data of one kind lives.

use super::span::{BINS, Eighths, Scale};

/// What one ended life counts.
pub(super) const DEATH: u16 = 16;
/// Counts halve when their sum passes this, as the counters of a branch predictor do: what a kind of
/// data did 125,000 deaths ago counts half (our choice).
const MOST: u32 = 125_000 * DEATH as u32;
/// What remains is worked out anew when the counts have grown by one part in so many, and by two
/// deaths at least (our choice).
const STALE_PARTS: u32 = 8;

/// A survival curve: deaths counted by the logarithm of the life they ended, and what they say of
/// data of any age.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve {
    deaths: [u32; BINS],
    /// Sum of `deaths`.
    total: u32,
    /// `total` when `remaining` was worked out.
    settled: u32,
    /// Of data that reached each age: the mean logarithm of how long they still lived, in eighths
    /// of octaves; `UNKNOWN` where none did.
    remaining: [u8; BINS],
}

/// Marks an age that nothing counted has reached.
const UNKNOWN: u8 = u8::MAX;

impl Curve {
    pub const EMPTY: Curve = Curve {
        deaths: [0; BINS],
        total: 0,
        settled: 0,
        remaining: [UNKNOWN; BINS],
    };

    /// How much was counted, in ended lives.
    pub fn deaths(&self) -> f32 {
        self.total as f32 / f32::from(DEATH)
    }

    /// Counts the end of a life, or `weight` of it.
    #[inline]
    pub fn record(&mut self, bin: usize, weight: u16, residues: &Residues) {
        self.deaths[bin] += u32::from(weight);
        self.total += u32::from(weight);
        if self.total > self.settled + self.settled / STALE_PARTS + 2 * u32::from(DEATH) {
            self.settle(residues);
        }
    }

    #[cold]
    fn settle(&mut self, residues: &Residues) {
        if self.total > MOST {
            self.deaths.iter_mut().for_each(|count| *count /= 2);
            self.total = self.deaths.iter().sum();
        }
        for age in 0..BINS {
            self.remaining[age] = residues.mean(age, &self.deaths);
        }
        self.settled = self.total;
    }

    /// What remains to data of an age, a bin, in eighths of octaves, and how many ended lives say
    /// so.
    #[inline]
    pub fn remaining(&self, age: usize) -> Option<(Eighths, f32)> {
        let mean = self.remaining[age];
        if mean == UNKNOWN {
            return None;
        }
        let seen = match age {
            0 => self.total,
            _ => self.deaths[age..].iter().sum(),
        };
        Some((f32::from(mean), seen as f32 / f32::from(DEATH)))
    }
}

/// How long data of each age still live that die in each bin, worked out once.
#[derive(Debug)]
pub(super) struct Residues(Box<[[f32; BINS]; BINS]>);

impl Residues {
    pub fn new(scale: Scale) -> Residues {
        let mut residues = Box::new([[0.0; BINS]; BINS]);
        for (age, row) in residues.iter_mut().enumerate() {
            for (death, cell) in row.iter_mut().enumerate().skip(age) {
                *cell = scale.remaining(age, death);
            }
        }
        Residues(residues)
    }

    fn mean(&self, age: usize, deaths: &[u32; BINS]) -> u8 {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (&residue, &count) in self.0[age].iter().zip(deaths).skip(age) {
            sum += residue * count as f32;
            weight += count as f32;
        }
        match weight > 0.0 {
            true => (sum / weight).round().clamp(0.0, f32::from(UNKNOWN - 1)) as u8,
            false => UNKNOWN,
        }
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<[[f32; BINS]; BINS]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE_PAGES: u32 = 1 << 20;

    fn curve_of(lives: &[(u8, u32)]) -> (Curve, Scale) {
        let scale = Scale::new(SCALE_PAGES);
        let residues = Residues::new(scale);
        let mut curve = Curve::EMPTY;
        for &(life, times) in lives {
            for _ in 0..times {
                curve.record(scale.bin(life), DEATH, &residues);
            }
        }
        (curve, scale)
    }

    #[test]
    fn data_that_always_lived_so_long_will_again() {
        let (curve, _) = curve_of(&[(120, 100)]);
        let (life, deaths) = curve.remaining(0).unwrap();
        assert!((116.0..=124.0).contains(&life), "{life}");
        assert_eq!(deaths, 100.0);
    }

    #[test]
    fn what_outlived_the_short_lived_is_of_the_long_lived() {
        let (curve, scale) = curve_of(&[(80, 1000), (160, 100)]);
        let (young, all) = curve.remaining(0).unwrap();
        let (old, few) = curve.remaining(scale.bin(100)).unwrap();
        assert!(young < 100.0 && old > 150.0, "{young} {old}");
        assert_eq!((all, few), (1100.0, 100.0));
    }

    #[test]
    fn an_age_that_none_reached_is_not_known() {
        let (curve, scale) = curve_of(&[(80, 100)]);
        assert_eq!(curve.remaining(scale.bin(140)), None);
        assert_eq!(Curve::EMPTY.remaining(0), None);
    }

    #[test]
    fn what_changes_is_learned_anew() {
        let (curve, _) = curve_of(&[(60, 400_000), (140, 400_000)]);
        let (life, deaths) = curve.remaining(0).unwrap();
        assert!(life > 120.0, "{life}");
        assert!(deaths < 130_000.0);
    }
}
