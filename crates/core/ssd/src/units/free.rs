//! The free units of a reclaim group, in the order they will be used.

use std::collections::{BTreeSet, VecDeque};

/// The order of free units: first in, first out, or the least worn first.
#[derive(Debug)]
pub(super) enum FreeUnits {
    /// In the order they were freed.
    Queue(VecDeque<u32>),
    /// By how often they were erased, then by number.
    Wear(BTreeSet<(u32, u32)>),
}

impl FreeUnits {
    /// A list of units that were never erased.
    pub(super) fn new(units: impl Iterator<Item = u32>, by_wear: bool) -> FreeUnits {
        if !by_wear {
            FreeUnits::Queue(units.collect())
        } else {
            FreeUnits::Wear(units.map(|unit| (0, unit)).collect())
        }
    }

    /// A list of free units in the given order.
    pub(super) fn of(units: Vec<u32>, by_wear: bool, erases: &[u32]) -> FreeUnits {
        let worn = |unit: u32| (erases[unit as usize], unit);
        if !by_wear {
            FreeUnits::Queue(units.into())
        } else {
            FreeUnits::Wear(units.into_iter().map(worn).collect())
        }
    }

    /// The units, in the order they will be used.
    pub(super) fn listed(&self) -> Vec<u32> {
        match self {
            FreeUnits::Queue(units) => units.iter().copied().collect(),
            FreeUnits::Wear(units) => units.iter().map(|&(_, unit)| unit).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            FreeUnits::Queue(units) => units.len(),
            FreeUnits::Wear(units) => units.len(),
        }
    }

    pub(super) fn contains(&self, unit: u32, erases: &[u32]) -> bool {
        match self {
            FreeUnits::Queue(units) => units.contains(&unit),
            FreeUnits::Wear(units) => units.contains(&(erases[unit as usize], unit)),
        }
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        match self {
            FreeUnits::Queue(units) => units.pop_front(),
            FreeUnits::Wear(units) => units.pop_first().map(|(_, unit)| unit),
        }
    }

    /// Takes the free unit with the most erases; where wear is not looked at, the next in order.
    pub(super) fn take_most_worn(&mut self) -> Option<u32> {
        match self {
            FreeUnits::Queue(units) => units.pop_back(),
            FreeUnits::Wear(units) => units.pop_last().map(|(_, unit)| unit),
        }
    }

    /// Erases of the most worn free unit; `None` where wear is not looked at.
    pub(super) fn most_worn(&self) -> Option<u32> {
        match self {
            FreeUnits::Queue(_) => None,
            FreeUnits::Wear(units) => units.last().map(|&(erases, _)| erases),
        }
    }

    pub(super) fn give(&mut self, unit: u32, erases: u32) {
        match self {
            FreeUnits::Queue(units) => units.push_back(unit),
            FreeUnits::Wear(units) => {
                units.insert((erases, unit));
            }
        }
    }

    /// Removes a unit. Answers whether it was there.
    pub(super) fn remove(&mut self, unit: u32, erases: u32) -> bool {
        match self {
            FreeUnits::Queue(units) => {
                let before = units.len();
                units.retain(|&free| free != unit);
                units.len() < before
            }
            FreeUnits::Wear(units) => units.remove(&(erases, unit)),
        }
    }
}
