//! The words with each piece there, and with each piece missing.

use super::*;
use crate::found::{Mount, Placement, Tracing};

fn whole() -> Found {
    Found {
        kernel: "any".into(),
        tracing: Ok(Tracing {
            has_kprobes: true,
            limitations: Vec::new(),
        }),
        ublk: Ok(0x7fff),
        device: Some(Device {
            name: "nvme0n1".into(),
            disk: "nvme0n1".into(),
            write_streams: Some(8),
            scsi_streams: None,
            character: Some("/dev/ng0n1".into()),
            drive: Some(Ok(Drive {
                model: "A drive".into(),
                namespaces: 4,
                endurance_group: 1,
                fdp: Some(Placement {
                    handles: 8,
                    persistently_isolated: false,
                    unit_bytes: 24 << 20,
                }),
                has_fdp: true,
                streams: None,
            })),
            mounts: Vec::new(),
            holders: Vec::new(),
            partitions: Vec::new(),
            users: Vec::new(),
        }),
    }
}

/// What is said of a conduit once `change` was made to a host that lacks nothing.
fn said(conduit: Conduit, change: impl FnOnce(&mut Found, &mut Device)) -> (Reach, String) {
    let mut found = whole();
    let mut device = found.device.take().unwrap();
    change(&mut found, &mut device);
    found.device = Some(device);
    let verdicts = verdicts(&found);
    let verdict = verdicts.iter().find(|one| one.conduit == conduit).unwrap();
    let remedy = verdict.remedy.clone().unwrap_or_default();
    (verdict.reach, format!("{} {remedy}", verdict.words))
}

fn drive_of(device: &mut Device) -> &mut Drive {
    device.drive.as_mut().unwrap().as_mut().unwrap()
}

#[test]
fn where_nothing_is_missing_every_write_is_carried() {
    for conduit in [
        Conduit::Tracing,
        Conduit::Drive,
        Conduit::Ublk,
        Conduit::WriteStreams,
        Conduit::Passthrough,
    ] {
        assert_eq!(said(conduit, |_, _| ()).0, Reach::Yes, "{conduit:?}");
    }
    let (_, words) = said(Conduit::Drive, |_, _| ());
    for word in [
        "8 handles",
        "initially isolated",
        "24 MiB",
        "endurance group 1",
        "4 namespaces",
    ] {
        assert!(words.contains(word), "{words}");
    }
}

#[test]
fn without_a_device_the_kernel_is_judged() {
    let mut found = whole();
    found.device = None;
    let conduits: Vec<Conduit> = verdicts(&found).iter().map(|one| one.conduit).collect();
    assert_eq!(conduits, [Conduit::Tracing, Conduit::Ublk]);
}

#[test]
fn each_missing_piece_of_the_kernel_has_its_words() {
    let (reach, words) = said(Conduit::Tracing, |found, _| {
        found.tracing = Err("no BTF here".into())
    });
    assert_eq!((reach, words.trim()), (Reach::No, "no BTF here"));
    let (_, words) = said(Conduit::Tracing, |found, _| {
        found.tracing.as_mut().unwrap().has_kprobes = false
    });
    assert!(words.contains("no kprobes"), "{words}");
    let (reach, words) = said(Conduit::Ublk, |found, _| {
        found.ublk = Err("modprobe ublk_drv".into())
    });
    assert_eq!((reach, words.trim()), (Reach::No, "modprobe ublk_drv"));
    let (reach, words) = said(Conduit::Ublk, |found, _| found.ublk = Ok(1 << 6));
    assert!(
        reach == Reach::Partly && words.contains("copied once more"),
        "{words}"
    );
    let (reach, words) = said(Conduit::Ublk, |found, _| {
        found.tracing = Err("not root".into())
    });
    assert!(
        reach == Reach::No && words.contains("nobody sees who writes"),
        "{words}"
    );
    let (reach, _) = said(Conduit::WriteStreams, |_, device| {
        device.write_streams = None
    });
    assert_eq!(reach, Reach::No);
    let (_, words) = said(Conduit::WriteStreams, |_, device| {
        device.write_streams = Some(0)
    });
    assert!(words.contains("max_write_streams is 0"), "{words}");
    let (_, words) = said(Conduit::Passthrough, |_, device| device.character = None);
    assert!(words.contains("no NVMe character device"), "{words}");
}

#[test]
fn each_kind_of_drive_has_its_words() {
    let (reach, words) = said(Conduit::Drive, |_, device| device.drive = None);
    assert!(
        reach == Reach::No && words.contains("no NVMe namespace"),
        "{words}"
    );
    let (_, words) = said(Conduit::Drive, |_, device| {
        device.drive = Some(Err("EACCES".into()))
    });
    assert!(
        words.contains("EACCES") && words.contains("root"),
        "{words}"
    );
    let (reach, words) = said(Conduit::Drive, |_, device| drive_of(device).fdp = None);
    assert!(
        reach == Reach::No && words.contains("not switched on"),
        "{words}"
    );
    let (reach, words) = said(Conduit::Drive, |_, device| {
        let drive = drive_of(device);
        (drive.fdp, drive.has_fdp, drive.streams) = (None, false, Some(7));
    });
    assert!(
        reach == Reach::Yes && words.contains("7 streams"),
        "{words}"
    );
    let (reach, words) = said(Conduit::Drive, |_, device| {
        let drive = drive_of(device);
        (drive.fdp, drive.has_fdp) = (None, false);
    });
    assert!(reach == Reach::No && words.contains("neither"), "{words}");
    let (reach, words) = said(Conduit::Drive, |_, device| {
        drive_of(device).fdp.as_mut().unwrap().handles = 1
    });
    assert!(
        reach == Reach::Partly && words.contains("nphndls"),
        "{words}"
    );
    let (reach, words) = said(Conduit::Ublk, |_, device| device.drive = None);
    assert!(
        reach == Reach::No && words.contains("nothing to steer to"),
        "{words}"
    );
}

#[test]
fn who_holds_the_drive_is_named_with_the_remedy() {
    let ext4 = || Mount {
        place: "/data".into(),
        file_system: "ext4".into(),
    };
    let (reach, words) = said(Conduit::Ublk, |_, device| device.mounts.push(ext4()));
    assert!(
        reach == Reach::No && words.contains("umount /data"),
        "{words}"
    );
    let (_, words) = said(Conduit::Ublk, |_, device| {
        device.holders.push("dm-0".into())
    });
    assert!(words.contains("dm-0"), "{words}");
    let (_, words) = said(Conduit::Ublk, |_, device| {
        device.users.push("17 (fio)".into())
    });
    assert!(words.contains("17 (fio)"), "{words}");
    let (reach, words) = said(Conduit::FileHints, |_, device| device.mounts.push(ext4()));
    assert!(
        reach == Reach::No && words.contains("ext4 end in handle 0") && words.contains("ublk"),
        "{words}"
    );
    let (reach, words) = said(Conduit::FileHints, |_, device| {
        device.mounts.push(Mount {
            place: "/data".into(),
            file_system: "f2fs".into(),
        });
    });
    assert!(reach == Reach::Partly && words.contains("F2FS"), "{words}");
    let (reach, _) = said(Conduit::FileHints, |_, device| device.write_streams = None);
    assert_eq!(reach, Reach::No);
    let (reach, words) = said(Conduit::FileHints, |_, device| {
        device.scsi_streams = Some(5);
        device.mounts.push(ext4());
    });
    assert!(
        reach == Reach::Partly && words.contains("tells 5 streams apart"),
        "{words}"
    );
    let (reach, words) = said(Conduit::Drive, |_, device| {
        device.drive = None;
        device.scsi_streams = Some(5);
    });
    assert!(reach == Reach::No && words.contains("SCSI"), "{words}");
}
