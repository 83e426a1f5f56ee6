//! A loop device over a nameless file.
//!
//! `unsafe` only for the two loop ioctls, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use crate::backing::BackingFile;
use crate::error::DiskError;
use crate::place::BackingPlace;

/// The major number of loop devices (the kernel's Documentation/admin-guide/devices.txt).
const LOOP_MAJOR: u64 = 7;
/// Attempts to get a number while the one given is bound or held by another process. Our choice.
const ATTEMPTS: u32 = 200;
/// The time between two such attempts. The kernel names the same device again until its last holder is gone.
const PAUSE: Duration = Duration::from_millis(10);
/// `LO_FLAGS_AUTOCLEAR` of linux/loop.h: unbind when the last opener is gone.
const AUTOCLEAR: u32 = 4;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
pub struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

mod ioctl {
    use super::LoopConfig;
    use nix::libc;

    const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
    const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;

    nix::ioctl_none_bad!(get_free, LOOP_CTL_GET_FREE);
    nix::ioctl_write_ptr_bad!(configure, LOOP_CONFIGURE, LoopConfig);
}

/// A bound loop device. It is unbound, and its bytes are gone, as soon as nobody has it open or mounted: when it is
/// dropped, or when the process dies in whatever way.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    number: u64,
    backing: BackingFile,
    /// The open device, which keeps it bound.
    device: File,
}

impl LoopDevice {
    /// Binds a new sparse file of `bytes` (a multiple of 512), all zeroes, to a free loop device with 512-byte
    /// sectors. The file lies in `backing_dir`, or in memory or /var/tmp when none is named.
    ///
    /// # Errors
    /// When the system has no loop devices, none is free, or there is no room for the file.
    pub fn attach(bytes: u64, backing_dir: Option<&Path>) -> Result<Self, DiskError> {
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/loop-control")
            .map_err(DiskError::NoLoopSupport)?;
        let backing = BackingFile::create(bytes, backing_dir)?;
        for _ in 0..ATTEMPTS {
            let minor = free_minor(&control)?;
            let path = PathBuf::from(format!("/dev/loop{minor}"));
            let number = makedev(LOOP_MAJOR, minor);
            let device = open_node(&path, number)?;
            match bind(&device, &backing.file) {
                Ok(()) => {
                    return Ok(LoopDevice {
                        path,
                        number,
                        backing,
                        device,
                    });
                }
                // Another process bound this number, or one that was killed is not quite gone.
                Err(Errno::EBUSY) => sleep(PAUSE),
                Err(source) => return Err(DiskError::LoopConfigure { path, source }),
            }
        }
        Err(DiskError::NoFreeLoopDevice { attempts: ATTEMPTS })
    }

    /// The device node, `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device number as `stat` gives it (`st_rdev`, a `dev_t` of the C library).
    pub fn device_number(&self) -> u64 {
        self.number
    }

    /// Major and minor number.
    pub fn major_minor(&self) -> (u32, u32) {
        (libc::major(self.number), libc::minor(self.number))
    }

    /// Another descriptor that keeps the device bound, for a process that works on it and may outlive us.
    pub(crate) fn hold(&self) -> io::Result<File> {
        self.device.try_clone()
    }

    /// The place of the device's bytes.
    pub fn backing_place(&self) -> &BackingPlace {
        &self.backing.place
    }

    /// Bytes that the device takes at its backing place now; they grow with writes and shrink with discards.
    ///
    /// # Errors
    /// When `fstat` fails.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        // st_blocks is in units of 512 bytes, whatever the file system.
        Ok(self.backing.file.metadata()?.blocks() * 512)
    }
}

fn free_minor(control: &File) -> Result<u64, DiskError> {
    // SAFETY: the descriptor is open for the length of the call and the request takes no argument.
    let minor = unsafe { ioctl::get_free(control.as_raw_fd()) };
    let unsupported = |error: Errno| DiskError::NoLoopSupport(error.into());
    u64::try_from(minor.map_err(unsupported)?).map_err(|_| unsupported(Errno::ENODEV))
}

/// Opens the device node. Where /dev is not the kernel's own (as in containers) and lacks the node, it is made first.
fn open_node(path: &Path, number: u64) -> Result<File, DiskError> {
    let failed = |source| DiskError::LoopNode {
        path: path.to_owned(),
        source,
    };
    match mknod(path, SFlag::S_IFBLK, Mode::S_IRUSR | Mode::S_IWUSR, number) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(failed(error.into())),
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC)
        .open(path)
        .map_err(failed)
}

/// Binds the file in one step, with autoclear from the first moment, so that a kill at no instant leaves the device
/// behind.
fn bind(device: &File, backing: &File) -> Result<(), Errno> {
    let config = LoopConfig {
        fd: u32::try_from(backing.as_raw_fd()).map_err(|_| Errno::EBADF)?,
        block_size: 512,
        info: LoopInfo {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: AUTOCLEAR,
            file_name: label(),
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: both descriptors are open for the length of the call, and `config` has the kernel's layout
    // (checked by a test below); the kernel only reads it.
    unsafe { ioctl::configure(device.as_raw_fd(), &config) }.map(drop)
}

/// The label that tools show as the device's origin.
fn label() -> [u8; 64] {
    let mut bytes = [0; 64];
    let text = b"anabranch";
    bytes[..text.len()].copy_from_slice(text);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_has_the_size_and_layout_of_the_kernels_header() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
        assert_eq!(std::mem::offset_of!(LoopConfig, info), 8);
        assert_eq!(std::mem::offset_of!(LoopInfo, flags), 52);
    }
}
