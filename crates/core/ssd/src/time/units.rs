//! Pending flash work of each unit.

/// A unit as its flash sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnitTime {
    /// The program operation that is gathering pages, and how many it has; 0 if none is.
    pub(super) program: u32,
    pub(super) pages: u32,
    /// Pages of that operation that the host wrote, and pages that a flush has made safe.
    pub(super) host_pages: u32,
    pub(super) flushed_pages: u32,
    /// Those of the host's pages that a host which collects has written anew.
    pub(super) rewritten_pages: u32,
    /// Whether the unit is on the list of units with pages to flush.
    pub(super) listed: bool,
    /// Number of the last operation of the unit's erase.
    pub(super) erase: u64,
}

impl UnitTime {
    /// Forgets the program operation that was gathering pages.
    pub(super) fn clear(&mut self) {
        (self.pages, self.host_pages) = (0, 0);
        (self.flushed_pages, self.rewritten_pages) = (0, 0);
    }
}

#[derive(Debug)]
pub(super) struct UnitTimes {
    units: Vec<UnitTime>,
    programs_per_unit: u32,
    /// For each place of a program operation, how many operations are in the buffer and not yet
    /// programmed. There is more than one only if the unit was erased before the first was
    /// programmed.
    unprogrammed: Vec<u8>,
    /// Units that may have pages to flush.
    unsafe_units: Vec<u32>,
}

impl UnitTimes {
    pub(super) fn new(units: u32, programs_per_unit: u32) -> UnitTimes {
        UnitTimes {
            units: vec![UnitTime::default(); units as usize],
            programs_per_unit,
            unprogrammed: vec![0; units as usize * programs_per_unit as usize],
            unsafe_units: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn get(&mut self, unit: u32) -> &mut UnitTime {
        &mut self.units[unit as usize]
    }

    /// Index of a unit's program operation among all of the drive's.
    #[inline]
    pub(super) fn place(&self, unit: u32, program: u32) -> u32 {
        unit * self.programs_per_unit + program
    }

    /// Whether the pages of a program operation are still in the buffer.
    #[inline]
    pub(super) fn is_buffered(&self, place: u32) -> bool {
        self.unprogrammed[place as usize] > 0
    }

    /// A program operation has begun to gather pages.
    pub(super) fn begin(&mut self, place: u32) {
        let count = &mut self.unprogrammed[place as usize];
        *count = count.saturating_add(1);
    }

    /// Marks a program operation as done, or as one that will never be.
    pub(super) fn programmed(&mut self, place: u32) {
        let count = &mut self.unprogrammed[place as usize];
        *count = count.saturating_sub(1);
    }

    /// A unit has host pages that a flush must make safe.
    #[inline]
    pub(super) fn list_unsafe(&mut self, unit: u32) {
        let time = &mut self.units[unit as usize];
        if !time.listed {
            time.listed = true;
            self.unsafe_units.push(unit);
        }
    }

    /// One of the units that may have pages to flush, taken off the list.
    pub(super) fn take_unsafe(&mut self) -> Option<u32> {
        let unit = self.unsafe_units.pop()?;
        self.units[unit as usize].listed = false;
        Some(unit)
    }
}
