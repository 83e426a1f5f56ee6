//! A fresh drive with a file system on it.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::syncfs;
use tracing::info;

use crate::error::DiskError;
use crate::file_system::FileSystemKind;
use crate::holder::{holders, is_claimed, swap_files};
use crate::loop_device::LoopDevice;
use crate::namespace::Namespace;
use crate::swap::swap_off;

/// How long a file system may stay busy before we call it an error. Our choice.
const UNMOUNT_PATIENCE: Duration = Duration::from_secs(1);
/// How often we try meanwhile.
const UNMOUNT_POLL: Duration = Duration::from_millis(5);

/// What drive is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveOptions {
    /// Logical size, bytes: a multiple of 4096, at least [`FileSystemKind::minimum_bytes`].
    pub bytes: u64,
    /// What it is formatted with.
    pub file_system: FileSystemKind,
    /// Where the backing file lies. `None`: in memory when 3 times the drive's size is available, else in /var/tmp.
    pub backing_dir: Option<PathBuf>,
}

/// A drive of a run. Dropped, it kills the run's processes, unmounts, and the device is gone with all its bytes.
#[derive(Debug)]
pub struct Drive {
    device: LoopDevice,
    file_system: FileSystemKind,
    is_mounted: bool,
    namespace: Namespace,
}

impl Drive {
    /// Makes the device, all zeroes; nothing is written to it yet. One namespace carries one drive.
    ///
    /// # Errors
    /// The size does not suit the file system, there is no room for the drive's bytes, or no loop device.
    pub fn create(namespace: Namespace, options: &DriveOptions) -> Result<Self, DiskError> {
        options.file_system.check_size(options.bytes)?;
        let device = LoopDevice::attach(options.bytes, options.backing_dir.as_deref())?;
        info!(device = ?device.path(), bytes = options.bytes, "drive made");
        Ok(Drive {
            device,
            file_system: options.file_system,
            is_mounted: false,
            namespace,
        })
    }

    /// Makes the file system and mounts it with `discard`, so that deleted files are discarded as they go.
    ///
    /// # Errors
    /// The tool is missing (the message names its package) or failed, or the kernel does not mount the result.
    pub fn format_and_mount(&mut self) -> Result<(), DiskError> {
        self.file_system.format(&self.device)?;
        mount(
            Some(self.device.path()),
            self.mount_point(),
            Some(self.file_system.name()),
            MsFlags::empty(),
            Some(self.file_system.mount_options()),
        )
        .map_err(|source| DiskError::Mount {
            device: self.device.path().to_owned(),
            file_system: self.file_system,
            mount_point: self.mount_point().to_owned(),
            source,
        })?;
        self.is_mounted = true;
        info!(
            file_system = self.file_system.name(),
            options = self.file_system.mount_options(),
            at = ?self.mount_point(),
            "mounted"
        );
        Ok(())
    }

    /// The device that every write goes to.
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// Where the file system appears, for this process and those it starts.
    pub fn mount_point(&self) -> &Path {
        self.namespace.mount_point()
    }

    /// What it is formatted with.
    pub fn file_system(&self) -> FileSystemKind {
        self.file_system
    }

    /// The namespace it is mounted in.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Takes away what a program left mounted over the drive, and says whether there was anything: what was written
    /// there did not reach the drive.
    ///
    /// # Errors
    /// The mount cannot be removed, or the drive itself is not mounted any more.
    pub fn uncover(&self) -> Result<bool, DiskError> {
        let mut was_covered = false;
        while self.is_mounted && self.is_covered() {
            umount2(self.mount_point(), MntFlags::MNT_DETACH).map_err(|source| {
                DiskError::Covered {
                    mount_point: self.mount_point().to_owned(),
                    source,
                }
            })?;
            was_covered = true;
        }
        Ok(was_covered)
    }

    fn is_covered(&self) -> bool {
        let on_it = std::fs::metadata(self.mount_point());
        on_it.is_ok_and(|on_it| on_it.dev() != self.device.device_number())
    }

    /// Writes everything out that the file system still holds in memory, and waits for it. Journal included.
    ///
    /// # Errors
    /// The drive failed a write.
    pub fn sync(&self) -> Result<(), DiskError> {
        let failed = |source| self.release_error("synced", source);
        let directory = File::open(self.mount_point()).map_err(|error| {
            failed(Errno::from_raw(
                error.raw_os_error().unwrap_or(nix::libc::EIO),
            ))
        })?;
        syncfs(&directory).map_err(failed)
    }

    /// Unmounts; the last writes have reached the device when it returns. Files of it that the kernel swaps to are
    /// given up first. The device stays until the drive is dropped, so that its number belongs to no one else while
    /// the last events are read.
    ///
    /// # Errors
    /// Somebody still uses the file system after 1 s, here or in a mount namespace of his own: the message names
    /// him. Nothing is killed; see [`Workload::end_stragglers`](crate::Workload::end_stragglers). May be called
    /// again.
    pub fn unmount(&mut self) -> Result<(), DiskError> {
        if !self.is_mounted {
            return Ok(());
        }
        swap_files(&self.device)
            .iter()
            .for_each(|file| swap_off(file));
        match unmount_patiently(self.mount_point()) {
            Ok(()) => {
                info!(at = ?self.mount_point(), "unmounted");
                self.is_mounted = false;
                self.check_released()
            }
            Err(Errno::EBUSY) => Err(DiskError::Busy {
                mount_point: self.mount_point().to_owned(),
                holders: holders(&self.device),
            }),
            Err(source) => Err(self.release_error("unmounted", source)),
        }
    }

    /// A file system lives as long as any mount namespace has it.
    fn check_released(&self) -> Result<(), DiskError> {
        let deadline = Instant::now() + UNMOUNT_PATIENCE;
        while is_claimed(&self.device) {
            if Instant::now() >= deadline {
                return Err(DiskError::Held {
                    device: self.device.path().to_owned(),
                    holders: holders(&self.device),
                });
            }
            sleep(UNMOUNT_POLL);
        }
        Ok(())
    }

    fn release_error(&self, what: &'static str, source: Errno) -> DiskError {
        DiskError::Release {
            what,
            mount_point: self.mount_point().to_owned(),
            source,
        }
    }
}

/// A process that has just ended releases its files a moment after it has left /proc.
fn unmount_patiently(mount_point: &Path) -> Result<(), Errno> {
    let deadline = Instant::now() + UNMOUNT_PATIENCE;
    loop {
        match umount2(mount_point, MntFlags::empty()) {
            Err(Errno::EBUSY) if Instant::now() < deadline => sleep(UNMOUNT_POLL),
            result => return result,
        }
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.namespace.end_all();
        // One that cannot be taken away lies over a mount that goes with the namespace.
        let _ = self.uncover();
        if self.unmount().is_err() {
            // We ourselves may still hold a file open there. It disappears now, and is released with that file;
            // an error could not be acted on, and the end of the process does the same.
            let _ = umount2(self.mount_point(), MntFlags::MNT_DETACH);
        }
    }
}
