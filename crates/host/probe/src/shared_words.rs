//! An array of the kernel side, mapped into memory.
//!
//! `unsafe` only to map it and to look at its words.
#![allow(unsafe_code)]

use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use libbpf_rs::MapHandle;
use nix::libc::c_void;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// An array of the kernel side, mapped: both sides change its words. Reading them makes no system call. IMPORTANT: that
/// matters, since while a thread is in a call about a map, the kernel skips every kprobe's program on that processor.
#[derive(Debug)]
pub(crate) struct SharedWords {
    start: NonNull<c_void>,
    words: usize,
}

// SAFETY: the memory is mapped while `self` lives and is only looked at by atomic operations.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps an array of `words` words that was made with `BPF_F_MMAPABLE`.
    pub(crate) fn map(array: &MapHandle, words: usize) -> nix::Result<SharedWords> {
        let bytes = NonZeroUsize::new(words * 8).ok_or(nix::errno::Errno::EINVAL)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses a place that is free; the descriptor is a mappable array of that size.
        let start = unsafe {
            mmap(
                None,
                bytes,
                protection,
                MapFlags::MAP_SHARED,
                array.as_fd(),
                0,
            )
        }?;
        Ok(SharedWords { start, words })
    }

    /// The word at index `at`; beyond the array, a word that is always 0.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        static NONE: AtomicU64 = AtomicU64::new(0);
        if at >= self.words {
            return &NONE;
        }
        // SAFETY: within the mapping, which starts at a page and lives as long as `self`; all access is atomic.
        unsafe { AtomicU64::from_ptr(self.start.cast::<u64>().as_ptr().add(at)) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and nobody has a reference any more.
        let _ = unsafe { munmap(self.start, self.words * 8) };
    }
}
