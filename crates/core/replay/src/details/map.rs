//! A drive as a map that shows the content of each of its erase units.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::engine::Engine;

use super::owners::Owners;

/// The most cells of a map; on larger drives each cell stands for several units (our choice: what a
/// screen can show).
pub(super) const MOST_CELLS: u32 = 2048;
/// The most writers shown by name (our choice: with "others" they fit a hexadecimal digit).
const MOST_WRITERS: usize = 15;
/// Writers counted during the run, when it is not known yet which of them will have written most.
const CANDIDATES: usize = 63;
/// Writers shown in each cell (our choice).
const WRITERS_A_CELL: usize = 3;
/// The stream number of a cell in which nothing is in use.
const FREE: u8 = 0xff;
/// The stream number that stands for all streams above 253.
const OTHER_STREAM: u8 = 0xfe;

/// Maps of a drive over a run. A cell is `units_per_cell` neighbouring units; three strings for
/// each moment hold all cells, in fixed numbers of lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DriveMap {
    /// Erase units in each cell; the last cell may have fewer.
    pub units_per_cell: u32,
    /// Number of cells.
    pub cells: u32,
    /// The contexts that [`Moment::writers`] refers to, those that wrote most.
    pub writers: Vec<u32>,
    /// The moments, oldest first; the last is the end of the run.
    pub moments: Vec<Moment>,
}

/// The map at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Bytes the host had written.
    pub host_page_bytes: u64,
    /// Bytes that had been programmed into the flash.
    pub media_bytes: u64,
    /// Two digits a cell: the stream that holds most of its valid pages; `fe` for a stream above
    /// 253, `ff` for a free cell.
    pub streams: String,
    /// Two digits a cell: its valid pages, in 255ths of what it can hold.
    pub valid: String,
    /// Nine digits a cell, three for each of the writers of most of its valid pages: one for the
    /// writer (an index of [`DriveMap::writers`], `f` for any other), two for its pages in 255ths
    /// of what the cell can hold.
    pub writers: String,
}

/// A moment in the form it has while the drive runs.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    host_page_bytes: u64,
    media_bytes: u64,
    streams: Vec<u8>,
    valid: Vec<u8>,
    /// [`WRITERS_A_CELL`] a cell: a context and its share.
    writers: Vec<(u16, u8)>,
}

/// The context number under which no writer is shown.
const NO_CONTEXT: u16 = u16::MAX;

/// The division of a drive's units into cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells {
    units: u32,
    pages_per_unit: u32,
    units_per_cell: u32,
}

impl Cells {
    pub(super) fn of(units: u32, pages_per_unit: u32) -> Cells {
        Cells {
            units,
            pages_per_unit,
            units_per_cell: units.div_ceil(MOST_CELLS).max(1),
        }
    }

    fn count(self) -> usize {
        self.units.div_ceil(self.units_per_cell) as usize
    }

    fn of_unit(self, unit: u32) -> usize {
        (unit / self.units_per_cell) as usize
    }

    fn units(self, cell: usize) -> std::ops::Range<u32> {
        let first = cell as u32 * self.units_per_cell;
        first..(first + self.units_per_cell).min(self.units)
    }

    /// A number of pages in 255ths of a cell.
    fn share(self, cell: usize, pages: u32) -> u8 {
        let room = self.units(cell).len() as f64 * f64::from(self.pages_per_unit);
        (255.0 * f64::from(pages) / room.max(1.0))
            .round()
            .min(255.0) as u8
    }

    /// Takes a map of the whole drive. `context_of` gives an owner's context; `written_pages` is
    /// what each context has written so far.
    pub(super) fn snapshot(
        self,
        engine: &Engine,
        owners: &Owners,
        context_of: fn(u32) -> u16,
        written_pages: &[u64],
    ) -> Snapshot {
        let candidates = most(written_pages, CANDIDATES);
        let mut class_of = vec![CANDIDATES; written_pages.len()];
        for (class, &context) in candidates.iter().enumerate() {
            class_of[usize::from(context)] = class;
        }
        let mut pages = vec![0_u32; self.count() * (CANDIDATES + 1)];
        for page in 0..engine.config().logical_pages {
            let Some((unit, _)) = engine.locate(page) else {
                continue;
            };
            let owner = owners.owner_of(page as usize).map(context_of);
            let class = owner.and_then(|context| class_of.get(usize::from(context)));
            let class = class.copied().unwrap_or(CANDIDATES);
            pages[self.of_unit(unit) * (CANDIDATES + 1) + class] += 1;
        }
        let counters = engine.counters();
        let page_bytes = u64::from(engine.config().page_bytes);
        let mut snapshot = Snapshot {
            host_page_bytes: counters.host_pages * page_bytes,
            media_bytes: counters.media_pages() * page_bytes,
            streams: Vec::with_capacity(self.count()),
            valid: Vec::with_capacity(self.count()),
            writers: Vec::with_capacity(self.count() * WRITERS_A_CELL),
        };
        for (cell, classes) in pages.chunks_exact(CANDIDATES + 1).enumerate() {
            let (stream, valid) = self.content(engine, cell);
            snapshot.streams.push(stream);
            snapshot.valid.push(self.share(cell, valid));
            let mut ranks: Vec<usize> = (0..CANDIDATES).filter(|&at| classes[at] > 0).collect();
            ranks.sort_by_key(|&class| std::cmp::Reverse(classes[class]));
            for rank in 0..WRITERS_A_CELL {
                snapshot.writers.push(match ranks.get(rank) {
                    Some(&class) => (candidates[class], self.share(cell, classes[class])),
                    None => (NO_CONTEXT, 0),
                });
            }
        }
        snapshot
    }

    /// The stream with most valid pages in a cell, and the valid pages of all its streams.
    fn content(self, engine: &Engine, cell: usize) -> (u8, u32) {
        let mut streams: Vec<(u16, u32)> = Vec::new();
        for (stream, valid) in self.units(cell).filter_map(|unit| engine.unit(unit)) {
            match streams.iter_mut().find(|(id, _)| *id == stream.0) {
                Some((_, pages)) => *pages += valid,
                None => streams.push((stream.0, valid)),
            }
        }
        let valid = streams.iter().map(|(_, pages)| pages).sum();
        let first = streams.iter().max_by_key(|(_, pages)| pages);
        let digit = |&(id, _): &(u16, u32)| u8::try_from(id).unwrap_or(OTHER_STREAM);
        let stream = first.map_or(FREE, |stream| digit(stream).min(OTHER_STREAM));
        (stream, valid)
    }

    /// The map of these moments. `written_pages` is what each context wrote in the whole run.
    pub(super) fn map<'a>(
        self,
        snapshots: impl Iterator<Item = &'a Snapshot>,
        written_pages: &[u64],
    ) -> DriveMap {
        let writers = most(written_pages, MOST_WRITERS);
        DriveMap {
            units_per_cell: self.units_per_cell,
            cells: self.count() as u32,
            moments: snapshots.map(|one| one.moment(&writers)).collect(),
            writers: writers.into_iter().map(u32::from).collect(),
        }
    }
}

/// The contexts that wrote most, at most `count`.
fn most(written_pages: &[u64], count: usize) -> Vec<u16> {
    let wrote = |&context: &usize| written_pages[context] > 0;
    let mut ranks: Vec<usize> = (0..written_pages.len()).filter(wrote).collect();
    ranks.sort_by_key(|&context| std::cmp::Reverse(written_pages[context]));
    ranks
        .into_iter()
        .take(count)
        .filter_map(|context| u16::try_from(context).ok())
        .collect()
}

impl Snapshot {
    pub(super) fn host_page_bytes(&self) -> u64 {
        self.host_page_bytes
    }

    fn moment(&self, named: &[u16]) -> Moment {
        let name = |context: u16| named.iter().position(|&one| one == context);
        let mut writers = String::with_capacity(self.writers.len() * 3);
        for &(context, share) in &self.writers {
            // Writing to a string cannot fail.
            let _ = write!(writers, "{:x}{share:02x}", name(context).unwrap_or(15));
        }
        Moment {
            host_page_bytes: self.host_page_bytes,
            media_bytes: self.media_bytes,
            streams: hexadecimal(&self.streams),
            valid: hexadecimal(&self.valid),
            writers,
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
