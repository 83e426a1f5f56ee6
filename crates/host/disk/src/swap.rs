//! Files that the kernel swaps to.
//!
//! `unsafe` only for the one system call, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::libc;

/// Ends swapping to a file. If its pages have no other place, swapping goes on, and the file holds the drive.
pub(crate) fn swap_off(file: &Path) {
    if let Ok(path) = CString::new(file.as_os_str().as_bytes()) {
        // SAFETY: the pointer is to a string with an end that lives for the length of the call.
        unsafe { libc::swapoff(path.as_ptr()) };
    }
}
