//! Contents in memory.

use std::{
    io, iter,
    sync::{OnceLock, PoisonError, RwLock},
};

use super::{Contents, check};

/// Bytes of an extent, which is taken when it is first written (our choice: small, so that a large
/// drive written at random does not take all of its size at once).
const EXTENT: usize = 64 << 10;

/// Extents whose locks are made together, when one of them is first written (our choice: 64 MiB of contents, whose
/// locks take 32 KiB).
const GROUP: usize = 1 << 10;

type Extent = RwLock<Option<Box<[u8]>>>;

/// Extents with a lock each, so that queues do not wait for one another.
#[derive(Debug)]
pub(super) struct Memory {
    bytes: u64,
    groups: Vec<OnceLock<Box<[Extent]>>>,
}

impl Memory {
    pub(super) fn new(bytes: u64) -> Memory {
        let count = bytes.div_ceil((EXTENT * GROUP) as u64);
        Memory {
            bytes,
            groups: (0..count).map(|_| OnceLock::new()).collect(),
        }
    }

    /// An extent; `None` where nothing near it was written.
    fn extent(&self, index: usize) -> Option<&Extent> {
        self.groups.get(index / GROUP)?.get()?.get(index % GROUP)
    }

    /// An extent that is to be written.
    fn extent_to_write(&self, index: usize) -> Option<&Extent> {
        let group = self.groups.get(index / GROUP)?;
        let group = group.get_or_init(|| iter::repeat_with(Extent::default).take(GROUP).collect());
        group.get(index % GROUP)
    }
}

impl Contents for Memory {
    fn is_kept(&self) -> bool {
        false
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        check(at, into.len() as u64, self.bytes)?;
        let mut rest = into;
        for piece in pieces(at, rest.len() as u64) {
            let (now, later) = rest.split_at_mut(piece.length);
            let extent = self.extent(piece.extent);
            let extent = extent.map(|extent| extent.read().unwrap_or_else(PoisonError::into_inner));
            match extent.as_deref() {
                Some(Some(held)) => now.copy_from_slice(&held[piece.from..][..piece.length]),
                _ => now.fill(0),
            }
            rest = later;
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        check(at, bytes.len() as u64, self.bytes)?;
        let mut rest = bytes;
        for piece in pieces(at, bytes.len() as u64) {
            let (now, later) = rest.split_at(piece.length);
            if let Some(extent) = self.extent_to_write(piece.extent) {
                let mut held = extent.write().unwrap_or_else(PoisonError::into_inner);
                let held = held.get_or_insert_with(|| vec![0; EXTENT].into_boxed_slice());
                held[piece.from..][..piece.length].copy_from_slice(now);
            }
            rest = later;
        }
        Ok(())
    }

    fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        check(at, length, self.bytes)?;
        for piece in pieces(at, length) {
            let Some(extent) = self.extent(piece.extent) else {
                continue;
            };
            let mut held = extent.write().unwrap_or_else(PoisonError::into_inner);
            match held.as_mut() {
                Some(_) if piece.length == EXTENT => *held = None,
                Some(held) => held[piece.from..][..piece.length].fill(0),
                None => {}
            }
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn data(&self) -> io::Result<Vec<(u64, u64)>> {
        Ok(Vec::new())
    }
}

/// A run of bytes within one extent.
struct Piece {
    extent: usize,
    from: usize,
    length: usize,
}

/// The pieces of a run of bytes, in order.
fn pieces(at: u64, length: u64) -> impl Iterator<Item = Piece> {
    let (mut at, mut left) = (at, length);
    iter::from_fn(move || {
        let from = (at % EXTENT as u64) as usize;
        let now = left.min((EXTENT - from) as u64);
        let piece = Piece {
            extent: (at / EXTENT as u64) as usize,
            from,
            length: now as usize,
        };
        at += now;
        left -= now;
        (now > 0).then_some(piece)
    })
}
