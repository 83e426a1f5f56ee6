//! From what the translation layer decides to operations of the flash.

use super::{
    die::{Operation, Task},
    flash::Flash,
    pending::{Kind, Pending},
};
use crate::observe::{Observe, Origin};

/// The row of a victim that garbage collection is reading.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    unit: u32,
    /// The pages of the row from this one on are still to be read.
    start: u32,
    end: u32,
    /// Number of its pages that are read.
    pages: u32,
    /// Whether the row's pages are in the buffer: there is nothing to read.
    buffered: bool,
}

impl Observe for Flash {
    const WANTS_COPIES: bool = true;

    #[inline]
    fn programmed(&mut self, unit: u32, first: u32, count: u32, origin: Origin) {
        let program_pages = self.shape.program_pages;
        let (mut page, mut left) = (first, count);
        while left > 0 {
            let program = page / program_pages;
            let end = ((program + 1) * program_pages).min(self.shape.pages_per_unit);
            let now = left.min(end - page);
            self.gather(unit, program, now, origin);
            page += now;
            left -= now;
            if page == end {
                self.hand_program(unit);
            }
        }
    }

    #[inline]
    fn copied(&mut self, unit: u32, page: u32) {
        let row = &mut self.row;
        if unit == row.unit && (row.start..row.end).contains(&page) {
            row.start = page + 1;
            row.pages += 1;
            return;
        }
        self.begin_row(unit, page);
    }

    fn finished(&mut self, unit: u32) {
        if self.units.get(unit).pages > 0 {
            self.hand_program(unit);
        }
    }

    fn erased(&mut self, unit: u32) {
        self.end_row();
        self.drop_program(unit);
        let first = self.shape.first_die(unit);
        let dies = self.shape.dies_per_unit.min(self.shape.programs_per_unit);
        for die in first..first + dies {
            self.hand_collection(die, Task::Erase, 0);
        }
        self.units.get(unit).erase = self.collected;
    }
}

impl Flash {
    /// Pages join a unit's program operation.
    #[inline]
    fn gather(&mut self, unit: u32, program: u32, pages: u32, origin: Origin) {
        let time = self.units.get(unit);
        if time.pages == 0 {
            time.program = program;
            let place = self.units.place(unit, program);
            self.units.begin(place);
        }
        let time = self.units.get(unit);
        time.pages += pages;
        if origin == Origin::Host {
            time.host_pages += pages;
            if self.rewriting {
                time.rewritten_pages += pages;
            }
            self.buffer.write(pages);
            if !self.shape.timing.power_loss_protection {
                self.units.list_unsafe(unit);
            }
        }
    }

    /// A unit's program operation has all its pages: it goes to its die.
    fn hand_program(&mut self, unit: u32) {
        let time = self.units.get(unit);
        let (program, pages, host_pages) = (time.program, time.pages, time.host_pages);
        let (number, rewritten_pages) = (time.erase, time.rewritten_pages);
        time.clear();
        let die = self.shape.die(unit, program);
        let task = Task::Program {
            place: self.units.place(unit, program),
            host_pages,
            rewritten_pages,
            draft: false,
            epoch: self.buffer.epoch(),
        };
        match host_pages {
            0 => self.hand_collection(die, task, pages),
            _ => self.hold(
                die,
                Operation {
                    task,
                    pages,
                    number,
                },
            ),
        }
    }

    /// A program operation of the host's goes to its die once all its pages are in the buffer.
    fn hold(&mut self, die: u32, operation: Operation) {
        self.share.write();
        if let Some(operation) = self.buffer.hold(die, operation) {
            self.hand_host(die, operation);
        }
    }

    /// A unit erased before its last program operation had all its pages: what lived of them is
    /// elsewhere by now.
    fn drop_program(&mut self, unit: u32) {
        let time = self.units.get(unit);
        if time.pages == 0 {
            return;
        }
        let (program, host_pages) = (time.program, time.host_pages);
        time.clear();
        let place = self.units.place(unit, program);
        self.units.programmed(place);
        self.buffer.free(host_pages);
        self.admit();
    }

    fn begin_row(&mut self, unit: u32, page: u32) {
        self.end_row();
        let place = self.units.place(unit, page / self.shape.program_pages);
        self.row = Row {
            unit,
            start: page + 1,
            end: (page / self.shape.row_pages + 1) * self.shape.row_pages,
            pages: 1,
            buffered: self.units.is_buffered(place),
        };
    }

    /// Hands the row that was begun to its die.
    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        if row.pages > 0 && !row.buffered {
            let program = (row.end - 1) / self.shape.program_pages;
            let die = self.shape.die(row.unit, program);
            self.hand_collection(die, Task::Read, row.pages);
        }
    }

    /// The host flushes: what it wrote is to be safe from a loss of power.
    pub(super) fn flush(&mut self, started: u64) {
        let pending = Pending {
            kind: Kind::Flush,
            started,
            pages: 0,
            tag: self.requests.tag,
        };
        self.requests.begin(Kind::Flush);
        while let Some(unit) = self.units.take_unsafe() {
            self.flush_unit(unit);
        }
        if self.shape.timing.power_loss_protection || self.buffer.flush(pending) {
            self.requests.answer(pending, self.now);
        }
    }

    /// Programs what a unit's program operation has gathered of the host's, though it is not full.
    /// The pages stay in the buffer: they are programmed again, at their place, with the rest.
    fn flush_unit(&mut self, unit: u32) {
        let epoch = self.buffer.epoch();
        let time = self.units.get(unit);
        let pages = time.host_pages - time.flushed_pages;
        if pages == 0 {
            return;
        }
        time.flushed_pages = time.host_pages;
        let (program, number) = (time.program, time.erase);
        let task = Task::Program {
            place: self.units.place(unit, program),
            host_pages: pages,
            // Who flushes waits for it, whatever it holds.
            rewritten_pages: 0,
            draft: true,
            epoch,
        };
        let die = self.shape.die(unit, program);
        self.hold(
            die,
            Operation {
                task,
                pages,
                number,
            },
        );
    }

    /// The host reads `pages` pages. Those of them that lie in units are at `places` (unit, page).
    pub(super) fn read(&mut self, kind: Kind, started: u64, pages: u32, places: &[(u32, u32)]) {
        self.requests.begin(kind);
        let request = self.requests.read(Pending {
            kind,
            started,
            pages,
            tag: self.requests.tag,
        });
        // The row at hand, and how many of its pages are wanted.
        let mut row = (u32::MAX, 0, 0);
        for &(unit, page) in places {
            let program = page / self.shape.program_pages;
            if self.units.is_buffered(self.units.place(unit, program)) {
                continue;
            }
            let next = (unit, page / self.shape.row_pages);
            if next != (row.0, row.1) {
                self.read_row(request, row);
                row = (next.0, next.1, 0);
            }
            row.2 += 1;
        }
        self.read_row(request, row);
        self.requests.answer_without_flash(request, self.now);
    }

    fn read_row(&mut self, request: u32, (unit, row, pages): (u32, u32, u32)) {
        if pages == 0 {
            return;
        }
        let program = row / self.shape.timing.pages_per_word_line;
        let die = self.shape.die(unit, program);
        self.requests.part(request);
        self.hand_read(die, request, pages);
    }
}
