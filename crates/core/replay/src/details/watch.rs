//! Collection of a lane's details while it runs.

use std::collections::HashMap;

use anabranch_lifetime::LifetimeHistogram;
use anabranch_placement::Assign;
use anabranch_ssd::{Config, PageRange, StreamId};
use anabranch_trace::ContextId;

use super::{
    ContextStream, ErasedUnits, Fill, Leader, Lives, SchemeDetails, StreamLives,
    map::{Cells, Snapshot},
    owners::{Ended, Owners},
    thinned::Thinned,
};
use crate::engine::Engine;

/// The most moments of the map (our choice: the steps of a slider).
const MOST_MOMENTS: usize = 48;
/// The most points of the fill over time (our choice).
const MOST_FILLS: usize = 256;
/// Moments and points kept for each capacity written, until there are too many (our choice).
const STEPS_PER_CAPACITY: u64 = 64;
/// The most classes of erases (our choice: bars that can be told apart).
const MOST_CLASSES: u32 = 64;
/// The context that stands for all higher ones, which do not fit 16 bits.
const HIGHEST_CONTEXT: u16 = u16::MAX - 1;

/// Collects the details of a lane while it runs.
#[derive(Debug, Clone)]
pub struct DetailsWatch {
    cells: Cells,
    page_bytes: u64,
    owners: Owners,
    /// Lifetimes of each host stream.
    lives: Vec<LifetimeHistogram>,
    /// Pages written, by owner.
    placed: HashMap<u32, u64>,
    /// Pages written, by context.
    written_pages: Vec<u64>,
    moments: Thinned<Snapshot>,
    fills: Thinned<Fill>,
}

/// The owner number of a page, made of its stream and its context.
fn owner(stream: StreamId, context: ContextId) -> u32 {
    let context = u16::try_from(context.0).map_or(HIGHEST_CONTEXT, |id| id.min(HIGHEST_CONTEXT));
    u32::from(stream.0) << 16 | u32::from(context)
}

fn context_of(owner: u32) -> u16 {
    owner as u16
}

fn stream_of(owner: u32) -> u16 {
    (owner >> 16) as u16
}

impl DetailsWatch {
    /// Watches a drive that is empty, or whose content is not known.
    pub fn new(drive: &Config) -> DetailsWatch {
        let step = u64::from(drive.logical_pages) / STEPS_PER_CAPACITY;
        DetailsWatch {
            cells: Cells::of(drive.physical_units, drive.pages_per_unit),
            page_bytes: u64::from(drive.page_bytes),
            owners: Owners::new(drive.logical_pages),
            lives: vec![LifetimeHistogram::default(); usize::from(drive.host_streams)],
            placed: HashMap::new(),
            written_pages: Vec::new(),
            // The end of the run has a place of its own.
            moments: Thinned::new(MOST_MOMENTS - 1, step),
            fills: Thinned::new(MOST_FILLS - 1, step),
        }
    }

    /// Records that the host writes `pages` to `stream` at logical time `now_pages`.
    pub fn wrote(
        &mut self,
        pages: PageRange,
        context: ContextId,
        stream: StreamId,
        now_pages: u64,
    ) {
        let owner = owner(stream, context);
        let count = u64::from(pages.count);
        *self.placed.entry(owner).or_default() += count;
        let row = usize::from(context_of(owner));
        if self.written_pages.len() <= row {
            self.written_pages.resize(row + 1, 0);
        }
        self.written_pages[row] += count;
        let lives = &mut self.lives;
        self.owners
            .write(pages.indices(), owner, now_pages, |ended| {
                end(lives, &ended)
            });
    }

    /// Records that the host discards `pages`.
    pub fn discarded(&mut self, pages: PageRange, now_pages: u64) {
        let lives = &mut self.lives;
        self.owners
            .discard(pages.indices(), now_pages, |ended| end(lives, &ended));
    }

    /// Takes a map and a fill of the drive, if a step has passed.
    #[inline]
    pub fn sample(&mut self, engine: &Engine) {
        let host_pages = engine.counters().host_pages;
        if self.fills.is_due(host_pages) {
            self.fills.push(host_pages, self.fill(engine));
        }
        if self.moments.is_due(host_pages) {
            let snapshot = self.snapshot(engine);
            self.moments.push(host_pages, snapshot);
        }
    }

    fn fill(&self, engine: &Engine) -> Fill {
        Fill {
            host_page_bytes: engine.counters().host_pages * self.page_bytes,
            mapped_bytes: engine.mapped_pages() * self.page_bytes,
        }
    }

    fn snapshot(&self, engine: &Engine) -> Snapshot {
        self.cells
            .snapshot(engine, &self.owners, context_of, &self.written_pages)
    }

    /// The details so far, with the present state of the drive as the last moment.
    pub fn details(&self, engine: &Engine, assign: &dyn Assign) -> SchemeDetails {
        let last = self.snapshot(engine);
        let earlier = self.moments.kept().iter();
        let earlier = earlier.filter(|one| one.host_page_bytes() < last.host_page_bytes());
        let mut fill = self.fills.kept().to_vec();
        let end = self.fill(engine);
        fill.retain(|one| one.host_page_bytes < end.host_page_bytes);
        fill.push(end);
        SchemeDetails {
            fill,
            map: self
                .cells
                .map(earlier.chain(std::iter::once(&last)), &self.written_pages),
            stream_lives: self.stream_lives(),
            placements: self.placements(),
            erases: erases(engine.erases()),
            leaders: assign
                .leaders()
                .iter()
                .map(|one| Leader::of(one, self.page_bytes))
                .collect(),
        }
    }

    fn stream_lives(&self) -> Vec<StreamLives> {
        let ids = (0..).zip(&self.lives);
        ids.filter(|(_, lives)| lives.pages() > 0)
            .map(|(id, lives)| StreamLives {
                id,
                lives: Lives::of(lives, self.page_bytes),
            })
            .collect()
    }

    /// The stream that got most of each context's bytes.
    fn placements(&self) -> Vec<ContextStream> {
        let mut best: Vec<Option<(u16, u64)>> = vec![None; self.written_pages.len()];
        let mut placed: Vec<(u32, u64)> = self.placed.iter().map(|(&at, &n)| (at, n)).collect();
        placed.sort_unstable();
        for (owner, pages) in placed {
            let best = &mut best[usize::from(context_of(owner))];
            if best.is_none_or(|(_, most)| pages > most) {
                *best = Some((stream_of(owner), pages));
            }
        }
        let mut ranks: Vec<usize> = (0..best.len()).collect();
        ranks.sort_by_key(|&row| std::cmp::Reverse(self.written_pages[row]));
        let placement = |row: usize| {
            let (stream, pages) = best[row]?;
            Some(ContextStream {
                context: row as u32,
                stream,
                share: pages as f64 / self.written_pages[row].max(1) as f64,
            })
        };
        let rows = ranks.into_iter().filter_map(placement);
        rows.take(super::survey::MOST_CONTEXTS).collect()
    }
}

fn end(lives: &mut [LifetimeHistogram], ended: &Ended) {
    if let Some(lives) = lives.get_mut(usize::from(stream_of(ended.owner))) {
        lives.record(ended.life_pages, u64::from(ended.pages));
    }
}

/// Units by erases, in at most [`MOST_CLASSES`] classes of equal width; empty classes are left out.
fn erases(units: &[u32]) -> Vec<ErasedUnits> {
    let (Some(&least), Some(&most)) = (units.iter().min(), units.iter().max()) else {
        return Vec::new();
    };
    let width = (most - least + 1).div_ceil(MOST_CLASSES);
    let mut classes = vec![0_u32; ((most - least) / width) as usize + 1];
    for &erases in units {
        classes[((erases - least) / width) as usize] += 1;
    }
    let classes = (0..).zip(classes).filter(|(_, units)| *units > 0);
    classes
        .map(|(class, units)| ErasedUnits {
            least_erases: least + class * width,
            most_erases: least + class * width + width - 1,
            units,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_in_one_class_of_erases() {
        let one = |least_erases, most_erases, units| ErasedUnits {
            least_erases,
            most_erases,
            units,
        };
        assert_eq!(erases(&[3, 5, 3]), [one(3, 3, 2), one(5, 5, 1)]);
        let many: Vec<u32> = (100..1100).collect();
        let classes = erases(&many);
        assert!(classes.len() <= 64);
        assert_eq!(classes.iter().map(|one| one.units).sum::<u32>(), 1000);
        assert_eq!(erases(&[]), []);
    }
}
