//! Conversion of a request's bytes to pages of a drive.

use anabranch_ssd::{Config, PageRange};
use anabranch_trace::Io;
use thiserror::Error;

/// A request that lies beyond the drive it is replayed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a request for bytes {offset_bytes}..{end_bytes} does not fit a drive of {logical_bytes} bytes \
     (give the drive the size the trace was captured on with --size, or let --fill renumber it)"
)]
pub struct BeyondDrive {
    /// First byte asked for.
    pub offset_bytes: u64,
    /// One past the last byte asked for.
    pub end_bytes: u64,
    /// Bytes of the drive.
    pub logical_bytes: u64,
}

/// Converts bytes of requests to pages of a drive.
#[derive(Debug, Clone, Copy)]
pub struct Pages {
    logical_pages: u32,
    page_bytes: u32,
    /// Binary logarithm of a page's bytes. `None` if they are no power of two: a division takes longer than the rest of a
    /// request's way to its page.
    page_shift: Option<u32>,
}

impl Pages {
    /// The pages of a drive, and the bytes of each, to which requests are rounded.
    pub fn new(logical_pages: u32, page_bytes: u32) -> Pages {
        Pages {
            logical_pages,
            page_bytes,
            page_shift: page_bytes.is_power_of_two().then(|| page_bytes.ilog2()),
        }
    }

    /// The pages of a drive of that configuration.
    pub fn of(drive: &Config) -> Pages {
        Pages::new(drive.logical_pages, drive.page_bytes)
    }

    /// Returns the size of a page, by which requests are rounded to whole pages.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// The page that holds a byte.
    #[inline]
    pub fn page_of(&self, byte: u64) -> u64 {
        match self.page_shift {
            Some(shift) => byte >> shift,
            None => byte / u64::from(self.page_bytes),
        }
    }

    /// Whether a request touches one page, and that one is the drive's.
    #[inline]
    pub fn is_within_one(&self, io: &Io) -> bool {
        let page = self.page_of(io.offset_bytes);
        let last_byte = io
            .offset_bytes
            .saturating_add(io.length_bytes)
            .wrapping_sub(1);
        (io.length_bytes > 0)
            & (self.page_of(last_byte) == page)
            & (page < u64::from(self.logical_pages))
    }

    /// The first page that begins at a byte or behind it.
    #[inline]
    fn page_from(&self, byte: u64) -> u64 {
        let page = self.page_of(byte);
        page + u64::from(page * u64::from(self.page_bytes) < byte)
    }

    /// The pages a write touches: a page written in part is written whole, as a drive would.
    ///
    /// # Errors
    /// When the write leaves the drive.
    pub fn written(&self, io: &Io) -> Result<PageRange, BeyondDrive> {
        let end = io.offset_bytes.saturating_add(io.length_bytes);
        self.range(io, self.page_of(io.offset_bytes), self.page_from(end))
    }

    /// The pages a discard covers whole: a page discarded in part keeps its data.
    ///
    /// # Errors
    /// When the discard leaves the drive.
    pub fn discarded(&self, io: &Io) -> Result<PageRange, BeyondDrive> {
        let end = io.offset_bytes.saturating_add(io.length_bytes);
        // A drive whose last page is cut off is discarded up to its last whole page.
        let last = self.page_of(end).min(u64::from(self.logical_pages));
        self.range(io, self.page_from(io.offset_bytes), last)
    }

    fn range(&self, io: &Io, first: u64, end: u64) -> Result<PageRange, BeyondDrive> {
        if first >= end {
            return Ok(PageRange::default());
        }
        if end > u64::from(self.logical_pages) {
            return Err(BeyondDrive {
                offset_bytes: io.offset_bytes,
                end_bytes: io.offset_bytes.saturating_add(io.length_bytes),
                logical_bytes: u64::from(self.logical_pages) * u64::from(self.page_bytes),
            });
        }
        // Both lie within `logical_pages`, a u32.
        Ok(PageRange::new(first as u32, (end - first) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> Pages {
        Pages::new(10, 4096)
    }

    #[test]
    fn a_write_widens_to_whole_pages_and_a_discard_shrinks_to_them() {
        let io = Io::write(4095, 4098);
        assert_eq!(drive().written(&io), Ok(PageRange::new(0, 3)));
        assert_eq!(drive().discarded(&io), Ok(PageRange::new(1, 1)));
        let inside = Io::write(512, 1024);
        assert_eq!(drive().written(&inside), Ok(PageRange::new(0, 1)));
        assert_eq!(drive().discarded(&inside), Ok(PageRange::default()));
    }

    #[test]
    fn pages_that_are_no_power_of_two_are_divided_alike() {
        let odd = Pages::new(10, 12_288);
        assert_eq!(
            odd.written(&Io::write(12_287, 12_290)),
            Ok(PageRange::new(0, 3))
        );
        assert_eq!(
            odd.discarded(&Io::write(12_287, 12_290)),
            Ok(PageRange::new(1, 1))
        );
    }

    #[test]
    fn a_request_beyond_the_drive_is_an_error_and_never_wraps() {
        assert!(drive().written(&Io::write(40_960, 1)).is_err());
        assert!(drive().written(&Io::write(u64::MAX, u64::MAX)).is_err());
        assert!(drive().written(&Io::write(1 << 60, 4096)).is_err());
        assert_eq!(
            drive().discarded(&Io::write(0, u64::MAX)),
            Ok(PageRange::new(0, 10))
        );
    }
}
