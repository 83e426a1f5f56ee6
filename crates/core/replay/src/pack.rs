//! Packing: page numbers are given out anew, so that a drive can be as full as its data ever were
//! at one time.

use anabranch_trace::{Io, Operation};

use crate::{Renumber, space::Space};

const NONE: u32 = u32::MAX;

/// Gives each page a number when it is written, the lowest that is free, and takes it back when it
/// is discarded. A drive then needs as many pages as hold data at any one time, instead of all
/// pages that ever held data: programs that write new files and delete old ones use many more
/// addresses than they fill. Packing keeps when data are written and die, and changes where they
/// lie: schemes that go by address see a file system that fills every hole.
///
/// Used on a trace whose addresses are dense ([`Renumber`]), once to count and once to replay.
#[derive(Debug, Clone)]
pub struct Pack {
    numbers: Renumber,
    page_bytes: u64,
    /// The number that each dense page has now.
    packed: Vec<u32>,
    space: Space,
    most_pages: u64,
}

impl Pack {
    /// A packer before the first write, for dense addresses of `dense_pages` pages; `None` for more than
    /// [`Pack::MOST_PAGES`].
    pub fn new(numbers: Renumber, page_bytes: u32, dense_pages: u64) -> Option<Pack> {
        let pages = usize::try_from(dense_pages.min(Pack::MOST_PAGES + 1)).ok()?;
        // IMPORTANT: a trace names any address it likes, and the table below has four bytes for each page.
        (dense_pages <= Pack::MOST_PAGES).then(|| Pack {
            numbers,
            page_bytes: u64::from(page_bytes.max(1)),
            packed: vec![NONE; pages],
            space: Space::new(0, u64::from(NONE)),
            most_pages: 0,
        })
    }

    /// The most pages ever written that can be packed: 2 TiB of 4 KiB, whose table takes 2 GiB (our choice).
    pub const MOST_PAGES: u64 = 1 << 29;

    /// The most pages that held data at one time.
    pub fn most_pages(&self) -> u64 {
        self.most_pages
    }

    /// Passes the request with packed addresses to `sink`, in as many pieces as they form. A write
    /// is widened to whole pages; discards and reads keep only pages that hold data.
    pub fn apply(&mut self, io: &Io, mut sink: impl FnMut(Io)) {
        if io.length_bytes == 0 {
            sink(*io);
            return;
        }
        let mut pieces = Vec::new();
        self.numbers.apply(io, |piece| pieces.push(piece));
        for piece in pieces {
            match piece.operation {
                Operation::Write => self.write(&piece, &mut sink),
                Operation::Discard | Operation::Read => self.others(&piece, &mut sink),
                Operation::Flush => sink(piece),
            }
        }
    }

    fn write(&mut self, io: &Io, sink: &mut impl FnMut(Io)) {
        let end = (io.offset_bytes + io.length_bytes).div_ceil(self.page_bytes) as usize;
        let first = (io.offset_bytes / self.page_bytes) as usize;
        let Some(pages) = self.packed.get_mut(first..end) else {
            return;
        };
        let new = pages.iter().filter(|&&number| number == NONE).count() as u64;
        // There are more numbers than pages.
        let taken = self.space.take_lowest(new).unwrap_or_default();
        let mut free = taken
            .into_iter()
            .flat_map(|(first, count)| first..first + count);
        for number in pages.iter_mut().filter(|number| **number == NONE) {
            *number = free.next().map_or(NONE, |number| number as u32);
        }
        self.most_pages = self
            .most_pages
            .max(u64::from(NONE) - self.space.free_pages());
        emit(io, self.page_bytes, pages, sink);
    }

    fn others(&mut self, io: &Io, sink: &mut impl FnMut(Io)) {
        let is_discard = io.operation == Operation::Discard;
        let end_bytes = io.offset_bytes + io.length_bytes;
        // A page that is discarded in part still holds data.
        let (first, end) = if is_discard {
            (
                io.offset_bytes.div_ceil(self.page_bytes),
                end_bytes / self.page_bytes,
            )
        } else {
            (
                io.offset_bytes / self.page_bytes,
                end_bytes.div_ceil(self.page_bytes),
            )
        };
        let Some(pages) = self.packed.get_mut(first as usize..end as usize) else {
            return;
        };
        emit(io, self.page_bytes, pages, sink);
        if !is_discard {
            return;
        }
        for run in pages.chunk_by_mut(|a, b| b.checked_sub(*a) == Some(1)) {
            if run[0] != NONE {
                self.space.give((u64::from(run[0]), run.len() as u64));
            }
        }
        pages.fill(NONE);
    }
}

/// Passes the request on pages of these numbers to `sink`, a piece for each run of neighbours.
fn emit(io: &Io, page_bytes: u64, numbers: &[u32], sink: &mut impl FnMut(Io)) {
    for run in numbers.chunk_by(|a, b| b.checked_sub(*a) == Some(1)) {
        if run[0] != NONE {
            // The last number is none, and follows the last but one.
            let count = run.iter().filter(|&&number| number != NONE).count() as u64;
            sink(Io {
                offset_bytes: u64::from(run[0]) * page_bytes,
                length_bytes: count * page_bytes,
                ..*io
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack() -> Pack {
        let mut numbers = Renumber::new(10);
        numbers.learn(&Io::write(1000, 100));
        numbers.learn(&Io::write(5000, 100));
        let pages = numbers.finish_learning();
        Pack::new(numbers, 10, pages).unwrap()
    }

    #[test]
    fn more_pages_than_a_table_holds_are_refused_before_it_is_made() {
        let mut numbers = Renumber::new(4096);
        numbers.learn(&Io::write(0, u64::MAX));
        let pages = numbers.finish_learning();
        assert!(pages > 1 << 50);
        assert!(Pack::new(numbers, 4096, pages).is_none());
    }

    fn applied(pack: &mut Pack, io: Io) -> Vec<(u64, u64)> {
        let mut pieces = Vec::new();
        pack.apply(&io, |io| pieces.push((io.offset_bytes, io.length_bytes)));
        pieces
    }

    fn discard(offset_bytes: u64, length_bytes: u64) -> Io {
        Io {
            operation: Operation::Discard,
            ..Io::write(offset_bytes, length_bytes)
        }
    }

    #[test]
    fn a_discarded_page_makes_room_for_another() {
        let mut pack = pack();
        assert_eq!(applied(&mut pack, Io::write(1000, 50)), [(0, 50)]);
        assert_eq!(applied(&mut pack, Io::write(1020, 10)), [(20, 10)]);
        assert_eq!(applied(&mut pack, discard(1010, 25)), [(10, 20)]);
        assert_eq!(applied(&mut pack, discard(1010, 20)), []);
        assert_eq!(
            applied(&mut pack, Io::write(5005, 30)),
            [(10, 20), (50, 20)]
        );
        assert_eq!(pack.most_pages(), 7);
    }

    #[test]
    fn neighbours_of_different_ages_are_given_back_apart() {
        let mut pack = pack();
        applied(&mut pack, Io::write(1010, 10));
        applied(&mut pack, Io::write(1000, 10));
        assert_eq!(applied(&mut pack, discard(1000, 100)), [(10, 10), (0, 10)]);
        assert_eq!(applied(&mut pack, Io::write(5000, 20)), [(0, 20)]);
        assert_eq!(pack.most_pages(), 2);
    }
}
