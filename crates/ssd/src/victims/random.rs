//! The best of a few units drawn at random.

use super::closed::ClosedUnits;
use crate::random::Random;

/// Draws `choices` closed units, with repetition, and takes the one with the fewest valid pages
/// (Van Houdt, SIGMETRICS'13: d-choices). One choice is the random rule.
#[derive(Debug)]
pub(crate) struct Choices {
    closed: ClosedUnits,
    valid: Vec<u32>,
    choices: u8,
    random: Random,
}

impl Choices {
    pub(super) fn new(units: u32, choices: u8, seed: u64) -> Choices {
        Choices {
            closed: ClosedUnits::new(units),
            valid: vec![0; units as usize],
            choices,
            random: Random::new(seed),
        }
    }

    pub(super) fn insert(&mut self, unit: u32, valid: u32) {
        self.closed.insert(unit);
        self.valid[unit as usize] = valid;
    }

    pub(super) fn remove(&mut self, unit: u32) {
        self.closed.remove(unit);
    }

    pub(super) fn moved(&mut self, unit: u32, valid: u32) {
        self.valid[unit as usize] = valid;
    }

    pub(super) fn choose(&mut self) -> Option<u32> {
        let units = self.closed.as_slice();
        if units.is_empty() {
            return None;
        }
        (0..self.choices)
            .map(|_| units[self.random.below(units.len() as u32) as usize])
            .min_by_key(|&unit| self.valid[unit as usize])
    }

    /// Every closed unit, in the order they are drawn from.
    pub(super) fn listed(&self) -> Vec<u32> {
        self.closed.as_slice().to_vec()
    }

    pub(super) fn chance(&self) -> u64 {
        self.random.state()
    }

    pub(super) fn set_chance(&mut self, chance: u64) {
        self.random = Random::new(chance);
    }
}
