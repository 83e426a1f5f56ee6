//! Reads that are legal after a kill: of each block the version that was flushed last, or a later one.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use anabranch_initiator::{Entry, Host, HostOptions, InitiatorError, Tag, Transfer};

use crate::served::SUBSYSTEM;

/// Bytes of a block.
pub const BLOCK: usize = 4096;
/// Commands under way.
const DEPTH: usize = 16;

/// A block's life: what it may hold.
#[derive(Debug, Clone)]
struct Life {
    /// The versions that may be read, oldest first: the one flushed last and all begun since. A deallocation
    /// is a version, too.
    may: Vec<(u64, bool)>,
    /// Number of complete ones.
    complete: usize,
}

/// One host's part of the drive.
#[derive(Debug)]
pub struct Part {
    number: u8,
    first: u64,
    lives: Vec<Life>,
    version: u64,
    random: u64,
}

/// A command under way.
enum Under {
    Change(usize),
    /// A flush, and how many versions of each block were complete when it began.
    Flush(Vec<usize>),
}

impl Part {
    /// A host's blocks, none of them written.
    pub fn new(number: u8, first: u64, blocks: usize) -> Part {
        let life = Life {
            may: vec![(0, true)],
            complete: 1,
        };
        Part {
            number,
            first,
            lives: vec![life; blocks],
            version: 0,
            random: u64::from(number),
        }
    }

    fn draw(&mut self) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    /// Writes, deallocates and flushes until the connection breaks. `done` counts what was completed.
    pub fn work(mut self, address: SocketAddr, done: &AtomicU64) -> Part {
        let mut host =
            Host::connect(address, &HostOptions::numbered(SUBSYSTEM, self.number)).unwrap();
        if self.number % 2 == 1 {
            host.enable_streams(true).unwrap();
        }
        let mut under = HashMap::new();
        loop {
            match self.step(&mut host, &mut under) {
                Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                Err(InitiatorError::Io(_)) => return self,
                Err(error) => panic!("{error}"),
            };
        }
    }

    fn step(
        &mut self,
        host: &mut Host,
        under: &mut HashMap<u16, Under>,
    ) -> Result<(), InitiatorError> {
        let queue = host.io()?;
        while queue.outstanding() < DEPTH {
            let is_flushing = under.values().any(|under| matches!(under, Under::Flush(_)));
            if self.draw().is_multiple_of(64) && !is_flushing {
                let identifier = queue.submit(Entry::flush(), Transfer::None)?;
                let complete = self.lives.iter().map(|life| life.complete).collect();
                under.insert(identifier, Under::Flush(complete));
                continue;
            }
            let block = self.draw() as usize % self.lives.len();
            if under
                .values()
                .any(|under| matches!(under, Under::Change(other) if *other == block))
            {
                continue;
            }
            let (entry, transfer) = self.change(block);
            under.insert(queue.submit(entry, transfer)?, Under::Change(block));
        }
        queue.flush()?;
        let completion = queue.wait()?;
        assert!(completion.status.is_success(), "{}", completion.status);
        match under.remove(&completion.identifier) {
            Some(Under::Change(block)) => self.lives[block].complete = self.lives[block].may.len(),
            Some(Under::Flush(complete)) => {
                for (life, complete) in self.lives.iter_mut().zip(complete) {
                    life.may.drain(..complete - 1);
                    life.complete -= complete - 1;
                }
            }
            None => panic!("{} was not asked", completion.identifier),
        }
        Ok(())
    }

    /// The next version of a block: a write, now and then a deallocation.
    fn change(&mut self, block: usize) -> (Entry, Transfer) {
        self.version += 1;
        let is_discard = self.draw().is_multiple_of(16);
        self.lives[block].may.push((self.version, is_discard));
        let first = self.first + block as u64;
        if is_discard {
            let mut range = [0; 16];
            range[4..8].copy_from_slice(&1_u32.to_le_bytes());
            range[8..].copy_from_slice(&first.to_le_bytes());
            return (
                Entry::new(0x09, 1).dword(11, 1 << 2),
                Transfer::out(&range[..]),
            );
        }
        let stream = (block % 6) as u16 + 1;
        let tag = if self.number % 2 == 1 {
            Tag::Stream(stream)
        } else {
            Tag::None
        };
        (
            Entry::write(first, 1, tag),
            Transfer::out(contents(first, self.version)),
        )
    }

    /// Reads all of it: every block holds what it may hold, whole. What was read is what it holds from now on.
    pub fn check(&mut self, host: &mut Host) {
        for block in 0..self.lives.len() {
            let first = self.first + block as u64;
            let read = host.read(first, 1).unwrap();
            let life = &mut self.lives[block];
            let found = life
                .may
                .iter()
                .rev()
                .find(|(version, is_discard)| match is_discard {
                    true => read.iter().all(|&byte| byte == 0),
                    false => read == contents(first, *version),
                });
            let version = u64::from_le_bytes(read[8..16].try_into().unwrap());
            let found = *found.unwrap_or_else(|| {
                panic!("block {first} holds {version}, may hold {:?}", life.may)
            });
            *life = Life {
                may: vec![found],
                complete: 1,
            };
        }
    }

    /// Blocks that hold something.
    pub fn held(&self) -> usize {
        self.lives.iter().filter(|life| !life.may[0].1).count()
    }
}

/// A block's contents: its number, its version, and bytes that follow from both.
fn contents(block: u64, version: u64) -> Vec<u8> {
    let mut state = (block << 32 ^ version).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(BLOCK);
    out.extend_from_slice(&block.to_le_bytes());
    out.extend_from_slice(&version.to_le_bytes());
    while out.len() < BLOCK {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out
}
