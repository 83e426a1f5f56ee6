//! A file system on a loop device, gone when the test is, however the test ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;

/// Runs a command to its end; a failure fails the test with what the command said.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?} cannot be run: {error}; the live tests need root and {NEEDED}")
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} failed, {}: {said}",
        output.status
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

const NEEDED: &str =
    "apt-get install e2fsprogs xfsprogs btrfs-progs util-linux coreutils python3 gcc rocksdb-tools";

/// A loop device over a sparse file.
pub struct Drive {
    pub device: PathBuf,
    pub directory: TempDir,
    mounted: Option<PathBuf>,
}

impl Drive {
    fn new(mebibytes: u64, first_sector: &[u8]) -> Drive {
        anabranch_probe::check().expect("the live tests need a machine that can capture");
        let directory = TempDir::new().unwrap();
        let image = directory.path().join("image");
        std::fs::write(&image, first_sector).unwrap();
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&image)
            .unwrap();
        file.set_len(mebibytes << 20).unwrap();
        let device = run(Command::new("losetup")
            .args(["--find", "--show"])
            .arg(image));
        Drive {
            device: device.into(),
            directory,
            mounted: None,
        }
    }

    /// A device with nothing on it.
    pub fn empty(mebibytes: u64) -> Drive {
        Drive::new(mebibytes, &[])
    }

    /// A device with one partition, from 1 MiB to its end.
    pub fn partitioned(mebibytes: u32) -> Drive {
        let mut sector = [0_u8; 512];
        let entry = &mut sector[446..462];
        entry[4] = 0x83; // a Linux partition
        entry[8..12].copy_from_slice(&2048_u32.to_le_bytes());
        entry[12..16].copy_from_slice(&((mebibytes - 1) * 2048).to_le_bytes());
        sector[510..].copy_from_slice(&[0x55, 0xaa]);
        let drive = Drive::new(mebibytes.into(), &sector);
        run(Command::new("partx").arg("--add").arg(&drive.device));
        drive
    }

    /// A device with a file system, mounted for this thread and its children only.
    pub fn with(file_system: &str, mebibytes: u64) -> Drive {
        Drive::with_options(file_system, mebibytes, "discard")
    }

    /// The same, mounted with these options.
    pub fn with_options(file_system: &str, mebibytes: u64, options: &str) -> Drive {
        let mut drive = Drive::new(mebibytes, &[]);
        let mut mkfs = Command::new(format!("mkfs.{file_system}"));
        if file_system == "ext4" {
            // Nothing is to be written later that no test asked for.
            mkfs.args(["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
        }
        run(mkfs.arg(&drive.device));
        drive.mount(file_system, options);
        drive
    }

    fn mount(&mut self, file_system: &str, options: &str) {
        let nothing: Option<&str> = None;
        let target = self.directory.path().join("mount");
        std::fs::create_dir(&target).unwrap();
        // A mount of its own name space ends with this thread, even if the test is killed.
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount(
            nothing,
            "/",
            nothing,
            MsFlags::MS_REC | MsFlags::MS_PRIVATE,
            nothing,
        )
        .unwrap();
        mount(
            Some(&self.device),
            &target,
            Some(file_system),
            MsFlags::empty(),
            Some(options),
        )
        .unwrap();
        self.mounted = Some(target);
        // The device now goes with its last user.
        self.detach();
    }

    /// Mount point of the file system.
    pub fn path(&self) -> &Path {
        self.mounted.as_deref().expect("nothing is mounted")
    }

    fn detach(&self) {
        run(Command::new("losetup").arg("--detach").arg(&self.device));
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        match &self.mounted {
            Some(target) => drop(umount(target)),
            None => {
                let _ = Command::new("partx")
                    .arg("--delete")
                    .arg(&self.device)
                    .output();
                self.detach();
            }
        }
    }
}
