//! Greedy in each chip by itself.

use super::greedy::Greedy;

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

    fn of(&mut self, unit: u32) -> (&mut Greedy, u32) {
        let chips = self.chips.len() as u32;
        (&mut self.chips[(unit % chips) as usize], unit / chips)
    }

    pub(super) fn insert(&mut self, unit: u32, valid: u32) {
        let (rule, local) = self.of(unit);
        rule.insert(local, valid);
    }

    pub(super) fn remove(&mut self, unit: u32) {
        let (rule, local) = self.of(unit);
        rule.remove(local);
    }

    pub(super) fn moved(&mut self, unit: u32, valid: u32) {
        let (rule, local) = self.of(unit);
        rule.moved(local, valid);
    }

    pub(super) fn choose(&mut self) -> Option<u32> {
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

    pub(super) fn is_mid_round(&self) -> bool {
        self.turn != 0
    }

    /// Every closed unit, chip by chip, each in its order.
    pub(super) fn listed(&self) -> Vec<u32> {
        let chips = self.chips.len() as u32;
        (0..)
            .zip(&self.chips)
            .flat_map(|(chip, rule)| {
                let global = move |local| local * chips + chip;
                rule.listed().into_iter().map(global)
            })
            .collect()
    }

    pub(super) fn turn(&self) -> u64 {
        self.turn as u64
    }

    pub(super) fn set_turn(&mut self, turn: u64) {
        self.turn = (turn % self.chips.len() as u64) as usize;
    }
}
