//! The host half of a scheme at work on one drive, asked request by request.
//!
//! ```text
//! place(pages):   metadata, with a stream of its own?   that stream; the scheme only learns that the pages have died
//!                 else for each run of pages of one writer:
//!                     pass the scheme the writer's names, if they are new
//!                     ask it; for each part of its answer: model, clock, witness, run
//!                 all in one stream?                    one run; scheme and witness have seen the decision
//! zero, discard:  scheme, model and witness learn of it; only zeroes move the clock
//! ```

use std::convert::Infallible;
use std::io;

use anabranch_placement::{Assign, KnownLifetimes, Policy, Write};
use anabranch_ssd::{PageRange, StreamId, relocate::Relocate, state::StateError};
use anabranch_trace::{ContextId, FileId, WriteHint};

use crate::collecting::Collecting;
use crate::split::Run;
use crate::writers::{Writer, Writers};

/// Sees what the drive was asked to do, in the order in which the scheme decided. Must not wait.
pub trait Witness: Send {
    /// Pages were written to a stream.
    fn wrote(&mut self, pages: PageRange, stream: StreamId);
    /// Pages were discarded.
    fn discarded(&mut self, pages: PageRange);
}

/// A scheme, its clock, and who watches: asks it of what the block device is asked to do. Copies are the drive's, or the host
/// collects.
pub struct Placer {
    scheme: Policy,
    now_pages: u64,
    /// The stream of metadata and journal, if they have their own.
    metadata: Option<StreamId>,
    witness: Option<Box<dyn Witness>>,
    /// Contexts and files that the scheme knows the names of.
    named: (usize, usize),
    /// Whether all pages go to the default stream, whatever the scheme decides.
    is_in_one: bool,
    collecting: Option<Collecting>,
}

impl std::fmt::Debug for Placer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placer")
            .field("now_pages", &self.now_pages)
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}

/// Context 0: nobody knows who wrote.
const UNKNOWN: Writer = Writer {
    context: ContextId(0),
    file: FileId(0),
    hint: WriteHint::NotSet,
    tenant: 0,
};

impl Placer {
    /// A scheme that was built for as many streams as it may name. Blocks that a file system marks
    /// as its metadata or journal never meet the scheme where `metadata` names a stream for them.
    pub fn new(assign: Box<dyn Assign>, metadata: Option<StreamId>) -> Placer {
        Placer::of(Policy::of_host(assign), metadata, None)
    }

    /// A whole scheme, and the model by which the host collects. Its streams are the model's handles.
    pub fn collecting(scheme: Policy, collecting: Collecting) -> Placer {
        Placer::of(scheme, None, Some(collecting))
    }

    fn of(scheme: Policy, metadata: Option<StreamId>, collecting: Option<Collecting>) -> Placer {
        Placer {
            scheme,
            now_pages: 0,
            metadata,
            witness: None,
            named: (0, 0),
            is_in_one: false,
            collecting,
        }
    }

    /// Leaves the collecting to the drive: from now on this host half places.
    pub fn give_up_collecting(&mut self, half: Box<dyn Assign>) {
        self.collecting = None;
        self.scheme = Policy::of_host(half);
        // The new scheme has met no name yet.
        self.named = (0, 0);
    }

    /// The model of a host that collects; nothing once it has given up.
    pub fn model(&self) -> Option<&Collecting> {
        self.collecting.as_ref()
    }

    /// Writes the model of a host that collects, once the server has stopped. Answers whether there was one.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn save_model(&mut self, to: &mut dyn io::Write) -> Result<bool, StateError> {
        let saved = self.collect(|model, relocation| model.save(relocation, to));
        saved.transpose().map(|saved| saved.is_some())
    }

    /// Has the model of a host that collects do something, beside the scheme's device half.
    pub(crate) fn collect<T>(
        &mut self,
        act: impl FnOnce(&mut Collecting, &mut dyn Relocate) -> T,
    ) -> Option<T> {
        let collecting = self.collecting.as_mut()?;
        Some(act(collecting, self.scheme.relocation_mut()))
    }

    /// From now on all pages go to the default stream, or again where the scheme decides. The scheme is asked as before,
    /// and the witness sees its decisions: both go on as if nothing had happened.
    pub fn put_in_one(&mut self, is_in_one: bool) {
        self.is_in_one = is_in_one;
    }

    /// From now on `witness` sees everything.
    pub fn watch(&mut self, witness: Box<dyn Witness>) {
        self.witness = Some(witness);
    }

    /// Lets the witness go.
    pub fn unwatch(&mut self) {
        self.witness = None;
    }

    /// Tells the scheme the names it may go by before it meets a number of theirs.
    fn learn(&mut self, writer: Writer, writers: &dyn Writers) {
        let is_new =
            writer.context.0 as usize >= self.named.0 || writer.file.0 as usize >= self.named.1;
        if is_new && let Some(names) = writers.news(self.named.0, self.named.1) {
            // Without an answer (the probe is reading a program) the write does not wait: a later one brings the names.
            self.named.0 += names.contexts.len();
            self.named.1 += names.files.len();
            self.scheme.learn(&names);
        }
    }

    /// Returns the scheme that decides.
    pub fn assign(&self) -> &dyn Assign {
        self.scheme.host()
    }

    /// Tells the scheme what an earlier run learned, before anything else.
    pub fn restore_lifetimes(&mut self, profile: &KnownLifetimes) {
        self.scheme.restore_lifetimes(profile);
    }

    /// Places the pages of one write. Returns how many of them have no known writer; metadata with
    /// a place of its own needs none.
    pub fn place(
        &mut self,
        pages: PageRange,
        is_metadata: bool,
        writers: &dyn Writers,
        runs: &mut Vec<Run>,
    ) -> u32 {
        let unknown = self.decide(pages, is_metadata, writers, runs);
        if self.is_in_one {
            runs.clear();
            runs.push(Run {
                pages: pages.count,
                stream: StreamId::DEFAULT,
            });
        }
        unknown
    }

    /// Asks the scheme, and tells the witness.
    fn decide(
        &mut self,
        pages: PageRange,
        is_metadata: bool,
        writers: &dyn Writers,
        runs: &mut Vec<Run>,
    ) -> u32 {
        runs.clear();
        if let (true, Some(stream)) = (is_metadata, self.metadata) {
            // The scheme places nothing here, but what the pages held has died, and its miniatures must hold as much as
            // the drive does: without this they copied too little, and chose wrong (lab/notebook/steer-trials.md).
            self.scheme.written_elsewhere(pages, self.now_pages);
            let witness = self.witness.as_deref_mut();
            wrote(pages, stream, &mut self.now_pages, witness, runs);
            return 0;
        }
        let mut unknown = 0;
        let mut page = pages.first;
        let end = pages.first + pages.count;
        // Each page is asked for once: who asks is counted.
        let mut ahead = None;
        while page < end {
            let writer = ahead
                .take()
                .unwrap_or_else(|| writers.writer_of(page.into()));
            let mut next = page + 1;
            while next < end {
                let other = writers.writer_of(next.into());
                if other != writer {
                    ahead = Some(other);
                    break;
                }
                next += 1;
            }
            // A writer that was seen but not named in time counts as unknown.
            let is_known = writer.is_some_and(|writer| writer.context != UNKNOWN.context);
            unknown += if is_known { 0 } else { next - page };
            let range = PageRange::new(page, next - page);
            let writer = writer.unwrap_or(UNKNOWN);
            self.learn(writer, writers);
            self.ask(range, writer, runs);
            page = next;
        }
        unknown
    }

    fn ask(&mut self, pages: PageRange, writer: Writer, runs: &mut Vec<Run>) {
        let write = Write {
            pages,
            context: writer.context,
            file: writer.file,
            hint: writer.hint,
            tenant: writer.tenant,
            now_pages: self.now_pages,
        };
        let Placer {
            scheme,
            now_pages,
            witness,
            collecting,
            ..
        } = self;
        let perform = |relocation: &mut dyn Relocate, part: &Write, stream| {
            if let Some(collecting) = collecting {
                collecting.write(relocation, part.pages, stream);
            }
            wrote(part.pages, stream, now_pages, witness.as_deref_mut(), runs);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = scheme.place(&write, perform);
    }

    /// Zeroes are written by command, which carries no handle: what the pages held has died, and the drive may write
    /// them as data of its default handle.
    pub fn zero(&mut self, pages: PageRange) {
        // IMPORTANT: not a discard: the drive may hold zeroes as data. Reported as one, the zeroes of mkfs.xfs left the
        // scheme's miniatures emptier than the drive, by 18 % of it (lab/notebook/steer-trials.md).
        self.scheme.written_elsewhere(pages, self.now_pages);
        self.now_pages += u64::from(pages.count);
        self.collect(|model, relocation| model.write(relocation, pages, StreamId::DEFAULT));
        if let Some(witness) = &mut self.witness {
            witness.wrote(pages, StreamId::DEFAULT);
        }
    }

    /// Pages were discarded: what they held has died.
    pub fn discard(&mut self, pages: PageRange) {
        self.scheme.discard(pages, self.now_pages);
        self.collect(|model, _| model.discard(pages));
        if let Some(witness) = &mut self.witness {
            witness.discarded(pages);
        }
    }
}

/// Pages go to a stream: time passes, the witness sees it, and they join the run before if that goes there too.
fn wrote(
    pages: PageRange,
    stream: StreamId,
    now_pages: &mut u64,
    witness: Option<&mut (dyn Witness + 'static)>,
    runs: &mut Vec<Run>,
) {
    *now_pages += u64::from(pages.count);
    if let Some(witness) = witness {
        witness.wrote(pages, stream);
    }
    match runs.last_mut() {
        Some(last) if last.stream == stream => last.pages += pages.count,
        _ => runs.push(Run {
            pages: pages.count,
            stream,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writers::{KnownWriters, NoWriters};
    use anabranch_placement::{ContextName, Names};
    use anabranch_trace::ContextKind;
    use std::sync::{Arc, Mutex};

    /// Pages, context and time of each question.
    type Queries = Arc<Mutex<Vec<(u32, u32, u32, u64)>>>;

    /// Stands for a context where it was not asked.
    const ELSEWHERE: u32 = u32::MAX;

    /// Stream = context; remembers what it was asked, and told to be elsewhere.
    struct ByContext(Queries, bool);

    impl Assign for ByContext {
        fn assign(&mut self, write: &Write) -> StreamId {
            self.0.lock().unwrap().push((
                write.pages.first,
                write.pages.count,
                write.context.0,
                write.now_pages,
            ));
            StreamId(write.context.0 as u16)
        }

        fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
            let told = (pages.first, pages.count, ELSEWHERE, now_pages);
            self.0.lock().unwrap().push(told);
        }

        fn goes_by_page(&self) -> bool {
            self.1
        }
    }

    fn writer(context: u32) -> Writer {
        Writer {
            context: ContextId(context),
            ..UNKNOWN
        }
    }

    fn placer(by_page: bool, metadata: Option<StreamId>) -> (Placer, Queries) {
        let asked = Queries::default();
        let scheme = ByContext(asked.clone(), by_page);
        (Placer::new(Box::new(scheme), metadata), asked)
    }

    #[test]
    fn a_merged_request_is_asked_for_writer_by_writer() {
        let (mut placer, asked) = placer(false, None);
        let writers = KnownWriters::default();
        writers.record(10..12, writer(1));
        writers.record(12..13, writer(2));
        let mut runs = Vec::new();
        let unknown = placer.place(PageRange::new(10, 5), false, &writers, &mut runs);
        assert_eq!(unknown, 2);
        let pages: Vec<_> = runs.iter().map(|run| (run.pages, run.stream.0)).collect();
        assert_eq!(pages, [(2, 1), (1, 2), (2, 0)]);
        let expected = [(10, 2, 1, 0), (12, 1, 2, 2), (13, 2, 0, 3)];
        assert_eq!(*asked.lock().unwrap(), expected);
    }

    /// Row 0 and those of a context and of a file.
    struct Named(KnownWriters);

    impl Writers for Named {
        fn writer_of(&self, page: u64) -> Option<Writer> {
            self.0.writer_of(page)
        }

        fn news(&self, contexts: usize, files: usize) -> Option<Names> {
            let file = |id: usize| (FileId(id as u32), format!("file {id}"));
            let context = |id: usize| ContextName {
                id: ContextId(id as u32),
                signature: 7,
                kind: ContextKind::Application,
                role: "it".to_owned(),
            };
            Some(Names {
                files: (files..2).map(file).collect(),
                contexts: (contexts..3).map(context).collect(),
            })
        }

        fn done(&self, _first_page: u64, _pages: u64) {}
    }

    /// Names it learned, in the order of its questions.
    struct Learns(Arc<Mutex<Vec<String>>>);

    impl Assign for Learns {
        fn assign(&mut self, write: &Write) -> StreamId {
            self.0
                .lock()
                .unwrap()
                .push(format!("asked of {}", write.context.0));
            StreamId(0)
        }

        fn learn(&mut self, names: &Names) {
            let told = format!("told {} {}", names.contexts.len(), names.files.len());
            self.0.lock().unwrap().push(told);
        }
    }

    #[test]
    fn a_scheme_is_told_names_once_and_before_it_meets_their_numbers() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut placer = Placer::new(Box::new(Learns(told.clone())), None);
        let writers = Named(KnownWriters::default());
        writers.0.record(0..1, writer(2));
        writers.0.record(1..2, writer(1));
        let mut runs = Vec::new();
        placer.place(PageRange::new(0, 2), false, &writers, &mut runs);
        placer.place(PageRange::new(0, 1), false, &writers, &mut runs);
        assert_eq!(
            *told.lock().unwrap(),
            ["told 3 2", "asked of 2", "asked of 1", "asked of 2"]
        );
    }

    #[test]
    fn a_scheme_that_goes_by_page_is_asked_for_each() {
        let (mut placer, asked) = placer(true, None);
        let mut runs = Vec::new();
        assert_eq!(
            placer.place(PageRange::new(0, 3), false, &NoWriters, &mut runs),
            3
        );
        assert_eq!(asked.lock().unwrap().len(), 3);
        assert_eq!(runs.len(), 1);
    }

    #[test]
    fn metadata_never_meets_the_scheme_where_it_has_a_place() {
        let (mut apart, asked) = placer(false, Some(StreamId(7)));
        let mut runs = Vec::new();
        assert_eq!(
            apart.place(PageRange::new(0, 2), true, &NoWriters, &mut runs),
            0
        );
        assert_eq!(*asked.lock().unwrap(), [(0, 2, ELSEWHERE, 0)]);
        assert_eq!(runs[0].stream, StreamId(7));
        let (mut mixed, asked) = placer(false, None);
        mixed.place(PageRange::new(0, 2), true, &NoWriters, &mut runs);
        assert_eq!(asked.lock().unwrap().len(), 1);
    }

    /// Remembers the streams it saw.
    struct Sees(Arc<Mutex<Vec<u16>>>);

    impl Witness for Sees {
        fn wrote(&mut self, _pages: PageRange, stream: StreamId) {
            self.0.lock().unwrap().push(stream.0);
        }

        fn discarded(&mut self, _pages: PageRange) {}
    }

    #[test]
    fn in_one_stream_the_scheme_and_the_witness_go_on_as_before() {
        let (mut placer, asked) = placer(false, Some(StreamId(7)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        placer.watch(Box::new(Sees(Arc::clone(&seen))));
        let writers = KnownWriters::default();
        writers.record(0..2, writer(1));
        writers.record(2..3, writer(2));
        let mut runs = Vec::new();
        let mut placed = |is_in_one, is_metadata| {
            placer.put_in_one(is_in_one);
            let unknown = placer.place(PageRange::new(0, 3), is_metadata, &writers, &mut runs);
            assert_eq!(unknown, 0);
            let runs: Vec<_> = runs.iter().map(|run| (run.pages, run.stream.0)).collect();
            runs
        };
        assert_eq!(placed(true, false), [(3, 0)]);
        assert_eq!(placed(true, true), [(3, 0)]);
        assert_eq!(placed(false, false), [(2, 1), (1, 2)]);
        assert_eq!(*seen.lock().unwrap(), [1, 2, 7, 1, 2]);
        let questions = asked.lock().unwrap().len();
        assert_eq!(questions, 5);
    }

    #[test]
    fn zeroes_by_command_pass_time_and_go_to_the_default_handle() {
        let (mut placer, asked) = placer(false, None);
        let mut runs = Vec::new();
        placer.zero(PageRange::new(0, 4));
        placer.place(PageRange::new(9, 1), false, &NoWriters, &mut runs);
        let expected = [(0, 4, ELSEWHERE, 0), (9, 1, 0, 4)];
        assert_eq!(*asked.lock().unwrap(), expected);
    }

    #[test]
    fn the_clock_counts_metadata_too() {
        let (mut placer, asked) = placer(false, Some(StreamId(3)));
        let mut runs = Vec::new();
        placer.place(PageRange::new(0, 5), true, &NoWriters, &mut runs);
        placer.place(PageRange::new(9, 1), false, &NoWriters, &mut runs);
        let expected = [(0, 5, ELSEWHERE, 0), (9, 1, 0, 5)];
        assert_eq!(*asked.lock().unwrap(), expected);
    }
}
