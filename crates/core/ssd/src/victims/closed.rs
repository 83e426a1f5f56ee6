//! A set of units from which one can be drawn at random.

/// Marks a unit that is not in the set.
const ABSENT: u32 = u32::MAX;

/// Units in a dense array, each knowing its place: constant-time insert, remove and draw.
#[derive(Debug)]
pub(crate) struct Closed {
    units: Vec<u32>,
    place: Vec<u32>,
}

impl Closed {
    pub(super) fn new(units: u32) -> Closed {
        Closed {
            units: Vec::with_capacity(units as usize),
            place: vec![ABSENT; units as usize],
        }
    }

    pub(super) fn insert(&mut self, unit: u32) {
        self.place[unit as usize] = self.units.len() as u32;
        self.units.push(unit);
    }

    pub(super) fn remove(&mut self, unit: u32) {
        let place = self.place[unit as usize];
        if place == ABSENT {
            return;
        }
        self.units.swap_remove(place as usize);
        if let Some(&moved) = self.units.get(place as usize) {
            self.place[moved as usize] = place;
        }
        self.place[unit as usize] = ABSENT;
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.units
    }
}
