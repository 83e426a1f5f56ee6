//! The victims of a group that is not emptied by age: which of its units is collected next.

use anabranch_ssd::{
    StreamId,
    victims::{ClosedUnit, ClosedUnits},
};

use crate::parameter::one_of;

one_of! {
    /// Victim rule of a chain's last group.
    LastVictims {
        /// The one with the fewest valid pages.
        Greedy = "greedy",
        /// The one with the most dead pages for its valid ones, times the root of the time since it was closed.
        CostBenefit = "cost-benefit",
    }
}

impl LastVictims {
    /// The next victim among the closed units of these streams, if one has a dead page.
    pub(crate) fn choose(
        self,
        streams: impl Iterator<Item = StreamId>,
        closed: &mut ClosedUnits,
        now: u64,
        pages_per_unit: u32,
    ) -> Option<u32> {
        let best = match self {
            LastVictims::Greedy => streams
                .filter_map(|stream| closed.fewest_valid_of(stream))
                .min_by_key(|unit| unit.valid_pages),
            LastVictims::CostBenefit => {
                let worth = |unit: ClosedUnit| (worth(&unit, now, pages_per_unit), unit);
                streams
                    .flat_map(|stream| closed.of_stream(stream))
                    .filter(|unit| unit.valid_pages < pages_per_unit)
                    .map(worth)
                    .max_by(|(a, _), (b, _)| a.total_cmp(b))
                    .map(|(_, unit)| unit)
            }
        };
        let best = best.filter(|unit| unit.valid_pages < pages_per_unit)?;
        Some(best.unit)
    }
}

/// Dead pages over valid ones, times the root of the time since the unit was closed, as the programs of MiDAS' and
/// DOGI's authors weigh units.
fn worth(unit: &ClosedUnit, now: u64, pages_per_unit: u32) -> f64 {
    let dead = pages_per_unit.saturating_sub(unit.valid_pages);
    let age = now.saturating_sub(unit.closed_at);
    match unit.valid_pages {
        0 => f64::INFINITY,
        valid => f64::from(dead) / f64::from(valid) * (age as f64).sqrt(),
    }
}
