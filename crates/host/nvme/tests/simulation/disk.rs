//! Layer below a target: pages of contents and a few files, with every fault they may have.
//!
//! A process that dies leaves what it had written, the call it was in done in part. A power failure leaves what
//! was made safe, and of all later writes any: pages each by itself, files cut short or with gaps, names
//! in the order they were given.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use anabranch_nvme::{Files, Input, Output, store::Contents};

use super::random::Random;

const PAGE: usize = 4096;
/// Bytes of a file that are written or not as a whole.
const SECTOR: usize = 512;

/// A page's bytes; `None` is a hole.
type Page = Option<Arc<[u8]>>;

#[derive(Debug, Clone, Default)]
struct Inode {
    bytes: Vec<u8>,
    kept: Vec<u8>,
}

#[derive(Debug)]
struct State {
    random: Random,
    pages: Vec<Page>,
    kept: Vec<Page>,
    /// Versions of pages since they were made safe.
    since: BTreeMap<usize, Vec<Page>>,
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    kept_names: BTreeMap<PathBuf, usize>,
    /// Versions of names since they were made safe.
    names_since: Vec<BTreeMap<PathBuf, usize>>,
    dead: bool,
    until_death: Option<u64>,
    /// One call of so many fails; none where 0.
    failing_one_in: u64,
    failures: u64,
    flush_failed: bool,
}

/// A disk that many handles share.
#[derive(Debug, Clone)]
pub struct Disk(Arc<Mutex<State>>);

impl Disk {
    pub fn new(pages: usize, seed: u64) -> Disk {
        Disk(Arc::new(Mutex::new(State {
            random: Random::new(seed),
            pages: vec![None; pages],
            kept: vec![None; pages],
            since: BTreeMap::new(),
            inodes: Vec::new(),
            names: BTreeMap::new(),
            kept_names: BTreeMap::new(),
            names_since: Vec::new(),
            dead: false,
            until_death: None,
            failing_one_in: 0,
            failures: 0,
            flush_failed: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The process dies within one of its next calls.
    pub fn die_within(&self, calls: u64) {
        self.state().until_death = Some(calls);
    }

    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// From now on one call of so many fails; none where 0.
    pub fn fail_one_in(&self, calls: u64) {
        self.state().failing_one_in = calls;
    }

    /// Calls that have failed.
    pub fn failures(&self) -> u64 {
        self.state().failures
    }

    /// Whether this process could not make data safe once.
    pub fn has_failed_to_flush(&self) -> bool {
        self.state().flush_failed
    }

    pub fn has_data(&self, page: u32) -> bool {
        self.state().pages[page as usize].is_some()
    }

    /// The process is no more, and perhaps the power neither; another may begin. Answers whether data
    /// could not be made safe once.
    pub fn restart(&self, power_failed: bool) -> bool {
        let mut state = self.state();
        if power_failed {
            state.lose_power();
        }
        (state.dead, state.until_death, state.failing_one_in) = (false, None, 0);
        std::mem::take(&mut state.flush_failed)
    }
}

impl State {
    fn lose_power(&mut self) {
        for (page, versions) in std::mem::take(&mut self.since) {
            let version = self.random.below(versions.len() as u64 + 1) as usize;
            if let Some(version) = versions.get(version) {
                self.kept[page] = version.clone();
            }
        }
        self.pages = self.kept.clone();
        let names = std::mem::take(&mut self.names_since);
        let taken = self.random.below(names.len() as u64 + 1) as usize;
        if let Some(names) = names.get(taken) {
            self.kept_names = names.clone();
        }
        self.names = self.kept_names.clone();
        for inode in &mut self.inodes {
            if inode.bytes != inode.kept {
                let length = self.random.below(inode.bytes.len() as u64 + 1) as usize;
                inode.bytes.truncate(length);
                for sector in inode.bytes.chunks_mut(SECTOR) {
                    if self.random.one_in(4) {
                        sector.fill(0);
                    }
                }
                inode.kept = inode.bytes.clone();
            }
        }
    }

    /// A call that has so many parts: how many of them are done, and what it returns.
    fn call(&mut self, parts: usize) -> (usize, io::Result<()>) {
        if self.dead {
            return (0, Err(io::Error::other("the process is dead")));
        }
        if let Some(left) = self.until_death.as_mut() {
            if *left == 0 {
                self.dead = true;
                let done = self.random.below(parts as u64 + 1) as usize;
                return (done, Err(io::Error::other("the process dies")));
            }
            *left -= 1;
        }
        if self.failing_one_in > 0 && self.random.one_in(self.failing_one_in) {
            self.failures += 1;
            let done = self.random.below(parts as u64) as usize;
            return (done, Err(io::ErrorKind::StorageFull.into()));
        }
        (parts, Ok(()))
    }

    fn change(&mut self, page: usize, now: Page) {
        self.since.entry(page).or_default().push(now.clone());
        self.pages[page] = now;
    }

    fn rename(&mut self, change: impl FnOnce(&mut BTreeMap<PathBuf, usize>)) -> io::Result<()> {
        let (done, result) = self.call(1);
        if done > 0 {
            change(&mut self.names);
            self.names_since.push(self.names.clone());
        }
        result
    }
}

/// The pages that bytes lie in, each with the part of the bytes and the part of the page.
fn pieces(at: u64, length: usize) -> Vec<(usize, usize, usize)> {
    let (mut at, mut left) = (at as usize, length);
    let mut pieces = Vec::new();
    while left > 0 {
        let now = left.min(PAGE - at % PAGE);
        pieces.push((at / PAGE, at % PAGE, now));
        (at, left) = (at + now, left - now);
    }
    pieces
}

impl Contents for Disk {
    fn is_kept(&self) -> bool {
        true
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        let mut rest = into;
        for (page, from, length) in pieces(at, rest.len()) {
            let (now, later) = rest.split_at_mut(length);
            match &state.pages[page] {
                Some(bytes) => now.copy_from_slice(&bytes[from..from + length]),
                None => now.fill(0),
            }
            rest = later;
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let pieces = pieces(at, bytes.len());
        let (done, result) = state.call(pieces.len());
        let mut rest = bytes;
        for &(page, from, length) in &pieces[..done] {
            let (now, later) = rest.split_at(length);
            let mut whole = match &state.pages[page] {
                Some(bytes) => bytes.to_vec(),
                None => vec![0; PAGE],
            };
            whole[from..from + length].copy_from_slice(now);
            state.change(page, Some(whole.into()));
            rest = later;
        }
        result
    }

    fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        let mut state = self.state();
        let pieces = pieces(at, length as usize);
        let (done, result) = state.call(pieces.len());
        for &(page, from, length) in &pieces[..done] {
            let now = match &state.pages[page] {
                Some(bytes) if length < PAGE => {
                    let mut whole = bytes.to_vec();
                    whole[from..from + length].fill(0);
                    Some(whole.into())
                }
                _ => None,
            };
            state.change(page, now);
        }
        result
    }

    /// Pages that could not be made safe never are by another call, as on Linux: its pages count as clean.
    /// Holes are the file system's journal's.
    fn flush(&self) -> io::Result<()> {
        let mut state = self.state();
        let (_, result) = state.call(1);
        if state.dead {
            return result;
        }
        state.flush_failed |= result.is_err();
        for (page, versions) in std::mem::take(&mut state.since) {
            let last = versions.last().cloned().flatten();
            if result.is_ok() || last.is_none() || state.random.one_in(2) {
                state.kept[page] = last;
            }
        }
        result
    }

    fn data(&self) -> io::Result<Vec<(u64, u64)>> {
        let state = self.state();
        let part = |page: usize| ((page * PAGE) as u64, ((page + 1) * PAGE) as u64);
        let held = (0..state.pages.len()).filter(|&page| state.pages[page].is_some());
        Ok(held.map(part).collect())
    }
}

impl Files for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Input>> {
        let state = self.state();
        let inode = state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(state.inodes[*inode].bytes.clone())))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        let mut state = self.state();
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.rename(|names| _ = names.insert(path.to_owned(), inode))?;
        let disk = self.clone();
        Ok(Box::new(Open { disk, inode }))
    }

    fn is_there(&self, path: &Path) -> bool {
        self.state().names.contains_key(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state().rename(|names| {
            if let Some(inode) = names.remove(from) {
                names.insert(to.to_owned(), inode);
            }
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state().rename(|names| _ = names.remove(path))
    }

    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(1).1?;
        state.kept_names = state.names.clone();
        state.names_since.clear();
        Ok(())
    }
}

/// A file that is written.
struct Open {
    disk: Disk,
    inode: usize,
}

impl Write for Open {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let (done, result) = state.call(bytes.len());
        state.inodes[self.inode].bytes.extend(&bytes[..done]);
        result.map(|()| done)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Open {
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.call(1).1?;
        let inode = &mut state.inodes[self.inode];
        inode.kept = inode.bytes.clone();
        Ok(())
    }
}
