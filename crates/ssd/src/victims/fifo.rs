//! The unit closed first.

use std::collections::VecDeque;

/// Units in the order they were closed. Only the first is ever collected, but for units that
/// leave out of turn; those are marked and passed over.
#[derive(Debug)]
pub(crate) struct Fifo {
    order: VecDeque<(u32, u32)>,
    /// How often each unit was closed: an entry of an earlier closing is stale.
    closings: Vec<u32>,
}

impl Fifo {
    pub(super) fn new(units: u32) -> Fifo {
        Fifo {
            order: VecDeque::with_capacity(units as usize),
            closings: vec![0; units as usize],
        }
    }

    pub(super) fn insert(&mut self, unit: u32) {
        self.order.push_back((unit, self.closings[unit as usize]));
    }

    pub(super) fn remove(&mut self, unit: u32) {
        self.closings[unit as usize] = self.closings[unit as usize].wrapping_add(1);
    }

    pub(super) fn choose(&mut self) -> Option<u32> {
        while let Some(&(unit, closing)) = self.order.front() {
            if self.closings[unit as usize] == closing {
                return Some(unit);
            }
            self.order.pop_front();
        }
        None
    }

    /// Every closed unit, in the order they were closed.
    pub(super) fn listed(&self) -> Vec<u32> {
        self.order
            .iter()
            .filter(|&&(unit, closing)| self.closings[unit as usize] == closing)
            .map(|&(unit, _)| unit)
            .collect()
    }
}
