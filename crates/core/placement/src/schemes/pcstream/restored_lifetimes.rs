//! Lifetimes from earlier runs, used until this run has learned as much.

use anabranch_lifetime::ContextStats;
use anabranch_trace::ContextId;

use crate::{
    assign::ContextName,
    known_lifetimes::{KnownLifetime, KnownLifetimes},
};

/// A lifetime from an earlier run no longer fits when what ends in this run lived this many times
/// as long, or as short (our choice: two octaves, more than the steps between most groups).
const MISFIT: f64 = 4.0;
/// A run is as good a teacher as the one before when it is this many recalled lifetimes old (our
/// choice): by then data as old as that has had the time to end.
const RELEARNED: f64 = 2.0;

/// A context that an earlier run knew. 40 bytes.
#[derive(Debug, Clone, Copy)]
struct Recalled {
    lifetime_pages: f64,
    /// Bytes that it wrote recently in the earlier run, halved in every period of this one.
    weight_pages: f64,
    /// When it first wrote in this run; `None` while it has not.
    since_pages: Option<u64>,
    written_pages: u64,
}

/// Contexts by signature, and lifetimes from earlier runs for those that are known.
///
/// A recalled lifetime holds from a context's first write until this run has learned better:
/// enough of what it wrote has ended, and either the run is twice as old as that lifetime, or
/// what ended lived more than four times as long, or most of what it wrote has ended four times
/// as young. (That a few pages ended young says nothing: the others have not ended yet.)
#[derive(Debug, Clone)]
pub(super) struct RestoredLifetimes {
    page_bytes: u32,
    max_contexts: usize,
    samples: u64,
    profile: KnownLifetimes,
    /// The signature of each context, by its number.
    signatures: Vec<u64>,
    /// The recalled lifetime of each context, by its number; empty without a profile.
    recalled: Vec<Option<Recalled>>,
}

impl RestoredLifetimes {
    pub fn new(page_bytes: u32, max_contexts: usize, samples: u64) -> RestoredLifetimes {
        RestoredLifetimes {
            page_bytes,
            max_contexts,
            samples,
            profile: KnownLifetimes::default(),
            signatures: Vec::new(),
            recalled: Vec::new(),
        }
    }

    /// Takes what an earlier run learned.
    pub fn start(&mut self, profile: &KnownLifetimes) {
        self.profile = profile.clone();
    }

    /// Notes the signature of a context.
    pub fn learn(&mut self, context: &ContextName) {
        let row = context.id.0 as usize;
        if row >= self.max_contexts {
            return;
        }
        put(&mut self.signatures, row, context.signature);
        if let Some(known) = self.profile.get(context.signature) {
            let page_bytes = f64::from(self.page_bytes);
            let recalled = Recalled {
                lifetime_pages: (known.lifetime_bytes as f64 / page_bytes).max(1.0),
                weight_pages: (known.written_bytes as f64 / page_bytes).max(1.0),
                since_pages: None,
                written_pages: 0,
            };
            put(&mut self.recalled, row, Some(recalled));
        }
    }

    /// Counts a write. Answers whether it is the first by a context that an earlier run knew.
    #[inline]
    pub fn begins(&mut self, context: ContextId, pages: u32, now_pages: u64) -> bool {
        let Some(Some(recalled)) = self.recalled.get_mut(context.0 as usize) else {
            return false;
        };
        recalled.written_pages += u64::from(pages);
        let begins = recalled.since_pages.is_none();
        recalled.since_pages.get_or_insert(now_pages);
        begins
    }

    /// The lifetime and the weight to use for a context of which this run has learned `stats`, in
    /// pages; `None` while nothing is known.
    pub fn known(
        &mut self,
        row: usize,
        stats: &ContextStats,
        now_pages: u64,
    ) -> Option<(f64, f64)> {
        let samples = self.samples;
        let written_pages = stats.written_pages() as f64;
        if let Some(place) = self.recalled.get_mut(row)
            && let Some(recalled) = place
            && let Some(since_pages) = recalled.since_pages
        {
            if recalled.holds(stats, samples, now_pages - since_pages) {
                let weight = recalled.weight_pages + written_pages;
                return Some((recalled.lifetime_pages, weight));
            }
            *place = None;
        }
        let is_known = stats.ended_pages() >= samples;
        is_known.then(|| (stats.mean_lifetime_pages().max(1.0), written_pages))
    }

    /// Halves the weight of earlier runs' writes.
    pub fn fade(&mut self) {
        for recalled in self.recalled.iter_mut().flatten() {
            recalled.weight_pages /= 2.0;
        }
    }

    /// Returns the knowledge after this run, which has `stats` of a context.
    pub fn learned(&self, stats: impl Fn(usize) -> ContextStats) -> KnownLifetimes {
        let mut newer = Vec::new();
        for (row, &signature) in self.signatures.iter().enumerate() {
            let stats = stats(row);
            let recalled = self.recalled.get(row).copied().flatten();
            let held = recalled.filter(|recalled| recalled.since_pages.is_some());
            let known = match held {
                Some(held) => Some((held.lifetime_pages, held.weight_pages)),
                None if recalled.is_none() && stats.ended_pages() >= self.samples => {
                    Some((stats.mean_lifetime_pages().max(1.0), 0.0))
                }
                None => None,
            };
            newer.extend(known.map(|(lifetime_pages, weight_pages)| KnownLifetime {
                signature,
                lifetime_bytes: self.bytes(lifetime_pages),
                written_bytes: self.bytes(weight_pages + stats.written_pages() as f64),
                idle_runs: 0,
            }));
        }
        self.profile.after(&KnownLifetimes::new(newer))
    }

    fn bytes(&self, pages: f64) -> u64 {
        (pages * f64::from(self.page_bytes)).round() as u64
    }

    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.profile.contexts())
            + self.signatures.capacity() * size_of::<u64>()
            + self.recalled.capacity() * size_of::<Option<Recalled>>()
    }
}

impl Recalled {
    fn holds(&self, stats: &ContextStats, samples: u64, age_pages: u64) -> bool {
        if stats.ended_pages() < samples {
            return true;
        }
        let lived = stats.mean_lifetime_pages() / self.lifetime_pages;
        let most_ended = stats.ended_pages() * 2 > self.written_pages;
        let is_misfit = lived > MISFIT || (most_ended && lived < 1.0 / MISFIT);
        !is_misfit && (age_pages as f64) < RELEARNED * self.lifetime_pages
    }
}

fn put<T: Clone + Default>(table: &mut Vec<T>, row: usize, value: T) {
    if row >= table.len() {
        table.resize(row + 1, T::default());
    }
    table[row] = value;
}

#[cfg(test)]
mod tests {
    use anabranch_lifetime::Averaging;
    use anabranch_trace::ContextKind;

    use super::*;

    const SAMPLES: u64 = 50;
    /// When the context begins to write in this run.
    const START: u64 = 1 << 40;

    /// A context that in an earlier run wrote 1,024 pages, which lived 500, and writes 100 in this.
    fn restored() -> RestoredLifetimes {
        let mut recall = RestoredLifetimes::new(4096, 8, SAMPLES);
        recall.start(&KnownLifetimes::new(vec![KnownLifetime {
            signature: 77,
            lifetime_bytes: 500 * 4096,
            written_bytes: 1024 * 4096,
            idle_runs: 0,
        }]));
        recall.learn(&ContextName {
            id: ContextId(1),
            signature: 77,
            kind: ContextKind::Application,
            role: String::new(),
        });
        assert!(recall.begins(ContextId(1), 100, START));
        recall
    }

    #[test]
    fn what_an_earlier_run_wrote_counts_half_after_each_period() {
        let mut recall = restored();
        let mut known = |weight| {
            let stats = ContextStats::default();
            assert_eq!(recall.known(1, &stats, START), Some((500.0, weight)));
            recall.fade();
        };
        known(1024.0);
        known(512.0);
        known(256.0);
    }

    #[test]
    fn a_recalled_lifetime_is_refuted_by_the_last_of_the_samples_and_by_none_before() {
        for (ended, expected) in [
            (SAMPLES - 1, Some((500.0, 1024.0))),
            (SAMPLES, Some((5000.0, 0.0))),
        ] {
            let mut stats = ContextStats::default();
            stats.record_death(ended, 5000, Averaging::new(0.5, 1));
            assert_eq!(restored().known(1, &stats, START + 10), expected, "{ended}");
        }
    }

    #[test]
    fn a_run_teaches_once_it_is_twice_as_old_as_what_was_recalled() {
        for (age, expected) in [(999, (500.0, 1024.0)), (1000, (400.0, 0.0))] {
            let mut stats = ContextStats::default();
            stats.record_death(SAMPLES, 400, Averaging::new(0.5, 1));
            let known = restored().known(1, &stats, START + age);
            assert_eq!(known, Some(expected), "{age}");
        }
    }
}
