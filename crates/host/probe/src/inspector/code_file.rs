//! Opening a file that another user chose: regular files alone, never a pipe or a device, and the mapped one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use blazesym::Mmap;
use nix::libc::{O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_PATH};

use super::maps;
use super::message::CodeFile;

/// Maps the file itself, be it deleted or in another mount namespace; `None` if it cannot be had any more.
pub(super) fn mapped(file: &CodeFile) -> Option<Mmap> {
    let by_mapping = file.range.and_then(|(start, end)| {
        let link = format!("/proc/{}/map_files/{start:x}-{end:x}", file.tgid);
        same(file, &open_regular(Path::new(&link), 0).ok()?)
    });
    by_mapping.or_else(|| {
        let opened = open_regular(Path::new(&file.path), O_NOFOLLOW).ok()?;
        same(file, &opened)
    })
}

/// Opens a regular file for reading.
///
/// IMPORTANT: a pipe without a writer blocks whoever opens it, and to open a device may have an effect (a watchdog, a
/// tape). So the path is resolved without opening it (`O_PATH`), and what it led to is opened by its descriptor.
pub(super) fn open_regular(path: &Path, flags: i32) -> io::Result<File> {
    let found = OpenOptions::new()
        .read(true)
        .custom_flags(O_PATH | flags)
        .open(path)?;
    if !found.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK | O_NOCTTY)
        .open(descriptor(&found))
}

/// The path of an open file that nobody can exchange.
pub(super) fn descriptor(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Whether root alone can have chosen the file and what lies beside it.
pub(super) fn is_of_system(file: &File) -> bool {
    let is_roots = |found: fs::Metadata| found.uid() == 0 && found.mode() & 0o022 == 0;
    let directory = fs::read_link(descriptor(file));
    let directory = directory
        .ok()
        .and_then(|path| Some(path.parent()?.to_owned()));
    file.metadata().is_ok_and(is_roots)
        && directory.is_some_and(|path| fs::symlink_metadata(path).is_ok_and(is_roots))
}

/// Maps an open file if it is the one that is meant.
fn same(file: &CodeFile, opened: &File) -> Option<Mmap> {
    let bytes = Mmap::builder().open(descriptor(opened)).ok()?;
    let start = bytes.as_ptr() as u64;
    // Of some file systems (Btrfs, overlayfs) `stat` has another device than the kernel's mappings have: the kernel is
    // asked what it takes our own mapping for.
    let own = maps::mapping_at(start)?;
    (own == (file.device, file.inode)).then_some(bytes)
}
