//! The host half of a scheme: it chooses the stream of each write.

use anabranch_ssd::{PageRange, StreamId};
use anabranch_trace::{Context, ContextId, ContextKind, File, FileId, Io, Tables, WriteHint};

use crate::{known_lifetimes::KnownLifetimes, leaders::Leader, rules::RuleUse};

/// A write request as a scheme gets it, before the device performs it.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    /// The logical pages it covers; at least one.
    pub pages: PageRange,
    /// The context that wrote.
    pub context: ContextId,
    /// The file that the request belongs to.
    pub file: FileId,
    /// The life-time hint the application asked for.
    pub hint: WriteHint,
    /// The number of the program, where several share a drive.
    pub tenant: u32,
    /// Logical time: pages the host had written to the device before this request.
    pub now_pages: u64,
}

impl Write {
    /// The write for a request of a trace that covers `pages`; `now_pages` pages were written
    /// before it.
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

/// Names of files and contexts, given to a scheme before the numbers that stand for them. Names are
/// only added and never change: the name of a number is given before the first write that carries
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Files and their names, without a directory; empty where a name is not known.
    pub files: Vec<(FileId, String)>,
    /// Program contexts.
    pub contexts: Vec<ContextName>,
}

/// The name of a program context, with all that is known besides its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextName {
    /// The context's number in this run.
    pub id: ContextId,
    /// The context's signature, the same in every run; 0 for the unknown context.
    pub signature: u64,
    /// Kind of the writer.
    pub kind: ContextKind,
    /// The thread's name without its digits.
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

    /// Whether there is no name in it.
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

    /// The stream of all writes, where the scheme has no other: it need not be asked then, nor learns of what dies.
    fn only_stream(&self) -> Option<StreamId> {
        None
    }

    /// Pages about to be written one by one: a scheme with tables by page reads them now, one after the other, so that
    /// their cache misses overlap. Changes nothing.
    fn prefetch(&self, _pages: &[u32]) {}

    /// Whether [`Assign::announce`] is to be called, which costs a list of writes.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// The writes that come next, in order: [`Assign::assign`] is called for each of them before the next announcement,
    /// unless the drive takes no more. A discard among them is not announced. A lane that performs its requests one by
    /// one announces none.
    fn announce(&mut self, _writes: &[Write]) {}

    /// The host discarded `pages` at logical time `now_pages`: the data there died. Pages without
    /// data are to be ignored (file systems discard far more than they wrote).
    fn discard(&mut self, _pages: PageRange, _now_pages: u64) {}

    /// The host wrote `pages` whose stream was not the scheme's to choose: zeroes by command, or
    /// metadata with a place of their own. What the pages held died. A scheme that models the drive
    /// counts them as data, or its model holds less than the drive.
    fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
        self.discard(pages, now_pages);
    }

    /// Gives names that the scheme may go by; called again when there are more. IMPORTANT: an
    /// answer must not depend on how early a name was given, since a replay knows all of them from
    /// the start and must give the same counts as the live run.
    fn learn(&mut self, _names: &Names) {}

    /// Gives the lifetimes that an earlier run learned, before anything else.
    fn restore_lifetimes(&mut self, _known: &KnownLifetimes) {}

    /// The lifetimes of contexts learned in this run and those before; `None` if the scheme learns
    /// none.
    fn learned(&self) -> Option<KnownLifetimes> {
        None
    }

    /// The use of its rules so far, if the scheme goes by rules.
    fn rule_use(&self) -> Option<RuleUse> {
        None
    }

    /// The settings that led so far, in order; empty if the scheme changes none.
    fn leaders(&self) -> &[Leader] {
        &[]
    }

    /// Whether the scheme places each page of a request by itself: requests of several pages are
    /// then handed to it page by page.
    fn goes_by_page(&self) -> bool {
        false
    }

    /// Bytes of memory that the scheme holds now.
    fn memory_bytes(&self) -> usize {
        0
    }
}
