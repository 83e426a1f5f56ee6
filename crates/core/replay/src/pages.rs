//! Conversion of a request's bytes to pages of a drive.

use anabranch_ssd::PageRange;
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
    /// Pages of the drive.
    pub logical_pages: u32,
    /// Bytes of a page, to which requests are rounded.
    pub page_bytes: u32,
}

impl Pages {
    /// The pages a write touches: a page written in part is written whole, as a drive would.
    ///
    /// # Errors
    /// When the write leaves the drive.
    pub fn written(&self, io: &Io) -> Result<PageRange, BeyondDrive> {
        let page = u64::from(self.page_bytes);
        let end = io.offset_bytes.saturating_add(io.length_bytes);
        self.range(io, io.offset_bytes / page, end.div_ceil(page))
    }

    /// The pages a discard covers whole: a page discarded in part keeps its data.
    ///
    /// # Errors
    /// When the discard leaves the drive.
    pub fn discarded(&self, io: &Io) -> Result<PageRange, BeyondDrive> {
        let page = u64::from(self.page_bytes);
        let end = io.offset_bytes.saturating_add(io.length_bytes);
        // A drive whose last page is cut off is discarded up to its last whole page.
        let last = (end / page).min(u64::from(self.logical_pages));
        self.range(io, io.offset_bytes.div_ceil(page), last)
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

    const DRIVE: Pages = Pages {
        logical_pages: 10,
        page_bytes: 4096,
    };

    #[test]
    fn a_write_widens_to_whole_pages_and_a_discard_shrinks_to_them() {
        let io = Io::write(4095, 4098);
        assert_eq!(DRIVE.written(&io), Ok(PageRange::new(0, 3)));
        assert_eq!(DRIVE.discarded(&io), Ok(PageRange::new(1, 1)));
        let inside = Io::write(512, 1024);
        assert_eq!(DRIVE.written(&inside), Ok(PageRange::new(0, 1)));
        assert_eq!(DRIVE.discarded(&inside), Ok(PageRange::default()));
    }

    #[test]
    fn a_request_beyond_the_drive_is_an_error_and_never_wraps() {
        assert!(DRIVE.written(&Io::write(40_960, 1)).is_err());
        assert!(DRIVE.written(&Io::write(u64::MAX, u64::MAX)).is_err());
        assert!(DRIVE.written(&Io::write(1 << 60, 4096)).is_err());
        assert_eq!(
            DRIVE.discarded(&Io::write(0, u64::MAX)),
            Ok(PageRange::new(0, 10))
        );
    }
}
