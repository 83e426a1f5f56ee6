//! A slow, obvious flash translation layer to hold the fast one against: vectors of vectors,
//! searches over everything, no index.

use anabranch_ssd::{Config, RelocationKind, Victim};

struct Unit {
    stream: u16,
    /// Logical page in each written slot; `None` once it died.
    pages: Vec<Option<u32>>,
    closed: bool,
    /// When the unit last closed or lost a page: among equals the longest unchanged goes first.
    changed: u64,
    written_at: u64,
}

pub struct Naive {
    config: Config,
    relocation: Box<dyn anabranch_ssd::Relocate>,
    /// `None` is a free unit; freed units go to the back of `free`.
    units: Vec<Option<Unit>>,
    free: Vec<usize>,
    clock: u64,
    pub host_pages: u64,
    pub copied_pages: u64,
    pub erased_units: u64,
    pub sealed_units: u64,
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
            written_at,
        });
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
                self.units[unit]
                    .as_ref()
                    .is_some_and(|unit| !unit.closed && unit.stream != wanting && unit.stream != 0)
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
                self.empty(idle, 0);
                return true;
            }
        }
        let Some(victim) = victim.filter(|_| gain > 0) else {
            return false;
        };
        let unit = self.units[victim].as_ref().expect("closed");
        let destination = self.relocation.destination(Victim {
            stream: anabranch_ssd::StreamId(unit.stream),
            valid_pages: Naive::valid(unit) as u32,
        });
        self.empty(victim, destination.0);
        true
    }

    fn empty(&mut self, victim: usize, destination: u16) {
        let unit = self.units[victim].take().expect("a unit with data");
        for page in unit.pages.iter().flatten() {
            if self.open(destination).is_none() {
                self.open_unit(destination);
            }
            self.append(*page, destination);
            self.close_full();
            self.copied_pages += 1;
        }
        self.free.push(victim);
        self.erased_units += 1;
        let left = self
            .units
            .iter()
            .flatten()
            .filter(|other| other.stream == unit.stream)
            .count();
        self.relocation
            .erased(anabranch_ssd::StreamId(unit.stream), left as u32);
    }
}
