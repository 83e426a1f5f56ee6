//! The units to be saved, and made again of what was saved.

use super::{FreeUnits, UNLISTED, Units};
use crate::{
    config::Config,
    state::{SavedGroup, SavedOpen, SavedUnits},
    types::StreamId,
    wear::Levelling,
};

impl Units {
    /// The saved form of the units, and the state of each group's victim rule
    /// ([`Order::chance`](crate::victims::Order::chance)).
    pub(crate) fn to_saved(&self) -> (SavedUnits, Vec<u64>) {
        let bits = self.group_bits;
        let (groups, chances) = (0..)
            .zip(std::iter::once(&self.first).chain(&self.others))
            .map(|(number, group)| {
                let order = group.victims.order();
                let global = |local: u32| local << bits | number;
                let saved = SavedGroup {
                    free: group.free.listed(),
                    entered: order.entered.into_iter().map(global).collect(),
                    changed: order.changed.into_iter().map(global).collect(),
                };
                (saved, order.chance)
            })
            .unzip();
        let units = SavedUnits {
            stream: self.stream.iter().map(|stream| stream.0).collect(),
            opened_at: self.opened_at.clone(),
            closed_at: self.closed_at.clone(),
            erases: self.erases.clone(),
            retired: self.retired.clone(),
            failing: self.failing.clone(),
            groups,
        };
        (units, chances)
    }

    /// The units of a saved drive that was checked, with their valid pages. A group without a
    /// chance begins at the seed.
    pub(crate) fn from_saved(
        config: &Config,
        saved: SavedUnits,
        valid: Vec<u32>,
        open: &[SavedOpen],
        chances: &[u64],
    ) -> Units {
        let mut units = Units::new(config);
        units.stream = saved.stream.into_iter().map(StreamId).collect();
        units.opened_at = saved.opened_at;
        units.erases = saved.erases;
        units.valid = valid;
        units.valid.iter_mut().for_each(|valid| *valid |= UNLISTED);
        for open in open {
            units.held[open.stream.index()] += 1;
        }
        for &unit in &saved.retired {
            units.group_mut(unit & units.group_mask).in_service -= 1;
        }
        units.retired = saved.retired;
        units.failing = saved.failing;
        for (number, group) in (0..).zip(saved.groups) {
            units.restore_group(config, number, group, &saved.closed_at);
            if let Some(&chance) = chances.get(number as usize) {
                units.group_mut(number).victims.set_chance(chance);
            }
        }
        units.closed_at = saved.closed_at;
        units
    }

    fn restore_group(
        &mut self,
        config: &Config,
        number: u32,
        saved: SavedGroup,
        closed_at: &[u64],
    ) {
        let by_wear = config.wear.levelling != Levelling::None;
        let free = FreeUnits::of(saved.free, by_wear, &self.erases);
        self.group_mut(number).free = free;
        for unit in saved.entered {
            self.held[self.stream[unit as usize].index()] += 1;
            self.valid[unit as usize] &= !UNLISTED;
            self.close(unit, closed_at[unit as usize]);
        }
        let bits = self.group_bits;
        for unit in saved.changed {
            let valid = self.valid(unit);
            self.group_mut(number).victims.moved(unit >> bits, valid);
        }
    }
}
