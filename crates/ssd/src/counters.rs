//! What the device counts.

use serde::{Deserialize, Serialize};

/// Counters of one stream, host or internal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StreamCounters {
    /// Pages the host wrote to the stream.
    pub host_pages: u64,
    /// Pages garbage collection copied into the stream.
    pub copied_pages: u64,
    /// Units of the stream that were erased.
    pub erased_units: u64,
    /// Units of the stream that were closed before they were full, because room was short.
    pub sealed_units: u64,
}

/// Counters of the whole device: the sums over its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Pages the host wrote.
    pub host_pages: u64,
    /// Pages garbage collection copied.
    pub copied_pages: u64,
    /// Mapped pages the host discarded; a discard of an unmapped page means nothing.
    pub discarded_pages: u64,
    /// Units erased.
    pub erased_units: u64,
    /// Units closed before they were full, because room was short.
    pub sealed_units: u64,
    /// Copied pages that found no room in the stream meant for them and joined another.
    pub redirected_pages: u64,
    /// Copied pages that wear levelling moved; they are among `copied_pages`.
    pub levelled_pages: u64,
    /// Units the host had closed before they were full.
    pub finished_units: u64,
    /// Pages left unwritten in units closed before they were full.
    pub unwritten_pages: u64,
    /// Host pages written to another reclaim group than asked for, which was full.
    pub misplaced_pages: u64,
    /// Program operations that failed.
    pub failed_programs: u64,
    /// Erases that failed.
    pub failed_erases: u64,
    /// Units taken out of service, those bad from the factory included.
    pub retired_units: u64,
}

impl Counters {
    /// Pages programmed into the flash: the host's and the copies.
    pub fn media_pages(&self) -> u64 {
        self.host_pages + self.copied_pages
    }

    /// Write amplification: media pages over host pages; `None` before the first write.
    pub fn waf(&self) -> Option<f64> {
        (self.host_pages > 0).then(|| self.media_pages() as f64 / self.host_pages as f64)
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            host_pages: self.host_pages - earlier.host_pages,
            copied_pages: self.copied_pages - earlier.copied_pages,
            discarded_pages: self.discarded_pages - earlier.discarded_pages,
            erased_units: self.erased_units - earlier.erased_units,
            sealed_units: self.sealed_units - earlier.sealed_units,
            redirected_pages: self.redirected_pages - earlier.redirected_pages,
            levelled_pages: self.levelled_pages - earlier.levelled_pages,
            finished_units: self.finished_units - earlier.finished_units,
            unwritten_pages: self.unwritten_pages - earlier.unwritten_pages,
            misplaced_pages: self.misplaced_pages - earlier.misplaced_pages,
            failed_programs: self.failed_programs - earlier.failed_programs,
            failed_erases: self.failed_erases - earlier.failed_erases,
            retired_units: self.retired_units - earlier.retired_units,
        }
    }
}
