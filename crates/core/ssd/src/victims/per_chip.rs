//! Greedy in each chip by itself.

use super::{Closing, Order, Rule, greedy::Greedy};

/// A greedy rule for each chip; a unit lies in chip `unit % chips`. A round takes one victim of
/// every chip that has a unit worth collecting (PCStream emulator: one victim per chip and round).
#[derive(Debug)]
pub(crate) struct PerChip {
    chips: Vec<Greedy>,
    /// The chip whose turn it is; 0 between rounds.
    turn: usize,
}

impl PerChip {
    pub(super) fn new(units: u32, pages_per_unit: u32, chips: u32) -> PerChip {
        let chips = chips.clamp(1, units.max(1));
        let rule = || Greedy::new(units.div_ceil(chips), pages_per_unit);
        PerChip {
            chips: (0..chips).map(|_| rule()).collect(),
            turn: 0,
        }
    }

    fn chip_of(&mut self, unit: u32) -> (&mut Greedy, u32) {
        let chips = self.chips.len() as u32;
        (&mut self.chips[(unit % chips) as usize], unit / chips)
    }
}

// Passes on what it does not change: clippy finds a method that is forgotten.
#[deny(clippy::missing_trait_methods)]
impl Rule for PerChip {
    fn insert(&mut self, unit: u32, closing: Closing) {
        let (rule, local) = self.chip_of(unit);
        rule.insert(local, closing);
    }

    fn remove(&mut self, unit: u32) {
        let (rule, local) = self.chip_of(unit);
        rule.remove(local);
    }

    fn moved(&mut self, unit: u32, valid: u32) {
        let (rule, local) = self.chip_of(unit);
        rule.moved(local, valid);
    }

    fn choose(&mut self, _now: u64) -> Option<u32> {
        let chips = self.chips.len();
        for _ in 0..chips {
            let chip = self.turn;
            self.turn = (self.turn + 1) % chips;
            if let Some(local) = self.chips[chip].choose_with_gain() {
                return Some(local * chips as u32 + chip as u32);
            }
        }
        None
    }

    fn is_mid_round(&self) -> bool {
        self.turn != 0
    }

    /// The units chip by chip, each in its order.
    fn order(&self) -> Order {
        let chips = self.chips.len() as u32;
        let chips = (0..).zip(&self.chips).flat_map(|(chip, rule)| {
            let global = move |local| local * chips + chip;
            rule.listed().into_iter().map(global)
        });
        Order {
            chance: self.turn as u64,
            ..Order::entered(chips.collect())
        }
    }

    fn set_chance(&mut self, turn: u64) {
        self.turn = (turn % self.chips.len() as u64) as usize;
    }
}
