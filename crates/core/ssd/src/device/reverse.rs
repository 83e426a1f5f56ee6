//! The table from physical pages to logical ones, made of the one from logical pages to physical ones.
//!
//! Stores at random into a table of a GiB miss the caches nearly every time. So pages are first sorted by the part
//! of the table that they belong to, and then put into one part after the other, each of which fits a cache. Until
//! then the table itself holds what is sorted: four bytes have a place in the part, and how much further the page is
//! than the one sorted before it. Besides there is memory for a part's pages (at most 1 MiB a thread), for a count
//! and a bucket of each part and thread, and for the pages that are too far for that (at most four bytes a page).
//!
//! Threads share the work. Each counts the pages of its share by part, sorts them into places of every part that are
//! its own, and at last fills a share of the parts. The table is the same with any number of threads.

use std::{
    mem,
    num::NonZero,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{config::Config, page_map::NONE, state::StateError, table::Table};

/// Tables that follow from where each logical page lies.
#[derive(Debug)]
pub(super) struct Reverse {
    /// Logical page of each physical one, 0 where there is none.
    pub(super) p2l: Table<u32>,
    /// Valid pages of each unit.
    pub(super) valid: Vec<u32>,
    pub(super) mapped: u64,
}

/// Division of the work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    /// Log2 of the places of a part.
    part_shift: u32,
    /// A page is far that is so much further than the one before, or further than four bytes can say.
    far: u32,
    threads: usize,
}

impl Division {
    /// 1 MiB of the table, and as much beside it; 1,080 parts to write to in turn for 1 TiB (our choice; not measured
    /// beyond two cores).
    const PART_SHIFT: u32 = 18;
    /// Pages below which there is no further thread (our choice; not measured beyond two cores).
    const LEAST_SHARE: usize = 1 << 20;
    /// Most threads (our choice; not measured beyond two cores).
    const MOST_THREADS: usize = 8;

    pub(super) fn for_pages(pages: usize) -> Division {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Division {
            part_shift: Division::PART_SHIFT,
            far: u32::MAX,
            threads: (pages / Division::LEAST_SHARE)
                .min(cores)
                .clamp(1, Division::MOST_THREADS),
        }
    }

    /// Least distance of a far page. An entry holds this value for every far page, and for no other.
    fn far(self) -> u32 {
        self.far.min(u32::MAX >> self.part_shift)
    }
}

/// Performs the tasks in as many threads as there are tasks, and answers in their order.
fn each<T: Send, R: Send>(tasks: Vec<T>, perform: impl Fn(T) -> R + Sync) -> Vec<R> {
    each_by(
        || thread::Builder::new().name("ssd-reverse".to_owned()),
        tasks,
        perform,
    )
}

/// The same, by threads that are built so. Threads draw tasks until there is none, this one too: where the system
/// refuses further threads, those there are do all of it.
fn each_by<T: Send, R: Send>(
    builder: impl Fn() -> thread::Builder,
    tasks: Vec<T>,
    perform: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let others = tasks.len().saturating_sub(1);
    let mut results: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
    let queue = Mutex::new(tasks.into_iter().zip(&mut results));
    let draw = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((task, result)) = draw() {
            *result = Some(perform(task));
        }
    };
    thread::scope(|scope| {
        for _ in 0..others {
            if builder().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    results.into_iter().flatten().collect()
}

/// Range of pages: the places of the table.
#[derive(Debug, Clone, Copy)]
struct Places<'a> {
    shift: u32,
    pages_per_unit: u32,
    /// Of each unit the first pages; no other may be mapped.
    usable: &'a [u32],
}

impl Places<'_> {
    fn count(self) -> usize {
        self.usable.len() * self.pages_per_unit as usize
    }

    /// The place that an address names, whether or not it is usable.
    #[inline]
    fn index(self, address: u32) -> Option<usize> {
        let unit = (address >> self.shift) as usize;
        let offset = address & ((1 << self.shift) - 1);
        let is_one = unit < self.usable.len() && offset < self.pages_per_unit;
        is_one.then(|| unit * self.pages_per_unit as usize + offset as usize)
    }

    fn is_usable(self, index: usize) -> bool {
        let (unit, offset) = (
            index / self.pages_per_unit as usize,
            index % self.pages_per_unit as usize,
        );
        offset < self.usable[unit] as usize
    }
}

impl Reverse {
    /// Checks a mapping, and makes its reverse. Of each unit the first pages are `usable`; no other may be mapped.
    ///
    /// # Errors
    /// When a page lies where none was written, or two lie at one place.
    pub(super) fn of(
        config: &Config,
        l2p: &[u32],
        usable: &[u32],
        division: Division,
    ) -> Result<Reverse, StateError> {
        let places = Places {
            shift: config.unit_shift(),
            pages_per_unit: config.pages_per_unit,
            usable,
        };
        made(places, l2p, division).ok_or_else(|| contradiction(places, l2p))
    }
}

/// The tables, unless the mapping contradicts itself.
fn made(places: Places<'_>, l2p: &[u32], division: Division) -> Option<Reverse> {
    let share = l2p.len().div_ceil(division.threads).max(1);
    let shares: Vec<Share<'_>> = l2p
        .chunks(share)
        .enumerate()
        .map(|(number, l2p)| Share {
            first: (number * share) as u32,
            l2p,
        })
        .collect();
    let parts = places.count().div_ceil(1 << division.part_shift);
    let counts = each(shares.clone(), |share| {
        share.counted(places, division, parts)
    });
    let counts = counts.into_iter().collect::<Option<Vec<_>>>()?;
    let mut p2l = Table::filled(0, places.count());
    let sorted = {
        let buckets = buckets(&mut p2l, &counts, division.part_shift)?;
        let tasks = shares.into_iter().zip(buckets).collect();
        each(tasks, |(share, buckets)| {
            share.sorted(places, division, buckets)
        })
    };
    let part_share = parts.div_ceil(division.threads).max(1);
    let tasks = p2l
        .chunks_mut(part_share << division.part_shift)
        .zip((0..).step_by(part_share))
        .collect();
    let placed = each(tasks, |(table, first)| {
        let mut entries = Vec::new();
        let mut parts = table.chunks_mut(1 << division.part_shift).zip(first..);
        parts.try_for_each(|(table, part)| {
            let own = counts.iter().zip(&sorted);
            let own = own.map(|(counts, far)| (counts[part] as usize, &far[part][..]));
            place(table, part, own, division, &mut entries)
        })
    });
    placed.into_iter().collect::<Option<()>>()?;
    let unit_share = places.usable.len().div_ceil(division.threads).max(1);
    let tables = p2l.chunks(unit_share * places.pages_per_unit as usize);
    let tasks = tables.zip(places.usable.chunks(unit_share)).collect();
    let valid = each(tasks, |(p2l, usable)| {
        valid(p2l, places.pages_per_unit as usize, usable)
    });
    let mut valid = valid.into_iter().collect::<Option<Vec<_>>>()?.concat();
    // A place without a page looks like the first page's, which is therefore looked at last.
    if let Some(&address) = l2p.first().filter(|&&address| address != NONE) {
        let index = places.index(address)?;
        if !places.is_usable(index) || p2l[index] != 0 {
            return None;
        }
        valid[index / places.pages_per_unit as usize] += 1;
    }
    let mapped = valid.iter().map(|&count| u64::from(count)).sum();
    Some(Reverse { p2l, valid, mapped })
}

/// Contradiction in a mapping, found page by page.
#[cold]
fn contradiction(places: Places<'_>, l2p: &[u32]) -> StateError {
    let mut p2l = vec![NONE; places.count()];
    for (page, &address) in (0_u32..).zip(l2p) {
        if address == NONE {
            continue;
        }
        let index = places.index(address);
        let Some(index) = index.filter(|&index| places.is_usable(index)) else {
            return StateError::Inconsistent(format!("page {page} lies where none was written"));
        };
        let other = mem::replace(&mut p2l[index], page);
        if other != NONE {
            return StateError::Inconsistent(format!("pages {other} and {page} lie at one place"));
        }
    }
    StateError::Inconsistent("its mapping cannot be reversed".to_owned())
}

/// Logical pages that one thread goes through, from the first on.
#[derive(Debug, Clone, Copy)]
struct Share<'a> {
    first: u32,
    l2p: &'a [u32],
}

impl Share<'_> {
    /// Each mapped page but the drive's first, and its place if there is such a one.
    fn pages(self, places: Places<'_>) -> impl Iterator<Item = (u32, Option<usize>)> {
        let pages = (self.first..).zip(self.l2p);
        pages
            .filter(|&(page, &address)| page != 0 && address != NONE)
            .map(move |(page, &address)| (page, places.index(address)))
    }

    /// Number of pages of this share in each part of the table.
    fn counted(self, places: Places<'_>, division: Division, parts: usize) -> Option<Vec<u32>> {
        let mut counts = vec![0; parts];
        for (_, index) in self.pages(places) {
            counts[index? >> division.part_shift] += 1;
        }
        Some(counts)
    }

    /// Sorts the pages into the buckets, one for each part, and answers what is far of each.
    fn sorted(
        self,
        places: Places<'_>,
        division: Division,
        mut buckets: Vec<Bucket<'_>>,
    ) -> Vec<Vec<u32>> {
        let (part_shift, most) = (division.part_shift, division.far());
        let mask = (1 << part_shift) - 1;
        for (page, index) in self.pages(places) {
            let Some(index) = index else { continue };
            let bucket = &mut buckets[index >> part_shift];
            let further = page - bucket.last;
            if further >= most {
                bucket.far.push(page);
            }
            if let Some(slot) = bucket.slots.get_mut(bucket.at) {
                *slot = further.min(most) << part_shift | index as u32 & mask;
            }
            bucket.last = page;
            bucket.at += 1;
            if bucket.at >= bucket.slots.len() {
                bucket.at = 0;
            }
        }
        buckets.into_iter().map(|bucket| bucket.far).collect()
    }
}

/// Bucket in which one thread sorts pages of one part.
#[derive(Debug, Default)]
struct Bucket<'a> {
    slots: &'a mut [u32],
    /// Place of the next page.
    at: usize,
    last: u32,
    /// Pages that are further from the one before than an entry can say: of pages at random one in a million at
    /// 1 TiB, one in fifty at 4 TiB.
    far: Vec<u32>,
}

/// The table cut into each thread's buckets, one for each part; `None` if a part has more pages than places.
fn buckets<'a>(
    table: &'a mut [u32],
    counts: &[Vec<u32>],
    part_shift: u32,
) -> Option<Vec<Vec<Bucket<'a>>>> {
    let mut buckets: Vec<Vec<Bucket<'a>>> = counts.iter().map(|_| Vec::new()).collect();
    for (number, mut part) in table.chunks_mut(1 << part_shift).enumerate() {
        for (own, counts) in buckets.iter_mut().zip(counts) {
            let (slots, rest) = part.split_at_mut_checked(counts[number] as usize)?;
            part = rest;
            own.push(Bucket {
                at: start(number, slots.len()),
                slots,
                ..Bucket::default()
            });
        }
    }
    Some(buckets)
}

/// First place that sorting into a bucket fills; after the last place it continues at the first. Parts lie powers of two
/// apart, and caches would have all their beginnings in one place: so it is a page of memory and a line further for
/// each part.
fn start(part: usize, count: usize) -> usize {
    (part * (4096 + 64) / size_of::<u32>()) % count.max(1)
}

/// Puts the pages of a part into their places: each thread's, so many, with what is far of them. `entries` is memory
/// to do it in. `None` if two lie at one place.
fn place<'a>(
    places: &mut [u32],
    part: usize,
    own: impl Iterator<Item = (usize, &'a [u32])> + Clone,
    division: Division,
    entries: &mut Vec<u32>,
) -> Option<()> {
    entries.clear();
    let mut sorted = 0;
    for (count, _) in own.clone() {
        let (last, first) = places[sorted..][..count].split_at(start(part, count));
        entries.extend_from_slice(first);
        entries.extend_from_slice(last);
        sorted += count;
    }
    places[..sorted].fill(0);
    let (part_shift, most) = (division.part_shift, division.far());
    let mask = (1 << part_shift) - 1;
    let mut entries = &entries[..];
    for (count, far) in own {
        let (now, later) = entries.split_at(count);
        entries = later;
        let (mut page, mut far) = (0, far.iter());
        for &entry in now {
            page = match entry >> part_shift {
                further if further < most => page + further,
                _ => far.next().copied().unwrap_or(page),
            };
            if mem::replace(&mut places[(entry & mask) as usize], page) != 0 {
                return None;
            }
        }
    }
    Some(())
}

/// Number of pages in each unit, the drive's first apart; `None` if one lies where none was written.
fn valid(p2l: &[u32], pages_per_unit: usize, usable: &[u32]) -> Option<Vec<u32>> {
    let units = p2l.chunks(pages_per_unit).zip(usable);
    let count = units.map(|(unit, &usable)| {
        let (written, rest) = unit.split_at(usable as usize);
        let count = written.iter().map(|&page| u32::from(page != 0)).sum();
        rest.iter().all(|&page| page == 0).then_some(count)
    });
    count.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::tests::small;

    /// One page after the other, as the words say.
    fn plainly(config: &Config, l2p: &[u32], usable: &[u32]) -> Option<(Vec<u32>, Vec<u32>, u64)> {
        let mut p2l = vec![None; usable.len() * config.pages_per_unit as usize];
        let (mut valid, mut mapped) = (vec![0; usable.len()], 0);
        for (page, &address) in (0..).zip(l2p) {
            if address != NONE {
                let unit = (address >> config.unit_shift()) as usize;
                let offset = address & ((1 << config.unit_shift()) - 1);
                if offset >= *usable.get(unit)? {
                    return None;
                }
                let slot = &mut p2l[unit * config.pages_per_unit as usize + offset as usize];
                if slot.replace(page).is_some() {
                    return None;
                }
                valid[unit] += 1;
                mapped += 1;
            }
        }
        let p2l = p2l.into_iter().map(|page| page.unwrap_or(0)).collect();
        Some((p2l, valid, mapped))
    }

    proptest! {
        /// Mappings of few pages and many, whole and spoilt, with units that are no power of two.
        #[test]
        fn a_sorted_table_is_the_one_made_page_by_page(
            pages_per_unit in 1_u32..40,
            units in 1_u32..30,
            part_shift in prop::sample::select(vec![1_u32, 3, 6, 17, 28, 31]),
            far in prop::sample::select(vec![0_u32, 1, 2, 5, 40, u32::MAX]),
            threads in 1_usize..5,
            keys in prop::collection::vec(any::<u32>(), 1..600),
            spoilt in prop::collection::vec((any::<usize>(), any::<usize>()), 0..2),
            short in any::<prop::sample::Index>(),
        ) {
            let config = Config { pages_per_unit, physical_units: units, ..small() };
            let mut usable = vec![pages_per_unit; units as usize];
            usable[short.index(units as usize)] /= 2;
            let all = usable.iter().zip(0_u32..);
            let mut places: Vec<u32> = all
                .flat_map(|(&usable, unit)| (0..usable).map(move |at| (unit, at)))
                .map(|(unit, at)| unit << config.unit_shift() | at)
                .collect();
            places.sort_by_key(|&place| keys[place as usize % keys.len()].wrapping_mul(place | 1));
            // Every third page is mapped, or every one.
            let step = 1 + 2 * (keys[0] % 2) as usize;
            let mut l2p = vec![NONE; places.len() * step + 1];
            for (slot, place) in l2p.iter_mut().skip(keys[0] as usize % 3 % step).step_by(step).zip(places) {
                *slot = place;
            }
            for (to, from) in spoilt {
                let (to, from) = (to % l2p.len(), from % l2p.len());
                l2p[to] = if from % 7 == 0 { from as u32 } else { l2p[from] };
            }
            let division = Division { part_shift, far, threads };
            let found = Reverse::of(&config, &l2p, &usable, division).ok();
            let found = found.map(|found| (found.p2l.to_vec(), found.valid, found.mapped));
            prop_assert_eq!(found, plainly(&config, &l2p, &usable));
        }
    }

    /// No system has a stack of so many bytes.
    #[test]
    fn where_the_system_refuses_threads_this_one_performs_all_tasks_in_order() {
        let refused = || thread::Builder::new().stack_size(1 << 60);
        assert!(refused().spawn(|| ()).is_err());
        let this = thread::current().id();
        let performed = each_by(refused, (0..9).collect(), |task| {
            (task, thread::current().id() == this)
        });
        assert_eq!(
            performed,
            (0..9).map(|task| (task, true)).collect::<Vec<_>>()
        );
        let performed = each((0..9).collect(), |task| task * task);
        assert_eq!(
            performed,
            (0..9).map(|task| task * task).collect::<Vec<_>>()
        );
    }
}
