//! Fresh drives on this machine: needs root, loop devices, ext4 and XFS.

// Helpers of tests are tests: a failed step ends them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod common;

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anabranch_disk::{
    BackingPlace, DiskError, Drive, DriveOptions, FileSystemKind, MountNamespace, status_code,
};
use common::{Binding, MIB, blank, mounted, names, run, wait_until};

fn deleted_files_are_discarded(file_system: FileSystemKind) {
    let drive = mounted(file_system, 320 * MIB);
    let file = drive.mount_point().join("data");
    fs::write(&file, vec![0x5a; 100 << 20]).unwrap();
    drive.sync().unwrap();
    let full = drive.device().allocated_bytes().unwrap();
    assert!(full >= 100 * MIB, "the data did not reach the device");
    fs::remove_file(&file).unwrap();
    wait_until("the discard to reach the device", || {
        // XFS frees a deleted file's blocks in the background: one sync may come before that.
        drive.sync().unwrap();
        drive.device().allocated_bytes().unwrap() <= full - 99 * MIB
    });
}

#[test]
fn an_ext4_drive_is_writable_and_discards_what_is_deleted() {
    deleted_files_are_discarded(FileSystemKind::Ext4);
}

#[test]
fn an_xfs_drive_is_writable_and_discards_what_is_deleted() {
    deleted_files_are_discarded(FileSystemKind::Xfs);
}

#[test]
fn a_created_drive_is_a_block_device_of_the_wanted_size_and_nothing_is_written_to_it() {
    let drive = blank(FileSystemKind::Ext4, 64 * MIB, None);
    let device = drive.device();
    let metadata = fs::metadata(device.path()).unwrap();
    assert!(metadata.file_type().is_block_device());
    assert_eq!(
        std::os::unix::fs::MetadataExt::rdev(&metadata),
        device.device_number()
    );
    let (major, minor) = device.major_minor();
    let link = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).unwrap();
    assert_eq!(link.file_name(), device.path().file_name());
    assert_eq!(
        fs::read_to_string(link.join("size")).unwrap().trim(),
        "131072"
    );
    assert_eq!(device.allocated_bytes().unwrap(), 0);
}

#[test]
fn the_smallest_drive_of_each_kind_carries_its_file_system() {
    for file_system in FileSystemKind::ALL {
        let drive = mounted(file_system, file_system.minimum_bytes());
        let file = drive.mount_point().join("file");
        fs::write(&file, b"it works").unwrap();
        drive.sync().unwrap();
    }
}

#[test]
fn a_drive_too_small_is_refused_with_the_smallest_size() {
    let namespace = MountNamespace::enter().unwrap_or_else(|error| panic!("{error}"));
    let options = DriveOptions {
        bytes: 64 * MIB,
        file_system: FileSystemKind::Xfs,
        backing_dir: None,
    };
    let error = Drive::create(namespace, &options).unwrap_err();
    assert!(
        matches!(
            error,
            DiskError::TooSmall {
                minimum_bytes: 314_572_800,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_full_drive_is_seen_by_the_program_as_no_space_left() {
    for file_system in FileSystemKind::ALL {
        let drive = mounted(file_system, 300 * MIB);
        let status = run(
            &drive,
            "LC_ALL=C dd if=/dev/zero of=big bs=1M 2>message; status=$?; rm big; cp message kept; exit $status",
        );
        assert_eq!(status_code(status), 1, "{file_system}");
        let message = fs::read_to_string(drive.mount_point().join("kept")).unwrap();
        assert!(message.contains("No space left on device"), "{message}");
    }
}

#[test]
fn two_drives_at_once_do_not_see_each_other() {
    let mine = mounted(FileSystemKind::Ext4, 32 * MIB);
    fs::write(mine.mount_point().join("mine"), b"1").unwrap();
    let my_device = mine.device().path().to_owned();
    std::thread::spawn(move || {
        let other = mounted(FileSystemKind::Ext4, 32 * MIB);
        assert_ne!(other.device().path(), my_device);
        assert!(!other.mount_point().join("mine").exists());
        fs::write(other.mount_point().join("other"), b"2").unwrap();
    })
    .join()
    .unwrap();
    assert!(mine.mount_point().join("mine").exists());
    assert!(!mine.mount_point().join("other").exists());
}

#[test]
fn a_dropped_drive_leaves_no_device_bound_and_no_mount_outside() {
    let mut drive = mounted(FileSystemKind::Ext4, 32 * MIB);
    let binding = Binding::of(drive.device().path());
    let node = drive.device().path().to_str().unwrap().to_owned();
    assert!(binding.is_bound());
    // /proc/PID/mounts is the view of the process's main thread: outside, when this test is a thread.
    let outside = fs::read_to_string("/proc/1/mounts").unwrap();
    assert!(!outside.lines().any(|line| line.starts_with(&node)));
    drive.sync().unwrap();
    drive.unmount().unwrap();
    drive.unmount().unwrap();
    assert!(binding.is_bound(), "the device stays until the drop");
    drop(drive);
    wait_until("the loop device to clear itself", || !binding.is_bound());
}

#[test]
fn a_busy_drive_is_an_error_that_names_who_is_there_and_is_released_on_drop() {
    let mut drive = mounted(FileSystemKind::Ext4, 32 * MIB);
    let binding = Binding::of(drive.device().path());
    run(&drive, "sleep 1000 >held &");
    let processes = || drive.namespace().processes();
    wait_until("the shell to become sleep", || {
        processes().iter().any(|process| process.name == "sleep")
    });
    let error = drive.unmount().unwrap_err().to_string();
    assert!(error.contains("sleep ("), "{error}");
    drop(drive);
    wait_until("the loop device to clear itself", || !binding.is_bound());
}

#[test]
fn a_drive_that_we_ourselves_keep_open_disappears_at_once_and_clears_with_the_last_file() {
    let drive = mounted(FileSystemKind::Ext4, 32 * MIB);
    let binding = Binding::of(drive.device().path());
    let path = drive.mount_point().join("held");
    let held = fs::File::create(&path).unwrap();
    drop(drive);
    assert!(!path.exists());
    assert!(binding.is_bound());
    drop(held);
    wait_until("the loop device to clear itself", || !binding.is_bound());
}

#[test]
fn a_named_backing_directory_holds_the_drive_and_shows_no_file() {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let drive = blank(
        FileSystemKind::Ext4,
        32 * MIB,
        Some(directory.path().to_owned()),
    );
    let place = BackingPlace::Directory(directory.path().to_owned());
    assert_eq!(drive.device().backing_place(), &place);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_failed_mkfs_tells_what_it_said() {
    let mut drive = blank(FileSystemKind::Ext4, 32 * MIB, None);
    // Somebody else has the device to himself.
    let path = drive.device().path().to_owned();
    let _claimed = claim(&path);
    let error = drive.format_and_mount().unwrap_err();
    assert!(matches!(error, DiskError::MkfsFailed { .. }), "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
}

fn claim(device: &Path) -> fs::File {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_EXCL)
        .open(device)
        .unwrap()
}

#[test]
fn what_lies_beside_the_mount_point_stays_visible_and_cannot_be_added_to() {
    let before = names("/mnt");
    let drive = mounted(FileSystemKind::Ext4, 32 * MIB);
    let parent = drive.mount_point().parent().unwrap();
    if parent == Path::new("/mnt") {
        let mut expected = before;
        expected.push("anabranch".into());
        expected.sort();
        expected.dedup();
        assert_eq!(names("/mnt"), expected);
    }
    let error = fs::write(parent.join("stray"), b"lost").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
}
