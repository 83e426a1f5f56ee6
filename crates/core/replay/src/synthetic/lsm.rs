//! Parts that log-structured stores share: files that are appended to and deleted whole, jobs that
//! write some files and delete others, and the file system's journal.

use std::collections::VecDeque;

use anabranch_trace::{FileId, Io, Operation};

use super::{LoadRequests, Plan, Tag, nobodys};
use crate::space::{Extent, Space};

/// Pages written at a time: 256 KiB, about what Linux writes back at once (our choice).
pub(super) const CHUNK: u64 = 64;
/// The journal commits 16 KiB once in so many pages (our choice: a few tenths of a percent).
const COMMIT_EVERY: u64 = 1024;
const COMMIT_PAGES: u64 = 4;
/// The journal's share of the drive: ext4 gives 1 GiB a journal of 32 MiB, 12 GiB 64 MiB; one
/// hundredth is our choice.
const JOURNAL_SHARE: u64 = 100;

/// A file and the pages it has.
#[derive(Debug, Default)]
pub(super) struct Table {
    extents: Vec<Extent>,
    pub(super) pages: u64,
    /// Its row of the file table, once it is written.
    file: FileId,
}

/// Rows of the file table that new files of each writer take in turn, so that each file that is written has a number
/// of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    /// The first writer's row of the tables.
    pub(super) first_writer: u32,
    /// The first of the rows; each writer has [`Numbers::EACH`] of them.
    pub(super) first_row: u32,
}

impl Numbers {
    /// Rows of each writer (our choice: far more than are written side by side).
    pub(super) const EACH: u32 = 256;

    /// The row of a writer's `count`-th file.
    fn row(self, tag: Tag, count: u32) -> FileId {
        match tag.file.0.checked_sub(self.first_writer) {
            Some(writer) => FileId(self.first_row + writer * Self::EACH + count % Self::EACH),
            None => tag.file,
        }
    }
}

/// The file system, and the requests that come out of it. A file gets its pages as it is written, so
/// that files written side by side lie in each other's way, from where the last ones ended. ext4
/// looks near a goal for each file; one place for all of them is our choice.
#[derive(Debug)]
pub(super) struct Disk {
    space: Space,
    requests: VecDeque<Io>,
    journal: Tag,
    journal_pages: u64,
    journal_at: u64,
    since_commit: u64,
    numbers: Option<Numbers>,
    files: u32,
}

impl Disk {
    /// An empty file system whose journal is written by `journal`.
    pub(super) fn new(plan: &Plan, journal: Tag) -> Disk {
        let journal_pages = (plan.pages() / JOURNAL_SHARE).max(COMMIT_PAGES);
        Disk {
            space: Space::new(journal_pages, plan.pages() - journal_pages),
            requests: VecDeque::new(),
            journal,
            journal_pages,
            journal_at: 0,
            since_commit: 0,
            numbers: None,
            files: 0,
        }
    }

    /// The same, where each file has a number of its own.
    pub(super) fn numbered(self, numbers: Numbers) -> Disk {
        Disk {
            numbers: Some(numbers),
            ..self
        }
    }

    pub(super) fn free_pages(&self) -> u64 {
        self.space.free_pages()
    }

    /// Appends pages to a file, unless the drive is full.
    pub(super) fn append(&mut self, table: &mut Table, tag: Tag, pages: u64) -> bool {
        let Some(extents) = self.space.take(pages) else {
            return false;
        };
        if table.extents.is_empty() {
            let own = self.numbers.map(|numbers| numbers.row(tag, self.files));
            table.file = own.unwrap_or(tag.file);
            self.files = self.files.wrapping_add(1);
        }
        let file = table.file;
        for &(first, count) in &extents {
            self.requests
                .push_back(Tag { file, ..tag }.write(first, count));
        }
        table.extents.extend(extents);
        table.pages += pages;
        self.since_commit += pages;
        if self.since_commit >= COMMIT_EVERY {
            self.since_commit = 0;
            self.commit();
        }
        true
    }

    fn commit(&mut self) {
        if self.journal_at + COMMIT_PAGES > self.journal_pages {
            self.journal_at = 0;
        }
        let commit = self.journal.write(self.journal_at, COMMIT_PAGES);
        self.requests.push_back(commit);
        self.journal_at += COMMIT_PAGES;
    }

    /// Deletes a file: its pages are discarded.
    pub(super) fn delete(&mut self, table: Table) {
        for extent in table.extents {
            let discard = nobodys(Operation::Discard, extent.0, extent.1);
            self.requests.push_back(discard);
            self.space.give(extent);
        }
    }
}

/// The outcome of a job's step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The job wrote.
    Wrote,
    /// There was no room to write.
    Stuck,
    /// The job has written everything.
    Done,
}

/// A job that writes files from others, and deletes those when it is done.
#[derive(Debug)]
pub(super) struct Job<Place> {
    tag: Tag,
    /// Files left to write: the table of each, and its pages.
    left: VecDeque<(Place, u64)>,
    current: Table,
    pub(super) outputs: Vec<(Place, Table)>,
    inputs: Vec<Table>,
}

impl<Place> Job<Place> {
    pub(super) fn new(tag: Tag, outputs: Vec<(Place, u64)>, inputs: Vec<Table>) -> Job<Place> {
        Job {
            tag,
            left: outputs.into(),
            current: Table::default(),
            outputs: Vec::new(),
            inputs,
        }
    }

    /// Whether everything is written and the inputs are gone.
    pub(super) fn is_over(&self) -> bool {
        self.left.is_empty() && self.inputs.is_empty()
    }

    /// Writes a chunk, or, when nothing is left to write, deletes the inputs.
    pub(super) fn step(&mut self, disk: &mut Disk) -> Step {
        let Some((_, pages)) = self.left.front() else {
            self.inputs.drain(..).for_each(|input| disk.delete(input));
            return Step::Done;
        };
        let now = (pages - self.current.pages).min(CHUNK);
        if now > 0 && !disk.append(&mut self.current, self.tag, now) {
            return Step::Stuck;
        }
        if self.current.pages == *pages
            && let Some((place, _)) = self.left.pop_front()
        {
            self.outputs
                .push((place, std::mem::take(&mut self.current)));
        }
        Step::Wrote
    }
}

/// A store's log, in files that are deleted once their content is in tables.
#[derive(Debug)]
pub(super) struct Log {
    tag: Tag,
    current: Table,
}

impl Log {
    pub(super) fn new(tag: Tag) -> Log {
        Log {
            tag,
            current: Table::default(),
        }
    }

    pub(super) fn append(&mut self, disk: &mut Disk) -> bool {
        disk.append(&mut self.current, self.tag, CHUNK)
    }

    /// Begins a new file. Answers with the old one.
    pub(super) fn turn(&mut self) -> Table {
        std::mem::take(&mut self.current)
    }
}

/// A store that acts in turns.
pub(super) trait Store: Send {
    fn disk(&mut self) -> &mut Disk;

    /// Takes a turn. Answers `false` when nothing more can be done.
    fn turn(&mut self) -> bool;
}

pub(super) fn requests(mut store: impl Store + 'static) -> LoadRequests {
    Box::new(std::iter::from_fn(move || {
        loop {
            if let Some(io) = store.disk().requests.pop_front() {
                return Some(io);
            }
            if !store.turn() {
                return None;
            }
        }
    }))
}

/// Distinct pages left when tables of these sizes are merged, if their keys are drawn alike from
/// `all` pages' worth.
pub(super) fn merged(all: f64, tables: impl IntoIterator<Item = f64>) -> f64 {
    let missing = |share: f64, pages: f64| share * (1.0 - (pages / all).clamp(0.0, 1.0));
    all * (1.0 - tables.into_iter().fold(1.0, missing))
}
