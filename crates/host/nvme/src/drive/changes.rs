//! Changes of the mapping while a checkpoint copies it, a part at a time.

use std::{collections::VecDeque, ops::Range};

use anabranch_ssd::PageRange;

use super::{Kind, ServedDrive, StateError};

/// Event that may have changed the mapping.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Pages of a unit were programmed, from the first on: by the host or by a copy.
    Programmed { unit: u32, first: u32, count: u32 },
    /// Logical pages were discarded.
    Discarded(PageRange),
}

/// Changes since a copy began; none are kept while there is none.
#[derive(Debug, Default)]
pub(crate) struct Changes(Option<VecDeque<Change>>);

impl Changes {
    #[inline]
    pub(super) fn programmed(&mut self, unit: u32, first: u32, count: u32) {
        if let Some(changes) = &mut self.0 {
            changes.push_back(Change::Programmed { unit, first, count });
        }
    }

    #[inline]
    pub(super) fn discarded(&mut self, pages: PageRange) {
        if let Some(changes) = &mut self.0 {
            changes.push_back(Change::Discarded(pages));
        }
    }

    /// The next change, of no more than `most` pages; the rest of it comes next.
    fn next(&mut self, most: u32) -> Option<Change> {
        let changes = self.0.as_mut()?;
        let change = changes.pop_front()?;
        match change {
            Change::Programmed { unit, first, count } if count > most => {
                changes.push_front(Change::Programmed {
                    unit,
                    first: first + most,
                    count: count - most,
                });
                Some(Change::Programmed {
                    unit,
                    first,
                    count: most,
                })
            }
            Change::Discarded(pages) if pages.count > most => {
                let (first, count) = (pages.first, pages.count);
                changes.push_front(Change::Discarded(PageRange::new(
                    first + most,
                    count - most,
                )));
                Some(Change::Discarded(PageRange::new(first, most)))
            }
            change => Some(change),
        }
    }
}

impl ServedDrive {
    fn changes(&mut self) -> &mut Changes {
        &mut self.watch_mut().changes
    }

    /// Pages are discarded: what lies beyond the drive is refused, and is no change.
    pub(super) fn record_discarded(&mut self, pages: PageRange) {
        if pages.first.checked_add(pages.count).is_some() {
            self.changes().discarded(pages);
        }
    }

    /// Begins to record changes of the mapping.
    pub(crate) fn begin_copy(&mut self) {
        *self.changes() = Changes(Some(VecDeque::new()));
    }

    /// Stops recording them.
    pub(crate) fn end_copy(&mut self) {
        *self.changes() = Changes(None);
    }

    /// Pages whose place may have changed since the copy began or this was asked last: `most` of them,
    /// and perhaps once more. Answers with them and whether that was all.
    pub(crate) fn changed(&mut self, most: u32) -> (Vec<u32>, bool) {
        let mut pages = Vec::new();
        let mut looked_at = 0;
        while looked_at < most {
            let Some(change) = self.changes().next(most - looked_at) else {
                return (pages, true);
            };
            match change {
                Change::Programmed { unit, first, count } => {
                    looked_at += count;
                    let places = first..first + count;
                    pages.extend(places.filter_map(|offset| self.page_at(unit, offset)));
                }
                Change::Discarded(discarded) => {
                    looked_at += discarded.count;
                    pages.extend(discarded.first..discarded.first + discarded.count);
                }
            }
        }
        (pages, false)
    }

    fn page_at(&self, unit: u32, offset: u32) -> Option<u32> {
        self.device().page_at(unit, offset)
    }

    /// Appends where each of these pages lies and, where ages are kept, when it was written.
    pub(crate) fn mapping(&self, pages: Range<u32>, places: &mut Vec<u32>, ages: &mut Vec<u32>) {
        self.device().mapping(pages, places, ages)
    }

    /// Whether it is kept when each page was written.
    pub(crate) fn keeps_ages(&self) -> bool {
        self.device().keeps_ages()
    }

    /// Writes the translation layer's state but for the mapping.
    pub(crate) fn save_around(&self, to: impl std::io::Write) -> Result<(), StateError> {
        match &self.kind {
            Kind::Streams {
                device, placement, ..
            } => device.save_around(placement.relocation(), to),
            Kind::Fdp(fdp) => fdp.save_around(to),
        }
    }
}
