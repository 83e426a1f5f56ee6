//! Namespaces: parts of the one drive that hosts address each by itself.
//!
//! A namespace is a run of the drive's logical pages. All lie on the same units and so interfere, as on
//! any drive; which pages hold data, where, and what that costs is the translation layer's business.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use anabranch_ssd::PageRange;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::completion::Status;

/// Namespaces there may be, and the largest identifier (MNAN and NN; our choice: what an FDP
/// configuration has where its profile does not say).
pub const MOST_NAMESPACES: u32 = 128;
/// The block sizes there are, as powers of two, by LBA format.
pub(crate) const BLOCK_SHIFTS: [u32; 2] = [9, 12];

/// What a namespace is, as a state keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Its identifier (NSID).
    pub id: u32,
    /// How many namespaces the drive had had when this one was made, itself included: what tells it from
    /// one that had its identifier before.
    pub birth: u64,
    /// The first of the drive's logical pages that are its.
    pub first_page: u32,
    /// How many there are.
    pub pages: u32,
    /// Bytes that hosts address; the last page may have more.
    pub bytes: u64,
    /// Log2 of the bytes of a logical block.
    pub block_shift: u32,
    /// Whether several controllers may have it attached (NMIC).
    pub shared: bool,
    /// Reclaim unit handles by placement handle, as its maker listed them; none: the drive picks one.
    pub handles: Vec<u16>,
    /// Whether controllers have it attached from their beginning.
    pub offered: bool,
    /// Pages that hosts have written.
    pub host_pages: u64,
}

/// A namespace that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes; of the whole drive's rest, where none is given.
    pub bytes: Option<u64>,
    /// Log2 of the bytes of a logical block.
    pub block_shift: u32,
    /// Whether several controllers may have it attached.
    pub shared: bool,
    /// Reclaim unit handles by placement handle; none: the drive picks one.
    pub handles: Vec<u16>,
}

/// Why a namespace cannot be.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum NamespaceError {
    /// There is not so much room in one piece.
    #[error("a namespace of {wanted} bytes does not fit: at most {most} are free in one piece")]
    NoRoom {
        /// Bytes that were asked for.
        wanted: u64,
        /// Bytes there are.
        most: u64,
    },
    /// There are as many as there may be.
    #[error("a drive has at most {MOST_NAMESPACES} namespaces")]
    TooMany,
    /// It has no bytes, or blocks that are none, or lies where another does.
    #[error("namespace {0} cannot be: it has no bytes, lies beyond the drive or over another")]
    Impossible(u32),
    /// There is no such FDP configuration.
    #[error("the drive has no FDP configuration {0:?}")]
    Configuration(Option<u8>),
    /// The drive's reclaim unit handles are not such.
    #[error(transparent)]
    Handles(#[from] anabranch_ssd::fdp::FdpError),
}

/// A namespace of the drive.
#[derive(Debug)]
pub struct Namespace {
    id: u32,
    birth: u64,
    pages: PageRange,
    page_bytes: u32,
    shared: bool,
    handles: Vec<u16>,
    bytes: AtomicU64,
    block_shift: AtomicU32,
    offered: AtomicBool,
    /// It is there: what it lies on is erased, and a state may tell of it.
    made: AtomicBool,
    deleted: AtomicBool,
    /// Formats that were begun and that ended: odd while one is under way.
    formats: AtomicU64,
    /// That number while the last Format was under way that erased everything.
    erased: AtomicU64,
    /// Pages that hold data, and that hosts have written.
    mapped_pages: AtomicU64,
    host_pages: AtomicU64,
}

impl Namespace {
    fn of(layout: &Layout, page_bytes: u32) -> Namespace {
        Namespace {
            id: layout.id,
            birth: layout.birth,
            pages: PageRange::new(layout.first_page, layout.pages),
            page_bytes,
            shared: layout.shared,
            handles: layout.handles.clone(),
            bytes: layout.bytes.into(),
            block_shift: layout.block_shift.into(),
            offered: layout.offered.into(),
            made: AtomicBool::new(true),
            deleted: AtomicBool::new(false),
            formats: AtomicU64::new(0),
            erased: AtomicU64::new(0),
            mapped_pages: AtomicU64::new(0),
            host_pages: layout.host_pages.into(),
        }
    }

    /// As a state keeps it.
    pub fn layout(&self) -> Layout {
        Layout {
            id: self.id,
            birth: self.birth,
            first_page: self.pages.first,
            pages: self.pages.count,
            bytes: self.bytes(),
            block_shift: self.block_shift(),
            shared: self.shared,
            handles: self.handles.clone(),
            offered: self.is_offered(),
            host_pages: self.host_pages(),
        }
    }

    /// Its identifier (NSID).
    pub fn id(&self) -> u32 {
        self.id
    }

    /// See [`Layout::birth`].
    pub(crate) fn birth(&self) -> u64 {
        self.birth
    }

    /// The drive's logical pages that are its.
    pub fn pages(&self) -> PageRange {
        self.pages
    }

    /// Its first byte on the drive.
    #[inline]
    pub(crate) fn begin(&self) -> u64 {
        u64::from(self.pages.first) * u64::from(self.page_bytes)
    }

    /// Bytes of the drive that are its: whole pages (NVMCAP).
    pub fn capacity(&self) -> u64 {
        u64::from(self.pages.count) * u64::from(self.page_bytes)
    }

    /// Bytes that hosts address.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn block_shift(&self) -> u32 {
        self.block_shift.load(Ordering::Relaxed)
    }

    /// Bytes of a logical block.
    pub fn block_bytes(&self) -> u32 {
        1 << self.block_shift()
    }

    /// Logical blocks there are (NSZE).
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.bytes() >> self.block_shift()
    }

    /// Whether several controllers may have it attached.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Whether controllers have it attached from their beginning.
    pub(crate) fn is_offered(&self) -> bool {
        self.offered.load(Ordering::Relaxed)
    }

    pub(crate) fn offer(&self, offered: bool) {
        self.offered.store(offered, Ordering::Relaxed);
    }

    /// Whether a state may tell of it: one that is not erased yet is not made.
    pub(crate) fn is_made(&self) -> bool {
        self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn make(&self, made: bool) {
        self.made.store(made, Ordering::Relaxed);
    }

    /// Pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        self.mapped_pages.load(Ordering::Relaxed)
    }

    /// Pages that hosts have written.
    pub fn host_pages(&self) -> u64 {
        self.host_pages.load(Ordering::Relaxed)
    }

    /// So many pages held data before, and do now; hosts wrote so many.
    #[inline]
    pub(crate) fn changed(&self, before: u64, now: u64, written: u64) {
        // One at a time changes it, under the drive's lock.
        let mapped = (self.mapped_pages() + now).saturating_sub(before);
        self.mapped_pages.store(mapped, Ordering::Relaxed);
        let host = self.host_pages() + written;
        self.host_pages.store(host, Ordering::Relaxed);
    }

    /// What names its contents: another number after a Format, or its end, has begun, or ended.
    #[inline]
    pub(crate) fn formats(&self) -> u64 {
        self.formats.load(Ordering::Relaxed)
    }

    /// Whether what was there at that number of [`Namespace::formats`] was erased.
    pub(crate) fn has_erased_since(&self, formats: u64) -> bool {
        self.erased.load(Ordering::Relaxed) > formats
    }

    #[inline]
    pub(crate) fn is_formatting(&self) -> bool {
        !self.formats().is_multiple_of(2)
    }

    pub(crate) fn begin_format(&self) {
        self.formats.fetch_add(1, Ordering::Relaxed);
    }

    /// Everything was erased.
    pub(crate) fn was_erased(&self) {
        self.erased.store(self.formats(), Ordering::Relaxed);
    }

    /// A Format ends; blocks have so many bytes now, if any.
    pub(crate) fn end_format(&self, block_shift: Option<u32>) {
        if let Some(shift) = block_shift {
            self.block_shift.store(shift, Ordering::Relaxed);
            let bytes = self.capacity() >> shift << shift;
            self.bytes.store(bytes, Ordering::Relaxed);
        }
        self.formats.fetch_add(1, Ordering::Relaxed);
    }

    /// The status of a command that was under way when a Format, or the end, began.
    pub(crate) fn refusal(&self) -> Status {
        if self.is_deleted() {
            Status::INVALID_NAMESPACE
        } else {
            Status::FORMAT_IN_PROGRESS
        }
    }

    /// It is no more.
    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Relaxed)
    }

    pub(crate) fn delete(&self) {
        self.deleted.store(true, Ordering::Relaxed);
    }
}

/// The namespaces of a drive.
#[derive(Debug)]
pub struct Namespaces {
    by_id: BTreeMap<u32, Arc<Namespace>>,
    /// Namespaces the drive has had.
    births: u64,
    /// The drive's logical pages.
    pages: u32,
    page_bytes: u32,
}

impl Namespaces {
    /// None yet, of a drive that has had so many.
    pub(crate) fn new(pages: u32, page_bytes: u32, births: u64) -> Namespaces {
        Namespaces {
            by_id: BTreeMap::new(),
            births,
            pages,
            page_bytes,
        }
    }

    /// All, by their identifiers.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.by_id.values()
    }

    /// One of them.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&Arc<Namespace>> {
        self.by_id.get(&id)
    }

    /// The one that has a page of the drive's.
    pub(crate) fn at(&self, page: u32) -> Option<&Arc<Namespace>> {
        let has = |one: &&Arc<Namespace>| {
            (one.pages.first..one.pages.first + one.pages.count).contains(&page)
        };
        self.iter().find(has)
    }

    /// Namespaces the drive has had.
    pub(crate) fn births(&self) -> u64 {
        self.births
    }

    /// Bytes that are no namespace's (UNVMCAP).
    pub(crate) fn free_bytes(&self) -> u64 {
        self.holes().map(|hole| self.bytes_of(hole.count)).sum()
    }

    fn bytes_of(&self, pages: u32) -> u64 {
        u64::from(pages) * u64::from(self.page_bytes)
    }

    /// Runs of pages that are no namespace's, in order.
    pub(crate) fn holes(&self) -> impl Iterator<Item = PageRange> {
        let mut taken: Vec<PageRange> = self.iter().map(|one| one.pages).collect();
        taken.push(PageRange::new(self.pages, 0));
        taken.sort_by_key(|pages| pages.first);
        let mut free = 0;
        taken.into_iter().filter_map(move |pages| {
            let hole = PageRange::new(free, pages.first - free);
            free = pages.first + pages.count;
            (hole.count > 0).then_some(hole)
        })
    }

    /// What a namespace would be: in the smallest hole that it fits in, with the smallest identifier.
    ///
    /// # Errors
    /// When there are too many, or there is no such hole.
    pub(crate) fn plan(&self, wanted: &Wanted) -> Result<Layout, NamespaceError> {
        let id = (1..=MOST_NAMESPACES).find(|id| !self.by_id.contains_key(id));
        let id = id.ok_or(NamespaceError::TooMany)?;
        let largest = self.holes().map(|hole| hole.count).max().unwrap_or(0);
        let most = self.bytes_of(largest) >> wanted.block_shift << wanted.block_shift;
        let bytes = wanted.bytes.unwrap_or(most);
        let no_room = NamespaceError::NoRoom {
            wanted: bytes,
            most,
        };
        if bytes == 0 || bytes > most {
            return Err(no_room);
        }
        let pages = bytes.div_ceil(self.page_bytes.into()) as u32;
        let fits = self.holes().filter(|hole| hole.count >= pages);
        let hole = fits.min_by_key(|hole| hole.count).ok_or(no_room)?;
        Ok(Layout {
            id,
            birth: self.births + 1,
            first_page: hole.first,
            pages,
            bytes,
            block_shift: wanted.block_shift,
            shared: wanted.shared,
            handles: wanted.handles.clone(),
            offered: false,
            host_pages: 0,
        })
    }

    /// Adds one.
    ///
    /// # Errors
    /// When it cannot be.
    pub(crate) fn add(&mut self, layout: &Layout) -> Result<Arc<Namespace>, NamespaceError> {
        let end = layout.first_page.checked_add(layout.pages);
        let overlaps = |one: &Arc<Namespace>| {
            let other = one.pages;
            layout.first_page < other.first + other.count && other.first < end.unwrap_or(u32::MAX)
        };
        let possible = (1..=MOST_NAMESPACES).contains(&layout.id)
            && !self.by_id.contains_key(&layout.id)
            && BLOCK_SHIFTS.contains(&layout.block_shift)
            && (1..=self.bytes_of(layout.pages)).contains(&layout.bytes)
            && layout.bytes >> layout.block_shift > 0
            && end.is_some_and(|end| end <= self.pages)
            && !self.iter().any(overlaps);
        if !possible {
            return Err(NamespaceError::Impossible(layout.id));
        }
        let namespace = Arc::new(Namespace::of(layout, self.page_bytes));
        self.by_id.insert(layout.id, Arc::clone(&namespace));
        self.births = self.births.max(layout.birth);
        Ok(namespace)
    }

    /// Takes one away.
    pub(crate) fn remove(&mut self, id: u32) {
        self.by_id.remove(&id);
    }
}
