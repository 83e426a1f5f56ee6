//! Survival curves: lifetimes of one kind of data.

use super::span::{BINS, Eighths, Scale};

/// Weight of one ended life.
pub(super) const DEATH: u16 = 16;
/// Counts halve when their sum passes this, as the counters of a branch predictor do: a death
/// counts half after 125,000 more (our choice).
const MOST: u32 = 125_000 * DEATH as u32;

/// The sum of ended lives, in eighths of octaves, and their number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub lives: Eighths,
    pub number: f32,
}

impl Ended {
    fn counted(lives: f32, total: f32) -> Ended {
        let one = f32::from(DEATH).recip();
        Ended {
            lives: lives * one,
            number: total * one,
        }
    }

    /// The mean of these lives and of `known`, which weighs as much as `prior` lives. The division does not
    /// depend on `known`, so that the two can overlap.
    #[inline]
    pub fn beside(&self, known: Eighths, prior: f32) -> Eighths {
        let each = (self.number + prior).recip();
        self.lives * each + known * (prior * each)
    }
}

/// A survival curve: deaths counted by the logarithm of the life they ended. Its sums for new data are
/// updated with each death; those for older data are computed on demand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve {
    /// Sum of all counts.
    total: u32,
    /// Sum of all lives, each as often as it counts, in eighths of octaves.
    lives: f32,
}

/// Deaths by the logarithm of the life they ended.
pub(super) type Deaths = [u32; BINS];

impl Curve {
    pub const EMPTY: Curve = Curve {
        total: 0,
        lives: 0.0,
    };

    /// Counts the end of a life, or `weight` of it, among its deaths.
    #[inline]
    pub fn record(&mut self, deaths: &mut Deaths, bin: usize, weight: u16, residues: &Residues) {
        deaths[bin] += u32::from(weight);
        self.total += u32::from(weight);
        self.lives += f32::from(weight) * residues.0[0][bin];
        if self.total > MOST {
            self.fade(deaths, residues);
        }
    }

    #[cold]
    fn fade(&mut self, deaths: &mut Deaths, residues: &Residues) {
        deaths.iter_mut().for_each(|count| *count /= 2);
        let (lives, total) = residues.sums(0, deaths);
        (self.lives, self.total) = (lives, total as u32);
    }

    /// All ended lives: the prediction for new data.
    #[inline]
    pub fn ended(&self) -> Ended {
        Ended::counted(self.lives, self.total as f32)
    }

    /// Lives that reached an age, a bin, each without the part before it.
    #[inline]
    pub fn remaining(&self, deaths: &Deaths, age: usize, residues: &Residues) -> Ended {
        if age == 0 {
            return self.ended();
        }
        let (lives, total) = residues.sums(age, deaths);
        Ended::counted(lives, total)
    }
}

/// Remaining life of data of each age that dies in each bin, computed once.
#[derive(Debug)]
pub(super) struct Residues(Box<[[Eighths; BINS]; BINS]>);

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

    /// Of data that reached an age, the sum of what remained to them and their number.
    #[inline]
    fn sums(&self, age: usize, deaths: &Deaths) -> (f32, f32) {
        let (mut lives, mut total) = (0.0, 0.0);
        for (&residue, &count) in self.0[age].iter().zip(deaths).skip(age) {
            lives += residue * count as f32;
            total += count as f32;
        }
        (lives, total)
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<[[Eighths; BINS]; BINS]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        curve: Curve,
        deaths: Deaths,
        scale: Scale,
        residues: Residues,
    }

    impl Case {
        fn of(lives: &[(u8, u32)]) -> Case {
            let scale = Scale::new(1 << 20);
            let mut case = Case {
                curve: Curve::EMPTY,
                deaths: [0; BINS],
                scale,
                residues: Residues::new(scale),
            };
            for &(life, times) in lives {
                for _ in 0..times {
                    let bin = scale.bin(life);
                    case.curve
                        .record(&mut case.deaths, bin, DEATH, &case.residues);
                }
            }
            case
        }

        /// The mean of what remains, and how many lives say so.
        fn remaining(&self, age: u8) -> (Eighths, f32) {
            let age = self.scale.bin(age);
            let ended = self.curve.remaining(&self.deaths, age, &self.residues);
            (ended.lives / ended.number, ended.number)
        }
    }

    #[test]
    fn data_that_always_lived_so_long_will_again() {
        let case = Case::of(&[(120, 100)]);
        let (life, deaths) = case.remaining(0);
        assert!((116.0..=124.0).contains(&life), "{life}");
        assert_eq!(deaths, 100.0);
    }

    #[test]
    fn what_outlived_the_short_lived_is_of_the_long_lived() {
        let case = Case::of(&[(80, 1000), (160, 100)]);
        let (young, all) = case.remaining(0);
        let (old, few) = case.remaining(100);
        assert!(young < 100.0 && old > 150.0, "{young} {old}");
        assert_eq!((all, few), (1100.0, 100.0));
    }

    #[test]
    fn an_age_that_none_reached_is_not_known() {
        let (_, number) = Case::of(&[(80, 100)]).remaining(140);
        assert_eq!(number, 0.0);
        let never = Case::of(&[]).curve.ended();
        assert_eq!(never.beside(37.0, 16.0), 37.0);
    }

    #[test]
    fn what_is_known_weighs_as_its_prior() {
        let ended = Case::of(&[(80, 48)]).curve.ended();
        let mean = ended.lives / ended.number;
        let beside = ended.beside(40.0, 16.0);
        assert!(
            (beside - (3.0 * mean + 40.0) / 4.0).abs() < 1e-4,
            "{beside}"
        );
    }

    #[test]
    fn what_changes_is_learned_anew() {
        let case = Case::of(&[(60, 400_000), (140, 400_000)]);
        let (life, deaths) = case.remaining(0);
        assert!(life > 120.0, "{life}");
        assert!(deaths < 130_000.0);
    }

    #[test]
    fn counts_halve_once_they_pass_the_most() {
        let most = MOST / u32::from(DEATH);
        let deaths = |times| Case::of(&[(60, times)]).curve.ended().number;
        assert_eq!(deaths(most), most as f32);
        assert_eq!(deaths(most + 1), (most / 2) as f32 + 0.5);
    }
}
