//! The host's half of a scheme: which stream a write goes to.

use anabranch_ssd::{PageRange, StreamId};
use anabranch_trace::{Context, ContextId, File, FileId, Tables, WriteHint};

/// A write request as a scheme sees it, before the device has it.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    /// The logical pages it covers; at least one.
    pub pages: PageRange,
    /// Who wrote.
    pub context: ContextId,
    /// The file it belongs to.
    pub file: FileId,
    /// The life-time hint the application asked for.
    pub hint: WriteHint,
    /// Which of several programs on one drive.
    pub tenant: u32,
    /// Logical time: pages the host had written to the device before this request.
    pub now_pages: u64,
}

/// What is known by name, told to a scheme before it sees the numbers. Names are only added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Files and their names, without a directory.
    pub files: Vec<(FileId, String)>,
    /// Contexts and the roles of their threads.
    pub roles: Vec<(ContextId, String)>,
}

impl Names {
    /// All names of a trace.
    pub fn of(tables: &Tables) -> Names {
        let file = |(id, file): (u32, &File)| (FileId(id), file.name.clone());
        let role = |context: &Context| (context.id, context.role.clone());
        Names {
            files: (0..).zip(&tables.files).map(file).collect(),
            roles: tables.contexts.iter().map(role).collect(),
        }
    }
}

/// Decides the stream of each write of one host. Deterministic: the same calls give the same
/// answers. Memory is bounded at construction.
pub trait Assign: Send {
    /// The stream of `write`, below the number of host streams the scheme was made for.
    /// Called once for every write request, in order, just before the device performs it; the
    /// scheme learns here that whatever those pages held before has died.
    fn assign(&mut self, write: &Write) -> StreamId;

    /// The host discarded `pages` at logical time `now_pages`: what they held has died.
    /// Pages that held nothing mean nothing (file systems discard far more than they wrote).
    fn discard(&mut self, _pages: PageRange, _now_pages: u64) {}

    /// Names the scheme may go by; called again when there are more.
    fn learn(&mut self, _names: &Names) {}

    /// Whether the scheme places each page of a request by itself: requests of several pages are
    /// then handed to it page by page.
    fn goes_by_page(&self) -> bool {
        false
    }

    /// Bytes of memory the scheme holds now.
    fn memory_bytes(&self) -> usize {
        0
    }
}
