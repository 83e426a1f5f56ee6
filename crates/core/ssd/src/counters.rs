//! Counters of the device.

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
    /// Erases of units, failed ones among them.
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
    /// Erases that failed, after which the unit was retired.
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

    /// Returns the difference to an `earlier` reading.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_since_is_the_difference_of_every_count() {
        let counted = |times: u64| Counters {
            host_pages: 14 * times,
            copied_pages: 2 * times,
            discarded_pages: 3 * times,
            erased_units: 4 * times,
            sealed_units: 5 * times,
            redirected_pages: 6 * times,
            levelled_pages: 7 * times,
            finished_units: 8 * times,
            unwritten_pages: 9 * times,
            misplaced_pages: 10 * times,
            failed_programs: 11 * times,
            failed_erases: 12 * times,
            retired_units: 13 * times,
        };
        assert_eq!(counted(10).since(&counted(3)), counted(7));
    }

    #[test]
    fn write_amplification_is_media_over_host_and_none_before_the_first_write() {
        let mut counters = Counters {
            copied_pages: 5,
            ..Counters::default()
        };
        assert_eq!((counters.media_pages(), counters.waf()), (5, None));
        counters.host_pages = 10;
        assert_eq!((counters.media_pages(), counters.waf()), (15, Some(1.5)));
    }
}
