//! `autostream-sfr`: AutoStream's Sequentiality, Frequency, Recency (SYSTOR'17).

use anabranch_ssd::StreamId;

use crate::{
    Assign, Bytes, Parameter, Period, Value, Write,
    scheme::{HostGeometry, HostScheme, Unfit},
};

/// Parameters of [`AutoStreamSfr`]. The paper's own are not published; four re-implementations
/// differ in all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AutoStreamSfrParameters {
    /// The unit whose writes are counted, a multiple of the page. 1 MiB, our choice: the chunk
    /// the PCStream draft analyses AutoStream with (§2.1.1); re-implementations use 2 MiB.
    pub chunk: Bytes,
    /// Writes to the drive in which an idle chunk's count halves. 2 GiB, our choice: what a drive
    /// writes at 200 MB/s in the 10 s of two re-implementations, and the best of a sweep from
    /// 16 MiB to 4 GiB on in-place traces; on RocksDB's it made no difference.
    pub decay: Period,
    /// Base of the logarithm that turns a count into a stream. 2, our choice: two of the
    /// re-implementations use it, and with the PCStream emulator's 10 most streams stay empty.
    pub base: f64,
}

impl Default for AutoStreamSfrParameters {
    fn default() -> AutoStreamSfrParameters {
        AutoStreamSfrParameters {
            chunk: Bytes(1 << 20),
            decay: Period::Bytes(Bytes(2 << 30)),
            base: 2.0,
        }
    }
}

impl HostScheme for AutoStreamSfrParameters {
    fn name(&self) -> &'static str {
        "autostream-sfr"
    }

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        vec![
            Parameter {
                key: "chunk",
                meaning: "unit of address space whose writes are counted; a multiple of the page",
                value: Value::Size(&mut self.chunk),
            },
            Parameter {
                key: "decay",
                meaning: "writes to the drive in which an idle chunk's count halves",
                value: Value::Period(&mut self.decay),
            },
            Parameter {
                key: "base",
                meaning: "base of the logarithm that turns a count into a stream",
                value: Value::Number(&mut self.base, 1.01..=1000.0),
            },
        ]
    }

    fn build(&self, geometry: &HostGeometry) -> Result<Box<dyn Assign>, Unfit> {
        let page_bytes = u64::from(geometry.page_bytes);
        if !self.chunk.0.is_multiple_of(page_bytes) {
            return Err(Unfit {
                key: "chunk",
                expected: format!("a multiple of the drive's page, {page_bytes} bytes"),
            });
        }
        Ok(Box::new(AutoStreamSfr::new(self, geometry)))
    }
}

/// One chunk of the address space. 24 bytes.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    /// Decayed count of the requests that began here.
    count: f64,
    /// When the last of them came, in pages written to the drive; `NEVER` while none did.
    last_pages: u64,
    stream: StreamId,
}

const NEVER: u64 = u64::MAX;

/// Predicts by address: chunks written often, and not too long ago, go to higher streams.
///
/// - A request that begins where the one before it ended gets that one's stream (*sequential*).
///   The drive has one such memory, not one per queue or thread.
/// - Any other gets the stream of its first chunk as it stood *before* this request: the
///   prototype updates its table in the background.
/// - Then the first chunk is updated, the request being sequential or not: its count grows by one
///   and is halved for each whole decay period since its last request, in that order; its stream
///   is the logarithm of the count, between 0 and the last.
///
/// Order, first chunk only, and update on sequential requests follow the PCStream authors'
/// emulator and the kernel module; the clock counts writes instead of seconds, so that a replay
/// repeats itself. Discards change nothing. Memory: 24 bytes for each chunk of the drive.
#[derive(Debug, Clone)]
pub struct AutoStreamSfr {
    chunks: Vec<Chunk>,
    chunk_pages: u32,
    decay_pages: u64,
    /// Counts from which on a chunk belongs to stream 1, 2, …: the powers of the base. Compared
    /// with instead of taking logarithms, which are neither exact nor cheap.
    thresholds: Vec<f64>,
    previous_end: u64,
    previous_stream: StreamId,
}

impl AutoStreamSfr {
    /// For a drive; `parameters.chunk` is rounded down to pages, and is at least one.
    pub fn new(parameters: &AutoStreamSfrParameters, geometry: &HostGeometry) -> AutoStreamSfr {
        let chunk_pages = parameters.chunk.0 / u64::from(geometry.page_bytes);
        let chunk_pages = u32::try_from(chunk_pages).unwrap_or(u32::MAX).max(1);
        let chunk = Chunk {
            count: 0.0,
            last_pages: NEVER,
            stream: StreamId::DEFAULT,
        };
        let powers = (1..geometry.host_streams).map(|power| parameters.base.powi(power.into()));
        AutoStreamSfr {
            chunks: vec![chunk; geometry.logical_pages.div_ceil(chunk_pages) as usize],
            chunk_pages,
            decay_pages: parameters.decay.pages(geometry),
            thresholds: powers.collect(),
            previous_end: NEVER,
            previous_stream: StreamId::DEFAULT,
        }
    }
}

impl Chunk {
    fn update(&mut self, now_pages: u64, decay_pages: u64, thresholds: &[f64]) {
        // A chunk never written before has nothing to decay: `NEVER` leaves no period.
        let periods = now_pages.saturating_sub(self.last_pages) / decay_pages;
        self.count += 1.0;
        if periods > 0 {
            self.count *= 0.5_f64.powi(periods.min(2000) as i32);
        }
        let stream = thresholds
            .iter()
            .take_while(|threshold| self.count >= **threshold)
            .count();
        self.stream = StreamId(stream as u16);
        self.last_pages = now_pages;
    }
}

impl Assign for AutoStreamSfr {
    fn assign(&mut self, write: &Write) -> StreamId {
        let chunk = self
            .chunks
            .get_mut((write.pages.first / self.chunk_pages) as usize);
        let stream = if u64::from(write.pages.first) == self.previous_end {
            self.previous_stream
        } else {
            chunk
                .as_ref()
                .map_or(StreamId::DEFAULT, |chunk| chunk.stream)
        };
        self.previous_end = write.pages.end();
        self.previous_stream = stream;
        if let Some(chunk) = chunk {
            chunk.update(write.now_pages, self.decay_pages, &self.thresholds);
        }
        stream
    }

    fn memory_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>() + self.thresholds.capacity() * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::PageRange;
    use anabranch_trace::{ContextId, FileId, WriteHint};

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
        let parameters = AutoStreamSfrParameters {
            decay: Period::Bytes(Bytes(1000 * 4096)),
            ..AutoStreamSfrParameters::default()
        };
        AutoStreamSfr::new(&parameters, &DRIVE)
    }

    fn assign(scheme: &mut AutoStreamSfr, first: u32, count: u32, now_pages: u64) -> u16 {
        let write = Write {
            pages: PageRange::new(first, count),
            context: ContextId::UNKNOWN,
            file: FileId(0),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages,
        };
        scheme.assign(&write).0
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

    #[test]
    fn a_whole_power_of_the_base_reaches_its_stream_exactly() {
        let parameters = AutoStreamSfrParameters {
            base: 5.0,
            ..AutoStreamSfrParameters::default()
        };
        let mut scheme = AutoStreamSfr::new(&parameters, &DRIVE);
        for now_pages in 0..125 {
            assert!(assign(&mut scheme, 300, 1, now_pages) < 3);
        }
        assert_eq!(assign(&mut scheme, 300, 1, 125), 3);
    }

    #[test]
    fn a_chunk_that_is_no_multiple_of_the_page_is_refused() {
        let parameters = AutoStreamSfrParameters {
            chunk: Bytes(5000),
            ..AutoStreamSfrParameters::default()
        };
        let unfit = parameters.build(&DRIVE).err().unwrap();
        assert_eq!(unfit.key, "chunk");
    }
}
