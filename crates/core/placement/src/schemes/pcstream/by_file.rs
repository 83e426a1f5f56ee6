//! Writers told apart by the class of the file, besides the program context.

use std::{collections::HashMap, hash::Hasher as _};

use anabranch_ssd::{PageRange, StreamId};
use anabranch_trace::{ContextId, ContextKind};
use fnv::FnvHasher;

use super::PcStream;
use crate::{
    assign::{Assign, ContextName, Names, Write},
    file_classes::FileClasses,
    known_lifetimes::KnownLifetimes,
    leaders::Leader,
    parameter::one_of,
    rules::RuleUse,
};

one_of! {
    /// The property by which writers are told apart.
    Grouping {
        /// The program context, as in the papers.
        Context = "context",
        /// The class of the file, [`FileClasses`].
        File = "file",
        /// Both: one context for each class of files that a program context writes to.
        Both = "both",
    }
}

/// [`PcStream`] over pairs of program context and class of file, numbered as they come.
///
/// One call path may write everything (an engine's I/O threads, a library without frame
/// pointers), the file still tells a journal from a table. A pair's signature is made of the
/// context's and the class's name, so that lifetimes kept between runs find it again.
///
/// Memory: [`PcStream`]'s and [`FileClasses`]', 16 bytes for each context of the trace, some 50
/// for each pair, of which there are at most as many as contexts are learned.
#[derive(Debug, Clone)]
pub struct ByFile {
    inner: PcStream,
    grouping: Grouping,
    classes: FileClasses,
    contexts: Vec<(u64, ContextKind)>,
    pairs: HashMap<(u32, u16), ContextId>,
    max_pairs: usize,
}

impl ByFile {
    /// The scheme over `inner`, which must have learned no context yet, and which learns at most
    /// `max_pairs`.
    pub fn new(inner: PcStream, grouping: Grouping, max_pairs: usize) -> ByFile {
        ByFile {
            inner,
            grouping,
            classes: FileClasses::default(),
            contexts: Vec::new(),
            pairs: HashMap::new(),
            max_pairs,
        }
    }

    /// The number of a write's pair; the unknown context's number once there are too many pairs.
    fn pair(&mut self, write: &Write) -> ContextId {
        let class = self.classes.class_of(write.file);
        let key = match self.grouping {
            Grouping::Context => (write.context.0, 0),
            Grouping::File => (0, class),
            Grouping::Both => (write.context.0, class),
        };
        if let Some(id) = self.pairs.get(&key) {
            return *id;
        }
        let number = self.pairs.len() + 1;
        if number >= self.max_pairs {
            return ContextId::UNKNOWN;
        }
        let id = ContextId(number as u32);
        self.pairs.insert(key, id);
        let name = self.name(id, key);
        self.inner.learn(&Names {
            files: Vec::new(),
            contexts: vec![name],
        });
        id
    }

    fn name(&self, id: ContextId, (context, class): (u32, u16)) -> ContextName {
        let unknown = (0, ContextKind::Unknown);
        let known = self.contexts.get(context as usize).copied();
        let (signature, kind) = known.unwrap_or(unknown);
        ContextName {
            id,
            signature: mixed(signature, self.classes.name(class).unwrap_or_default()),
            kind,
            role: String::new(),
        }
    }
}

/// FNV-1a, 64 bits, over a signature and a class's name: the same in every run.
fn mixed(signature: u64, class: &str) -> u64 {
    let mut hash = FnvHasher::default();
    hash.write(&signature.to_le_bytes());
    hash.write(class.as_bytes());
    hash.finish()
}

// Passes on what it does not change: clippy finds a method that is forgotten.
#[deny(clippy::missing_trait_methods)]
impl Assign for ByFile {
    fn assign(&mut self, write: &Write) -> StreamId {
        let context = self.pair(write);
        self.inner.assign(&Write { context, ..*write })
    }

    fn only_stream(&self) -> Option<StreamId> {
        self.inner.only_stream()
    }

    fn prefetch(&self, pages: &[u32]) {
        self.inner.prefetch(pages);
    }

    fn looks_ahead(&self) -> bool {
        self.inner.looks_ahead()
    }

    fn announce(&mut self, writes: &[Write]) {
        let pairs = writes.iter().map(|write| Write {
            context: self.pair(write),
            ..*write
        });
        let writes: Vec<Write> = pairs.collect();
        self.inner.announce(&writes);
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.inner.discard(pages, now_pages);
    }

    fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
        self.inner.written_elsewhere(pages, now_pages);
    }

    fn learn(&mut self, names: &Names) {
        for (file, name) in &names.files {
            self.classes.learn(*file, name);
        }
        for context in &names.contexts {
            let row = context.id.0 as usize;
            if row >= self.contexts.len() {
                self.contexts.resize(row + 1, (0, ContextKind::Unknown));
            }
            self.contexts[row] = (context.signature, context.kind);
        }
    }

    fn restore_lifetimes(&mut self, known: &KnownLifetimes) {
        self.inner.restore_lifetimes(known);
    }

    fn learned(&self) -> Option<KnownLifetimes> {
        self.inner.learned()
    }

    fn rule_use(&self) -> Option<RuleUse> {
        self.inner.rule_use()
    }

    fn leaders(&self) -> &[Leader] {
        self.inner.leaders()
    }

    fn goes_by_page(&self) -> bool {
        self.inner.goes_by_page()
    }

    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
            + self.classes.memory_bytes()
            + self.contexts.capacity() * size_of::<(u64, ContextKind)>()
            + self.pairs.capacity() * size_of::<((u32, u16), ContextId)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::DRIVE;
    use crate::{
        halves::DeviceHalf, scheme::HostScheme, schemes::pcstream::Parameters, site::Site,
    };
    use anabranch_ssd::relocate::RelocationKind;
    use anabranch_trace::{FileId, WriteHint};

    fn names(signature: u64) -> Names {
        Names {
            files: vec![
                (FileId(1), "0001.log".to_owned()),
                (FileId(2), "0002.sst".to_owned()),
                (FileId(3), "0003.sst".to_owned()),
            ],
            contexts: vec![ContextName {
                id: ContextId(1),
                signature,
                kind: ContextKind::Application,
                role: String::new(),
            }],
        }
    }

    /// One context writes a log and tables; answers the streams of the last turn.
    fn run(scheme: &mut dyn Assign, turns: u32) -> (u16, u16) {
        let mut now_pages = 0;
        let mut last = (0, 0);
        for turn in 0..turns {
            let mut write = |first, count, file| {
                let write = Write {
                    pages: PageRange::new(first, count),
                    context: ContextId(1),
                    file: FileId(file),
                    hint: WriteHint::NotSet,
                    tenant: 0,
                    now_pages,
                };
                now_pages += u64::from(count);
                scheme.assign(&write).0
            };
            last = (
                write(turn % 4 * 10, 10, 1),
                write(1000 + turn % 80 * 100, 100, 2 + turn % 2),
            );
        }
        last
    }

    fn scheme(by: Grouping) -> Box<dyn Assign> {
        built(&Parameters {
            by,
            ..Parameters::default()
        })
    }

    fn built(parameters: &Parameters) -> Box<dyn Assign> {
        let copies = DeviceHalf::Relocation(RelocationKind::Mixed);
        let halves = parameters.build(&Site::new(&DRIVE.drive(), copies));
        halves.unwrap().into_assign()
    }

    #[test]
    fn files_part_what_one_context_writes_and_contexts_do_not() {
        for (by, parted) in [
            (Grouping::Context, false),
            (Grouping::File, true),
            (Grouping::Both, true),
        ] {
            let mut scheme = scheme(by);
            scheme.learn(&names(1001));
            let (log, table) = run(scheme.as_mut(), 400);
            assert_eq!(log != table, parted, "{by:?}");
        }
    }

    #[test]
    fn pairs_are_found_again_by_a_later_run() {
        let mut first = scheme(Grouping::Both);
        first.learn(&names(1001));
        run(first.as_mut(), 400);
        let profile = first.learned().unwrap();
        assert_eq!(profile.contexts().len(), 2, "a log and tables");
        let known = |class| profile.get(mixed(1001, class)).is_some();
        assert!(known(".log") && known(".sst"));
        let mut second = scheme(Grouping::Both);
        second.restore_lifetimes(&profile);
        second.learn(&names(1001));
        let (log, table) = run(second.as_mut(), 2);
        assert!(log != table && log != 0 && table != 0, "{log} {table}");
    }

    #[test]
    fn pairs_are_bounded() {
        let mut scheme = built(&Parameters {
            by: Grouping::Both,
            max_contexts: 1,
            ..Parameters::default()
        });
        scheme.learn(&names(1001));
        let (log, table) = run(scheme.as_mut(), 400);
        assert_eq!(log, table, "no pair has a number of its own");
        assert!(scheme.memory_bytes() < 1 << 20);
    }
}
