//! Curves by key.

use super::{
    curve::{Curve, Deaths, Ended, Residues},
    span::BINS,
};

/// A curve and the key it is of.
#[derive(Debug, Clone, Copy)]
struct Head {
    key: u32,
    curve: Curve,
}

/// Curves found by a hash of what they are of. A hash has two places; where both are another's,
/// the one that counted less is given up, as in the tables of a branch predictor. What is read at
/// each write, keys and means, lies apart from the counts.
#[derive(Debug)]
pub(super) struct Tables {
    heads: Vec<Head>,
    deaths: Vec<Deaths>,
}

impl Tables {
    /// `places` is a power of two, at least 2.
    pub fn new(places: usize) -> Tables {
        let empty = Head {
            key: 0,
            curve: Curve::EMPTY,
        };
        Tables {
            heads: vec![empty; places],
            deaths: vec![[0; BINS]; places],
        }
    }

    /// The place of a key, if it has one. The tag is the key itself.
    #[inline]
    fn find(&self, key: u32) -> Option<usize> {
        // Which of both it is follows no pattern: a sum, not a branch.
        let first = self.first(key);
        let place = first ^ usize::from(self.heads[first].key != key);
        (self.heads[place].key == key).then_some(place)
    }

    #[inline]
    fn first(&self, key: u32) -> usize {
        (key.wrapping_mul(0x9e37_79b1) >> 16) as usize & (self.heads.len() - 1)
    }

    /// Lives that remained to data of an age, a bin, by the curve of a key; `None` without one.
    #[inline]
    pub fn remaining(&self, key: u32, age: usize, residues: &Residues) -> Option<Ended> {
        let place = self.find(key)?;
        let curve = &self.heads[place].curve;
        Some(match age {
            0 => curve.ended(),
            _ => curve.remaining(&self.deaths[place], age, residues),
        })
    }

    /// Counts an end of life, or `weight` of it, for a key.
    #[inline]
    pub fn record(&mut self, key: u32, bin: usize, weight: u16, residues: &Residues) {
        let place = match self.find(key) {
            Some(place) => place,
            None => self.give_up(key),
        };
        let curve = &mut self.heads[place].curve;
        curve.record(&mut self.deaths[place], bin, weight, residues);
    }

    #[cold]
    fn give_up(&mut self, key: u32) -> usize {
        let first = self.first(key);
        let second = first ^ 1;
        let counted = |place: usize| self.heads[place].curve.ended().number;
        let place = if counted(second) < counted(first) {
            second
        } else {
            first
        };
        self.heads[place] = Head {
            key,
            curve: Curve::EMPTY,
        };
        self.deaths[place] = [0; BINS];
        place
    }

    pub fn memory_bytes(&self) -> usize {
        self.heads.capacity() * (size_of::<Head>() + size_of::<Deaths>())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{curve::DEATH, span::Scale};
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
        let ended = tables.remaining(7, 0, &residues).unwrap();
        assert_eq!(ended.number, 100.0);
        assert_eq!(tables.memory_bytes(), bytes);
        let kept = (1000..5000).filter(|&key| tables.find(key).is_some());
        assert!((30..64).contains(&kept.count()));
    }

    #[test]
    fn a_place_that_is_free_is_taken_before_a_key_is_given_up() {
        let residues = Residues::new(Scale::new(1 << 20));
        for (first, second) in (1..16).flat_map(|key| (17..32).map(move |other| (key, other))) {
            let mut tables = Tables::new(2);
            tables.record(first, 20, DEATH, &residues);
            tables.record(second, 20, DEATH, &residues);
            let found = [first, second].map(|key| tables.find(key).is_some());
            assert_eq!(found, [true, true], "{first} {second}");
        }
    }

    #[test]
    fn a_key_that_comes_back_begins_anew() {
        let residues = Residues::new(Scale::new(1 << 20));
        let mut tables = Tables::new(2);
        for key in [5, 7, 9, 11, 5] {
            tables.record(key, 20, DEATH, &residues);
        }
        let ended = tables.remaining(5, 10, &residues).unwrap();
        assert_eq!(ended.number, 1.0);
    }

    #[test]
    fn a_key_never_met_has_no_curve() {
        let residues = Residues::new(Scale::new(1000));
        assert!(Tables::new(2).remaining(5, 0, &residues).is_none());
    }
}
