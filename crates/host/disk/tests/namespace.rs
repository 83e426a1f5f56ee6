//! The mount point's surroundings, on machines other than this one: each test first makes such a machine out of a
//! mount namespace of its own.

// Helpers of tests are tests: a failed step ends them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anabranch_disk::{DiskError, FileSystemKind, LoopDevice, MountNamespace};
use common::{MIB, blank};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};

const NONE: Option<&str> = None;

fn on_a_machine_of_our_own() {
    unshare(CloneFlags::CLONE_NEWNS)
        .unwrap_or_else(|error| panic!("this test needs root: {error}"));
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(NONE, "/", NONE, private, NONE).unwrap();
}

fn empty_directory_over(path: &str) {
    mount(Some("test"), path, Some("tmpfs"), MsFlags::empty(), NONE).unwrap();
}

#[test]
fn files_directories_links_and_mounts_beside_the_mount_point_are_as_before() {
    on_a_machine_of_our_own();
    empty_directory_over("/mnt");
    fs::write("/mnt/file", b"content").unwrap();
    fs::create_dir_all("/mnt/directory/below").unwrap();
    fs::create_dir("/mnt/anabranch").unwrap();
    fs::write("/mnt/anabranch/old", b"hidden").unwrap();
    symlink("directory/below", "/mnt/link").unwrap();
    empty_directory_over("/mnt/directory/below");
    fs::write("/mnt/directory/below/deep", b"deep").unwrap();

    let namespace = MountNamespace::enter().unwrap();
    assert_eq!(namespace.mount_point(), Path::new("/mnt/anabranch"));
    assert!(fs::read_dir("/mnt/anabranch").unwrap().next().is_none());
    assert_eq!(fs::read("/mnt/file").unwrap(), b"content");
    assert_eq!(fs::read("/mnt/link/deep").unwrap(), b"deep");
    fs::write("/mnt/directory/new", b"kept").unwrap();
    umount2("/mnt/anabranch/..", MntFlags::MNT_DETACH).unwrap();
    assert_eq!(fs::read("/mnt/directory/new").unwrap(), b"kept");
    assert_eq!(fs::read("/mnt/anabranch/old").unwrap(), b"hidden");
}

#[test]
fn without_mnt_the_next_directory_is_taken() {
    on_a_machine_without(&["mnt"]);
    let namespace = MountNamespace::enter().unwrap();
    assert_eq!(namespace.mount_point(), Path::new("/media/anabranch"));
}

#[test]
fn without_any_directory_the_error_names_them_and_the_remedy() {
    on_a_machine_without(&["mnt", "media", "srv", "opt"]);
    let error = MountNamespace::enter().unwrap_err().to_string();
    assert!(
        error.contains("/srv: ") && error.contains("mkdir /mnt"),
        "{error}"
    );
}

/// A root directory with everything of the real one but `names`.
fn on_a_machine_without(names: &[&str]) {
    on_a_machine_of_our_own();
    empty_directory_over("/mnt");
    for entry in fs::read_dir("/").unwrap().map(Result::unwrap) {
        let target = Path::new("/mnt").join(entry.file_name());
        if names.iter().any(|name| entry.file_name() == *name) {
            continue;
        } else if entry.file_type().unwrap().is_symlink() {
            symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            let with_mounts_below = MsFlags::MS_BIND | MsFlags::MS_REC;
            mount(Some(&entry.path()), &target, NONE, with_mounts_below, NONE).unwrap();
        }
    }
    // Of this thread only: a mount namespace brings a root of its own.
    std::os::unix::fs::chroot("/mnt").unwrap();
}

#[test]
fn a_machine_whose_dev_lacks_the_node_gets_it() {
    on_a_machine_of_our_own();
    bare_dev();
    mknod(
        "/dev/loop-control",
        SFlag::S_IFCHR,
        Mode::S_IRWXU,
        makedev(10, 237),
    )
    .unwrap();
    let drive = blank(FileSystemKind::Ext4, 32 * MIB, None);
    assert!(drive.device().path().exists());
}

#[test]
fn a_machine_without_loop_devices_is_told_what_to_do() {
    on_a_machine_of_our_own();
    bare_dev();
    let error = LoopDevice::attach(MIB, None).unwrap_err();
    assert!(matches!(error, DiskError::NoLoopSupport(_)), "{error}");
    assert!(error.to_string().contains("modprobe loop"), "{error}");
}

#[test]
fn a_machine_without_the_tools_is_told_the_package() {
    on_a_machine_of_our_own();
    let mut drive = blank(FileSystemKind::Xfs, 300 * MIB, None);
    empty_directory_over("/usr/sbin");
    let error = drive.format_and_mount().unwrap_err();
    assert_eq!(
        error.to_string(),
        "mkfs.xfs is missing: install it, `apt-get install xfsprogs`"
    );
}

fn bare_dev() {
    empty_directory_over("/dev");
    mknod("/dev/null", SFlag::S_IFCHR, Mode::all(), makedev(1, 3)).unwrap();
}
