//! The kernel's memory of a ring, mapped.
//!
//! `unsafe` only to map it and to copy to and from it: another one may change it at any time, so nothing of it is ever
//! borrowed.
#![allow(unsafe_code)]

use std::{
    ffi::c_void,
    fs::File,
    io,
    num::NonZeroUsize,
    ptr::{self, NonNull},
    sync::atomic::{AtomicU32, Ordering},
};

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use super::Memory;

/// A shared mapping of a device, undone on drop.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<c_void>,
    bytes: NonZeroUsize,
}

// SAFETY: a mapping belongs to the process and not to a thread; one thread at a time uses it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// The first so many bytes of a device.
    pub(super) fn new(device: &File, bytes: NonZeroUsize) -> io::Result<Mapping> {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { mmap(None, bytes, protection, MapFlags::MAP_SHARED, device, 0) }?;
        Ok(Mapping { start, bytes })
    }

    /// Address of so many bytes from an offset on, if all lie within.
    fn place(&self, at: usize, length: usize) -> Option<*mut u8> {
        let end = at.checked_add(length)?;
        (end <= self.bytes.get()).then(|| {
            // SAFETY: the offset was found to lie within the mapping.
            unsafe { self.start.cast::<u8>().as_ptr().add(at) }
        })
    }

    fn number(&self, at: usize) -> Option<&AtomicU32> {
        let place = self.place(at, size_of::<u32>())?.cast::<u32>();
        // SAFETY: the place lies within the mapping, and is borrowed no longer than that; the other one knows it as a
        // number that both change.
        place
            .is_aligned()
            .then(|| unsafe { AtomicU32::from_ptr(place) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody else knows where.
        let _ = unsafe { munmap(self.start, self.bytes.get()) };
    }
}

impl Memory for Mapping {
    fn bytes(&self) -> usize {
        self.bytes.get()
    }

    fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        let from = self.place(at, into.len())?;
        // SAFETY: `place` found all bytes within the mapping, which is none of our other memory.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Some(())
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Option<()> {
        let to = self.place(at, bytes.len())?;
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Some(())
    }

    fn load(&self, at: usize) -> Option<u32> {
        Some(self.number(at)?.load(Ordering::Acquire))
    }

    fn store(&self, at: usize, number: u32) -> Option<()> {
        self.number(at)?.store(number, Ordering::Release);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lies_beyond_its_end() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let bytes = NonZeroUsize::new(4096).unwrap();
        let mapping = Mapping::new(&file, bytes).unwrap();
        assert_eq!(mapping.write(4092, &[1, 2, 3, 4]), Some(()));
        assert_eq!(mapping.load(4092), Some(u32::from_ne_bytes([1, 2, 3, 4])));
        assert_eq!(mapping.write(4093, &[1, 2, 3, 4]), None);
        assert_eq!(mapping.read(usize::MAX, &mut [0; 2]), None);
        assert_eq!(mapping.load(4096), None);
        assert_eq!(mapping.load(2), None, "no number lies there");
        assert_eq!(mapping.store(4096, 1), None);
    }
}
