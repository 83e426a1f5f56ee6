//! The search for what keeps a device or its file system in use.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::libc;
use nix::sys::stat::makedev;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use crate::holder::Holder;
use crate::loop_device::LoopDevice;
use crate::processes::process;

/// Whether the device's file system is still mounted somewhere, possibly where we cannot see it.
pub(crate) fn is_claimed(device: &LoopDevice) -> bool {
    // open(2): O_EXCL without O_CREAT fails with EBUSY for a block device that is in use by the system.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(device.path());
    opened.is_err_and(|error| error.raw_os_error() == Some(Errno::EBUSY as i32))
}

/// The holders of `device`, without ourselves.
pub(crate) fn holders(device: &LoopDevice) -> Vec<Holder> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id() && holds(*pid, device))
        .filter_map(|pid| Some(Holder::Process(process(pid)?)));
    let swaps = swap_files(device).into_iter().map(Holder::Swap);
    processes.chain(swaps).chain(loops(device)).collect()
}

fn holds(pid: u32, device: &LoopDevice) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let is_on_it = |path: PathBuf| is_on(&path, device);
    let open = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    ["cwd", "root", "exe"]
        .iter()
        .any(|link| is_on_it(process.join(link)))
        || open.into_iter().any(|entry| is_on_it(entry.path()))
        || has_column(&process.join("maps"), 3, &hexadecimal(device))
        || !shares_our_mounts(&process)
            && has_column(&process.join("mountinfo"), 2, &decimal(device))
}

/// Whether a path leads to a file of the file system on the device, or to the device itself.
fn is_on(path: &Path, device: &LoopDevice) -> bool {
    // why: the path may be another program's open file, on a file system that answers when it likes (FUSE, NFS).
    let flags = AtFlags::STATX_DONT_SYNC;
    statx(CWD, path, flags, StatxFlags::TYPE).is_ok_and(|file| {
        let is_block_device = FileType::from_raw_mode(file.stx_mode.into()).is_block_device();
        let is_it =
            |major: u32, minor: u32| makedev(major.into(), minor.into()) == device.device_number();
        is_it(file.stx_dev_major, file.stx_dev_minor)
            || is_block_device && is_it(file.stx_rdev_major, file.stx_rdev_minor)
    })
}

fn shares_our_mounts(process: &Path) -> bool {
    let namespace = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
    namespace(process) == namespace(Path::new("/proc/thread-self"))
}

/// Whether a line of a kernel table has this word in that column.
fn has_column(table: &Path, column: usize, word: &str) -> bool {
    // Lossy: names of files in it may be anything.
    let text = fs::read(table).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .any(|line| line.split_whitespace().nth(column) == Some(word))
}

/// A device's number as proc_pid_mountinfo(5) writes it.
fn decimal(device: &LoopDevice) -> String {
    let (major, minor) = device.major_minor();
    format!("{major}:{minor}")
}

/// A device's number as proc_pid_maps(5) writes it.
fn hexadecimal(device: &LoopDevice) -> String {
    let (major, minor) = device.major_minor();
    format!("{major:02x}:{minor:02x}")
}

/// The files on the device that the kernel swaps to.
pub(crate) fn swap_files(device: &LoopDevice) -> Vec<PathBuf> {
    let table = fs::read("/proc/swaps").unwrap_or_default();
    let paths = table.split(|byte| *byte == b'\n').skip(1);
    let paths = paths.filter_map(|line| unescaped(line.split(|byte| *byte == b' ').next()?));
    paths.filter(|path| is_on(path, device)).collect()
}

fn loops(device: &LoopDevice) -> Vec<Holder> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        let is_over_it = is_on(Path::new(file.trim_end_matches('\n')), device);
        is_over_it.then(|| Holder::Loop(Path::new("/dev").join(entry.file_name())))
    });
    found.collect()
}

/// The path in an entry of /proc/swaps, which writes blanks, tabs, line breaks and backslashes as three octal digits.
fn unescaped(word: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut path = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| byte == b'\\');
        let escaped =
            digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        path.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() {
            &after[3..]
        } else {
            after
        };
    }
    (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsString::from_vec(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_file_with_blanks_in_its_name_is_read() {
        let path = unescaped(br"/mnt/a\040b\134c\011").unwrap();
        assert_eq!(path, Path::new("/mnt/a b\\c\t"));
        assert_eq!(unescaped(b"").as_deref(), None);
    }
}
