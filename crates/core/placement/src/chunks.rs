//! The parts of both AutoStream schemes: the address space in chunks, and counts turned into
//! streams.

use std::ops::Range;

use anabranch_ssd::PageRange;

use crate::{geometry::HostGeometry, parameter::one_of, scheme::Unfit, size::Bytes};

one_of! {
    /// The chunks that a request counts for.
    CountedChunks {
        /// The chunk the request begins in.
        First = "first",
        /// Every chunk the request touches.
        All = "all",
    }
}

one_of! {
    /// Whether a request gets the stream its chunk had before this request, or the one it has with
    /// it.
    Answer {
        /// The stream before the request, as if the table were updated in the background.
        Before = "before",
        /// The stream with the request counted.
        After = "after",
    }
}

/// The division of the address space into chunks of equal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunking {
    chunk_pages: u32,
    chunks: usize,
    counts: CountedChunks,
}

impl Chunking {
    /// Chunks of `bytes` bytes, which must be a multiple of the page.
    pub fn new(
        chunk: Bytes,
        counts: CountedChunks,
        geometry: &HostGeometry,
    ) -> Result<Chunking, Unfit> {
        let page_bytes = u64::from(geometry.page_bytes);
        if !chunk.0.is_multiple_of(page_bytes) {
            return Err(Unfit {
                key: "chunk",
                expected: format!("a multiple of the drive's page, {page_bytes} bytes"),
            });
        }
        let chunk_pages = u32::try_from(chunk.0 / page_bytes).unwrap_or(u32::MAX);
        let chunk_pages = chunk_pages.max(1);
        Ok(Chunking {
            chunk_pages,
            chunks: geometry.logical_pages.div_ceil(chunk_pages) as usize,
            counts,
        })
    }

    /// Number of chunks on the drive.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// The chunk a request begins in; beyond the last for one beyond the drive.
    #[inline]
    pub fn first(&self, pages: PageRange) -> usize {
        (pages.first / self.chunk_pages) as usize
    }

    /// The chunks a request counts for, of those there are.
    #[inline]
    pub fn counted(&self, pages: PageRange) -> Range<usize> {
        let first = self.first(pages);
        let end = match self.counts {
            CountedChunks::First => first + 1,
            CountedChunks::All => {
                let end = pages.end().div_ceil(u64::from(self.chunk_pages)) as usize;
                end.max(first + 1)
            }
        };
        first..end.min(self.chunks)
    }
}

/// The counts at which classes 1, 2, … begin: the powers of the base. Counts are compared with
/// them, since logarithms are neither exact nor cheap.
#[derive(Debug, Clone)]
pub(crate) struct Classes(Vec<f64>);

impl Classes {
    /// The bounds of `classes` classes, at least 1.
    pub fn new(base: f64, classes: u16) -> Classes {
        Classes((1..classes).map(|power| base.powi(power.into())).collect())
    }

    /// The class of a count: its logarithm, between 0 and the last class.
    #[inline]
    pub fn class_of(&self, count: f64) -> u16 {
        self.0.iter().take_while(|power| count >= **power).count() as u16
    }

    pub fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 1001,
        page_bytes: 4096,
        host_streams: 4,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };

    #[test]
    fn a_request_counts_for_its_first_chunk_or_for_all_it_touches() {
        let counted = |counts, first, count| {
            let chunking = Chunking::new(Bytes(100 * 4096), counts, &DRIVE).unwrap();
            assert_eq!(chunking.chunks(), 11);
            chunking.counted(PageRange::new(first, count))
        };
        assert_eq!(counted(CountedChunks::First, 150, 200), 1..2);
        assert_eq!(counted(CountedChunks::All, 150, 200), 1..4);
        assert_eq!(counted(CountedChunks::All, 100, 100), 1..2);
        assert_eq!(counted(CountedChunks::All, 199, 2), 1..3);
        assert_eq!(counted(CountedChunks::All, 999, 500), 9..11);
    }

    #[test]
    fn a_whole_power_of_the_base_reaches_its_class_exactly() {
        let classes = Classes::new(5.0, 4);
        let of = [0.0, 1.0, 4.9, 5.0, 25.0, 124.9, 125.0, 1e9].map(|count| classes.class_of(count));
        assert_eq!(of, [0, 0, 0, 1, 2, 2, 3, 3]);
        assert_eq!(Classes::new(10.0, 1).class_of(1e9), 0);
    }

    #[test]
    fn a_chunk_that_is_no_multiple_of_the_page_is_refused() {
        let unfit = Chunking::new(Bytes(5000), CountedChunks::First, &DRIVE).unwrap_err();
        assert_eq!(unfit.key, "chunk");
    }
}
