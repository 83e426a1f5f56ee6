//! `autostream-mq`: AutoStream's multi-queue (SYSTOR'17).

mod queues;

use anabranch_ssd::StreamId;

use crate::{
    assign::{Assign, Write},
    chunks::{Answer, Chunking, Classes, CountedChunks},
    geometry::HostGeometry,
    halves::Halves,
    parameter::{named, one_of, parameters},
    scheme::{HostScheme, Preset, Unfit},
    site::Site,
    size::Bytes,
};
use queues::Queues;

one_of! {
    /// When a chunk moves to the tail of its queue.
    Requeue {
        /// At each write to the chunk.
        Always = "always",
        /// Only when the chunk changes queues.
        OnMove = "on-move",
    }
}

one_of! {
    /// Share of its count that a demoted chunk keeps.
    Demotion {
        /// The whole count: its next write promotes it again at once.
        Keep = "keep",
        /// Half of the count.
        Halve = "halve",
    }
}

parameters! {
    /// Parameters of [`AutoStreamMq`]. The paper's own are not published; two re-implementations
    /// differ in all of them.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// The unit whose writes are counted, a multiple of the page. 1 MiB: both re-implementations'.
        chunk: Size = Bytes(1 << 20),
            "unit of address space whose writes are counted; a multiple of the page";
        /// Base of the logarithm that turns a count into a queue. 2, our choice: with e or 10, the
        /// re-implementations', most streams stay empty.
        base: Number(1.01..=1000.0) = 2.0,
            "base of the logarithm that turns a count into a queue";
        /// Chunks counted. The first, as in the emulator.
        counts: Word(CountedChunks) = CountedChunks::First,
            "chunks of a request that are counted";
        /// The stream from before the request: the prototype updates in the background (patent
        /// US 10656838).
        answer: Word(Answer) = Answer::Before,
            "the stream from before a request, or with it counted";
        /// Always: the queues are then in order of last use, as their name in the paper says.
        requeue: Word(Requeue) = Requeue::Always,
            "when a chunk goes to the tail of its queue";
        /// Keep: neither re-implementation takes anything away.
        demotion: Word(Demotion) = Demotion::Keep,
            "what a demoted chunk keeps of its count";
        /// The lowest queue that chunks are demoted to. 0; the emulator stops one above its lowest.
        floor: Count(0..=65_535) = 0,
            "the lowest queue that chunks are demoted to";
    }
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "paper",
        source: "SYSTOR'17 as two re-implementations agree on it, our choice where they differ",
        settings: &[],
    },
    Preset {
        name: "sepbit-port",
        source: "SepBIT's simulator (FAST'22), its copies in a class of their own: +gc",
        settings: &[
            ("base", "2.718281828459045"),
            ("counts", "all"),
            ("answer", "after"),
        ],
    },
    Preset {
        name: "log10-emulator",
        source: "the PCStream authors' emulator",
        settings: &[
            ("chunk", "2MiB"),
            ("base", "10"),
            ("requeue", "on-move"),
            ("floor", "1"),
        ],
    },
];

impl HostScheme for Parameters {
    named!("autostream-mq");

    fn presets(&self) -> &'static [Preset] {
        PRESETS
    }

    fn goes_by_requests(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(AutoStreamMq::new(self, &site.geometry())?))
    }
}

/// A chunk of the address space. 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Chunk {
    count: u64,
    /// The clock when the chunk was last counted.
    last: u64,
    /// The clock at which the chunk is demoted, unless it is counted before.
    expires: u64,
    /// The chunk's queue, which is its stream.
    queue: u16,
    /// Whether the chunk is in its queue; before its first write it is in none.
    is_queued: bool,
}

/// Predicts by address: one queue a stream, and each chunk in the queue of the logarithm of the
/// writes it had, for as long as it is written to.
///
/// - Each access to a chunk advances a clock by one and the chunk's count by one; the chunk goes
///   to the queue of the logarithm of its count.
/// - The *lifetime* is the time between the last two accesses of the hottest chunk, the one with
///   the greatest count. A chunk that was not accessed for a lifetime has *expired*.
/// - After each access, of each queue above the lowest, the head is looked at: if it has expired it
///   goes to the tail of the queue below, with a new lifetime ahead of it. If that was the hottest
///   chunk, the next of its queue becomes the hottest, if there is one (as in SepBIT's port; the
///   emulator searches all queues for the greatest count, which takes as long as it may).
///
/// A demoted chunk's stream is that of its new queue, as in the emulator: SepBIT's port forgets to
/// tell the chunk, so that there demotion changes nothing. Memory: 40 bytes for each chunk of the
/// drive, 16 for each stream.
#[derive(Debug, Clone)]
pub struct AutoStreamMq {
    chunks: Vec<Chunk>,
    queues: Queues,
    chunking: Chunking,
    classes: Classes,
    clock: u64,
    lifetime: u64,
    hottest: usize,
    greatest_count: u64,
    answer: Answer,
    requeue: Requeue,
    demotion: Demotion,
    floor: u16,
}

impl AutoStreamMq {
    /// The scheme for a drive.
    ///
    /// # Errors
    /// When the chunk size is not a multiple of the drive's page.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Result<AutoStreamMq, Unfit> {
        let chunking = Chunking::new(parameters.chunk, parameters.counts, geometry)?;
        let chunks = chunking.chunks();
        Ok(AutoStreamMq {
            chunks: vec![Chunk::default(); chunks],
            queues: Queues::new(chunks, geometry.host_streams),
            chunking,
            classes: Classes::new(parameters.base, geometry.host_streams),
            clock: 0,
            lifetime: 0,
            hottest: 0,
            greatest_count: 0,
            answer: parameters.answer,
            requeue: parameters.requeue,
            demotion: parameters.demotion,
            floor: u16::try_from(parameters.floor).unwrap_or(u16::MAX),
        })
    }

    fn stream_of_chunk(&self, write: &Write) -> StreamId {
        let chunk = self.chunks.get(self.chunking.first(write.pages));
        chunk.map_or(StreamId::DEFAULT, |chunk| StreamId(chunk.queue))
    }

    #[inline]
    fn promote(&mut self, index: usize) {
        self.clock += 1;
        let chunk = &mut self.chunks[index];
        chunk.count += 1;
        if chunk.count > self.greatest_count {
            self.lifetime = self.clock - chunk.last;
            self.greatest_count = chunk.count;
            self.hottest = index;
        }
        chunk.last = self.clock;
        chunk.expires = self.clock + self.lifetime;
        let queue = self.classes.class_of(chunk.count as f64);
        let moves = !chunk.is_queued || queue != chunk.queue;
        if moves || self.requeue == Requeue::Always {
            if chunk.is_queued {
                self.queues.remove(index);
            }
            self.queues.append(index, queue);
            chunk.queue = queue;
            chunk.is_queued = true;
        }
    }

    /// Demotes expired heads of the queues, the highest queue first.
    #[inline]
    fn demote(&mut self) {
        for queue in (self.floor.saturating_add(1)..self.queues.count()).rev() {
            if let Some(index) = self.queues.head(queue)
                && self.chunks[index].expires < self.clock
            {
                self.demote_chunk(index, queue);
            }
        }
    }

    fn demote_chunk(&mut self, index: usize, queue: u16) {
        if index == self.hottest
            && let Some(next) = self.queues.next(index)
        {
            self.hottest = next;
            self.greatest_count = self.chunks[next].count;
        }
        self.queues.remove(index);
        self.queues.append(index, queue - 1);
        let chunk = &mut self.chunks[index];
        chunk.queue = queue - 1;
        chunk.expires = self.clock + self.lifetime;
        if self.demotion == Demotion::Halve {
            chunk.count /= 2;
        }
    }
}

impl Assign for AutoStreamMq {
    fn assign(&mut self, write: &Write) -> StreamId {
        let before = self.stream_of_chunk(write);
        for index in self.chunking.counted(write.pages) {
            self.promote(index);
            self.demote();
        }
        match self.answer {
            Answer::Before => before,
            Answer::After => self.stream_of_chunk(write),
        }
    }

    fn memory_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
            + self.queues.memory_bytes()
            + self.classes.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests;

    const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 4096,
        page_bytes: 4096,
        host_streams: 4,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };

    fn scheme(change: impl FnOnce(&mut Parameters)) -> AutoStreamMq {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        AutoStreamMq::new(&parameters, &DRIVE).unwrap()
    }

    /// Writes one page of a chunk of 256.
    fn write_chunk(scheme: &mut AutoStreamMq, chunk: u32) -> u16 {
        write(scheme, chunk * 256, 1)
    }

    fn write(scheme: &mut AutoStreamMq, first: u32, count: u32) -> u16 {
        scheme.assign(&tests::write(first, count, 0)).0
    }

    fn queue(scheme: &AutoStreamMq, chunk: usize) -> u16 {
        scheme.chunks[chunk].queue
    }

    #[test]
    fn a_chunk_climbs_with_the_logarithm_of_its_count() {
        let mut scheme = scheme(|_| ());
        let streams: Vec<u16> = (0..10).map(|_| write_chunk(&mut scheme, 1)).collect();
        // Each answer is of the count before: 0, 1, 2, …
        assert_eq!(streams, [0, 0, 1, 1, 2, 2, 2, 2, 3, 3]);
    }

    #[test]
    fn with_the_count_of_the_request_itself_it_climbs_one_earlier() {
        let mut scheme = scheme(|parameters| parameters.answer = Answer::After);
        let streams: Vec<u16> = (0..5).map(|_| write_chunk(&mut scheme, 1)).collect();
        assert_eq!(streams, [0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_worked_example_with_demotion() {
        let mut scheme = scheme(|_| ());
        // Clock 1 to 4: chunk 1 is the hottest, accessed every tick: the lifetime is 1.
        for _ in 0..4 {
            write_chunk(&mut scheme, 1);
        }
        assert_eq!((queue(&scheme, 1), scheme.lifetime), (2, 1));
        assert_eq!(scheme.chunks[1].expires, 5);
        // Clock 5: not yet past 5.
        write_chunk(&mut scheme, 2);
        assert_eq!(queue(&scheme, 1), 2);
        // Clock 6: demoted, and again a lifetime ahead.
        write_chunk(&mut scheme, 2);
        assert_eq!((queue(&scheme, 1), scheme.chunks[1].expires), (1, 7));
        // Clock 7, then 8: to the lowest, where it stays.
        write_chunk(&mut scheme, 3);
        assert_eq!(queue(&scheme, 1), 1);
        write_chunk(&mut scheme, 3);
        write_chunk(&mut scheme, 3);
        assert_eq!(queue(&scheme, 1), 0);
        // Its count was kept: one write brings it back.
        assert_eq!(write_chunk(&mut scheme, 1), 0);
        assert_eq!(queue(&scheme, 1), 2);
    }

    #[test]
    fn the_next_of_its_queue_follows_the_hottest_chunk() {
        let mut scheme = scheme(|_| ());
        for _ in 0..3 {
            write_chunk(&mut scheme, 1);
            write_chunk(&mut scheme, 2);
        }
        // Chunk 1 reached every count first; every second tick: the lifetime is 2.
        assert_eq!((scheme.hottest, scheme.greatest_count), (1, 3));
        assert_eq!(scheme.lifetime, 2);
        for chunk in 3..6 {
            write_chunk(&mut scheme, chunk);
        }
        assert_eq!(queue(&scheme, 1), 0, "expired at clock 7");
        assert_eq!((scheme.hottest, scheme.greatest_count), (2, 3));
    }

    #[test]
    fn a_demoted_chunk_may_lose_half_its_count() {
        let mut scheme = scheme(|parameters| parameters.demotion = Demotion::Halve);
        for chunk in [1, 1, 1, 1, 2, 2] {
            write_chunk(&mut scheme, chunk);
        }
        assert_eq!((queue(&scheme, 1), scheme.chunks[1].count), (1, 2));
        write_chunk(&mut scheme, 1);
        assert_eq!(queue(&scheme, 1), 1, "log2(3)");
    }

    #[test]
    fn a_floor_keeps_chunks_from_falling_further() {
        let mut scheme = scheme(|parameters| parameters.floor = 1);
        for chunk in [1, 1, 1, 1, 2, 3, 2, 3, 2, 3] {
            write_chunk(&mut scheme, chunk);
        }
        assert_eq!(queue(&scheme, 1), 1);
    }

    #[test]
    fn a_chunk_that_stays_where_it_is_need_not_go_to_the_tail() {
        let heads = |requeue| {
            let mut scheme = scheme(|parameters| parameters.requeue = requeue);
            // Both reach count 2, then chunk 1 reaches 3: the same queue.
            for chunk in [1, 2, 1, 2, 1] {
                write_chunk(&mut scheme, chunk);
            }
            scheme.queues.head(1)
        };
        assert_eq!(heads(Requeue::Always), Some(2));
        assert_eq!(heads(Requeue::OnMove), Some(1));
    }

    #[test]
    fn a_request_may_count_for_every_chunk_it_touches() {
        let mut scheme = scheme(|parameters| parameters.counts = CountedChunks::All);
        write(&mut scheme, 200, 400);
        write(&mut scheme, 4000, 500);
        let counts = [0, 1, 2, 3, 15].map(|chunk| scheme.chunks[chunk].count);
        assert_eq!(counts, [1, 1, 1, 0, 1]);
        assert_eq!(write(&mut scheme, 9000, 1), 0, "past the end of the drive");
    }
}
