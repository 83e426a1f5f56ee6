//! Memory shared with the kernel: the requests a queue is handed, and buffers it copies to and from.
//!
//! `unsafe` only to map it and to read what the kernel writes there.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use std::sync::atomic::AtomicU64;

use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::abi::{DESCRIPTOR_BYTES, MOST_DEPTH};

const PAGE: usize = 4096;

/// A mapping, undone on drop.
#[derive(Debug)]
struct Mapping {
    start: NonNull<c_void>,
    bytes: NonZeroUsize,
}

// SAFETY: a mapping belongs to the process and not to a thread; it is used by one thread at a time.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody else knows where.
        let _ = unsafe { munmap(self.start, self.bytes.get()) };
    }
}

/// A page of numbers that outlives the process where a file backs it.
#[derive(Debug)]
pub struct Words(Mapping);

// SAFETY: all that can be reached through it is atomic.
unsafe impl Sync for Words {}

impl Words {
    /// Their count.
    pub const COUNT: usize = PAGE / size_of::<AtomicU64>();

    /// Maps the first page of a file, which must be that long for as long as it is mapped.
    pub fn of_file(file: &File) -> io::Result<Words> {
        let bytes = NonZeroUsize::new(PAGE).unwrap_or(NonZeroUsize::MIN);
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: as above.
        let start = unsafe { mmap(None, bytes, protection, MapFlags::MAP_SHARED, file, 0) }?;
        Ok(Words(Mapping { start, bytes }))
    }

    /// Zeroes that end with the process.
    #[cfg(test)]
    pub fn of_process() -> io::Result<Words> {
        let bytes = NonZeroUsize::new(PAGE).unwrap_or(NonZeroUsize::MIN);
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: as above.
        let start = unsafe { mmap_anonymous(None, bytes, protection, MapFlags::MAP_PRIVATE) }?;
        Ok(Words(Mapping { start, bytes }))
    }

    /// The number at a place; of a place beyond the page, the last one's.
    pub fn at(&self, place: usize) -> &AtomicU64 {
        let words = self.0.start.cast::<AtomicU64>();
        // SAFETY: the mapping is a page, aligned to one, holds `COUNT` words, and lives as long as `self`.
        unsafe { words.add(place.min(Words::COUNT - 1)).as_ref() }
    }
}

/// A request as the kernel describes it, `struct ublksrv_io_desc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    /// The operation, and flags.
    pub operation: u32,
    /// Sectors of 512 bytes.
    pub sectors: u32,
    /// The first of them.
    pub start_sector: u64,
    address: u64,
}

#[cfg(test)]
impl Descriptor {
    pub fn new(operation: u32, start_sector: u64, sectors: u32) -> Descriptor {
        Descriptor {
            operation,
            sectors,
            start_sector,
            address: 0,
        }
    }
}

/// A queue's requests, by tag.
#[derive(Debug)]
pub struct Descriptors {
    mapping: Mapping,
    depth: u16,
}

impl Descriptors {
    /// Those of a queue of a device's character device.
    pub fn map(device: &File, queue: u16, depth: u16) -> io::Result<Descriptors> {
        let table = (MOST_DEPTH * DESCRIPTOR_BYTES).next_multiple_of(PAGE);
        let bytes = (usize::from(depth) * DESCRIPTOR_BYTES).next_multiple_of(PAGE);
        let bytes = NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN);
        let offset = i64::try_from(usize::from(queue) * table).map_err(io::Error::other)?;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { mmap(None, bytes, ProtFlags::PROT_READ, flags, device, offset) }?;
        let mapping = Mapping { start, bytes };
        Ok(Descriptors { mapping, depth })
    }

    /// The request that a tag carries; of a tag the queue has not, an empty one.
    pub fn get(&self, tag: u16) -> Descriptor {
        if tag >= self.depth {
            return Descriptor {
                operation: u32::MAX,
                sectors: 0,
                start_sector: 0,
                address: 0,
            };
        }
        let table = self.mapping.start.cast::<Descriptor>();
        // SAFETY: the mapping holds `depth` descriptors of this form, and the kernel changes one only before it
        // announces it, which has happened when a tag arrives.
        unsafe { table.add(usize::from(tag)).read_volatile() }
    }
}

/// A queue's buffers, one a tag, for kernels that copy.
#[derive(Debug)]
pub struct Buffers {
    mapping: Mapping,
    each: usize,
}

impl Buffers {
    /// `count` buffers of `bytes` each.
    pub fn new(count: u16, bytes: u32) -> io::Result<Buffers> {
        let each = (bytes as usize).next_multiple_of(PAGE);
        let all = NonZeroUsize::new(each * usize::from(count)).unwrap_or(NonZeroUsize::MIN);
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: as above.
        let start = unsafe { mmap_anonymous(None, all, protection, MapFlags::MAP_PRIVATE) }?;
        let mapping = Mapping { start, bytes: all };
        Ok(Buffers { mapping, each })
    }

    /// The address of a tag's buffer.
    pub fn address(&self, tag: u16) -> u64 {
        self.mapping.start.as_ptr() as u64 + (usize::from(tag) * self.each) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_pages_apart_and_do_not_overlap() {
        let buffers = Buffers::new(3, 5000).unwrap();
        assert_eq!(buffers.address(0) % 4096, 0);
        assert_eq!(buffers.address(2) - buffers.address(1), 8192);
    }

    #[test]
    fn a_descriptor_is_as_large_as_the_kernel_has_it() {
        assert_eq!(size_of::<Descriptor>(), DESCRIPTOR_BYTES);
    }
}
