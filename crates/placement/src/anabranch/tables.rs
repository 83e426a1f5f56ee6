//! Curves by key.

use super::curve::{Curve, Residues};

/// Curves found by a hash of what they are of. A hash has two places; where both are another's,
/// the one that counted less is given up, as in the tables of a branch predictor.
#[derive(Debug)]
pub(super) struct Tables {
    places: Vec<(u32, Curve)>,
}

impl Tables {
    /// `places` is a power of two, at least 2.
    pub fn new(places: usize) -> Tables {
        Tables {
            places: vec![(0, Curve::EMPTY); places],
        }
    }

    /// Both places of a key. The tag is the key itself.
    #[inline]
    fn places(&self, key: u32) -> [usize; 2] {
        let place = (key.wrapping_mul(0x9e37_79b1) >> 16) as usize & (self.places.len() - 1);
        [place, place ^ 1]
    }

    /// The curve of a key, if it has one.
    #[inline]
    pub fn get(&self, key: u32) -> Option<&Curve> {
        let found = |&place: &usize| self.places[place].0 == key;
        let place = self.places(key).into_iter().find(found)?;
        Some(&self.places[place].1)
    }

    /// Counts an end of life, or `weight` of it, for a key.
    #[inline]
    pub fn record(&mut self, key: u32, bin: usize, weight: u16, residues: &Residues) {
        let [first, second] = self.places(key);
        let place = if self.places[first].0 == key {
            first
        } else if self.places[second].0 == key {
            second
        } else {
            self.give_up(first, second, key)
        };
        self.places[place].1.record(bin, weight, residues);
    }

    #[cold]
    fn give_up(&mut self, first: usize, second: usize, key: u32) -> usize {
        let fewer = self.places[second].1.deaths() < self.places[first].1.deaths();
        let place = if fewer { second } else { first };
        self.places[place] = (key, Curve::EMPTY);
        place
    }

    pub fn memory_bytes(&self) -> usize {
        self.places.capacity() * size_of::<(u32, Curve)>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        curve::{DEATH, Residues},
        span::Scale,
    };
    use super::*;

    #[test]
    fn a_key_met_often_outlasts_any_number_met_once() {
        let residues = Residues::new(Scale::new(1000));
        let mut tables = Tables::new(64);
        for _ in 0..100 {
            tables.record(7, 3, DEATH, &residues);
        }
        let bytes = tables.memory_bytes();
        for key in 1000..5000 {
            tables.record(key, 9, DEATH, &residues);
        }
        assert_eq!(tables.get(7).map(Curve::deaths), Some(100.0));
        assert_eq!(tables.memory_bytes(), bytes);
        let kept = (1000..5000).filter(|&key| tables.get(key).is_some());
        assert!((30..64).contains(&kept.count()));
    }

    #[test]
    fn a_key_never_met_has_no_curve() {
        assert!(Tables::new(2).get(5).is_none());
    }
}
