//! The answer to the question who wrote a page.

use anabranch_trace::{ContextId, FileId, WriteHint};

/// The writer of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageWriter {
    /// The program context; the unknown one if the writer is no longer known.
    pub context: ContextId,
    /// The file; row 0 for none.
    pub file: FileId,
    /// The hint that was asked for the file.
    pub hint: WriteHint,
    /// Whether the kernel granted the hint.
    pub hint_granted: bool,
    /// The tenant of the writer where control groups are tenants, else of the file; 0 if it is none.
    pub tenant: u32,
    /// Whether a thread of the kernel wrote it that is no file system's: often that of a block layer above, such as
    /// a loop device's, behind which the program is not seen.
    pub is_by_kernel: bool,
}

/// The writer of a source, with how sure it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub writer: PageWriter,
    /// Whether the answer will never change.
    pub is_settled: bool,
    /// Whether the kernel side has still to send the writer, or it was forgotten.
    pub is_awaited: bool,
}
