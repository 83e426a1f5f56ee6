//! `autostream-sfr`: AutoStream's Sequentiality, Frequency, Recency (SYSTOR'17).

use anabranch_ssd::StreamId;
use anabranch_trace::ContextId;

use crate::{
    assign::{Assign, Write},
    chunks::{Answer, Chunking, Classes, CountedChunks},
    geometry::HostGeometry,
    halves::Halves,
    parameter::{Period, named, one_of, parameters},
    scheme::{HostScheme, Preset, Unfit},
    site::Site,
    size::Bytes,
};

one_of! {
    /// The order of growth and decay when a chunk is written to again.
    Order {
        /// The count grows by one, then decays.
        GrowFirst = "grow-first",
        /// The count decays, then grows by one.
        DecayFirst = "decay-first",
    }
}

one_of! {
    /// Whether a request that continues the one before it counts.
    Sequential {
        /// It counts as any other request does.
        Counted = "counted",
        /// It does not count.
        Ignored = "ignored",
    }
}

one_of! {
    /// Previous requests that a request may continue.
    Scope {
        /// The previous request to the drive.
        Drive = "drive",
        /// The previous request of the context, the nearest to a thread that a trace knows.
        Context = "context",
    }
}

parameters! {
    /// Parameters of [`AutoStreamSfr`]. The paper's own are not published; four re-implementations
    /// differ in all of them.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// The unit whose writes are counted, a multiple of the page. 1 MiB, our choice: the chunk
        /// the PCStream draft analyses AutoStream with (§2.1.1); re-implementations use 2 MiB.
        chunk: Size = Bytes(1 << 20),
            "unit of address space whose writes are counted; a multiple of the page";
        /// Writes to the drive in which an idle chunk's count halves. 2 GiB, our choice: what a drive
        /// writes at 200 MB/s in the 10 s of two re-implementations, and the best of a sweep from
        /// 16 MiB to 4 GiB on in-place traces; on RocksDB's it made no difference.
        decay: Period = Period::Bytes(Bytes(2 << 30)),
            "writes to the drive in which an idle chunk's count halves";
        /// Base of the logarithm that turns a count into a stream. 2, our choice: two of the
        /// re-implementations use it, and with the PCStream emulator's 10 most streams stay empty.
        base: Number(1.01..=1000.0) = 2.0,
            "base of the logarithm that turns a count into a stream";
        /// Growth before decay: the emulator's and the kernel module's.
        order: Word(Order) = Order::GrowFirst,
            "whether a count grows or decays first";
        /// Chunks counted: the first, as in the emulator and the kernel module.
        counts: Word(CountedChunks) = CountedChunks::First,
            "chunks of a request that are counted";
        /// Sequential requests count, as in the emulator and the kernel module.
        sequential: Word(Sequential) = Sequential::Counted,
            "whether a request that continues another one counts";
        /// One memory of the previous request for the drive: the emulator's.
        scope: Word(Scope) = Scope::Drive,
            "whose previous request a request may continue";
        /// The stream from before the request: the prototype updates its table in the background
        /// (patent US 10656838).
        answer: Word(Answer) = Answer::Before,
            "the stream from before a request, or with it counted";
    }
}

/// Interpretations of the paper by others. A decay in seconds stands here as the bytes a drive writes in that
/// time at 200 MB/s: a replay has no clock that repeats itself.
const PRESETS: &[Preset] = &[
    Preset {
        name: "paper",
        source: "SYSTOR'17 as its patent's claims tell it, our choice where they are silent",
        settings: &[],
    },
    Preset {
        name: "sepbit-port",
        source: "SepBIT's simulator (FAST'22), its copies in a class of their own: +gc",
        settings: &[
            ("chunk", "2MiB"),
            ("decay", "64MiB"),
            ("base", "2.718281828459045"),
            ("order", "decay-first"),
            ("counts", "all"),
            ("answer", "after"),
        ],
    },
    Preset {
        name: "log10-emulator",
        source: "the PCStream authors' emulator; 30 s",
        settings: &[("chunk", "2MiB"), ("decay", "6GB"), ("base", "10")],
    },
    Preset {
        name: "kernel-module",
        source: "a Linux module by X. Zhang, Syracuse University; 10 s",
        settings: &[("chunk", "2MiB"), ("decay", "2GB")],
    },
    Preset {
        name: "spdk-port",
        source: "a port to SPDK and FDP; 10 s, previous request by thread",
        settings: &[
            ("chunk", "2MiB"),
            ("decay", "2GB"),
            ("sequential", "ignored"),
            ("scope", "context"),
        ],
    },
];

impl HostScheme for Parameters {
    named!("autostream-sfr");

    fn presets(&self) -> &'static [Preset] {
        PRESETS
    }

    fn goes_by_requests(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(AutoStreamSfr::new(self, &site.geometry())?))
    }
}

/// A chunk of the address space. 24 bytes.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    /// Decayed count of the requests that began here.
    count: f64,
    /// When the last of these requests came, in pages written to the drive; `NEVER` while there was
    /// none.
    last_pages: u64,
    stream: StreamId,
}

const NEVER: u64 = u64::MAX;

/// The end of a request, and the stream it got. 16 bytes.
#[derive(Debug, Clone, Copy)]
struct Previous {
    end: u64,
    stream: StreamId,
}

/// Number of memories of previous requests where each context has one: contexts whose numbers are
/// equal modulo this share one (our choice). A power of two.
const MEMORIES: u32 = 1024;

/// Predicts by address: chunks written often, and not too long ago, go to higher streams.
///
/// - A request that begins where the one before it ended gets that one's stream (*sequential*).
/// - Any other gets the stream of its first chunk, as it stood *before* this request or with it.
/// - The request's chunks are updated: a count grows by one, and is halved for each whole decay
///   period since the chunk's last request; its stream is the logarithm of the count, between 0
///   and the last.
///
/// The parameters choose among several readings of the paper. The clock counts writes instead of
/// seconds, so that a replay repeats itself; counts are not rounded, where two re-implementations
/// divide whole numbers. Discards change nothing. Memory: 24 bytes for each chunk of the drive, 8
/// for each stream, 16 for each memory of a previous request (1, or 1,024).
#[derive(Debug, Clone)]
pub struct AutoStreamSfr {
    chunks: Vec<Chunk>,
    chunking: Chunking,
    decay_pages: u64,
    classes: Classes,
    previous: Vec<Previous>,
    order: Order,
    sequential: Sequential,
    answer: Answer,
}

impl AutoStreamSfr {
    /// The scheme for a drive.
    ///
    /// # Errors
    /// When the chunk size is not a multiple of the drive's page.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Result<AutoStreamSfr, Unfit> {
        let chunking = Chunking::new(parameters.chunk, parameters.counts, geometry)?;
        let chunk = Chunk {
            count: 0.0,
            last_pages: NEVER,
            stream: StreamId::DEFAULT,
        };
        let previous = Previous {
            end: NEVER,
            stream: StreamId::DEFAULT,
        };
        let memories = match parameters.scope {
            Scope::Drive => 1,
            Scope::Context => MEMORIES as usize,
        };
        Ok(AutoStreamSfr {
            chunks: vec![chunk; chunking.chunks()],
            chunking,
            decay_pages: parameters.decay.pages(geometry),
            classes: Classes::new(parameters.base, geometry.host_streams),
            previous: vec![previous; memories],
            order: parameters.order,
            sequential: parameters.sequential,
            answer: parameters.answer,
        })
    }

    /// The index of the memory of a context's previous request: the drive's only one, or the
    /// context's own.
    #[inline]
    fn memory(&self, context: ContextId) -> usize {
        (context.0 % MEMORIES) as usize & (self.previous.len() - 1)
    }

    fn stream_of_chunk(&self, write: &Write) -> StreamId {
        let chunk = self.chunks.get(self.chunking.first(write.pages));
        chunk.map_or(StreamId::DEFAULT, |chunk| chunk.stream)
    }

    fn count(&mut self, write: &Write) {
        let counted = self.chunking.counted(write.pages);
        for chunk in self.chunks.get_mut(counted).into_iter().flatten() {
            chunk.update(write.now_pages, self.decay_pages, self.order, &self.classes);
        }
    }
}

impl Chunk {
    #[inline]
    fn update(&mut self, now_pages: u64, decay_pages: u64, order: Order, classes: &Classes) {
        // A chunk never written before has nothing to decay: `NEVER` leaves no period.
        let periods = now_pages.saturating_sub(self.last_pages) / decay_pages;
        let grows_first = order == Order::GrowFirst;
        self.count += f64::from(u8::from(grows_first));
        if periods > 0 {
            self.count *= 0.5_f64.powi(periods.min(2000) as i32);
        }
        self.count += f64::from(u8::from(!grows_first));
        self.stream = StreamId(classes.class_of(self.count));
        self.last_pages = now_pages;
    }
}

impl Assign for AutoStreamSfr {
    fn assign(&mut self, write: &Write) -> StreamId {
        let memory = self.memory(write.context);
        let previous = self.previous[memory];
        let continues = u64::from(write.pages.first) == previous.end;
        let mut stream = if continues {
            previous.stream
        } else {
            self.stream_of_chunk(write)
        };
        if !continues || self.sequential == Sequential::Counted {
            self.count(write);
        }
        if !continues && self.answer == Answer::After {
            stream = self.stream_of_chunk(write);
        }
        let end = write.pages.end();
        self.previous[memory] = Previous { end, stream };
        stream
    }

    fn memory_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
            + self.classes.memory_bytes()
            + self.previous.capacity() * size_of::<Previous>()
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

    /// Chunks of 256 pages, a decay of 1,000 pages, base 2, four streams.
    fn scheme() -> AutoStreamSfr {
        changed(|_| ())
    }

    fn changed(change: impl FnOnce(&mut Parameters)) -> AutoStreamSfr {
        let mut parameters = Parameters {
            decay: Period::Bytes(Bytes(1000 * 4096)),
            ..Parameters::default()
        };
        change(&mut parameters);
        AutoStreamSfr::new(&parameters, &DRIVE).unwrap()
    }

    fn assign(scheme: &mut AutoStreamSfr, first: u32, count: u32, now_pages: u64) -> u16 {
        scheme.assign(&tests::write(first, count, now_pages)).0
    }

    #[test]
    fn a_worked_example_with_decay() {
        let mut scheme = scheme();
        // (now, stream answered, count after): the answer is of the count before.
        for (now_pages, stream, count) in [
            (5000, 0, 1.0),    // first write: nothing to decay
            (5001, 0, 2.0),    // answered with log2(1) = 0
            (5002, 1, 3.0),    // log2(2) = 1
            (5003, 1, 4.0),    // log2(3) = 1.58
            (6002, 2, 5.0),    // 999 pages later: not a whole period
            (7002, 2, 3.0),    // 1,000 later: (5 + 1) / 2
            (7003, 1, 4.0),    // log2(3)
            (10_002, 2, 1.25), // 2,999 later: two whole periods, (4 + 1) / 4
            (10_003, 0, 2.25), // log2(1.25) = 0.3
            (1 << 50, 1, 0.0), // long after: nothing is left
            ((1 << 50) + 1, 0, 1.0),
        ] {
            assert_eq!(
                assign(&mut scheme, 300, 1, now_pages),
                stream,
                "at {now_pages}"
            );
            assert_eq!(scheme.chunks[1].count, count, "after {now_pages}");
        }
    }

    #[test]
    fn the_stream_stops_at_the_last() {
        let mut scheme = scheme();
        for now_pages in 0..100 {
            assign(&mut scheme, 300, 1, now_pages);
        }
        assert_eq!(assign(&mut scheme, 300, 1, 100), 3);
    }

    #[test]
    fn a_sequential_request_follows_its_predecessor_into_another_chunk() {
        let mut scheme = scheme();
        for now_pages in 0..4 {
            assign(&mut scheme, 600, 1, now_pages);
        }
        assert_eq!(assign(&mut scheme, 600, 168, 4), 2);
        assert_eq!(assign(&mut scheme, 768, 10, 172), 2, "where it ended");
        assert_eq!(assign(&mut scheme, 768, 10, 182), 0, "the chunk's own");
        assert_eq!(scheme.chunks[3].count, 2.0, "sequential requests count");
    }

    #[test]
    fn only_the_first_chunk_of_a_request_is_counted() {
        let mut scheme = scheme();
        assign(&mut scheme, 0, 600, 0);
        let counts: Vec<f64> = scheme.chunks[..4].iter().map(|chunk| chunk.count).collect();
        assert_eq!(counts, [1.0, 0.0, 0.0, 0.0]);
    }

    fn counts(scheme: &AutoStreamSfr) -> [f64; 4] {
        [0, 1, 2, 3].map(|chunk| scheme.chunks[chunk].count)
    }

    #[test]
    fn a_worked_example_with_decay_before_growth() {
        let mut scheme = changed(|parameters| {
            parameters.order = Order::DecayFirst;
            parameters.answer = Answer::After;
        });
        // (now, stream answered, count after): the answer is of the count after.
        for (now_pages, stream, count) in [
            (0, 0, 1.0),
            (10, 1, 2.0),
            (20, 1, 3.0),
            (1020, 1, 2.5), // a whole period later: 3 / 2 + 1
            (1030, 1, 3.5),
            (1040, 2, 4.5),
            (5040, 0, 1.28125), // four periods later: 4.5 / 16 + 1
        ] {
            assert_eq!(assign(&mut scheme, 300, 1, now_pages), stream);
            assert_eq!(scheme.chunks[1].count, count, "after {now_pages}");
        }
    }

    #[test]
    fn every_chunk_of_a_request_may_be_counted() {
        let mut scheme = changed(|parameters| parameters.counts = CountedChunks::All);
        assign(&mut scheme, 200, 400, 0);
        assert_eq!(counts(&scheme), [1.0, 1.0, 1.0, 0.0]);
        assign(&mut scheme, 4000, 1000, 400);
        assert_eq!(scheme.chunks[15].count, 1.0, "past the end of the drive");
    }

    #[test]
    fn sequential_requests_may_be_left_out_of_the_count() {
        let mut scheme = changed(|parameters| parameters.sequential = Sequential::Ignored);
        for (first, count) in [(0, 10), (10, 10), (20, 10), (0, 5)] {
            assign(&mut scheme, first, count, 0);
        }
        assert_eq!(scheme.chunks[0].count, 2.0);
    }

    #[test]
    fn a_context_may_continue_its_own_request_behind_anothers() {
        let second_stream = |scope| {
            let mut scheme = changed(|parameters| parameters.scope = scope);
            for now_pages in 0..4 {
                assign(&mut scheme, 255, 1, now_pages);
            }
            let mut write = |first, context| {
                scheme
                    .assign(&Write {
                        context: ContextId(context),
                        ..tests::write(first, 1, 4)
                    })
                    .0
            };
            assert_eq!(write(255, 1), 2);
            write(3000, 2);
            write(256, 1)
        };
        assert_eq!(second_stream(Scope::Drive), 0);
        assert_eq!(second_stream(Scope::Context), 2);
    }
}
