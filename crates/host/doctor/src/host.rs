//! Reads the host: sysfs, procfs, and the kernel's own answers. All paths lie below a root, so that tests can make
//! their own.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anabranch_steer::{Front, SteerError, kernel_name};
use nix::sys::stat::makedev;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use crate::drive;
use crate::findings::{Device, Findings, FrontFindings, Mount, Tracing};
use crate::lvm::lvm;

/// The findings about this host, without a device.
pub fn host() -> Findings {
    let tracing = anabranch_probe::check().map(|support| Tracing {
        has_kprobes: support.queued_flag.is_some(),
        limitations: support.limitations(),
    });
    Findings {
        kernel: line(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default(),
        tracing: tracing.map_err(|error| error.to_string()),
        ublk: anabranch_steer::features().map_err(|error| ublk_refusal(&error)),
        device: None,
    }
}

/// The reason that ublk cannot be asked, with the remedy.
fn ublk_refusal(error: &SteerError) -> String {
    match error {
        // By kernel.io_uring_disabled, or a container's filter.
        SteerError::Ring(source) if source.kind() == ErrorKind::PermissionDenied => format!(
            "{error}: ublk is asked by io_uring, which this process may not use; `sysctl kernel.io_uring_disabled=0`"
        ),
        _ => error.to_string(),
    }
}

/// Reads about a block device below `root` (`/`), given by its path or that of its NVMe character device.
///
/// # Errors
/// When the path is not a block device; the error is a sentence.
pub fn device(root: &Path, path: &Path) -> Result<Device, String> {
    let name = block_name(root, path)?;
    let class = root.join("sys/class/block").join(&name);
    let disk = disk_of(&class, &name);
    let of_disk = root.join("sys/class/block").join(&disk);
    let character = character_of(root, &disk);
    let parts: Vec<String> = names(&of_disk)
        .filter(|part| of_disk.join(part).join("partition").exists())
        .collect();
    let mut family = vec![name.clone()];
    if name == disk {
        family.extend(parts.iter().cloned());
    }
    let mut holders: Vec<String> = family
        .iter()
        .flat_map(|one| {
            names(&root.join("sys/class/block").join(one).join("holders")).collect::<Vec<_>>()
        })
        .collect();
    if name == disk {
        holders.splice(0..0, parts.iter().cloned());
    }
    let streams = line(&of_disk.join("queue/max_write_streams"));
    let front = front(character.as_deref());
    let block = front.as_ref().map(|front| front.block.as_path());
    let lvm = character
        .is_some()
        .then(|| lvm(root, &family, &disk, block).transpose());
    let drive = character
        .as_deref()
        .map(|path| drive::ask(Path::new(path)).map_err(|error| error.to_string()));
    Ok(Device {
        write_streams: streams.and_then(|streams| streams.parse().ok()),
        scsi_streams: fs::read(of_disk.join("device/vpd_pgb7"))
            .ok()
            .and_then(|page| scsi_streams(&page)),
        mounts: mounts(root, &family),
        users: front
            .as_ref()
            .map(in_front)
            .into_iter()
            .chain(users(root, &family, character.as_deref()))
            .collect(),
        partitions: if name == disk { parts } else { Vec::new() },
        holders,
        drive,
        front: front.map(|front| FrontFindings {
            block: front.block.display().to_string(),
            process: front.process,
        }),
        lvm: lvm.flatten(),
        character,
        name,
        disk,
    })
}

/// The name of the block device at a path, or of that behind an NVMe character device.
fn block_name(root: &Path, path: &Path) -> Result<String, String> {
    fs::metadata(path).map_err(|error| {
        format!(
            "{}: {error}; `lsblk` lists the block devices there are",
            path.display()
        )
    })?;
    let asked = kernel_name(root, path).unwrap_or_default();
    let name = match asked.strip_prefix("ng") {
        Some(rest) => format!("nvme{rest}"),
        None => asked,
    };
    if !root.join("sys/class/block").join(&name).exists() {
        return Err(format!(
            "{} is no block device; `lsblk` lists those there are",
            path.display()
        ));
    }
    Ok(name)
}

/// The block device that `steer` made in front of an NVMe namespace.
fn front(character: Option<&str>) -> Option<Front> {
    anabranch_steer::front(Path::new(character?)).ok()?
}

/// Words on a block device that uses the drive behind it.
fn in_front(front: &Front) -> String {
    let block = front.block.display();
    match front.process {
        Some(process) => format!("the block device {block}, which process {process} serves"),
        None => format!("the block device {block}, which waits for its server"),
    }
}

/// The streams of a SCSI drive, from its Block Limits Extension page (SBC-5, B7h), which kernels show that hand hints on
/// as GROUP NUMBER: bit 0 of byte 5 is RSCS, bytes 6 and 7 are the most streams.
fn scsi_streams(page: &[u8]) -> Option<u16> {
    match page {
        [_, 0xb7, _, _, _, flags, high, low, ..] if flags & 1 == 1 => {
            Some(u16::from_be_bytes([*high, *low])).filter(|streams| *streams > 0)
        }
        _ => None,
    }
}

/// The disk that a partition lies on; the device itself if it is no partition.
pub(crate) fn disk_of(class: &Path, name: &str) -> String {
    let above = fs::canonicalize(class).ok().and_then(|place| {
        let disk = place.parent()?.file_name()?.to_str()?.to_owned();
        place.join("partition").exists().then_some(disk)
    });
    above.unwrap_or_else(|| name.to_owned())
}

/// The character device of a disk, `/dev/ng0n1` for `nvme0n1`, if the kernel made one.
fn character_of(root: &Path, disk: &str) -> Option<String> {
    let rest = disk.strip_prefix("nvme")?;
    let path = root.join("dev").join(format!("ng{rest}"));
    path.exists().then(|| path.display().to_string())
}

/// The mounts of the devices, found by their numbers.
fn mounts(root: &Path, family: &[String]) -> Vec<Mount> {
    let numbers: Vec<String> = family
        .iter()
        .filter_map(|one| line(&root.join("sys/class/block").join(one).join("dev")))
        .collect();
    let sources: Vec<String> = family.iter().map(|one| format!("/dev/{one}")).collect();
    let table = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut mounts: Vec<Mount> = Vec::new();
    for entry in table.lines() {
        let Some((before, after)) = entry.split_once(" - ") else {
            continue;
        };
        let before: Vec<&str> = before.split(' ').collect();
        let after: Vec<&str> = after.split(' ').collect();
        let (Some(number), Some(place)) = (before.get(2), before.get(4)) else {
            continue;
        };
        let source = after.get(1).copied().unwrap_or_default();
        // A file system of several devices has a number of its own: its source names one.
        if numbers.iter().any(|own| own == number) || sources.iter().any(|own| own == source) {
            mounts.push(Mount {
                place: (*place).to_owned(),
                file_system: after.first().copied().unwrap_or_default().to_owned(),
            });
        }
    }
    mounts.dedup_by(|one, other| one.place == other.place);
    mounts
}

/// A device's number, and whether it is that of a character device: both kinds have numbers of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Number {
    is_character: bool,
    number: u64,
}

impl Number {
    /// The number of the device that a path leads to; `None` of any other file.
    fn at(path: &Path) -> Option<Number> {
        // why: the path may be another program's open file, on a file system that answers when it likes (FUSE, NFS).
        let flags = AtFlags::STATX_DONT_SYNC;
        let found = statx(CWD, path, flags, StatxFlags::TYPE).ok()?;
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        let is_device = kind.is_block_device() || kind.is_char_device();
        is_device.then(|| Number {
            is_character: kind.is_char_device(),
            number: makedev(found.stx_rdev_major.into(), found.stx_rdev_minor.into()),
        })
    }

    /// The number that sysfs tells in a file `dev`.
    fn parse_file(file: &Path, is_character: bool) -> Option<Number> {
        let told = line(file)?;
        let (major, minor) = told.split_once(':')?;
        Some(Number {
            is_character,
            number: makedev(major.parse().ok()?, minor.parse().ok()?),
        })
    }
}

/// Finds the processes that have one of the devices open, as far as this process may see. Devices are compared by number: a node
/// of the same device may have any name, such as in a container.
fn users(root: &Path, family: &[String], character: Option<&str>) -> Vec<String> {
    let class = root.join("sys/class");
    let numbers = family
        .iter()
        .map(|one| (class.join("block").join(one), false));
    let generic = character.and_then(|path| Path::new(path).file_name());
    let numbers = numbers.chain(generic.map(|name| (class.join("nvme-generic").join(name), true)));
    let devices: Vec<Number> = numbers
        .filter_map(|(place, is_character)| Number::parse_file(&place.join("dev"), is_character))
        .collect();
    let own = std::process::id().to_string();
    let proc = root.join("proc");
    let in_kernel = users_in_kernel(root, family, &devices);
    let processes = names(&proc)
        .filter(|name| *name != own && name.bytes().all(|digit| digit.is_ascii_digit()))
        .filter(|process| {
            let open = proc.join(process).join("fd");
            let found = |number| Number::at(&open.join(number));
            names(&open).any(|number| found(number).is_some_and(|found| devices.contains(&found)))
        })
        .map(|process| {
            let name = line(&proc.join(&process).join("comm")).unwrap_or_default();
            format!("{process} ({name})")
        });
    processes.chain(in_kernel).collect()
}

/// Finds users of the devices within the kernel that do not hold them: loop devices, NVMe targets and swap. These tell the
/// path that they were given, which may be a link, or lead nowhere where it was another container's: then its text counts.
fn users_in_kernel(root: &Path, family: &[String], devices: &[Number]) -> Vec<String> {
    let block = root.join("sys/block");
    let loops = names(&block).map(|name| {
        let told = block.join(&name).join("loop/backing_file");
        (format!("the loop device {name}"), told)
    });
    let targets = root.join("sys/kernel/config/nvmet/subsystems");
    let exported = names(&targets).flat_map(|subsystem| {
        let namespaces = targets.join(&subsystem).join("namespaces");
        let each: Vec<String> = names(&namespaces).collect();
        each.into_iter().map(move |one| {
            let told = namespaces.join(one).join("device_path");
            (format!("the NVMe target {subsystem}"), told)
        })
    });
    let is_named = |path: &Path| {
        let mut names = family.iter().map(|one| Path::new("/dev").join(one));
        names.any(|name| name == path)
    };
    let uses = |path: &Path| {
        is_named(path) || Number::at(path).is_some_and(|found| devices.contains(&found))
    };
    let told = |(user, place): (String, PathBuf)| Some((user, PathBuf::from(line(&place)?)));
    let swaps = fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    let swaps = swaps
        .lines()
        .skip(1)
        .filter_map(|swap| swap.split_whitespace().next());
    let swaps = swaps.map(|path| ("the kernel's swap".to_owned(), PathBuf::from(path)));
    let all = loops.chain(exported).filter_map(told).chain(swaps);
    let found = all.filter(|(_, path)| uses(path));
    found.map(|(user, _)| user).collect()
}

pub(crate) fn names(directory: &Path) -> impl Iterator<Item = String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.into_iter()
}

pub(crate) fn line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use nix::errno::Errno;
    use nix::sys::stat::{Mode, SFlag, mknod};

    use super::*;

    /// A file below a root, with all directories above it.
    fn put(root: &Path, path: &str, words: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, words).unwrap();
    }

    /// A process below a root that has the file of this path open.
    fn opened(root: &Path, process: &str, path: &Path) {
        put(root, &format!("proc/{process}/comm"), "reader\n");
        let open = root.join("proc").join(process).join("fd");
        fs::create_dir_all(&open).unwrap();
        symlink(path, open.join("3")).unwrap();
    }

    /// The users of a drive with one partition below a root, whose numbers are 7:250, 7:251 and, of the character
    /// device, that of /dev/null.
    fn users_below(root: &Path) -> Vec<String> {
        put(root, "sys/class/block/nvme7n1/dev", "7:250\n");
        put(root, "sys/class/block/nvme7n1p1/dev", "7:251\n");
        put(root, "sys/class/nvme-generic/ng7n1/dev", "1:3\n");
        let family = ["nvme7n1", "nvme7n1p1"].map(str::to_owned);
        users(root, &family, Some("/dev/ng7n1"))
    }

    /// A node of block device 7:251 that has another name; `None` where only root may make one.
    fn node_of_partition(root: &Path) -> Option<PathBuf> {
        let node = root.join("xvda");
        match mknod(&node, SFlag::S_IFBLK, Mode::S_IRUSR, makedev(7, 251)) {
            Ok(()) => Some(node),
            Err(Errno::EPERM) => {
                eprintln!("not tried: only root makes nodes");
                None
            }
            Err(error) => panic!("mknod: {error}"),
        }
    }

    #[test]
    fn a_process_uses_a_drive_under_whatever_name_it_opened_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        opened(root, "400", Path::new("/dev/null"));
        opened(root, "401", Path::new("/dev/zero"));
        assert_eq!(users_below(root), ["400 (reader)"]);
        // The same number of a block device is another device.
        fs::remove_file(root.join("sys/class/nvme-generic/ng7n1/dev")).unwrap();
        put(root, "sys/class/block/ram3/dev", "1:3\n");
        assert!(users(root, &["ram3".to_owned()], None).is_empty());
        if let Some(node) = node_of_partition(root) {
            opened(root, "402", &node);
            assert_eq!(users_below(root), ["400 (reader)", "402 (reader)"]);
        }
    }

    #[test]
    fn what_the_kernel_uses_is_found_through_links_and_by_its_text() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let namespace = "sys/kernel/config/nvmet/subsystems/nqn/namespaces/1/device_path";
        put(root, namespace, "/dev/nvme7n1p1\n");
        put(root, "sys/block/loop9/loop/backing_file", "/dev/zero\n");
        assert_eq!(users_below(root), ["the NVMe target nqn"]);
        if let Some(node) = node_of_partition(root) {
            let link = root.join("drive-part1");
            symlink(node, &link).unwrap();
            put(root, namespace, &format!("{}\n", link.display()));
            assert_eq!(users_below(root), ["the NVMe target nqn"]);
        }
    }

    #[test]
    fn a_scsi_drives_streams_are_read_from_its_page() {
        let page = |number, flags, streams: u16| {
            let [high, low] = streams.to_be_bytes();
            scsi_streams(&[0, number, 0, 28, 0, flags, high, low, 0])
        };
        assert_eq!(page(0xb7, 1, 6), Some(6));
        assert_eq!(page(0xb7, 0, 6), None);
        assert_eq!(page(0xb7, 1, 0), None);
        assert_eq!(page(0xb0, 1, 6), None);
        assert_eq!(scsi_streams(&[0, 0xb7]), None);
    }

    /// A drive with a partition, below a root: all that sysfs and procfs tell of it. What answers for its character device is
    /// a plain file.
    fn drive_below(root: &Path) {
        for (path, words) in [
            ("dev/nvme7n1", ""),
            ("dev/ng7n1", ""),
            ("sys/devices/nvme7n1/dev", "7:250\n"),
            ("sys/devices/nvme7n1/queue/max_write_streams", "8\n"),
            ("sys/devices/nvme7n1/holders/dm-3", ""),
            ("sys/devices/nvme7n1/nvme7n1p1/dev", "7:251\n"),
            ("sys/devices/nvme7n1/nvme7n1p1/partition", "1\n"),
            ("dev/nvme7n1p1", ""),
            (
                "proc/self/mountinfo",
                "30 1 7:251 / /data rw shared:1 - xfs /dev/nvme7n1p1 rw\n",
            ),
        ] {
            put(root, path, words);
        }
        let class = root.join("sys/class/block");
        fs::create_dir_all(&class).unwrap();
        symlink("../../devices/nvme7n1", class.join("nvme7n1")).unwrap();
        let part = "../../devices/nvme7n1/nvme7n1p1";
        symlink(part, class.join("nvme7n1p1")).unwrap();
    }

    /// The findings below a root once one path is taken away.
    fn found_without(path: &str) -> Device {
        let root = tempfile::tempdir().unwrap();
        drive_below(root.path());
        let taken = root.path().join(path);
        if taken.is_dir() {
            fs::remove_dir_all(taken).unwrap();
        } else {
            fs::remove_file(taken).unwrap();
        }
        device(root.path(), &root.path().join("dev/nvme7n1")).unwrap()
    }

    #[test]
    fn each_piece_of_a_drive_is_found_where_the_kernel_tells_it() {
        let root = tempfile::tempdir().unwrap();
        drive_below(root.path());
        let asked = |path: &str| device(root.path(), &root.path().join(path));
        let whole = asked("dev/nvme7n1").unwrap();
        assert_eq!(
            (whole.name.as_str(), whole.disk.as_str()),
            ("nvme7n1", "nvme7n1")
        );
        assert_eq!((whole.write_streams, whole.scsi_streams), (Some(8), None));
        assert_eq!(whole.partitions, ["nvme7n1p1"]);
        assert_eq!(whole.holders, ["nvme7n1p1", "dm-3"]);
        assert_eq!(
            (whole.mounts.len(), whole.mounts[0].place.as_str()),
            (1, "/data")
        );
        // It was asked, and is no drive.
        let refusal = whole.drive.clone().unwrap().unwrap_err();
        assert!(refusal.contains("dev/ng7n1"), "{refusal}");
        assert_eq!(asked("dev/ng7n1").unwrap(), whole);
        let part = asked("dev/nvme7n1p1").unwrap();
        assert_eq!(
            (part.name.as_str(), part.disk.as_str()),
            ("nvme7n1p1", "nvme7n1")
        );
        assert_eq!((part.write_streams, part.holders.len()), (Some(8), 0));
        assert!(asked("dev/nvme8n1").unwrap_err().contains("lsblk"));

        let found = found_without("sys/devices/nvme7n1/queue/max_write_streams");
        assert_eq!(found.write_streams, None);
        let found = found_without("dev/ng7n1");
        assert!(found.character.is_none() && found.drive.is_none());
        let found = found_without("sys/devices/nvme7n1/holders/dm-3");
        assert_eq!(found.holders, ["nvme7n1p1"]);
        let found = found_without("proc/self/mountinfo");
        assert!(found.mounts.is_empty());
        let found = found_without("sys/devices/nvme7n1/nvme7n1p1");
        assert!(found.partitions.is_empty() && found.holders == ["dm-3"]);
    }

    #[test]
    fn who_may_not_use_io_uring_is_told_the_remedy() {
        let refused = |number| SteerError::Ring(std::io::Error::from_raw_os_error(number));
        let words = ublk_refusal(&refused(Errno::EPERM as i32));
        assert!(words.contains("kernel.io_uring_disabled=0"), "{words}");
        let words = ublk_refusal(&refused(Errno::ENOMEM as i32));
        assert!(!words.contains("io_uring_disabled"), "{words}");
    }

    #[test]
    fn a_block_device_in_front_is_named_with_its_server_or_what_it_waits_for() {
        let front = |process| Front {
            block: "/dev/ublkb0".into(),
            process,
        };
        assert!(in_front(&front(Some(7))).contains("/dev/ublkb0, which process 7 serves"));
        assert!(in_front(&front(None)).contains("/dev/ublkb0, which waits for its server"));
    }

    #[test]
    fn swap_is_a_user() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let swaps = "Filename Type Size Used Priority\n/dev/nvme7n1p1 partition 1023 0 -2\n/dev/sdb partition 1 0 -3\n";
        put(root, "proc/swaps", swaps);
        assert_eq!(users_below(root), ["the kernel's swap"]);
        put(root, "proc/swaps", &swaps.replace("nvme7n1p1", "nvme8n1p1"));
        assert!(users_below(root).is_empty());
    }
}
