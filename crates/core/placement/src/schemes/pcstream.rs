//! `pcstream*` and `pcstream`: streams by program context (HotStorage'18 draft, FAST'19).

mod by_file;
mod mapper;
mod restored_lifetimes;

use std::sync::Arc;

use anabranch_lifetime::{Averaging, ContextStats, Death, LbaTable};
use anabranch_ssd::{PageRange, StreamId};
use anabranch_trace::ContextId;

use crate::{
    assign::{Assign, Names, Write},
    geometry::HostGeometry,
    halves::Halves,
    known_lifetimes::KnownLifetimes,
    parameter::{Period, in_sample, named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
    size::Bytes,
};
pub use by_file::{ByFile, Grouping};
use mapper::{Mapper, Placed};
use restored_lifetimes::RestoredLifetimes;

/// Early reclusterings are at least this part of a period apart (our choice), so that a flood of
/// new contexts cannot make clustering the main work.
const EARLY_PARTS: u64 = 16;

parameters! {
    /// Parameters of [`PcStream`]: what the papers leave open, each with our choice as its default.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// Pages of a context that must have ended before it leaves the default stream. 500: the
        /// PCStream emulator waits for as many writes.
        samples: Count(1..=u32::MAX) = 500,
            "pages of a context that must have ended before it gets a stream";
        /// Writes from one reclustering to the next. A period was not found in the papers ("regularly"
        /// in the draft); an eighth of the capacity, our choice.
        recluster: Period = Period::CapacityOver(8),
            "writes to the drive from one reclustering to the next";
        /// Saving that one more stream must make: the mean square, over bytes written, of the distance in
        /// octaves (log2) from contexts' lifetimes to their group's mean. 0 uses every stream there
        /// is. 0.1, our choice: each stream holds an open unit of spare space; of 0, 0.02, 0.05, 0.1,
        /// 0.2 and 0.4 it copied least on most of six RocksDB traces on tight drives.
        gain: Number(0.0..=1000.0) = 0.1,
            "mean square of octaves of lifetime that one more stream must save";
        /// A context moves to another stream only when that brings it nearer to its group's mean
        /// lifetime by more than this share of the distance. 0.1, our choice.
        hysteresis: Number(0.0..=1.0) = 0.1,
            "a context moves only if it comes nearer to its group by more than this share";
        /// Weight of a death of `step` bytes in a context's mean lifetime. 1/8, our choice: the draft
        /// says "average" and no more.
        alpha: Number(0.001..=1.0) = 0.125,
            "weight of a death of `step` bytes in a context's mean lifetime";
        /// The size of death that weighs `alpha`; others weigh in proportion.
        step: Size = Bytes(1 << 20),
            "the size of death that weighs `alpha`; others weigh in proportion";
        /// Contexts that are learned; those with higher numbers stay in the default stream. 1,024,
        /// our choice (the emulator: 128).
        max_contexts as "max-contexts": Count(1..=65_536) = 1024,
            "contexts that are learned; later ones stay in the default stream";
        /// Bound on the memory of the lifetime table. 64 MiB, our choice.
        table: Size = Bytes(anabranch_lifetime::DEFAULT_TABLE_BYTES as u64),
            "bound on the memory of the lifetime table";
        /// Property by which writers are told apart. The program context alone: the papers'.
        by: Word(Grouping) = Grouping::Context,
            "what tells writers apart: the context, the class of the file, or both";
    }
}

impl HostScheme for Parameters {
    named!("pcstream*");

    fn sampled(&self, one_of: u32) -> Option<Arc<dyn HostScheme>> {
        Some(Arc::new(Parameters {
            samples: in_sample(self.samples, one_of),
            table: Bytes(self.table.0 / u64::from(one_of)),
            ..*self
        }))
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        let scheme = PcStream::new(self, &site.geometry());
        Ok(match self.by {
            Grouping::Context => Halves::host(scheme),
            by => Halves::host(ByFile::new(scheme, by, self.max_contexts as usize)),
        })
    }
}

/// A context as the scheme knows it. 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Learned {
    stats: ContextStats,
    /// The context's stream; `None` until the mapper gives it one.
    stream: Option<StreamId>,
}

/// Predicts by program context: what a context wrote before lived so long, so what it writes next
/// will live so long too.
///
/// 1. *Lifetime analyzer.* A table by page remembers who wrote it and when. Overwrite and discard
///    both end a life; it counts for the context that wrote the data. A context's lifetime is the
///    moving average of its ended lives ([`Averaging`]).
/// 2. *PC-to-stream mapper.* Contexts with enough ended lives are clustered by the logarithm of
///    their lifetime, weighted by what they wrote (halved every period), into at most
///    as many groups as there are streams beside the default one. Groups keep the streams their data is in already.
///
/// Contexts without enough ended lives share stream 0, the default: they are new, rare, or
/// write what does not die. Clustering happens at the end of each period, and early, up to 16
/// times a period, when a context has just got its samples: in a short run the first streams
/// must not wait an eighth of the drive.
///
/// At the start only short lives have ended, so a context with long ones looks short-lived until
/// they end; the average and the next reclustering follow it then.
///
/// Contexts that an earlier run knew, given by [`Assign::restore_lifetimes`] and recognised by signature, have
/// their streams from their first write.
///
/// Memory: the table's bound, 40 bytes per context and 2 per stream; with a profile 40 more per
/// context and 32 for each that the profile holds. A write costs its pages' table entries and no
/// allocation, save at a reclustering.
#[derive(Debug, Clone)]
pub struct PcStream {
    table: LbaTable,
    contexts: Vec<Learned>,
    mapper: Mapper,
    recall: RestoredLifetimes,
    averaging: Averaging,
    samples: u64,
    period_pages: u64,
    period_ends: u64,
    /// When contexts were last clustered; the field below is when they will be next.
    clustered_at: u64,
    cluster_at: u64,
}

impl PcStream {
    /// A scheme that has learned no context yet.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> PcStream {
        let table_bytes = usize::try_from(parameters.table.0).unwrap_or(usize::MAX);
        let period_pages = parameters.recluster.pages(geometry);
        let step_pages = parameters.step.0 / u64::from(geometry.page_bytes);
        PcStream {
            table: LbaTable::new(geometry.logical_pages, table_bytes),
            contexts: vec![Learned::default(); parameters.max_contexts as usize],
            mapper: Mapper::new(
                geometry.host_streams,
                parameters.gain,
                parameters.hysteresis,
            ),
            recall: RestoredLifetimes::new(
                geometry.page_bytes,
                parameters.max_contexts as usize,
                parameters.samples.into(),
            ),
            averaging: Averaging::new(parameters.alpha, step_pages),
            samples: parameters.samples.into(),
            period_pages,
            period_ends: period_pages,
            clustered_at: 0,
            cluster_at: period_pages,
        }
    }

    /// The stream that `context` writes to at present.
    #[inline]
    pub fn stream_of(&self, context: ContextId) -> StreamId {
        self.contexts
            .get(context.0 as usize)
            .and_then(|known| known.stream)
            .unwrap_or_default()
    }

    fn recluster(&mut self, now_pages: u64) {
        let mut placed: Vec<Placed> = Vec::new();
        for (index, known) in self.contexts.iter().enumerate() {
            let lifetime = self.recall.known(index, &known.stats, now_pages);
            placed.extend(lifetime.map(|(lifetime_pages, weight)| Placed {
                index,
                log_lifetime: lifetime_pages.log2(),
                weight,
                stream: known.stream,
            }));
        }
        self.mapper.remap(&mut placed);
        for one in placed {
            self.contexts[one.index].stream = one.stream;
        }
        if now_pages >= self.period_ends {
            self.contexts
                .iter_mut()
                .for_each(|known| known.stats.fade());
            self.recall.fade();
            self.period_ends = now_pages + self.period_pages;
        }
        self.clustered_at = now_pages;
        self.cluster_at = self.period_ends;
    }

    /// The table of lifetimes, with a function that learns from each death.
    #[inline]
    fn learner(&mut self) -> (&mut LbaTable, impl FnMut(Death) + '_) {
        let early = self.clustered_at + self.period_pages / EARLY_PARTS;
        let (contexts, cluster_at) = (&mut self.contexts, &mut self.cluster_at);
        let (averaging, samples) = (self.averaging, self.samples);
        let learn = move |death: Death| {
            let Some(known) = contexts.get_mut(death.context.0 as usize) else {
                return;
            };
            let before = known.stats.ended_pages();
            known
                .stats
                .record_death(death.pages, death.lifetime_pages, averaging);
            if before < samples && known.stats.ended_pages() >= samples {
                *cluster_at = early.min(*cluster_at);
            }
        };
        (&mut self.table, learn)
    }
}

impl Assign for PcStream {
    fn assign(&mut self, write: &Write) -> StreamId {
        let pages = write.pages.count;
        let begins = self.recall.begins(write.context, pages, write.now_pages);
        if begins || write.now_pages >= self.cluster_at {
            self.recluster(write.now_pages);
        }
        if let Some(known) = self.contexts.get_mut(write.context.0 as usize) {
            known.stats.record_write(write.pages.count.into());
        }
        let (table, learn) = self.learner();
        table.write(write.pages.indices(), write.context, write.now_pages, learn);
        self.stream_of(write.context)
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        let (table, learn) = self.learner();
        table.discard(pages.indices(), now_pages, learn);
    }

    fn learn(&mut self, names: &Names) {
        for context in &names.contexts {
            self.recall.learn(context);
        }
    }

    fn restore_lifetimes(&mut self, known: &KnownLifetimes) {
        self.recall.start(known);
    }

    fn learned(&self) -> Option<KnownLifetimes> {
        let stats = |row: usize| self.contexts.get(row).map(|known| known.stats);
        let learned = self.recall.learned(|row| stats(row).unwrap_or_default());
        Some(learned)
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
            + self.recall.memory_bytes()
            + self.contexts.capacity() * size_of::<Learned>()
            + self.mapper.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::DRIVE;
    use crate::{assign::ContextName, known_lifetimes::KnownLifetime};
    use anabranch_trace::{ContextKind, FileId, WriteHint};

    /// Feeds a scheme and keeps its clock.
    struct Host {
        scheme: PcStream,
        now_pages: u64,
    }

    impl Host {
        fn new(change: impl FnOnce(&mut Parameters)) -> Host {
            let mut parameters = Parameters::default();
            change(&mut parameters);
            Host {
                scheme: PcStream::new(&parameters, &DRIVE),
                now_pages: 0,
            }
        }

        fn write(&mut self, first: u32, count: u32, context: u32) -> u16 {
            let write = Write {
                pages: PageRange::new(first, count),
                context: ContextId(context),
                file: FileId(0),
                hint: WriteHint::NotSet,
                tenant: 0,
                now_pages: self.now_pages,
            };
            self.now_pages += u64::from(count);
            self.scheme.assign(&write).0
        }

        fn discard(&mut self, first: u32, count: u32) {
            self.scheme
                .discard(PageRange::new(first, count), self.now_pages);
        }

        fn stats(&self, context: u32) -> ContextStats {
            self.scheme.contexts[context as usize].stats
        }
    }

    #[test]
    fn two_contexts_of_different_lifetimes_get_streams_of_their_own() {
        let mut host = Host::new(|_| ());
        let (mut log, mut data) = (0, 0);
        for turn in 0..400 {
            log = host.write(turn % 4 * 10, 10, 1);
            data = host.write(1000 + turn % 80 * 100, 100, 2);
        }
        assert_ne!(log, data);
        assert!(log != 0 && data != 0);
        assert_eq!(host.write(9_500, 1, 3), 0, "a new context");
    }

    #[test]
    fn the_shortest_lifetime_gets_the_first_stream_when_all_become_known_at_once() {
        let mut host = Host::new(|parameters| parameters.gain = 0.0);
        host.write(0, 600, 3);
        host.write(1000, 600, 2);
        host.write(2000, 600, 1);
        host.discard(0, 3000);
        host.write(0, 700, 0);
        host.write(5000, 1, 0);
        let stream = |context| host.scheme.stream_of(ContextId(context)).0;
        assert_eq!([1, 2, 3].map(stream), [1, 2, 3]);
    }

    #[test]
    fn overwrites_and_discards_both_end_a_life() {
        let mut host = Host::new(|_| ());
        host.write(0, 100, 1);
        host.write(50, 20, 2);
        assert_eq!(host.stats(1).ended_pages(), 20);
        assert_eq!(host.stats(1).mean_lifetime_pages(), 100.0);
        host.discard(0, 10_000);
        assert_eq!(host.stats(1).ended_pages(), 100);
        assert_eq!(host.stats(2).ended_pages(), 20);
        assert_eq!(host.stats(2).mean_lifetime_pages(), 20.0);
        host.discard(0, 10_000);
        assert_eq!(host.stats(1).ended_pages(), 100, "nothing left to end");
    }

    #[test]
    fn a_context_waits_for_its_samples_and_no_longer() {
        let mut host = Host::new(|parameters| parameters.samples = 50);
        for turn in 0..50 {
            assert_eq!(host.write(5, 1, 1), 0, "turn {turn}");
        }
        assert_eq!(host.stats(1).ended_pages(), 49);
        let until_known = (0..100).position(|_| host.write(5, 1, 1) != 0);
        // One more death, then the least distance between clusterings: 1,250 / 16 pages.
        assert_eq!(until_known, Some(28));
    }

    #[test]
    fn contexts_beyond_the_bound_stay_in_the_default_stream() {
        let mut host = Host::new(|parameters| parameters.max_contexts = 2);
        for turn in 0..5000 {
            host.write(turn % 10, 1, 1);
            assert_eq!(host.write(100 + turn % 10, 1, 2), 0);
            assert_eq!(host.write(200 + turn % 10, 1, u32::MAX), 0);
        }
        assert_ne!(host.write(0, 1, 1), 0);
        assert!(host.scheme.memory_bytes() <= 10_000 * 8 + 2 * 40 + 8 * 2);
    }

    #[test]
    fn streams_stay_where_they_are_while_lifetimes_do() {
        let mut host = Host::new(|_| ());
        let turn = |host: &mut Host, turn: u32| {
            [
                host.write(turn % 4 * 10, 10, 1),
                host.write(1000 + turn % 20 * 20, 20, 2),
                host.write(2000 + turn % 80 * 40, 40, 3),
            ]
        };
        for i in 0..200 {
            turn(&mut host, i);
        }
        let settled = turn(&mut host, 200);
        for i in 201..2000 {
            assert_eq!(turn(&mut host, i), settled, "turn {i}");
        }
    }

    #[test]
    fn a_drive_with_one_stream_has_only_the_default() {
        let one = HostGeometry {
            host_streams: 1,
            ..DRIVE
        };
        let mut host = Host::new(|_| ());
        host.scheme = PcStream::new(&Parameters::default(), &one);
        for turn in 0..5000 {
            assert_eq!(host.write(turn % 10, 1, 1), 0);
        }
    }

    /// Ten rounds of a log (context 1) and tables (context 2), whose signatures are their numbers'.
    fn run(host: &mut Host, log: u32, data: u32) -> Vec<(u16, u16)> {
        let name = |id: u32, signature: u32| ContextName {
            id: ContextId(id),
            signature: signature.into(),
            kind: ContextKind::Application,
            role: String::new(),
        };
        host.scheme.learn(&Names {
            files: Vec::new(),
            contexts: vec![name(log, 1001), name(data, 1002)],
        });
        let turn = |turn: u32| {
            (
                host.write(turn % 4 * 10, 10, log),
                host.write(1000 + turn % 80 * 100, 100, data),
            )
        };
        (0..400).map(turn).collect()
    }

    #[test]
    fn a_second_run_with_the_firsts_profile_has_its_streams_from_the_first_write() {
        let mut first = Host::new(|_| ());
        let streams = run(&mut first, 1, 2);
        assert_eq!(streams[0], (0, 0), "nothing is known at first");
        let profile = first.scheme.learned().unwrap();
        let lifetime = |signature| profile.get(signature).unwrap().lifetime_bytes / 4096;
        assert_eq!(lifetime(1001), 440, "four turns of 110 pages");
        assert_eq!(profile.contexts().len(), 2);

        // The numbers are others now.
        let mut second = Host::new(|_| ());
        second.scheme.restore_lifetimes(&profile);
        let streams = run(&mut second, 9, 4);
        assert!(streams.iter().all(|(log, data)| log != data), "{streams:?}");
        assert!(
            streams[1..]
                .iter()
                .all(|(log, data)| *log != 0 && *data != 0)
        );
        let again = second.scheme.learned().unwrap();
        assert_eq!(again.contexts().len(), 2);
    }

    #[test]
    fn names_told_late_make_no_difference() {
        let mut first = Host::new(|_| ());
        run(&mut first, 1, 2);
        let profile = first.scheme.learned().unwrap();
        let answers = |early: bool| {
            let mut host = Host::new(|_| ());
            host.scheme.restore_lifetimes(&profile);
            let mut answers = Vec::new();
            let name = ContextName {
                id: ContextId(3),
                signature: 1002,
                kind: ContextKind::Application,
                role: String::new(),
            };
            let names = Names {
                files: Vec::new(),
                contexts: vec![name],
            };
            if early {
                host.scheme.learn(&names);
            }
            answers.extend((0..50).map(|turn| host.write(turn * 10, 10, 1)));
            if !early {
                host.scheme.learn(&names);
            }
            answers.extend((0..50).map(|turn| host.write(turn * 10, 10, 3)));
            answers
        };
        assert_eq!(answers(true), answers(false));
    }

    #[test]
    fn a_lifetime_that_no_longer_fits_is_learned_again() {
        for (recalled_pages, expected_pages) in [(40, 440), (1_000_000, 440), (500, 500)] {
            let known = |signature, lifetime_pages: u64| KnownLifetime {
                signature,
                lifetime_bytes: lifetime_pages * 4096,
                written_bytes: 1 << 20,
                idle_runs: 0,
            };
            let profile = KnownLifetimes::new(vec![known(1001, recalled_pages), known(77, 5)]);
            let mut host = Host::new(|parameters| parameters.samples = 50);
            host.scheme.restore_lifetimes(&profile);
            let name = |id, signature| ContextName {
                id: ContextId(id),
                signature,
                kind: ContextKind::Application,
                role: String::new(),
            };
            host.scheme.learn(&Names {
                files: Vec::new(),
                contexts: vec![name(1, 1001), name(2, 77)],
            });
            // Not as old as twice the recalled 500 pages when it ends.
            let turns = if recalled_pages == 500 { 9 } else { 40 };
            for turn in 0..turns {
                host.write(turn % 4 * 10, 10, 1);
                host.write(1000 + turn * 100, 100, 3);
            }
            host.scheme.recluster(host.now_pages);
            let learned = host.scheme.learned().unwrap();
            let pages = learned.get(1001).map(|one| one.lifetime_bytes / 4096);
            assert_eq!(pages, Some(expected_pages), "recalled {recalled_pages}");
            assert_eq!(learned.get(77).map(|one| one.idle_runs), Some(1));
        }
    }
}
