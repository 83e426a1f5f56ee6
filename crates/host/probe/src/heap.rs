//! Memory of processes, and that which was needed for a moment: much of it by attaching a probe, which so is where this
//! is.
//!
//! `unsafe` only for two calls of the C library, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::fs;

/// Private memory of a process in bytes (`RssAnon`, proc_pid_status(5)); 0 if it is gone.
pub fn private_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// Gives memory that was freed back to the kernel. glibc keeps large pieces once it has had one back, and puts what is
/// needed for long among them: a process that runs for long grows although what it needs does not. Other C libraries
/// are left to themselves.
pub fn give_back_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: any thread may call it at any time; it touches free memory alone.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

/// Has all threads that begin from now on allocate from one heap. glibc gives each a heap of its own, whose free end
/// [`give_back_freed_memory`] cannot give back.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number that the allocator reads.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
    }
}
