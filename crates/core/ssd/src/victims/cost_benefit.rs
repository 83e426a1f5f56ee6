//! The highest benefit for its cost.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{Closing, Order, Rule};

/// Classes of valid share that units are kept in (our choice: the score of the oldest unit of a
/// class is within 1 % of the best the class holds).
const CLASSES: u32 = 128;

/// Closed units in classes by their valid share, each class ordered by age. The score of all units of
/// one share grows with age alike, so the oldest of each class is its best, and
/// a victim is found by looking at one unit a class. A unit changes class a bounded number of
/// times in its life; entries it leaves behind are dropped when they come up.
#[derive(Debug)]
pub(crate) struct CostBenefit {
    classes: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Class of each unit; `CLASSES + 1` when it is not closed.
    class: Vec<u8>,
    closed_at: Vec<u64>,
    valid: Vec<u32>,
    pages_per_unit: u32,
    /// Weight of an age; it grows with the age.
    worth: fn(f64) -> f64,
}

impl CostBenefit {
    pub(super) fn new(units: u32, pages_per_unit: u32, worth: fn(f64) -> f64) -> CostBenefit {
        CostBenefit {
            classes: (0..=CLASSES).map(|_| BinaryHeap::new()).collect(),
            class: vec![CLASSES as u8 + 1; units as usize],
            closed_at: vec![0; units as usize],
            valid: vec![0; units as usize],
            pages_per_unit,
            worth,
        }
    }

    fn class_of(&self, valid: u32) -> u8 {
        (u64::from(valid) * u64::from(CLASSES) / u64::from(self.pages_per_unit)) as u8
    }

    fn enter(&mut self, unit: u32, class: u8) {
        self.class[unit as usize] = class;
        self.classes[usize::from(class)].push(Reverse((self.closed_at[unit as usize], unit)));
    }

    /// The unit of a class that was closed first.
    fn oldest(&mut self, class: u8) -> Option<(u64, u32)> {
        let heap = &mut self.classes[usize::from(class)];
        while let Some(&Reverse((closed_at, unit))) = heap.peek() {
            let current =
                self.class[unit as usize] == class && self.closed_at[unit as usize] == closed_at;
            if current {
                return Some((closed_at, unit));
            }
            heap.pop();
        }
        None
    }
}

impl Rule for CostBenefit {
    fn insert(&mut self, unit: u32, closing: Closing) {
        self.closed_at[unit as usize] = closing.now;
        self.valid[unit as usize] = closing.valid;
        self.enter(unit, self.class_of(closing.valid));
    }

    fn remove(&mut self, unit: u32) {
        self.class[unit as usize] = CLASSES as u8 + 1;
    }

    fn moved(&mut self, unit: u32, valid: u32) {
        self.valid[unit as usize] = valid;
        let class = self.class_of(valid);
        if class != self.class[unit as usize] {
            self.enter(unit, class);
        }
    }

    fn choose(&mut self, now: u64) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        for class in 0..=CLASSES as u8 {
            let Some((closed_at, unit)) = self.oldest(class) else {
                continue;
            };
            let valid = f64::from(self.valid[unit as usize]);
            let dead = f64::from(self.pages_per_unit) - valid;
            if dead == 0.0 {
                continue;
            }
            let age = (now - closed_at + 1) as f64;
            let score = (self.worth)(age) * dead / valid.max(f64::MIN_POSITIVE);
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, unit));
            }
        }
        best.map(|(_, unit)| unit)
    }

    /// The units by number; their ages say the order.
    fn order(&self) -> Order {
        let classes = (0..).zip(&self.class);
        let closed = classes.filter(|&(_, &class)| u32::from(class) <= CLASSES);
        Order::entered(closed.map(|(unit, _)| unit).collect())
    }
}
