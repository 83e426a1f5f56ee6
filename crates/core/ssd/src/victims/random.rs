//! The best of a few units drawn at random.

use super::{Closing, Order, Rule, closed::Closed};
use crate::random::Random;

/// Draws `choices` closed units, with repetition, and takes the one with the fewest valid pages
/// (Van Houdt, SIGMETRICS'13: d-choices). One choice is the random rule.
#[derive(Debug)]
pub(crate) struct Choices {
    closed: Closed,
    valid: Vec<u32>,
    choices: u8,
    random: Random,
}

impl Choices {
    pub(super) fn new(units: u32, choices: u8, seed: u64) -> Choices {
        Choices {
            closed: Closed::new(units),
            valid: vec![0; units as usize],
            choices,
            random: Random::new(seed),
        }
    }
}

impl Rule for Choices {
    fn insert(&mut self, unit: u32, closing: Closing) {
        self.closed.insert(unit);
        self.valid[unit as usize] = closing.valid;
    }

    fn remove(&mut self, unit: u32) {
        self.closed.remove(unit);
    }

    fn moved(&mut self, unit: u32, valid: u32) {
        self.valid[unit as usize] = valid;
    }

    fn choose(&mut self, _now: u64) -> Option<u32> {
        let units = self.closed.as_slice();
        if units.is_empty() {
            return None;
        }
        (0..self.choices)
            .map(|_| units[self.random.below(units.len() as u32) as usize])
            .min_by_key(|&unit| self.valid[unit as usize])
    }

    /// The units in the order they are drawn from.
    fn order(&self) -> Order {
        Order {
            chance: self.random.state(),
            ..Order::entered(self.closed.as_slice().to_vec())
        }
    }

    fn set_chance(&mut self, chance: u64) {
        self.random = Random::new(chance);
    }
}
