//! The choice of victims when it is known how long their valid pages will live.

use anabranch_ssd::victims::ClosedUnits;

use crate::geometry::HostGeometry;

/// Capacities of writes up to which lives are told apart (our choice: of 0.5, 1, 2 and 8 none was far from the best);
/// longer lives count as endless.
const HORIZON_CAPACITIES: f64 = 2.0;

/// Chooses victims by the highest benefit for its cost, computed from the future.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Victims {
    patience: f64,
    horizon_pages: f64,
    pages_per_unit: u32,
    units: u32,
}

impl Victims {
    /// The chooser for a drive; `patience` is how much time counts, from 0 to 1.
    pub(crate) fn new(patience: f64, geometry: &HostGeometry) -> Victims {
        Victims {
            patience,
            horizon_pages: f64::from(geometry.logical_pages) * HORIZON_CAPACITIES,
            pages_per_unit: geometry.pages_per_unit,
            units: geometry.physical_units,
        }
    }

    /// A closed unit with dead pages, if there is one: one where nothing lives, or else the one
    /// with the highest `(1 - u) / u x t`. `life_left` is the `t` of a unit: how long its valid
    /// pages will still live in the mean; of what is not known, for good. A drive of several reclaim groups numbers its units
    /// otherwise, and gets the one with the fewest valid pages.
    pub(crate) fn choose(
        &self,
        closed: &ClosedUnits,
        life_left: impl Fn(u32) -> Option<f64>,
    ) -> Option<u32> {
        if closed.units() != self.units {
            return None;
        }
        let mut best = (0.0, None);
        for unit in (0..self.units).filter_map(|unit| closed.get(unit)) {
            let (valid, dead) = (unit.valid_pages, self.pages_per_unit - unit.valid_pages);
            if dead == 0 {
                continue;
            }
            if valid == 0 {
                return Some(unit.unit);
            }
            let left = life_left(unit.unit).unwrap_or(self.horizon_pages);
            let left = left.clamp(1.0, self.horizon_pages).powf(self.patience);
            let score = f64::from(dead) / f64::from(valid) * left;
            if score > best.0 {
                best = (score, Some(unit.unit));
            }
        }
        best.1
    }
}
