//! A slow, obvious flash translation layer to hold the fast one against: vectors of vectors,
//! searches over everything, no index.

use std::collections::BTreeMap;

use anabranch_ssd::{
    Config, StreamId,
    relocate::{Destination, Erased, Relocate, RelocationKind, Survivor, Victim},
};

struct Unit {
    stream: u16,
    /// Logical page in each written slot; `None` once it died.
    pages: Vec<Option<u32>>,
    closed: bool,
    /// When the unit last closed or lost a page: among equals the longest unchanged goes first.
    changed: u64,
    opened_at: u64,
    written_at: u64,
}

pub struct Naive {
    config: Config,
    relocation: Box<dyn Relocate>,
    /// When the host wrote each page.
    written: BTreeMap<u32, u64>,
    /// `None` is a free unit; freed units go to the back of `free`.
    units: Vec<Option<Unit>>,
    free: Vec<usize>,
    clock: u64,
    pub host_pages: u64,
    pub copied_pages: u64,
    pub erased_units: u64,
    pub sealed_units: u64,
    pub redirected_pages: u64,
}

impl Naive {
    pub fn new(config: Config, kind: RelocationKind) -> Naive {
        let units = config.physical_units as usize;
        Naive {
            relocation: kind.build(&config),
            units: (0..units).map(|_| None).collect(),
            free: (0..units).collect(),
            clock: 0,
            host_pages: 0,
            copied_pages: 0,
            erased_units: 0,
            sealed_units: 0,
            redirected_pages: 0,
            written: BTreeMap::new(),
            config,
        }
    }

    pub fn mapped(&self) -> Vec<u32> {
        let mut pages: Vec<u32> = self
            .units
            .iter()
            .flatten()
            .flat_map(|unit| unit.pages.iter().flatten().copied())
            .collect();
        pages.sort_unstable();
        pages
    }

    pub fn stream_of(&self, page: u32) -> Option<u16> {
        self.units
            .iter()
            .flatten()
            .find(|unit| unit.pages.contains(&Some(page)))
            .map(|unit| unit.stream)
    }

    pub fn discard(&mut self, page: u32) {
        for unit in self.units.iter_mut().flatten() {
            for slot in &mut unit.pages {
                if *slot == Some(page) {
                    *slot = None;
                    self.clock += 1;
                    unit.changed = self.clock;
                }
            }
        }
    }

    /// The device does not let a request's own pages die before it has found room for them.
    pub fn write_run(&mut self, pages: &[u32], stream: u16) {
        let mut rest = pages;
        while !rest.is_empty() {
            if self.open(stream).is_none() {
                self.make_room(stream);
            }
            let room = self
                .open(stream)
                .map(|unit| self.room(unit))
                .expect("room was made");
            let (now, later) = rest.split_at(room.min(rest.len()));
            for &page in now {
                self.discard(page);
                self.append(page, stream);
                self.written.insert(page, self.host_pages);
            }
            for unit in self
                .units
                .iter_mut()
                .flatten()
                .filter(|unit| unit.stream == stream && !unit.closed)
            {
                unit.written_at = self.host_pages;
            }
            self.close_full();
            self.host_pages += now.len() as u64;
            rest = later;
        }
    }

    fn room(&self, unit: usize) -> usize {
        self.config.pages_per_unit as usize
            - self.units[unit].as_ref().map_or(0, |unit| unit.pages.len())
    }

    fn open(&self, stream: u16) -> Option<usize> {
        self.units.iter().position(|unit| {
            unit.as_ref()
                .is_some_and(|unit| unit.stream == stream && !unit.closed)
        })
    }

    fn valid(unit: &Unit) -> usize {
        unit.pages.iter().flatten().count()
    }

    fn append(&mut self, page: u32, stream: u16) {
        let unit = self.open(stream).expect("an open unit");
        let at = self.host_pages;
        let unit = self.units[unit].as_mut().expect("an open unit");
        unit.pages.push(Some(page));
        unit.written_at = at;
    }

    fn close_full(&mut self) {
        for unit in self.units.iter_mut().flatten() {
            if !unit.closed && unit.pages.len() == self.config.pages_per_unit as usize {
                unit.closed = true;
                self.clock += 1;
                unit.changed = self.clock;
            }
        }
    }

    fn open_unit(&mut self, stream: u16) {
        let unit = self.free.remove(0);
        let written_at = self.host_pages;
        self.units[unit] = Some(Unit {
            stream,
            pages: Vec::new(),
            closed: false,
            changed: 0,
            opened_at: written_at,
            written_at,
        });
        self.relocation.opened(StreamId(stream));
    }

    fn make_room(&mut self, stream: u16) {
        let start = self.config.gc_start_free_units as usize;
        let stop = self.config.gc_stop_free_units as usize;
        let mut collecting = self.free.len() <= start;
        while collecting {
            let has_room = self.open(stream).is_some();
            let enough = self.free.len() > stop || (has_room && self.free.len() >= stop);
            collecting = !enough && self.collect_one(stream);
        }
        if self.open(stream).is_none() {
            assert!(self.free.len() > 1, "the naive device is stuck");
            self.open_unit(stream);
        }
    }

    fn collect_one(&mut self, wanting: u16) -> bool {
        let full = self.config.pages_per_unit as usize;
        let victim = (0..self.units.len())
            .filter(|&unit| self.units[unit].as_ref().is_some_and(|unit| unit.closed))
            .min_by_key(|&unit| {
                self.units[unit]
                    .as_ref()
                    .map(|unit| (Naive::valid(unit), unit.changed))
            });
        let gain = victim.map_or(0, |unit| {
            full - Naive::valid(self.units[unit].as_ref().expect("closed"))
        });
        let idle = (0..self.units.len())
            .filter(|&unit| {
                self.units[unit].as_ref().is_some_and(|unit| {
                    let target = self.relocation.seal(StreamId(unit.stream), StreamId(0));
                    let may = target.is_some_and(|target| target.0 != unit.stream);
                    !unit.closed && unit.stream != wanting && may
                })
            })
            .min_by_key(|&unit| {
                self.units[unit]
                    .as_ref()
                    .map(|unit| (unit.written_at, unit.stream))
            });
        if let Some(idle) = idle {
            let seal_gain = full - Naive::valid(self.units[idle].as_ref().expect("open"));
            if gain * 8 <= full && seal_gain >= gain * 8 {
                self.sealed_units += 1;
                let victim = self.victim(idle);
                let target = self.relocation.seal(victim.stream, StreamId(0));
                let target = target.expect("a stream that may be sealed");
                self.empty(idle, &victim, Destination::Stream(target));
                return true;
            }
        }
        let Some(victim) = victim.filter(|_| gain > 0) else {
            return false;
        };
        let view = self.victim(victim);
        let destination = self.relocation.destination(&view);
        self.empty(victim, &view, destination);
        true
    }

    fn victim(&self, unit: usize) -> Victim {
        let unit = self.units[unit].as_ref().expect("a unit with data");
        Victim {
            stream: StreamId(unit.stream),
            valid_pages: Naive::valid(unit) as u32,
            opened_at: unit.opened_at,
            now: self.host_pages,
        }
    }

    /// The stream a copy joins: the one meant for it; without a unit for that, the open one
    /// nearest in number.
    fn copy_stream(&mut self, wanted: u16) -> u16 {
        if self.open(wanted).is_some() {
            return wanted;
        }
        if !self.free.is_empty() {
            self.open_unit(wanted);
            return wanted;
        }
        let joins = |stream| self.relocation.may_join(StreamId(wanted), StreamId(stream));
        let units = self.units.iter().flatten();
        let open = units.filter(|unit| !unit.closed && joins(unit.stream));
        let nearest = open.min_by_key(|unit| (unit.stream.abs_diff(wanted), unit.stream));
        nearest.expect("an open unit").stream
    }

    fn empty(&mut self, index: usize, victim: &Victim, destination: Destination) {
        let unit = self.units[index].take().expect("a unit with data");
        for &page in unit.pages.iter().flatten() {
            let wanted = match destination {
                Destination::Stream(stream) => stream,
                Destination::Each => {
                    let age_pages = if self.relocation.wants_ages() {
                        self.host_pages - self.written[&page]
                    } else {
                        0
                    };
                    let survivor = Survivor { page, age_pages };
                    self.relocation.survivor(victim, survivor)
                }
            };
            let stream = self.copy_stream(wanted.0);
            self.append(page, stream);
            self.close_full();
            self.copied_pages += 1;
            self.redirected_pages += u64::from(stream != wanted.0);
        }
        self.free.push(index);
        self.erased_units += 1;
        let same = |other: &&Unit| other.stream == unit.stream;
        let left = self.units.iter().flatten().filter(same).count();
        self.relocation.erased(&Erased {
            stream: StreamId(unit.stream),
            units_left: left as u32,
            opened_at: unit.opened_at,
            now: self.host_pages,
        });
    }
}
