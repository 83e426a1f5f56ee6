//! The reclaim units: which are free, open, closed or retired, what they hold, how much of it
//! lives, and how often each was erased.

mod by_wear;
mod free;
mod saved;

use crate::{
    config::Config,
    relocate::Relocate,
    types::StreamId,
    victims::{Closing, Victims},
    wear::{Levelling, Wear},
};
use by_wear::ByWear;
use free::FreeUnits;

/// Set beside a unit's valid count while the unit is not in the victims' lists.
const UNLISTED: u32 = 1 << 31;

/// All units of a device. They are dealt to the reclaim groups in turn, and each group frees and
/// collects its own.
#[derive(Debug)]
pub(crate) struct Units {
    /// Valid pages of each unit, with [`UNLISTED`] set while the unit is free, open or retired.
    valid: Vec<u32>,
    /// The stream whose pages a unit holds.
    stream: Vec<StreamId>,
    /// When each unit was last opened, in host pages.
    opened_at: Vec<u64>,
    /// When each unit was last closed.
    closed_at: Vec<u64>,
    /// Erases of each unit.
    erases: Vec<u32>,
    /// Units that hold pages of each stream, the open one included.
    held: Vec<u32>,
    /// The first reclaim group, the only one of most devices: kept at hand, since every page that
    /// dies looks here.
    first: Group,
    /// All other reclaim groups.
    others: Vec<Group>,
    /// log2 of the number of groups.
    group_bits: u32,
    group_mask: u32,
    pages_per_unit: u32,
    wear: Wear,
    /// Units taken out of service, in order.
    retired: Vec<u32>,
    /// Units to be emptied and retired: a program operation failed there.
    failing: Vec<u32>,
}

/// A reclaim group's units.
#[derive(Debug)]
struct Group {
    victims: Victims,
    /// Units not retired.
    in_service: u32,
    /// Number of units in the victims' lists, and of dead pages in them.
    closed: u32,
    closed_dead_pages: u64,
    free: FreeUnits,
    /// The closed units by erases; kept only under static levelling.
    cold: ByWear,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ErasedUnit {
    pub(crate) stream: StreamId,
    pub(crate) opened_at: u64,
    /// Units that still hold pages of the stream.
    pub(crate) units_left: u32,
}

impl Units {
    pub(crate) fn new(config: &Config) -> Units {
        let units = config.physical_units as usize;
        let streams = usize::from(config.streams());
        let groups = config.reclaim_groups;
        let group = |group: u32| Group {
            victims: Victims::new(config, (config.physical_units - group).div_ceil(groups)),
            in_service: (config.physical_units - group).div_ceil(groups),
            closed: 0,
            closed_dead_pages: 0,
            free: FreeUnits::new(
                (group..config.physical_units).step_by(groups as usize),
                config.wear.levelling != Levelling::None,
            ),
            cold: ByWear::default(),
        };
        Units {
            valid: vec![UNLISTED; units],
            stream: vec![StreamId::DEFAULT; units],
            opened_at: vec![0; units],
            closed_at: vec![0; units],
            erases: vec![0; units],
            held: vec![0; streams],
            first: group(0),
            others: (1..groups).map(group).collect(),
            group_bits: groups.trailing_zeros(),
            group_mask: groups - 1,
            pages_per_unit: config.pages_per_unit,
            wear: config.wear,
            retired: Vec::new(),
            failing: Vec::new(),
        }
    }

    #[inline]
    fn group(&self, group: u32) -> &Group {
        match group {
            0 => &self.first,
            _ => &self.others[group as usize - 1],
        }
    }

    #[inline]
    fn group_mut(&mut self, group: u32) -> &mut Group {
        match group {
            0 => &mut self.first,
            _ => &mut self.others[group as usize - 1],
        }
    }

    pub(crate) fn free_count(&self, group: u32) -> usize {
        self.group(group).free.len()
    }

    pub(crate) fn is_free(&self, unit: u32) -> bool {
        self.group(unit & self.group_mask)
            .free
            .contains(unit, &self.erases)
    }

    /// Every free unit.
    pub(crate) fn free_units(&self) -> impl Iterator<Item = u32> {
        let groups = std::iter::once(&self.first).chain(&self.others);
        groups.flat_map(|group| group.free.listed())
    }

    /// Every unit the victims' lists hold.
    pub(crate) fn listed_units(&self) -> impl Iterator<Item = u32> {
        let bits = self.group_bits;
        let groups = std::iter::once(&self.first).chain(&self.others);
        (0..).zip(groups).flat_map(move |(number, group)| {
            let listed = group.victims.order().entered;
            listed.into_iter().map(move |local| local << bits | number)
        })
    }

    pub(crate) fn stream(&self, unit: u32) -> StreamId {
        self.stream[unit as usize]
    }

    pub(crate) fn opened_at(&self, unit: u32) -> u64 {
        self.opened_at[unit as usize]
    }

    pub(crate) fn valid(&self, unit: u32) -> u32 {
        self.valid[unit as usize] & !UNLISTED
    }

    pub(crate) fn is_closed(&self, unit: u32) -> bool {
        self.valid[unit as usize] & UNLISTED == 0
    }

    pub(crate) fn erases(&self) -> &[u32] {
        &self.erases
    }

    pub(crate) fn retired(&self) -> &[u32] {
        &self.retired
    }

    pub(crate) fn group_of(&self, unit: u32) -> u32 {
        unit & self.group_mask
    }

    /// Pages that live in a group's closed units.
    pub(crate) fn closed_live_pages(&self, group: u32) -> u64 {
        let group = self.group(group);
        u64::from(group.closed) * u64::from(self.pages_per_unit) - group.closed_dead_pages
    }

    /// Takes a free unit of `group` for `stream` at logical time `now`.
    pub(crate) fn open(&mut self, group: u32, stream: StreamId, now: u64) -> Option<u32> {
        let unit = self.group_mut(group).free.take()?;
        self.enter(unit, stream, now);
        Some(unit)
    }

    /// Takes the most worn free unit of `group` for data that will stay.
    pub(crate) fn open_most_worn(&mut self, group: u32, stream: StreamId, now: u64) -> Option<u32> {
        let unit = self.group_mut(group).free.take_most_worn()?;
        self.enter(unit, stream, now);
        Some(unit)
    }

    fn enter(&mut self, unit: u32, stream: StreamId, now: u64) {
        self.stream[unit as usize] = stream;
        self.opened_at[unit as usize] = now;
        self.held[stream.index()] += 1;
    }

    /// Gives an open unit, with what it holds, to another stream.
    pub(crate) fn relabel(&mut self, unit: u32, stream: StreamId) {
        let before = std::mem::replace(&mut self.stream[unit as usize], stream);
        self.held[before.index()] -= 1;
        self.held[stream.index()] += 1;
    }

    /// `pages` valid pages were appended to an open unit.
    pub(crate) fn gain(&mut self, unit: u32, pages: u32) {
        self.valid[unit as usize] += pages;
    }

    /// `pages` pages of a unit died.
    #[inline]
    pub(crate) fn lose(&mut self, unit: u32, pages: u32) {
        let valid = self.valid[unit as usize] - pages;
        self.valid[unit as usize] = valid;
        if valid & UNLISTED == 0 {
            let bits = self.group_bits;
            let group = self.group_mut(unit & self.group_mask);
            group.closed_dead_pages += u64::from(pages);
            group.victims.moved(unit >> bits, valid);
        }
    }

    /// An open unit takes no more writes, at logical time `now`.
    pub(crate) fn close(&mut self, unit: u32, now: u64) {
        let valid = self.valid(unit);
        let closing = Closing {
            valid,
            stream: self.stream(unit),
            opened_at: self.opened_at(unit),
            now,
        };
        self.valid[unit as usize] = valid;
        self.closed_at[unit as usize] = now;
        let (bits, dead) = (self.group_bits, self.pages_per_unit - valid);
        let group = self.group_mut(unit & self.group_mask);
        group.closed += 1;
        group.closed_dead_pages += u64::from(dead);
        group.victims.insert(unit >> bits, closing);
        if self.wear.static_spread().is_some() {
            let erases = self.erases[unit as usize];
            let (of, current) = self.group_by_wear(unit & self.group_mask);
            of.cold.push(erases, unit, of.closed, current);
        }
    }

    /// A group, and whether an entry of its order by wear still holds: whether the unit is closed
    /// and was not erased since.
    fn group_by_wear(&mut self, group: u32) -> (&mut Group, impl Fn(u32, u32) -> bool) {
        let Units {
            valid,
            erases,
            first,
            others,
            ..
        } = self;
        let group = match group {
            0 => first,
            _ => &mut others[group as usize - 1],
        };
        let (valid, erases) = (&*valid, &*erases);
        let current = |then: u32, unit: u32| {
            valid[unit as usize] & UNLISTED == 0 && erases[unit as usize] == then
        };
        (group, current)
    }

    /// The closed unit of `group` to collect next at logical time `now`, and the free pages that
    /// promises: its own, or the average where the rule does not look at them.
    pub(crate) fn choose_victim(
        &mut self,
        group: u32,
        now: u64,
        scheme: &mut (impl Relocate + ?Sized),
    ) -> Option<(u32, u32)> {
        let bits = self.group_bits;
        let of = self.group_mut(group);
        if of.closed_dead_pages == 0 {
            return None;
        }
        let unit = of
            .victims
            .choose(now, |closed| scheme.choose_victim(closed, now))?
            << bits
            | group;
        let average = (of.closed_dead_pages / u64::from(of.closed)) as u32;
        Some((unit, average.max(self.pages_per_unit - self.valid(unit))))
    }

    /// Whether the victim rule wants another victim before collection ends.
    pub(crate) fn is_mid_round(&self, group: u32) -> bool {
        self.group(group).victims.is_mid_round()
    }

    /// A closed unit is about to be emptied: it leaves the lists.
    pub(crate) fn take(&mut self, unit: u32) {
        let (bits, dead) = (self.group_bits, self.pages_per_unit - self.valid(unit));
        let group = self.group_mut(unit & self.group_mask);
        group.victims.remove(unit >> bits);
        group.closed -= 1;
        group.closed_dead_pages -= u64::from(dead);
        self.valid[unit as usize] |= UNLISTED;
    }

    /// An emptied unit is erased, and free unless the erase failed or the unit is worn out or
    /// failing; it is then retired.
    pub(crate) fn erase(&mut self, unit: u32, failed: bool) -> ErasedUnit {
        self.valid[unit as usize] = UNLISTED;
        let erases = &mut self.erases[unit as usize];
        *erases += 1;
        let erases = *erases;
        let condemned = self.is_failing(unit);
        if failed || condemned || self.wear.is_worn_out(erases) {
            self.failing.retain(|&failing| failing != unit);
            self.retire(unit);
        } else {
            self.group_mut(unit & self.group_mask)
                .free
                .give(unit, erases);
        }
        let stream = self.stream[unit as usize];
        self.held[stream.index()] -= 1;
        ErasedUnit {
            stream,
            opened_at: self.opened_at(unit),
            units_left: self.held[stream.index()],
        }
    }

    /// A free unit turns out to be bad, as from the factory.
    pub(crate) fn retire_free(&mut self, unit: u32) {
        let erases = self.erases[unit as usize];
        if self
            .group_mut(unit & self.group_mask)
            .free
            .remove(unit, erases)
        {
            self.retire(unit);
        }
    }

    fn retire(&mut self, unit: u32) {
        self.group_mut(unit & self.group_mask).in_service -= 1;
        self.retired.push(unit);
    }

    /// Units of a group that are not retired.
    pub(crate) fn in_service(&self, group: u32) -> u32 {
        self.group(group).in_service
    }

    /// Whether units were lost, or are about to be.
    pub(crate) fn has_lost(&self) -> bool {
        !self.retired.is_empty() || !self.failing.is_empty()
    }

    /// A program operation failed in a unit: it is to be emptied and retired.
    pub(crate) fn condemn(&mut self, unit: u32) {
        if !self.is_failing(unit) {
            self.failing.push(unit);
        }
    }

    fn is_failing(&self, unit: u32) -> bool {
        !self.failing.is_empty() && self.failing.contains(&unit)
    }

    /// A closed unit of `group` that must be emptied because it fails.
    pub(crate) fn failing_in(&self, group: u32) -> Option<u32> {
        let unit = |&&unit: &&u32| self.group_of(unit) == group && self.is_closed(unit);
        self.failing.iter().find(unit).copied()
    }

    /// The closed unit of `group` erased least often, if static levelling wants it emptied into
    /// the most worn free one.
    pub(crate) fn cold_unit(&mut self, group: u32) -> Option<u32> {
        let spread = self.wear.static_spread()?;
        let (group, current) = self.group_by_wear(group);
        let most = group.free.most_worn()?;
        let (least, unit) = group.cold.first(current)?;
        (least.saturating_add(spread) <= most).then_some(unit)
    }
}
