//! The assembler: from records of the kernel side to [`Io`] and the tables.

use std::sync::Arc;

use anabranch_trace::{Context, ContextId, ContextKind, File, FileId, Io, Operation, WriteHint};

use crate::address_space::{AddressSpace, AddressSpaces};
use crate::bounded::BoundedMap;
use crate::context_table::{Claims, ContextTable, FoldLimits};
use crate::event::{Event, FileKey, ImageKey, IoEvent, MalformedRecord, StackEvent, WriterKind};
use crate::file_table::FileTable;
use crate::shared::Shared;
use crate::whose::{LeftOut, Stranger, Wanted, Whose};
use crate::window::Source;
use crate::writer::{CallSite, Writer};

/// The most hashes of writers that are remembered: four times as many as the kernel side remembers to have sent, since
/// a page may be written out long after it was made dirty. Our choice.
const MAX_WRITERS: usize = 65536;
/// The fewest frames with which a walk along frame pointers is trusted; as in `writer.bpf.h`.
const MIN_FRAMES: usize = 3;
/// The most words of a stack that are taken for return addresses; as in `writer.bpf.h`.
const SCANNED_FRAMES: usize = 5;
/// Bytes of the pages of a handover.
const PAGE_BYTES: u64 = 4096;

/// What is known of a writer.
type Known = Result<Arc<Claims>, Stranger>;

/// A reply to the kernel side.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The address ranges of a program image's code, and the hash of the writer whose walk ended for want of one.
    Ranges(ImageKey, Vec<(u64, u64)>, Option<u64>),
    /// The hash of a writer that must be sent again when it is next seen.
    Resend(u64),
}

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
    /// The tenant the file belongs to; 0 if it belongs to none.
    pub tenant: u32,
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

/// Puts records together to requests and tables. It holds all that a capture learns.
#[derive(Debug)]
pub(crate) struct Assembler {
    start_ns: u64,
    last_ns: u64,
    spaces: AddressSpaces,
    writers: BoundedMap<u64, Known>,
    /// A process has hashes of its own: what a program's processes claim is kept once.
    claims: Shared<Claims>,
    paths: Shared<[CallSite]>,
    /// Whose writes are captured; `None` for everybody's.
    wanted: Option<Wanted>,
    contexts: ContextTable,
    files: FileTable,
    /// Number of stacks of processes that were gone before they could be read.
    gone: u64,
    /// Number of writes whose writer is not known.
    nameless: u64,
    /// Number of writes that reached the device with another hint than their file was granted.
    astray: u64,
}

impl Assembler {
    /// `start_ns` is the monotonic clock's reading that becomes time 0.
    pub(crate) fn new(start_ns: u64, limits: FoldLimits) -> Assembler {
        Assembler {
            start_ns,
            last_ns: 0,
            spaces: AddressSpaces::new(),
            writers: BoundedMap::new(MAX_WRITERS),
            claims: Shared::new(),
            paths: Shared::new(),
            wanted: None,
            contexts: ContextTable::new(limits),
            files: FileTable::new(limits.max_files),
            gone: 0,
            nameless: 0,
            astray: 0,
        }
    }

    /// Captures only the writes of `whose`, or everybody's if that is empty.
    pub(crate) fn only(mut self, whose: &[Whose]) -> Assembler {
        self.wanted = (!whose.is_empty()).then(|| Wanted::new(whose.to_vec()));
        self
    }

    /// Counts of the requests left out so far.
    pub(crate) fn left_out(&self) -> LeftOut {
        self.wanted
            .as_ref()
            .map_or_else(LeftOut::default, Wanted::left_out)
    }

    /// Takes one record. If it is a request, passes it to `sink`.
    pub(crate) fn accept(
        &mut self,
        event: Event,
        sink: &mut dyn FnMut(Io),
    ) -> Result<Option<Reply>, MalformedRecord> {
        match event {
            Event::Io(event) => {
                let (io, reply) = self.io(&event)?;
                io.into_iter().for_each(sink);
                Ok(reply)
            }
            Event::Stack(stack) => Ok(self.stack(&stack)),
            Event::Process(image) => {
                let space = self.spaces.get(image);
                Ok(space.map(|space| Reply::Ranges(image, space.ranges().to_vec(), None)))
            }
            Event::File {
                key,
                name,
                directory,
            } => {
                self.files.name(key, name);
                self.files.place(key, &directory);
                Ok(None)
            }
        }
    }

    /// Whether the file has a row.
    pub(crate) fn knows_file(&self, file: FileKey) -> bool {
        self.files.knows(file)
    }

    /// The writer of a page's source. The page counts for the writer's context.
    pub(crate) fn answer(&mut self, source: &Source) -> Answer {
        let claims = self.writers.get_mut(&source.writer);
        let claims = claims.and_then(|known| known.as_mut().ok());
        let context = match &claims {
            Some(claims) => self.contexts.attribute(claims, PAGE_BYTES),
            None => ContextId::UNKNOWN,
        };
        Answer {
            is_awaited: source.writer != 0 && claims.is_none(),
            is_settled: claims.is_some_and(|claims| self.contexts.is_settled(claims)),
            writer: PageWriter {
                context,
                file: self.files.id(source.file),
                hint: WriteHint::from_number(source.hint.into()).unwrap_or_default(),
                hint_granted: source.hint_granted,
                tenant: self.files.tenant(source.file),
            },
        }
    }

    /// The rows of the context table from `first` on, without symbols.
    pub(crate) fn contexts_from(&self, first: usize) -> Vec<Context> {
        self.contexts.contexts_from(first)
    }

    /// The rows of the file table from `first` on.
    pub(crate) fn files_from(&self, first: usize) -> &[File] {
        self.files.files_from(first)
    }

    /// Ends the capture: the context table, the file table, and sentences on what could not be seen.
    pub(crate) fn finish(self) -> (Vec<Context>, Vec<File>, Vec<String>) {
        let mut limitations = Vec::new();
        if self.gone > 0 {
            limitations.push(format!(
                "{} call paths belong to processes that ended before they could be looked at: their writes are known by the thread's name only.",
                self.gone
            ));
        }
        if self.nameless > 0 {
            limitations.push(format!(
                "{} writes carry no context: what their writer was had been forgotten.",
                self.nameless
            ));
        }
        if self.astray > 0 {
            limitations.push(format!(
                "{} writes went to the device with another life-time hint than the one granted to their file: the trace has the file's.",
                self.astray
            ));
        }
        limitations.extend(self.wanted.iter().flat_map(Wanted::limitations));
        (
            self.contexts.contexts(),
            self.files.into_files(),
            limitations,
        )
    }

    fn io(&mut self, event: &IoEvent) -> Result<(Option<Io>, Option<Reply>), MalformedRecord> {
        let operation = *Operation::ALL
            .get(usize::from(event.operation))
            .ok_or(MalformedRecord)?;
        if let Some(reply) = self.leave_out(event, operation) {
            return Ok((None, reply));
        }
        let (context, reply) = match operation {
            Operation::Write | Operation::Discard => self.context(event),
            Operation::Read | Operation::Flush => (ContextId::UNKNOWN, None),
        };
        let is_hinted = operation == Operation::Write && event.hint_granted;
        if is_hinted && event.request_hint.is_some_and(|hint| hint != event.hint) {
            self.astray += 1;
        }
        // Records of several cores may come some microseconds out of order.
        self.last_ns = self
            .last_ns
            .max(event.time_ns.saturating_sub(self.start_ns));
        let (hint, hint_granted) = hint_of(event, operation);
        let io = Io {
            time_ns: self.last_ns,
            operation,
            offset_bytes: event.offset_bytes,
            length_bytes: event.length_bytes,
            context,
            file: self.files.id(event.file),
            hint: WriteHint::from_number(hint.into()).unwrap_or_default(),
            hint_granted,
            tenant: self.files.tenant(event.file),
        };
        Ok((Some(io), reply))
    }

    /// Counts a request that is nobody's whose writes are wanted, and answers with the reply to the kernel side.
    /// Discards are never left out: they tell what no longer lives.
    fn leave_out(&mut self, event: &IoEvent, operation: Operation) -> Option<Option<Reply>> {
        let wanted = self.wanted.as_mut()?;
        let (writer, reply) = match operation {
            Operation::Discard | Operation::Flush => return None,
            Operation::Read => (None, None),
            Operation::Write => match self.writers.get_mut(&event.writer) {
                Some(Ok(_)) => return None,
                Some(Err(stranger)) => (Some(*stranger), None),
                None => (None, Some(Reply::Resend(event.writer))),
            },
        };
        wanted.leave_out(event, operation, writer);
        Some(reply)
    }

    fn context(&mut self, event: &IoEvent) -> (ContextId, Option<Reply>) {
        match self.writers.get_mut(&event.writer) {
            Some(Ok(claims)) => (self.contexts.attribute(claims, event.length_bytes), None),
            _ => {
                self.nameless += 1;
                (ContextId::UNKNOWN, Some(Reply::Resend(event.writer)))
            }
        }
    }

    fn stack(&mut self, stack: &StackEvent) -> Option<Reply> {
        if let Some(wanted) = &mut self.wanted
            && let Some(stranger) = wanted.stranger(stack)
        {
            self.writers.insert(stack.hash, Err(stranger));
            return None;
        }
        let kind = match stack.kind {
            WriterKind::User => ContextKind::Application,
            WriterKind::Journal => ContextKind::Journal,
            WriterKind::Metadata => ContextKind::Metadata,
            WriterKind::Kernel => ContextKind::Kernel,
        };
        let mut reply = None;
        let mut path = Vec::new();
        if !stack.frames.is_empty() {
            let newer = self.spaces.reload_for(stack.image, stack.outside);
            // The walk that ended for want of a range is not remembered: the next one goes further.
            let short = Some(stack.hash);
            reply = newer.map(|space| Reply::Ranges(stack.image, space.ranges().to_vec(), short));
            match self.spaces.get(stack.image) {
                Some(space) => path = self.path(stack, &space),
                None => self.gone += 1,
            }
        }
        let role = match (kind, stack.comm.as_str()) {
            (ContextKind::Journal, "") => "journal",
            (ContextKind::Metadata, "") => "metadata",
            (_, comm) => comm,
        };
        let writer = Writer::new(kind, role, path).share_path(&mut self.paths);
        let claims = self.contexts.claims(writer);
        let claims = self.claims.share(Arc::new(claims));
        self.writers.insert(stack.hash, Ok(claims));
        reply
    }

    /// The call path in a form that survives a restart; empty when no address leads to code.
    fn path(&mut self, stack: &StackEvent, space: &Arc<AddressSpace>) -> Vec<CallSite> {
        if stack.scanned {
            return self.guessed(stack.image.tgid, &stack.frames, space);
        }
        let sites: Vec<CallSite> = stack
            .frames
            .iter()
            .map_while(|&frame| space.find(frame))
            .collect();
        if stack.known || sites.len() >= MIN_FRAMES {
            return sites;
        }
        // Had the kernel side known where there is code, it would have scanned the stack: what it would have taken.
        let first = stack.frames.first().into_iter();
        let code = stack.words.iter().filter(|&&word| space.is_code(word));
        let taken: Vec<u64> = first.chain(code.take(SCANNED_FRAMES)).copied().collect();
        self.guessed(stack.image.tgid, &taken, space)
    }

    /// The return addresses among a thread's position and words of its stack.
    fn guessed(&mut self, tgid: u32, words: &[u64], space: &AddressSpace) -> Vec<CallSite> {
        let mut sites: Vec<CallSite> = words.iter().filter_map(|&word| space.find(word)).collect();
        let mut first = true;
        sites
            .retain(|site| std::mem::take(&mut first) || self.spaces.is_return_address(tgid, site));
        sites
    }
}

/// The hint asked for the file, and whether it was granted. Where nobody asked for one, it is the request's own: F2FS
/// gives each of its logs one.
fn hint_of(event: &IoEvent, operation: Operation) -> (u8, bool) {
    match event.request_hint {
        Some(own) if event.hint == 0 && operation == Operation::Write => (own, own != 0),
        _ => (event.hint, event.hint_granted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::image_of;

    fn io(writer: u64, time_ns: u64) -> Event {
        Event::Io(IoEvent {
            operation: 1,
            hint: 2,
            hint_granted: true,
            request_hint: Some(2),
            time_ns,
            offset_bytes: 4096,
            length_bytes: 8192,
            writer,
            file: FileKey {
                ino: 12,
                generation: 1,
                dev: 7,
            },
        })
    }

    fn stack(hash: u64, kind: WriterKind, comm: &str) -> Event {
        Event::Stack(Box::new(StackEvent {
            kind,
            scanned: false,
            known: true,
            hash,
            image: ImageKey {
                image: 1,
                tgid: u32::MAX,
            },
            outside: 0,
            comm: comm.into(),
            frames: match kind {
                WriterKind::User => vec![0x1000, 0x2000, 0x3000],
                _ => Vec::new(),
            },
            words: Vec::new(),
        }))
    }

    fn accept(assembler: &mut Assembler, event: Event) -> (Vec<Io>, Option<Reply>) {
        let mut ios = Vec::new();
        let reply = assembler.accept(event, &mut |io| ios.push(io)).unwrap();
        (ios, reply)
    }

    #[test]
    fn a_write_gets_its_writers_context_and_its_files_row() {
        let mut assembler = Assembler::new(1000, FoldLimits::default());
        accept(
            &mut assembler,
            stack(9, WriterKind::Journal, "jbd2/loop0-8"),
        );
        let (ios, reply) = accept(&mut assembler, io(9, 1500));
        assert!(reply.is_none());
        assert_eq!(
            (ios[0].time_ns, ios[0].context.0, ios[0].file.0),
            (500, 1, 1)
        );
        assert_eq!((ios[0].hint, ios[0].hint_granted), (WriteHint::Short, true));
    }

    #[test]
    fn a_writer_that_is_not_known_is_asked_for_and_said() {
        let mut assembler = Assembler::new(0, FoldLimits::default());
        let (ios, reply) = accept(&mut assembler, io(9, 1));
        assert_eq!(ios[0].context, ContextId::UNKNOWN);
        assert!(matches!(reply, Some(Reply::Resend(9))));
        assert_eq!(assembler.finish().2.len(), 1);
    }

    #[test]
    fn of_chosen_processes_their_writes_are_captured_and_everybodys_discards() {
        let own = std::process::id();
        let mut assembler = Assembler::new(0, FoldLimits::default()).only(&[Whose::Process(own)]);
        let Event::Stack(mut ours) = stack(9, WriterKind::User, "ours") else {
            unreachable!()
        };
        ours.image.tgid = own;
        accept(&mut assembler, Event::Stack(ours));
        accept(&mut assembler, stack(8, WriterKind::User, "other"));
        accept(&mut assembler, stack(7, WriterKind::Journal, ""));
        let of = |writer, operation| {
            let Event::Io(event) = io(writer, 1) else {
                unreachable!()
            };
            Event::Io(IoEvent { operation, ..event })
        };
        let number = |operation| {
            let place = Operation::ALL.iter().position(|one| *one == operation);
            u8::try_from(place.unwrap()).unwrap()
        };
        let (write, read) = (number(Operation::Write), number(Operation::Read));
        let discard = number(Operation::Discard);
        let mut taken = |writer, operation| accept(&mut assembler, of(writer, operation)).0.len();
        let writes = [9, 8, 7].map(|writer| taken(writer, write));
        assert_eq!(writes, [1, 0, 0]);
        assert_eq!((taken(9, read), taken(8, discard)), (0, 1));
        let (none, reply) = accept(&mut assembler, of(6, write));
        assert!(none.is_empty() && matches!(reply, Some(Reply::Resend(6))));
        let left_out = LeftOut {
            writes: 3,
            written_bytes: 3 * 8192,
            kernel_bytes: 8192,
            reads: 1,
        };
        assert_eq!(assembler.left_out(), left_out);
        let (contexts, _, limitations) = assembler.finish();
        assert!(contexts.iter().all(|context| context.role != "other"));
        assert!(
            limitations
                .iter()
                .any(|words| words.contains("3 writes of others"))
        );
        assert!(
            limitations
                .iter()
                .any(|words| words.contains("had ended before"))
        );
    }

    #[test]
    fn a_process_that_is_gone_leaves_its_role_and_a_limitation() {
        let mut assembler = Assembler::new(0, FoldLimits::default());
        accept(&mut assembler, stack(9, WriterKind::User, "dd"));
        accept(&mut assembler, io(9, 1));
        let (contexts, _, limitations) = assembler.finish();
        assert_eq!(
            (contexts[1].kind, contexts[1].role.as_str()),
            (ContextKind::Folded, "dd")
        );
        assert!(limitations[0].contains("ended before"));
    }

    /// The claims of as many processes as are remembered, of programs with these names; all have one call path.
    fn claims_of(names: impl Iterator<Item = String>) -> Vec<Arc<Claims>> {
        let mut assembler = Assembler::new(0, FoldLimits::default());
        let tgid = std::process::id();
        let image = image_of(tgid)
            .map(|image| ImageKey { image, tgid })
            .unwrap();
        let code = [
            io as fn(u64, u64) -> Event as usize as u64,
            accept as fn(&mut Assembler, Event) -> (Vec<Io>, Option<Reply>) as usize as u64,
            stack as fn(u64, WriterKind, &str) -> Event as usize as u64,
        ];
        let processes = (0..MAX_WRITERS as u64).zip(names).map(|(hash, name)| {
            let Event::Stack(mut one) = stack(hash, WriterKind::User, &name) else {
                unreachable!()
            };
            one.image = image;
            one.frames = code.to_vec();
            accept(&mut assembler, Event::Stack(one));
            assembler.writers.get_mut(&hash).unwrap().clone().unwrap()
        });
        processes.collect()
    }

    #[test]
    fn processes_of_one_program_are_kept_as_one_writer() {
        let claims = claims_of(std::iter::repeat("dd".into()));
        assert_eq!(claims.len(), MAX_WRITERS);
        assert!(claims.iter().all(|one| Arc::ptr_eq(one, &claims[0])));
    }

    #[test]
    fn a_writer_with_a_new_name_takes_little_more_than_its_name() {
        let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
        let name = |number: usize| (0..5).map(|at| letter(number / 26_usize.pow(at))).collect();
        let claims = claims_of((0..).map(name));
        assert_eq!(claims.len(), MAX_WRITERS);
        let path = claims[0].writer.path();
        assert_eq!(path.len(), MIN_FRAMES);
        for pair in claims.windows(2) {
            assert_ne!(pair[0].writer.role, pair[1].writer.role);
            assert_eq!(pair[1].writer.path().as_ptr(), path.as_ptr());
        }
        assert!(size_of::<Claims>() <= 80);
        assert!(size_of::<(u64, Known)>() <= 24);
    }

    #[test]
    fn time_never_runs_backwards() {
        let mut assembler = Assembler::new(1000, FoldLimits::default());
        let times: Vec<u64> = [1500, 1400, 900, 1600]
            .into_iter()
            .map(|time| accept(&mut assembler, io(9, time)).0[0].time_ns)
            .collect();
        assert_eq!(times, [500, 500, 500, 600]);
    }

    #[test]
    fn a_request_that_carries_another_hint_than_its_file_is_said() {
        let mut assembler = Assembler::new(0, FoldLimits::default());
        let Event::Io(event) = io(9, 1) else {
            unreachable!()
        };
        for (request_hint, hint_granted) in [(Some(3), true), (Some(3), false), (None, true)] {
            let event = IoEvent {
                request_hint,
                hint_granted,
                ..event
            };
            accept(&mut assembler, stack(9, WriterKind::Journal, ""));
            accept(&mut assembler, Event::Io(event));
        }
        let limitations = assembler.finish().2;
        assert!(
            limitations[0].starts_with("1 writes went"),
            "{limitations:?}"
        );
    }

    #[test]
    fn where_nobody_asked_for_a_hint_the_request_has_its_file_systems() {
        let mut assembler = Assembler::new(0, FoldLimits::default());
        accept(&mut assembler, stack(9, WriterKind::Journal, ""));
        let Event::Io(event) = io(9, 1) else {
            unreachable!()
        };
        let mut hinted = |request_hint| {
            let event = Event::Io(IoEvent {
                hint: 0,
                hint_granted: false,
                request_hint,
                ..event
            });
            let io = accept(&mut assembler, event).0[0];
            (io.hint, io.hint_granted)
        };
        assert_eq!(hinted(Some(5)), (WriteHint::Extreme, true));
        assert_eq!(hinted(Some(0)), (WriteHint::NotSet, false));
        assert_eq!(hinted(None), (WriteHint::NotSet, false));
    }

    #[test]
    fn an_operation_that_does_not_exist_is_refused() {
        let mut assembler = Assembler::new(0, FoldLimits::default());
        let Event::Io(mut event) = io(9, 1) else {
            unreachable!()
        };
        event.operation = 9;
        assert_eq!(
            assembler.accept(Event::Io(event), &mut |_| ()).unwrap_err(),
            MalformedRecord
        );
    }
}
