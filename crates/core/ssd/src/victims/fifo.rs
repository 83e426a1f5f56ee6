//! The unit closed first.

use std::collections::VecDeque;

use super::{Closing, Order, Rule};

/// Units in the order they were closed. Only the first is ever collected, but for units that
/// leave out of turn; those are marked and passed over.
#[derive(Debug)]
pub(crate) struct Fifo {
    order: VecDeque<(u32, u32)>,
    /// Times each unit was closed: an entry of an earlier closing is stale.
    closings: Vec<u32>,
}

impl Fifo {
    pub(super) fn new(units: u32) -> Fifo {
        Fifo {
            order: VecDeque::with_capacity(units as usize),
            closings: vec![0; units as usize],
        }
    }
}

impl Rule for Fifo {
    fn insert(&mut self, unit: u32, _closing: Closing) {
        self.order.push_back((unit, self.closings[unit as usize]));
    }

    fn remove(&mut self, unit: u32) {
        self.closings[unit as usize] = self.closings[unit as usize].wrapping_add(1);
    }

    fn moved(&mut self, _unit: u32, _valid: u32) {}

    fn choose(&mut self, _now: u64) -> Option<u32> {
        while let Some(&(unit, closing)) = self.order.front() {
            if self.closings[unit as usize] == closing {
                return Some(unit);
            }
            self.order.pop_front();
        }
        None
    }

    fn order(&self) -> Order {
        let closed = |&&(unit, closing): &&(u32, u32)| self.closings[unit as usize] == closing;
        Order::entered(
            self.order
                .iter()
                .filter(closed)
                .map(|&(unit, _)| unit)
                .collect(),
        )
    }
}
