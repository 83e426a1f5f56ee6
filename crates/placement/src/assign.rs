//! The host's half of a scheme: which stream a write goes to.

use anabranch_ssd::{PageRange, StreamId};
use anabranch_trace::{Context, ContextId, ContextKind, File, FileId, Io, Tables, WriteHint};

use crate::{known_lifetimes::KnownLifetimes, rules::RuleUse};

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

impl Write {
    /// A request of a trace that covers `pages`, when `now_pages` were written before it.
    pub fn of(io: &Io, pages: PageRange, now_pages: u64) -> Write {
        Write {
            pages,
            context: io.context,
            file: io.file,
            hint: io.hint,
            tenant: io.tenant,
            now_pages,
        }
    }
}

/// What is known by name, told to a scheme before it sees the numbers. Names are only added, and
/// never change: those of a number are told before the first write that carries it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Files and their names, without a directory; empty where a name is not known.
    pub files: Vec<(FileId, String)>,
    /// Program contexts.
    pub contexts: Vec<ContextName>,
}

/// What is known of a program context besides its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextName {
    /// Its number in this run.
    pub id: ContextId,
    /// Its number in every run; 0 for the unknown context.
    pub signature: u64,
    /// What kind of writer it is.
    pub kind: ContextKind,
    /// The thread's name, its digits stripped.
    pub role: String,
}

impl Names {
    /// All names of a trace.
    pub fn of(tables: &Tables) -> Names {
        Names::of_rows(0, &tables.files, &tables.contexts)
    }

    /// The names of some rows of a trace's tables: `files` from row `first_file` on, and contexts.
    pub fn of_rows(first_file: u32, files: &[File], contexts: &[Context]) -> Names {
        let file = |(id, file): (u32, &File)| (FileId(id), file.name.clone());
        let context = |context: &Context| ContextName {
            id: context.id,
            signature: context.signature,
            kind: context.kind,
            role: context.role.clone(),
        };
        Names {
            files: (first_file..).zip(files).map(file).collect(),
            contexts: contexts.iter().map(context).collect(),
        }
    }

    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.contexts.is_empty()
    }
}

/// Decides the stream of each write of one host. Deterministic: the same calls give the same
/// answers. Memory is bounded at construction.
///
/// ```
/// use anabranch_placement::{Assign, Write};
/// use anabranch_ssd::StreamId;
///
/// /// Small requests to a stream of their own.
/// struct BySize;
///
/// impl Assign for BySize {
///     fn assign(&mut self, write: &Write) -> StreamId {
///         StreamId(u16::from(write.pages.count < 8))
///     }
/// }
/// ```
pub trait Assign: Send {
    /// The stream of `write`, below the number of host streams the scheme was made for.
    /// Called once for every write request, in order, just before the device performs it; the
    /// scheme learns here that whatever those pages held before has died.
    fn assign(&mut self, write: &Write) -> StreamId;

    /// The host discarded `pages` at logical time `now_pages`: what they held has died.
    /// Pages that held nothing mean nothing (file systems discard far more than they wrote).
    fn discard(&mut self, _pages: PageRange, _now_pages: u64) {}

    /// Names the scheme may go by; called again when there are more. What a scheme answers must
    /// not depend on how early it was told a name, for a replay knows all of them from the start.
    fn learn(&mut self, _names: &Names) {}

    /// What an earlier run learned of contexts, told before anything else.
    fn recall(&mut self, _profile: &KnownLifetimes) {}

    /// What was learned of contexts, in this run and those before; none where the scheme learns
    /// nothing of them.
    fn learned(&self) -> Option<KnownLifetimes> {
        None
    }

    /// Which of its rules were of use so far, where it goes by rules.
    fn rule_use(&self) -> Option<RuleUse> {
        None
    }

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
