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
use crate::holders::{holders, is_claimed, swap_files};
use crate::loop_device::LoopDevice;
use crate::namespace::MountNamespace;
use crate::swap::swap_off;

/// Time that a file system may stay busy before that is an error. Our choice.
const UNMOUNT_PATIENCE: Duration = Duration::from_secs(1);
/// The time between two attempts meanwhile.
const UNMOUNT_POLL: Duration = Duration::from_millis(5);

/// The properties of a drive to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveOptions {
    /// Logical size in bytes: a multiple of 4096, at least [`FileSystemKind::minimum_bytes`].
    pub bytes: u64,
    /// The file system to format it with.
    pub file_system: FileSystemKind,
    /// The directory of the backing file. `None` means in memory if 3 times the drive's size is available, otherwise in
    /// /var/tmp.
    pub backing_dir: Option<PathBuf>,
}

/// The drive of a run. Dropping it kills the run's processes, unmounts the file system, and removes the device with all
/// its bytes.
#[derive(Debug)]
pub struct Drive {
    device: LoopDevice,
    file_system: FileSystemKind,
    is_mounted: bool,
    namespace: MountNamespace,
}

impl Drive {
    /// Makes the device, all zeroes, with nothing written to it. A namespace carries one drive.
    ///
    /// # Errors
    /// When the size does not suit the file system, when there is no room for the drive's bytes, or when there is no
    /// loop device.
    pub fn create(namespace: MountNamespace, options: &DriveOptions) -> Result<Self, DiskError> {
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

    /// Makes the file system and mounts it with `discard`, so that files are discarded when they are deleted.
    ///
    /// # Errors
    /// When the tool is missing (the message names its package) or fails, or when the kernel does not mount the result.
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

    /// The device that the file system writes to.
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// The directory where the file system appears, for this process and those it starts.
    pub fn mount_point(&self) -> &Path {
        self.namespace.mount_point()
    }

    /// The file system that the drive is formatted with.
    pub fn file_system(&self) -> FileSystemKind {
        self.file_system
    }

    /// The namespace that the drive is mounted in.
    pub fn namespace(&self) -> &MountNamespace {
        &self.namespace
    }

    /// Unmounts what a program mounted over the drive. Answers whether there was anything: writes to such a mount did
    /// not reach the drive.
    ///
    /// # Errors
    /// When the mount cannot be removed, or the drive itself is no longer mounted.
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

    /// Writes out everything that the file system still holds in memory, journal included, and waits for it.
    ///
    /// # Errors
    /// When the drive fails a write.
    pub fn sync(&self) -> Result<(), DiskError> {
        let failed = |source| self.release_error("synced", source);
        let directory = File::open(self.mount_point()).map_err(|error| {
            failed(Errno::from_raw(
                error.raw_os_error().unwrap_or(nix::libc::EIO),
            ))
        })?;
        syncfs(&directory).map_err(failed)
    }

    /// Unmounts the file system; its last writes have reached the device when this returns. Swapping to its files is
    /// ended first. The device stays until the drive is dropped, so that its number goes to no other device while the
    /// last events are read.
    ///
    /// # Errors
    /// When somebody still uses the file system after 1 s, here or in another mount namespace: the message names the
    /// user. Nothing is killed; see [`Workload::end_stragglers`](crate::Workload::end_stragglers). The call may be
    /// repeated.
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

    /// Checks that no other mount namespace keeps the file system alive.
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

/// Unmounts, and tries again for a while: a process that has just ended releases its files a moment after it has left
/// /proc.
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
