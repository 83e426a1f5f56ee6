//! The pages that samples keep, found once each.
//!
//! ```text
//! of N neighbours a sample keeps one: its place among them is a chain of hashes, and is remembered in a table
//! pages kept before page p: p / N, and one more if the place in the neighbourhood of p is below p % N
//! ```

use super::{Io, Sample};

/// Places that are remembered. Our choice: 32 MiB at most. Four samples of a drive so large that it has more have
/// devices that take four times as much.
const MOST_PLACES: u64 = 1 << 24;

/// The place of a page that was not looked for yet. No neighbourhood of [`MOST_HALVINGS`] has it.
const UNKNOWN: u16 = u16::MAX;

/// The most halvings whose places 16 bits hold beside [`UNKNOWN`].
const MOST_HALVINGS: u32 = 15;

/// Samples of the same requests that remember where their pages are. Each keeps what the [`Sample`] keeps; samples of
/// one rate, which differ in their hash, are asked together.
#[derive(Debug, Clone)]
pub struct KeptPages {
    samples: Vec<Sample>,
    /// Pages of the requests that one kept page stands for, as a power of two.
    halvings: u32,
    /// Neighbourhoods whose places may be remembered.
    remembered: u64,
    /// The place of each sample's kept page in each of these, neighbourhood by neighbourhood.
    places: Vec<u16>,
}

impl KeptPages {
    /// The pages of samples, of which none is known yet.
    pub fn new(samples: &[Sample]) -> KeptPages {
        let halvings = samples
            .first()
            .map_or(0, |first| first.to.halvings - first.from.halvings);
        let are_alike = samples.windows(2).all(|pair| {
            let hash = pair[0].hash;
            pair[0] == Sample { hash, ..pair[1] }
        });
        // Without neighbours every page is kept.
        let has_places = are_alike && (1..=MOST_HALVINGS).contains(&halvings);
        KeptPages {
            samples: samples.to_vec(),
            halvings,
            remembered: if has_places {
                MOST_PLACES / samples.len() as u64
            } else {
                0
            },
            places: Vec::new(),
        }
    }

    /// Hands on the request as [`Sample::apply`] sees it, with the number of the sample, for each sample that keeps a
    /// page of it.
    #[inline]
    pub fn apply(&mut self, io: &Io, mut sink: impl FnMut(usize, Io)) {
        let first = self.samples.first().copied();
        if let Some((sample, (first, end))) = first.and_then(|one| Some((one, one.pages(io)?))) {
            self.kept(first, end, |number, kept| {
                sink(number, sample.seen(io, kept))
            });
        }
    }

    /// Hands on the numbers of the kept pages as [`Sample::kept`] has them, with the number of the sample, for each
    /// sample that keeps any.
    #[inline]
    pub fn kept(&mut self, first: u64, end: u64, mut sink: impl FnMut(usize, (u64, u64))) {
        if first >= end {
            return;
        }
        let (from, to) = (first >> self.halvings, end >> self.halvings);
        if to >= self.remembered {
            for (number, sample) in self.samples.iter().enumerate() {
                let kept = sample.kept(first, end);
                kept.into_iter().for_each(|kept| sink(number, kept));
            }
            return;
        }
        let (from_row, to_row) = (self.row(from), self.row(to));
        let (from_place, to_place) = (first - (from << self.halvings), end - (to << self.halvings));
        let count = self.samples.len();
        let rows = (
            &self.places[from_row..from_row + count],
            &self.places[to_row..to_row + count],
        );
        for (number, (&begin, &last)) in rows.0.iter().zip(rows.1).enumerate() {
            let kept_first = from + u64::from(u64::from(begin) < from_place);
            let kept_end = to + u64::from(u64::from(last) < to_place);
            if kept_first < kept_end {
                sink(number, (kept_first, kept_end));
            }
        }
    }

    /// Returns the index of a neighbourhood's first place. All of its places are known then.
    #[inline]
    fn row(&mut self, group: u64) -> usize {
        let row = group as usize * self.samples.len();
        if self.places.get(row).is_none_or(|place| *place == UNKNOWN) {
            self.find(group, row);
        }
        row
    }

    #[cold]
    fn find(&mut self, group: u64, row: usize) {
        let end = row + self.samples.len();
        self.places.resize(self.places.len().max(end), UNKNOWN);
        for (place, sample) in self.places[row..end].iter_mut().zip(&self.samples) {
            *place = (sample.page(group) - (group << self.halvings)) as u16;
        }
    }
}
