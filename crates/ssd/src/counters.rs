//! What the device counts.

use serde::Serialize;

/// Counters of one stream, host or internal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
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
        }
    }
}
