//! The bytes of a command.

use crate::types::PageRange;

/// A run of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub offset_bytes: u64,
    /// Number of bytes.
    pub length_bytes: u64,
}

impl Extent {
    /// The byte behind the last.
    pub(super) fn end_bytes(self) -> u64 {
        self.offset_bytes.saturating_add(self.length_bytes)
    }

    /// The pages that the run touches, none where it has no bytes; `None` where they do not fit 32 bits.
    pub(super) fn touched(self, page_bytes: u32) -> Option<PageRange> {
        let page_bytes = u64::from(page_bytes);
        let end = self.offset_bytes.checked_add(self.length_bytes)?;
        let first = self.offset_bytes / page_bytes;
        let count = match self.length_bytes {
            0 => 0,
            _ => end.div_ceil(page_bytes).saturating_sub(first),
        };
        let count = u32::try_from(count).ok()?;
        Some(PageRange::new(u32::try_from(first).ok()?, count))
    }

    /// The pages that lie wholly in the run, which fits 32 bits of pages.
    pub(super) fn inner(self, page_bytes: u32) -> PageRange {
        let page_bytes = u64::from(page_bytes);
        let first = self.offset_bytes.div_ceil(page_bytes);
        let end = self.end_bytes() / page_bytes;
        let fit = |pages: u64| u32::try_from(pages).unwrap_or(u32::MAX);
        PageRange::new(fit(first), fit(end.saturating_sub(first)))
    }

    /// Whether it begins and ends with a page.
    pub(super) fn is_whole(self, page_bytes: u32) -> bool {
        let page_bytes = u64::from(page_bytes);
        self.offset_bytes.is_multiple_of(page_bytes) && self.length_bytes.is_multiple_of(page_bytes)
    }
}
