//! An aged drive for an experiment: other streams, rules and relocation over the same data.

use super::Device;
use crate::{
    config::Config,
    counters::{Counters, StreamCounters},
    observe::Observe,
    page_map::Keeps,
    relocate::Relocate,
    state::{SavedDrive, SavedOpen, StateError},
    types::StreamId,
    victim_rule::VictimRule,
    wear::Countdown,
};

impl SavedDrive {
    /// A device like `config` that holds what this drive holds and is as worn.
    ///
    /// Pages, units and reclaim groups must be as many as the saved drive's; streams, thresholds,
    /// victim rule, levelling, faults and seed may differ. A host stream that is no more has its
    /// units in the default stream, an internal one in the last internal stream (or, without one, in
    /// the default stream); what it had open is closed. Counters begin at zero, faults and
    /// what draws begin at the seed, and the relocation begins knowing nothing but the units there
    /// are ([`Relocate::opened`] is told of each, the oldest first). Pages of unknown age are as old
    /// as the unit they lie in.
    ///
    /// # Errors
    /// When `config` describes a device that cannot be, or one of another size than the saved
    /// drive, or the mapping contradicts itself.
    pub fn age<O: Observe>(
        mut self,
        config: Config,
        relocation: &mut (impl Relocate + ?Sized),
        observer: O,
    ) -> Result<Device<O>, StateError> {
        config.validate()?;
        same_geometry(&self.header.config, &config)?;
        self.rename_streams(&config);
        self.reorder(&config);
        let faults = config.faults;
        self.header.program_failures = Countdown::programs(&faults, config.seed);
        self.header.erase_failures = Countdown::erases(&faults, config.seed);
        self.header.past_pages = self.header.now();
        self.header.counters = Counters::default();
        self.header.streams = vec![StreamCounters::default(); usize::from(config.streams())];
        self.header.chances = Vec::new();
        self.header.config = config;
        // Times are kept only for a relocation that asks for them: they double the mapping's memory.
        if !relocation.wants_ages() {
            self.written_at = Vec::new();
        } else if self.written_at.is_empty() {
            self.written_at = self.ages_of_units();
        }
        for stream in self.units_by_age() {
            relocation.opened(stream);
        }
        Device::from_saved(self, Keeps::Places, relocation, observer)
    }

    /// Gives every unit the stream it has on the new drive, and closes those of streams that are no
    /// more.
    fn rename_streams(&mut self, config: &Config) {
        let old = self.header.config.clone();
        for stream in &mut self.units.stream {
            *stream = renamed(&old, config, StreamId(*stream)).0.0;
        }
        let now = self.header.now();
        let open = std::mem::take(&mut self.header.open);
        for open in open {
            match renamed(&old, config, open.stream) {
                (stream, true) => self.header.open.push(SavedOpen { stream, ..open }),
                // Its stream is no more, and the stream that takes over has an open unit of its own.
                (_, false) => {
                    let group = (open.unit % config.reclaim_groups) as usize;
                    self.units.closed_at[open.unit as usize] = now;
                    self.units.groups[group].entered.push(open.unit);
                }
            }
        }
    }

    /// The order of closed units, where the victim rule is another one: by when they were closed.
    /// A rule that goes by streams begins anew even if it is the same.
    fn reorder(&mut self, config: &Config) {
        let rule = config.victim_rule;
        if rule == self.header.config.victim_rule && rule != VictimRule::Scheme {
            return;
        }
        let closed_at = &self.units.closed_at;
        for group in &mut self.units.groups {
            group.entered.sort_by_key(|&unit| closed_at[unit as usize]);
            group.changed.clear();
        }
    }

    /// Times to use where none were saved: every page is taken to be as old as its unit.
    fn ages_of_units(&self) -> Vec<u32> {
        let config = &self.header.config;
        let (shift, ticks) = (config.unit_shift(), config.tick_bits());
        let age = |&address: &u32| {
            let opened_at = self.units.opened_at.get((address >> shift) as usize);
            (opened_at.copied().unwrap_or(0) >> ticks) as u32
        };
        self.l2p.iter().map(age).collect()
    }

    /// The streams of all units in use, the unit opened first leading.
    fn units_by_age(&self) -> Vec<StreamId> {
        let closed = self.units.groups.iter().flat_map(|group| &group.entered);
        let open = self.header.open.iter().map(|open| &open.unit);
        let mut units: Vec<u32> = closed.chain(open).copied().collect();
        units.sort_unstable_by_key(|&unit| (self.units.opened_at[unit as usize], unit));
        units
            .iter()
            .map(|&unit| StreamId(self.units.stream[unit as usize]))
            .collect()
    }
}

fn same_geometry(found: &Config, asked: &Config) -> Result<(), StateError> {
    for (what, found, asked) in [
        ("logical pages", found.logical_pages, asked.logical_pages),
        ("bytes a page", found.page_bytes, asked.page_bytes),
        ("pages a unit", found.pages_per_unit, asked.pages_per_unit),
        ("units", found.physical_units, asked.physical_units),
        ("reclaim groups", found.reclaim_groups, asked.reclaim_groups),
    ] {
        if found != asked {
            return Err(StateError::Geometry {
                what,
                found: found.into(),
                asked: asked.into(),
            });
        }
    }
    Ok(())
}

/// A stream's number on another drive, and whether it is the same stream there.
fn renamed(old: &Config, new: &Config, stream: StreamId) -> (StreamId, bool) {
    let group = old.group_of(stream);
    let internal = |config: &Config| config.internal_streams / config.reclaim_groups as u16;
    match stream.0.checked_sub(old.host_streams) {
        None => {
            let handle = stream.0 % old.handles();
            let default = new.default_stream(group);
            if handle < new.handles() {
                (StreamId(default.0 + handle), true)
            } else {
                (default, false)
            }
        }
        Some(slot) => {
            let slot = slot % internal(old).max(1);
            let first = new.host_streams + group as u16 * internal(new);
            match internal(new).checked_sub(1) {
                None => (new.default_stream(group), false),
                Some(last) => (StreamId(first + slot.min(last)), slot <= last),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    #[test]
    fn streams_keep_their_group_and_place_or_join_the_default_or_the_last_internal_one() {
        let streams = |host_streams, internal_streams| Config {
            host_streams,
            internal_streams,
            reclaim_groups: 2,
            ..small()
        };
        let names = |old: &Config, new: &Config| -> Vec<(u16, bool)> {
            let name = |stream| renamed(old, new, StreamId(stream));
            let names = (0..old.streams()).map(name);
            names.map(|(stream, same)| (stream.0, same)).collect()
        };
        let (t, f) = (true, false);
        assert_eq!(
            names(&streams(4, 4), &streams(8, 6)),
            [
                (0, t),
                (1, t),
                (4, t),
                (5, t),
                (8, t),
                (9, t),
                (11, t),
                (12, t)
            ]
        );
        assert_eq!(
            names(&streams(4, 4), &streams(2, 2)),
            [
                (0, t),
                (0, f),
                (1, t),
                (1, f),
                (2, t),
                (2, f),
                (3, t),
                (3, f)
            ]
        );
        assert_eq!(
            names(&streams(4, 2), &streams(2, 0)),
            [(0, t), (0, f), (1, t), (1, f), (0, f), (1, f)]
        );
    }
}
