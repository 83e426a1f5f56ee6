//! The assembler: from records of the kernel side to [`Io`] and the tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_trace::{
    Context, ContextId, ContextKind, File, Io, Operation, Placement, Tenant, WriteHint,
};

use crate::capture_filter::{CaptureFilter, LeftOut};
use crate::context_table::{ContextTable, FoldLimits};
use crate::event::{Event, FileKey, IoEvent, MalformedRecord};
use crate::file_table::{FileTable, ReplacedRows};
use crate::known_writers::KnownWriters;
use crate::page_writer::{Answer, PageWriter};
use crate::reply::Reply;
use crate::tenants::Tenants;
use crate::window::Source;

/// Bytes of the pages of a handover.
const PAGE_BYTES: u64 = 4096;

/// Puts records together to requests and tables. It holds all that a capture learns.
#[derive(Debug)]
pub(crate) struct Assembler {
    start_ns: u64,
    last_ns: u64,
    writers: KnownWriters,
    contexts: ContextTable,
    files: FileTable,
    /// The placement that a context's writes name themselves.
    placements: BTreeMap<ContextId, u16>,
    /// Whether a program passed a command to the drive itself.
    has_passed: bool,
    /// Number of writes whose writer is not known.
    nameless: u64,
    /// Number of writes that reached the device with another hint than their file was granted.
    astray: u64,
}

impl Assembler {
    /// One that has seen nothing; time counts from the monotonic clock's 0. It starts a process (see
    /// [`ProgramFiles::new`](crate::program_files::ProgramFiles::new)), so let it be made before records come.
    pub(crate) fn new(limits: FoldLimits) -> Assembler {
        Assembler {
            start_ns: 0,
            last_ns: 0,
            writers: KnownWriters::new(),
            contexts: ContextTable::new(limits),
            files: FileTable::new(limits.max_files),
            placements: BTreeMap::new(),
            has_passed: false,
            nameless: 0,
            astray: 0,
        }
    }

    /// Counts time from this reading of the monotonic clock.
    pub(crate) fn since(mut self, start_ns: u64) -> Assembler {
        self.start_ns = start_ns;
        self
    }

    /// Captures only the writes of `whose`, or everybody's if that is empty.
    pub(crate) fn only(mut self, whose: &[CaptureFilter]) -> Assembler {
        self.writers.only(whose);
        self
    }

    /// Goes by these tenants, if there are any, and not by directories.
    pub(crate) fn shared_by(mut self, tenants: Option<Tenants>) -> Assembler {
        self.writers.shared_by(tenants);
        self
    }

    /// One request is told for so many bytes written, on average; 0 where all are.
    pub(crate) fn told_each(&mut self, bytes: u64) {
        self.contexts.told_each(bytes);
    }

    /// The tenants by control group so far.
    pub(crate) fn tenants(&self) -> &[Tenant] {
        self.writers.tenants().map_or(&[], Tenants::found)
    }

    /// Sentences on the tenants by control group.
    pub(crate) fn tenant_limitations(&self) -> Vec<String> {
        let tenants = self.writers.tenants();
        tenants.map_or_else(Vec::new, Tenants::limitations)
    }

    /// A sentence on files of programs that could not be read, if there were any.
    pub(crate) fn unread(&self) -> Option<String> {
        self.writers.unread()
    }

    /// The tenant that a write belongs to: its writer's or, where directories are tenants, its file's.
    fn tenant(&mut self, writer: u64, file: FileKey) -> u32 {
        match self.writers.tenants() {
            Some(_) => self.writers.get(writer).map_or(0, |known| known.tenant),
            None => self.files.tenant(file),
        }
    }

    /// Whether a program passed a command to the drive itself.
    pub(crate) fn has_passed(&self) -> bool {
        self.has_passed
    }

    /// The placements that programs named themselves, by context.
    pub(crate) fn placements(&self) -> Vec<Placement> {
        let placements = self.placements.iter();
        placements
            .map(|(context, &placement)| Placement {
                context: context.0,
                placement,
            })
            .collect()
    }

    /// Counts of the requests left out so far.
    pub(crate) fn left_out(&self) -> LeftOut {
        self.writers.left_out()
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
            Event::Stack(stack) => Ok(self.writers.learn(&stack, &self.contexts)),
            Event::Process { image, code } => Ok(self.writers.ranges(image, &code, &self.contexts)),
            Event::File {
                key,
                name,
                directory,
                generation,
            } => {
                self.files.name(key, name);
                self.files.place(key, &directory);
                if let Some(generation) = generation {
                    self.files.begin(key, generation);
                }
                Ok(None)
            }
        }
    }

    /// Whether the file has a row and a generation.
    pub(crate) fn knows_file(&self, file: FileKey) -> bool {
        self.files.knows(file)
    }

    /// The rows of files that have newer ones.
    pub(crate) fn replaced_rows(&self) -> Arc<ReplacedRows> {
        self.files.replaced()
    }

    /// Whether the writer has been told of, and is not forgotten.
    pub(crate) fn knows_writer(&mut self, writer: u64) -> bool {
        self.writers.get(writer).is_some()
    }

    /// The writer of a page's source. The page counts for the writer's context.
    pub(crate) fn answer(&mut self, source: &Source) -> Answer {
        let tenant = self.tenant(source.writer, source.file);
        let file = self.files.get(source.file);
        let generation = file.generation();
        let known = self.writers.get(source.writer);
        let is_by_kernel =
            known.is_some_and(|known| known.claims.writer.kind == ContextKind::Kernel);
        let context = known.map_or(ContextId::UNKNOWN, |known| {
            let contexts = &mut self.contexts;
            contexts.attribute(&known.claims, generation, PAGE_BYTES)
        });
        Answer {
            is_awaited: source.writer != 0 && known.is_none(),
            is_settled: known
                .is_some_and(|known| self.contexts.is_settled(&known.claims, generation)),
            writer: PageWriter {
                context,
                file: file.id,
                hint: WriteHint::from_number(source.hint.into()).unwrap_or_default(),
                hint_granted: source.hint_granted,
                tenant,
                is_by_kernel,
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
        let mut limitations = self.writers.limitations();
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
        self.has_passed |= event.is_passed;
        if let Some(reply) = self.writers.leave_out(event, operation) {
            return Ok((None, reply));
        }
        let file = self.files.get(event.file);
        let (writer, (context, reply)) = match operation {
            Operation::Write | Operation::Discard => {
                (event.writer, self.context(event, file.generation()))
            }
            // What a read names is who wrote the page or the file last.
            Operation::Read | Operation::Flush => (0, (ContextId::UNKNOWN, None)),
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
            file: file.id,
            hint: WriteHint::from_number(hint.into()).unwrap_or_default(),
            hint_granted,
            tenant: self.tenant(writer, event.file),
        };
        Ok((Some(io), reply))
    }

    fn context(&mut self, event: &IoEvent, generation: u8) -> (ContextId, Option<Reply>) {
        let known = match event.placement {
            Some(placement) => self.writers.placed(event.writer, placement, &self.contexts),
            None => self.writers.get(event.writer),
        };
        match known {
            Some(known) => {
                let contexts = &mut self.contexts;
                let context = contexts.attribute(&known.claims, generation, event.length_bytes);
                let placement = event.placement;
                self.placements
                    .extend(placement.map(|placement| (context, placement)));
                (context, None)
            }
            None => {
                self.nameless += 1;
                (ContextId::UNKNOWN, Some(Reply::Resend(event.writer)))
            }
        }
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
    use crate::event::WriterKind;
    use crate::known_writers::tests::stack as writer;

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
            is_passed: false,
            placement: None,
        })
    }

    /// A write that names a placement itself.
    fn placed(writer: u64, placement: u16) -> Event {
        let Event::Io(event) = io(writer, 1) else {
            panic!("a request");
        };
        Event::Io(IoEvent {
            placement: Some(placement),
            ..event
        })
    }

    #[test]
    fn each_placement_that_a_writer_names_is_a_context_of_its_own() {
        let mut assembler = Assembler::new(FoldLimits::default());
        accept(&mut assembler, stack(7, WriterKind::Kernel, "cache"));
        let mut context = |event| accept(&mut assembler, event).0[0].context;
        let (first, second) = (context(placed(7, 1)), context(placed(7, 2)));
        assert_eq!(context(placed(7, 1)), first);
        let unnamed = context(io(7, 1));
        assert!(first != second && first != unnamed && second != unnamed);
        let placements = [(first, 1), (second, 2)].map(|(context, placement)| Placement {
            context: context.0,
            placement,
        });
        assert_eq!(assembler.placements(), placements);
        let roles: Vec<String> = assembler
            .contexts_from(1)
            .into_iter()
            .map(|context| context.role)
            .collect();
        assert_eq!(
            roles,
            ["cache (placement 1)", "cache (placement 2)", "cache"]
        );
        // A writer that is not known has no placement either.
        let (ios, reply) = accept(&mut assembler, placed(8, 1));
        assert_eq!(ios[0].context, ContextId::UNKNOWN);
        assert!(matches!(reply, Some(Reply::Resend(8))));
    }

    fn stack(hash: u64, kind: WriterKind, comm: &str) -> Event {
        Event::Stack(Box::new(writer(hash, kind, comm)))
    }

    fn accept(assembler: &mut Assembler, event: Event) -> (Vec<Io>, Option<Reply>) {
        let mut ios = Vec::new();
        let reply = assembler.accept(event, &mut |io| ios.push(io)).unwrap();
        (ios, reply)
    }

    #[test]
    fn a_write_gets_its_writers_context_and_its_files_row() {
        let mut assembler = Assembler::new(FoldLimits::default()).since(1000);
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
    fn one_writer_of_files_of_two_generations_is_two_contexts() {
        let mut assembler = Assembler::new(FoldLimits::default());
        accept(&mut assembler, stack(9, WriterKind::User, "db:low0"));
        accept(&mut assembler, stack(8, WriterKind::Kernel, "kworker"));
        let mut of = |writer, ino, generation| {
            let Event::Io(mut event) = io(writer, 1) else {
                unreachable!()
            };
            event.file.ino = ino;
            let file = Event::File {
                key: event.file,
                name: String::new(),
                directory: String::new(),
                generation,
            };
            accept(&mut assembler, file);
            accept(&mut assembler, Event::Io(event)).0[0].context
        };
        let [flushed, merged, again, late] =
            [(12, Some(0)), (13, Some(2)), (14, Some(2)), (15, None)]
                .map(|(ino, told)| of(9, ino, told));
        assert_ne!(flushed, merged);
        assert_eq!((merged, flushed), (again, late));
        // What the kernel's own threads write is of no generation.
        assert_eq!(of(8, 12, None), of(8, 13, None));
        let contexts = assembler.finish().0;
        let generation = |context: ContextId| contexts[context.0 as usize].generation;
        assert_eq!([flushed, merged].map(generation), [0, 2]);
    }

    #[test]
    fn a_writer_that_is_not_known_is_asked_for_and_said() {
        let mut assembler = Assembler::new(FoldLimits::default());
        let (ios, reply) = accept(&mut assembler, io(9, 1));
        assert_eq!(ios[0].context, ContextId::UNKNOWN);
        assert!(matches!(reply, Some(Reply::Resend(9))));
        assert_eq!(assembler.finish().2.len(), 1);
    }

    #[test]
    fn of_chosen_processes_their_writes_are_captured_and_everybodys_discards() {
        let own = std::process::id();
        let mut assembler =
            Assembler::new(FoldLimits::default()).only(&[CaptureFilter::Process(own)]);
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
    fn a_read_is_nobodys_where_groups_are_tenants_and_its_files_where_directories_are() {
        let groups = tempfile::tempdir().unwrap();
        let group = groups.path().join("a");
        std::fs::create_dir(&group).unwrap();
        let shared = Tenants::below(groups.path().to_owned(), &["a".parse().unwrap()]);
        let Event::Stack(mut stack) = stack(9, WriterKind::Kernel, "kworker") else {
            unreachable!()
        };
        stack.group = std::os::unix::fs::MetadataExt::ino(&group.metadata().unwrap());
        let Event::Io(event) = io(9, 1) else {
            unreachable!()
        };
        let of = |tenants| {
            let mut assembler = Assembler::new(FoldLimits::default()).shared_by(tenants);
            let place = Event::File {
                key: event.file,
                name: "file".into(),
                directory: "tenant-7".into(),
                generation: None,
            };
            accept(&mut assembler, place);
            accept(&mut assembler, Event::Stack(stack.clone()));
            Operation::ALL.map(|operation| {
                let place = Operation::ALL.iter().position(|one| *one == operation);
                let operation = u8::try_from(place.unwrap()).unwrap();
                accept(&mut assembler, Event::Io(IoEvent { operation, ..event })).0[0].tenant
            })
        };
        let is_changed = |one| matches!(one, Operation::Write | Operation::Discard);
        let by_group = Operation::ALL.map(|one| u32::from(is_changed(one)));
        assert_eq!(of(Some(shared)), by_group);
        assert_eq!(of(None), [7; Operation::ALL.len()]);
    }

    #[test]
    fn a_process_that_is_gone_leaves_its_role_and_a_limitation() {
        let mut assembler = Assembler::new(FoldLimits::default());
        accept(&mut assembler, stack(9, WriterKind::User, "dd"));
        accept(&mut assembler, io(9, 1));
        let (contexts, _, limitations) = assembler.finish();
        assert_eq!(
            (contexts[1].kind, contexts[1].role.as_str()),
            (ContextKind::Folded, "dd")
        );
        assert!(limitations[0].contains("ended before"));
    }

    #[test]
    fn time_never_runs_backwards() {
        let mut assembler = Assembler::new(FoldLimits::default()).since(1000);
        let times: Vec<u64> = [1500, 1400, 900, 1600]
            .into_iter()
            .map(|time| accept(&mut assembler, io(9, time)).0[0].time_ns)
            .collect();
        assert_eq!(times, [500, 500, 500, 600]);
    }

    #[test]
    fn a_request_that_carries_another_hint_than_its_file_is_said() {
        let mut assembler = Assembler::new(FoldLimits::default());
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
        let mut assembler = Assembler::new(FoldLimits::default());
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
        let mut assembler = Assembler::new(FoldLimits::default());
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
