//! The ledger of units: the pages of each, and the sum of their values.

use anabranch_ssd::{PageRange, StreamId};

use super::deaths::within;
use crate::geometry::HostGeometry;

/// Marks a page that lies in no unit.
const NOWHERE: u32 = u32::MAX;

/// Ledger of each logical page's unit, and of every unit the sum of a number that each of its
/// valid pages was entered with. 12 bytes a logical page, 12 a unit.
#[derive(Debug)]
pub(crate) struct Ledger {
    unit: Vec<u32>,
    number: Vec<u64>,
    sums: Vec<u64>,
    valid: Vec<u32>,
    open: Vec<Open>,
    pages_per_unit: u32,
}

/// The unit a stream fills.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    unit: Option<u32>,
    filled: u32,
}

impl Ledger {
    /// The ledger of an empty drive.
    pub(crate) fn new(geometry: &HostGeometry) -> Ledger {
        let logical_pages = geometry.logical_pages as usize;
        let units = geometry.physical_units as usize;
        let streams = usize::from(geometry.host_streams) + usize::from(geometry.internal_streams);
        Ledger {
            unit: vec![NOWHERE; logical_pages],
            number: vec![0; logical_pages],
            sums: vec![0; units],
            valid: vec![0; units],
            open: vec![Open::default(); streams],
            pages_per_unit: geometry.pages_per_unit,
        }
    }

    /// A page was written or copied into a unit of `stream`, and counts `number` there.
    pub(crate) fn enter(&mut self, page: u32, unit: u32, stream: StreamId, number: u64) {
        self.leave(page);
        let (index, at) = (page as usize, unit as usize);
        if index >= self.unit.len() || at >= self.sums.len() {
            return;
        }
        self.unit[index] = unit;
        self.number[index] = number;
        self.sums[at] += number;
        self.valid[at] += 1;
        if let Some(open) = self.open.get_mut(stream.index()) {
            open.take(unit, self.pages_per_unit);
        }
    }

    /// Data of a page are dead.
    pub(crate) fn leave(&mut self, page: u32) {
        let Some(unit) = self.unit.get_mut(page as usize) else {
            return;
        };
        if *unit != NOWHERE {
            self.sums[*unit as usize] -= self.number[page as usize];
            self.valid[*unit as usize] -= 1;
            *unit = NOWHERE;
        }
    }

    /// Data of pages are dead.
    pub(crate) fn leave_all(&mut self, pages: PageRange) {
        within(pages, self.unit.len()).for_each(|page| self.leave(page));
    }

    /// A stream begins a unit.
    pub(crate) fn opened(&mut self, stream: StreamId) {
        if let Some(open) = self.open.get_mut(stream.index()) {
            *open = Open::default();
        }
    }

    /// The mean number of a unit's valid pages, if it has any.
    pub(crate) fn mean(&self, unit: u32) -> Option<f64> {
        let valid = *self.valid.get(unit as usize)?;
        (valid > 0).then(|| self.sums[unit as usize] as f64 / f64::from(valid))
    }

    /// The mean death of the unit that a stream fills.
    pub(crate) fn open_mean(&self, stream: StreamId) -> Option<f64> {
        self.mean(self.open.get(stream.index())?.unit?)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let pages = self.unit.capacity() * (size_of::<u32>() + size_of::<u64>());
        let units = self.sums.capacity() * (size_of::<u32>() + size_of::<u64>());
        pages + units + self.open.capacity() * size_of::<Open>()
    }
}

impl Open {
    fn take(&mut self, unit: u32, pages_per_unit: u32) {
        if self.unit != Some(unit) {
            *self = Open {
                unit: Some(unit),
                filled: 0,
            };
        }
        self.filled += 1;
        if self.filled == pages_per_unit {
            *self = Open::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId(1);

    fn ledger(pages_per_unit: u32) -> Ledger {
        Ledger::new(&HostGeometry {
            logical_pages: 8,
            page_bytes: 4096,
            host_streams: 1,
            internal_streams: 1,
            pages_per_unit,
            physical_units: 2,
        })
    }

    #[test]
    fn a_unit_means_what_its_valid_pages_mean() {
        let mut ledger = ledger(3);
        ledger.enter(0, 1, STREAM, 10);
        ledger.enter(5, 1, STREAM, 20);
        assert_eq!(ledger.mean(1), Some(15.0));
        assert_eq!(ledger.open_mean(STREAM), Some(15.0));
        ledger.enter(0, 0, StreamId(0), 7);
        assert_eq!(ledger.mean(1), Some(20.0));
        assert_eq!(ledger.mean(0), Some(7.0));
        ledger.leave_all(PageRange::new(1, 7));
        assert_eq!(ledger.mean(1), None);
        assert_eq!(ledger.mean(0), Some(7.0));
    }

    #[test]
    fn a_full_unit_is_open_no_more() {
        let mut ledger = ledger(2);
        ledger.enter(0, 1, STREAM, 10);
        ledger.enter(1, 1, STREAM, 10);
        assert_eq!(ledger.open_mean(STREAM), None);
        assert_eq!(ledger.mean(1), Some(10.0));
        ledger.enter(2, 0, STREAM, 30);
        assert_eq!(ledger.open_mean(STREAM), Some(30.0));
        ledger.opened(STREAM);
        assert_eq!(ledger.open_mean(STREAM), None);
    }

    #[test]
    fn what_is_not_there_changes_nothing() {
        let mut ledger = ledger(2);
        ledger.enter(9, 0, STREAM, 1);
        ledger.enter(0, 9, STREAM, 1);
        ledger.leave(9);
        assert_eq!((ledger.mean(0), ledger.mean(9)), (None, None));
    }
}
