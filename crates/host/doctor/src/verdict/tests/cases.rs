//! The pieces, one by one: how each is taken away, and what is said then.

use std::io::Error;

use anabranch_nvme_host::NamespaceError;
use anabranch_probe::ProbeError;
use anabranch_steer::SteerError;
use nix::libc::{EACCES, ENOENT};

use super::super::{
    Conduit::{Drive, FileHints, Passthrough, Tracing, Ublk, WriteStreams},
    Reach::{No, Partly, Yes},
    feature,
};
use super::{
    Case, NO_HANDLES_TO_NAME, NOTHING_TO_STEER_TO, Said, drive_of, fdp_of, mounted, served,
};

/// The verdict where nothing is missing.
pub const WHOLE: [Said; 6] = [
    (
        Tracing,
        Yes,
        "`record`, `run` and `steer` see who writes; requests are seen by a kprobe, which is skipped only while its processor is in a call about an eBPF map, and counted.",
        "",
    ),
    (
        Drive,
        Yes,
        "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 8 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB.",
        "",
    ),
    (
        Ublk,
        Yes,
        "`anabranch steer` would carry each write, of any file system, in the handle that a scheme chooses for it. The kernel has ublk (features 0x7fff): no write is copied, and a killed server may be followed by another.",
        "",
    ),
    (
        FileHints,
        Partly,
        "Nothing is mounted: hints on the raw device reach handles with O_DIRECT, and are ignored without.",
        "",
    ),
    (
        WriteStreams,
        Yes,
        "8 block write streams: programs of one's own reach 8 handles of the raw device by io_uring.",
        "",
    ),
    (
        Passthrough,
        Yes,
        "/dev/ng0n1 takes writes with a handle or stream named in each, on any kernel.",
        "",
    ),
];

/// Each piece, and what is said of the conduits that change.
pub const CASES: &[Case] = &[
    Case {
        piece: "eBPF for this user",
        take: |found, _| found.tracing = Err(ProbeError::NotPermitted.to_string()),
        changed: &[
            (
                Tracing,
                No,
                "capturing needs root (or the capabilities CAP_BPF and CAP_PERFMON); run it with sudo",
                "",
            ),
            (
                Ublk,
                No,
                "ublk is there, but nobody sees who writes: capturing needs root (or the capabilities CAP_BPF and CAP_PERFMON); run it with sudo.",
                "schemes by address and age need no tracing: `anabranch steer --unwatched --scheme sepbit`",
            ),
        ],
    },
    Case {
        piece: "BTF",
        take: |found, _| {
            found.tracing = Err(ProbeError::NoBtf {
                path: "/sys/kernel/btf/vmlinux".into(),
            }
            .to_string())
        },
        changed: &[
            (
                Tracing,
                No,
                "this kernel has no BTF at /sys/kernel/btf/vmlinux; boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian's and Ubuntu's own kernels are)",
                "",
            ),
            (
                Ublk,
                No,
                "ublk is there, but nobody sees who writes: this kernel has no BTF at /sys/kernel/btf/vmlinux; boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian's and Ubuntu's own kernels are).",
                "schemes by address and age need no tracing: `anabranch steer --unwatched --scheme sepbit`",
            ),
        ],
    },
    Case {
        piece: "the tracepoint of requests",
        take: |found, _| {
            found.tracing = Err(ProbeError::MissingTracepoint {
                name: "block_bio_queue",
            }
            .to_string())
        },
        changed: &[
            (
                Tracing,
                No,
                "this kernel lacks the tracepoint `block_bio_queue`, by which the probe sees requests; boot a kernel of version 6.1 or later with CONFIG_BLOCK and CONFIG_TRACEPOINTS",
                "",
            ),
            (
                Ublk,
                No,
                "ublk is there, but nobody sees who writes: this kernel lacks the tracepoint `block_bio_queue`, by which the probe sees requests; boot a kernel of version 6.1 or later with CONFIG_BLOCK and CONFIG_TRACEPOINTS.",
                "schemes by address and age need no tracing: `anabranch steer --unwatched --scheme sepbit`",
            ),
        ],
    },
    Case {
        piece: "kprobes",
        take: |found, _| found.tracing.as_mut().unwrap().has_kprobes = false,
        changed: &[(
            Tracing,
            Yes,
            "`record`, `run` and `steer` see who writes; there are no kprobes, so requests are seen by a tracepoint: on kernels that run it preemptibly (7.0 and later) some are skipped, and counted.",
            "",
        )],
    },
    Case {
        piece: "what sees files of direct writes",
        take: |found, _| {
            found
                .tracing
                .as_mut()
                .unwrap()
                .limitations
                .push("Files of direct writes are not seen.".into())
        },
        changed: &[(
            Tracing,
            Partly,
            "`record`, `run` and `steer` see who writes; requests are seen by a kprobe, which is skipped only while its processor is in a call about an eBPF map, and counted. Files of direct writes are not seen.",
            "",
        )],
    },
    Case {
        piece: "the ublk driver",
        take: |found, _| {
            found.ublk = Err(SteerError::NoDriver(Error::from_raw_os_error(ENOENT)).to_string())
        },
        changed: &[(
            Ublk,
            No,
            "/dev/ublk-control cannot be opened (No such file or directory (os error 2)): as root, `modprobe ublk_drv` (CONFIG_BLK_DEV_UBLK)",
            "",
        )],
    },
    Case {
        piece: "ublk's zero copy",
        take: |found, _| found.ublk = Ok(0x7fff & !feature::AUTO_BUFFER),
        changed: &[(
            Ublk,
            Yes,
            "`anabranch steer` would carry each write, of any file system, in the handle that a scheme chooses for it. The kernel has ublk (features 0x77ff): each write is copied once more, and a killed server may be followed by another.",
            "",
        )],
    },
    Case {
        piece: "ublk's recovery",
        take: |found, _| found.ublk = Ok(0x7fff & !feature::USER_RECOVERY),
        changed: &[(
            Ublk,
            No,
            "`steer` refuses: this kernel's ublk lacks recovery of a device whose server died (its features: 0x7ff7): Linux 6.4 or newer has it.",
            "boot a newer kernel: a file system must survive its server",
        )],
    },
    Case {
        piece: "ublk's reissue",
        take: |found, _| found.ublk = Ok(0x7fff & !feature::RECOVERY_REISSUE),
        changed: &[(
            Ublk,
            No,
            "`steer` refuses: this kernel's ublk lacks reissue of what a dead server had not answered (its features: 0x7fef): Linux 6.4 or newer has it.",
            "boot a newer kernel: a file system must survive its server",
        )],
    },
    Case {
        piece: "ublk's commands by ioctl numbers",
        take: |found, _| found.ublk = Ok(0x7fff & !feature::IOCTL_ENCODE),
        changed: &[(
            Ublk,
            No,
            "`steer` refuses: this kernel's ublk lacks commands numbered as ioctls (its features: 0x7fbf): Linux 6.4 or newer has it.",
            "boot a newer kernel: a file system must survive its server",
        )],
    },
    Case {
        piece: "the kernel's write streams",
        take: |_, device| device.write_streams = None,
        changed: &[
            (
                FileHints,
                No,
                "The kernel hands no life-time hint of a file to this drive: all of them end in its default place.",
                "",
            ),
            (
                WriteStreams,
                No,
                "The kernel has no block write streams.",
                "kernels since 6.16 have them",
            ),
        ],
    },
    Case {
        piece: "write streams of this drive",
        take: |_, device| device.write_streams = Some(0),
        changed: &[
            (
                FileHints,
                No,
                "The kernel hands no life-time hint of a file to this drive: all of them end in its default place.",
                "",
            ),
            (
                WriteStreams,
                No,
                "The kernel has block write streams, and none for this drive (max_write_streams is 0).",
                "",
            ),
        ],
    },
    Case {
        piece: "the character device",
        take: |_, device| (device.character, device.drive) = (None, None),
        changed: &[
            (
                Drive,
                No,
                "nvme0n1 has no NVMe character device here (/dev/ngXnY), by which drives are asked.",
                "kernels since 5.13 make it; a container has it where it is handed in (`--device`)",
            ),
            (
                Ublk,
                No,
                "ublk is there, but the drive cannot be asked what it has (above).",
                "",
            ),
            (
                Passthrough,
                No,
                "There is no NVMe character device for commands of one's own.",
                "kernels since 5.13 make it; a container has it where it is handed in (`--device`)",
            ),
        ],
    },
    Case {
        piece: "leave to ask the drive",
        take: |_, device| {
            device.drive = Some(Err(NamespaceError::Io {
                what: "open",
                path: "/dev/ng0n1".into(),
                source: Error::from_raw_os_error(EACCES),
            }
            .to_string()))
        },
        changed: &[
            (
                Drive,
                No,
                "The drive cannot be asked: cannot open /dev/ng0n1: Permission denied (os error 13).",
                "run it as root: NVMe commands of one's own need it",
            ),
            (
                Ublk,
                No,
                "ublk is there, but the drive cannot be asked what it has (above).",
                "",
            ),
            (
                Passthrough,
                No,
                "/dev/ng0n1 is there, and refuses this process.",
                "run it as root: NVMe commands of one's own need it",
            ),
        ],
    },
    Case {
        piece: "NVMe",
        take: |_, device| {
            (device.name, device.disk) = ("vda".into(), "vda".into());
            (device.character, device.drive, device.write_streams) = (None, None, Some(0));
        },
        changed: &[
            (
                Drive,
                No,
                "vda is no NVMe namespace: it has no handles and no streams.",
                "`anabranch serve` gives a drive with both over NVMe/TCP, to try on",
            ),
            NOTHING_TO_STEER_TO,
            (
                FileHints,
                No,
                "The kernel hands no life-time hint of a file to this drive: all of them end in its default place.",
                "",
            ),
            (
                WriteStreams,
                No,
                "The kernel has block write streams, and none for this drive (max_write_streams is 0).",
                "",
            ),
            (
                Passthrough,
                No,
                "There is no NVMe character device for commands of one's own.",
                "",
            ),
        ],
    },
    Case {
        piece: "NVMe, with streams of SCSI",
        take: |_, device| {
            (device.name, device.disk, device.scsi_streams) = ("sda".into(), "sda".into(), Some(5));
            (device.character, device.drive, device.write_streams) = (None, None, Some(0));
        },
        changed: &[
            (
                Drive,
                No,
                "sda is a SCSI drive: its streams are reached by hints of files alone (below), and it has no handles.",
                "",
            ),
            NOTHING_TO_STEER_TO,
            (
                FileHints,
                Partly,
                "The drive is SCSI and tells 5 streams apart by GROUP NUMBER, and the kernel writes each file's life-time hint there; those of XFS arrive (6.12, 7.3), if the drive has permanent streams, which no page of the kernel tells. `anabranch steer --mount` sets hints, and the drive's own counters tell.",
                "",
            ),
            (
                WriteStreams,
                No,
                "The kernel has block write streams, and none for this drive (max_write_streams is 0).",
                "",
            ),
            (
                Passthrough,
                No,
                "There is no NVMe character device for commands of one's own.",
                "",
            ),
        ],
    },
    Case {
        piece: "placement, which is off",
        take: |_, device| drive_of(device).fdp = None,
        changed: &[
            (
                Drive,
                No,
                "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement, but not switched on for this namespace.",
                "it is switched on while its endurance group has no namespaces, so what is on them is lost: `nvme delete-ns`, `nvme set-feature -f 0x1d -V 1 -c 1`, `nvme create-ns --nphndls`",
            ),
            NOTHING_TO_STEER_TO,
            NO_HANDLES_TO_NAME,
        ],
    },
    Case {
        piece: "placement, with streams in its place",
        take: |_, device| {
            let drive = drive_of(device);
            (drive.fdp, drive.has_fdp, drive.streams) = (None, false, Some(7));
        },
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, endurance group 1) has the Streams Directive: 7 streams.",
            "",
        )],
    },
    Case {
        piece: "placement, with streams that are not counted yet",
        take: |_, device| {
            let drive = drive_of(device);
            (drive.fdp, drive.has_fdp, drive.streams) = (None, false, Some(0));
        },
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, endurance group 1) has the Streams Directive; how many streams, it says once that is enabled.",
            "",
        )],
    },
    Case {
        piece: "placement and streams",
        take: |_, device| {
            let drive = drive_of(device);
            (drive.fdp, drive.has_fdp) = (None, false);
        },
        changed: &[
            (
                Drive,
                No,
                "A drive (up to 4 namespaces, endurance group 1) has neither Flexible Data Placement nor the Streams Directive.",
                "",
            ),
            NOTHING_TO_STEER_TO,
            NO_HANDLES_TO_NAME,
        ],
    },
    Case {
        piece: "more handles than one",
        take: |_, device| fdp_of(device).handles = 1,
        changed: &[
            (
                Drive,
                Partly,
                "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 1 handle, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB.",
                "make the namespace anew with more placement handles (`nvme create-ns --nphndls`)",
            ),
            NOTHING_TO_STEER_TO,
            NO_HANDLES_TO_NAME,
        ],
    },
    Case {
        piece: "a reclaim unit that is told",
        take: |_, device| fdp_of(device).unit_bytes = 0,
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 8 handles, initially isolated, so that garbage collection may mix them.",
            "",
        )],
    },
    Case {
        piece: "the endurance group",
        take: |_, device| drive_of(device).endurance_group = 0,
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, no endurance group) has Flexible Data Placement: 8 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB.",
            "",
        )],
    },
    Case {
        piece: "blocks without metadata",
        take: |_, device| drive_of(device).metadata_bytes = 8,
        changed: &[(
            Ublk,
            No,
            "ublk is there, but the drive has logical blocks of 4096 bytes with metadata of 8: blocks of 512 to 4096 bytes without metadata can be steered.",
            "blocks without metadata: `nvme format /dev/nvme0n1 --lbaf=1`, which deletes what is on it",
        )],
    },
    Case {
        piece: "a size that can be steered",
        take: |_, device| drive_of(device).bytes = 17 << 40,
        changed: &[(
            Ublk,
            No,
            "ublk is there, but the drive has 16 TiB or more, which is not steered.",
            "a smaller namespace (`nvme delete-ns`, `nvme create-ns`), which deletes what is on it",
        )],
    },
    Case {
        piece: "a whole drive",
        take: |_, device| device.name = "nvme0n1p1".into(),
        changed: &[(
            Ublk,
            No,
            "ublk is there, but `steer` takes whole drives, and nvme0n1p1 is a partition of nvme0n1.",
            "`anabranch doctor /dev/nvme0n1`",
        )],
    },
    Case {
        piece: "a drive that is not steered yet",
        take: |_, device| served(device, Some(7)),
        changed: &[(
            Ublk,
            Yes,
            "`anabranch steer` carries each write to /dev/ublkb0, which process 7 serves.",
            "",
        )],
    },
    Case {
        piece: "a drive that is not mounted",
        take: |_, device| mounted(device, "ext4"),
        changed: &[
            (
                Ublk,
                No,
                "ublk would carry each write, but ext4 is mounted on /data.",
                "`umount /data`, then `anabranch steer`, and mount the device it gives",
            ),
            (
                FileHints,
                No,
                "Hints of ext4 end in handle 0 on every kernel tried (6.12 to 7.3).",
                "a block device in front of the drive carries each write, where ublk reaches it (above)",
            ),
        ],
    },
    Case {
        piece: "a drive that is not mounted, of F2FS",
        take: |_, device| mounted(device, "f2fs"),
        changed: &[
            (
                Ublk,
                No,
                "ublk would carry each write, but f2fs is mounted on /data.",
                "`umount /data`, then `anabranch steer`, and mount the device it gives",
            ),
            (
                FileHints,
                Partly,
                "F2FS hands hints on in newer kernels only (7.2 and 7.3 did: four hints to three handles; 6.18 did not); no kernel says which. The drive's own counters tell. `anabranch steer --mount` sets hints.",
                "",
            ),
        ],
    },
    Case {
        piece: "a drive of which nothing is made",
        take: |_, device| device.holders.push("dm-0".into()),
        changed: &[(
            Ublk,
            No,
            "ublk would carry each write, but dm-0 lies on the drive.",
            "steer a drive that nothing else is made of",
        )],
    },
    Case {
        piece: "a drive that no process has open",
        take: |_, device| device.users.push("17 (fio)".into()),
        changed: &[(
            Ublk,
            No,
            "ublk would carry each write, but process 17 (fio) has the drive open.",
            "end that process first",
        )],
    },
    Case {
        piece: "a drive that the kernel does not use",
        take: |_, device| device.users.push("the loop device loop9".into()),
        changed: &[(
            Ublk,
            No,
            "ublk would carry each write, but the loop device loop9 uses the drive.",
            "take the drive from it first (`losetup -d`, `nvmetcli`, `swapoff`)",
        )],
    },
];
