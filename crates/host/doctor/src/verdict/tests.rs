//! The words of all conduits with each piece there, and with exactly one piece missing.

mod cases;
mod handles;

use super::*;
use crate::findings::{Handle, PlacementFindings, Tracing, Writes};
use cases::WHOLE;

fn whole() -> Findings {
    Findings {
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
            drive: Some(Ok(DriveFindings {
                model: "A drive".into(),
                bytes: 1 << 30,
                block_bytes: 4096,
                metadata_bytes: 0,
                plain_format: Some(1),
                namespaces: 4,
                endurance_group: 1,
                fdp: Some(PlacementFindings {
                    handles: 8,
                    configuration: Some(0),
                    drive_handles: 8,
                    persistently_isolated: Some(false),
                    unit_bytes: 24 << 20,
                    own: own(&[0, 1, 2, 3, 4, 5, 6, 7]),
                    usage: vec!["host_specified"; 8],
                    neighbours: Vec::new(),
                }),
                has_fdp: true,
                streams: None,
                writes: Writes::default(),
            })),
            mounts: Vec::new(),
            holders: Vec::new(),
            partitions: Vec::new(),
            users: Vec::new(),
            front: None,
            lvm: None,
        }),
    }
}

/// Placement handles that stand for these of the drive.
fn own(handles: &[u16]) -> Vec<Handle> {
    let identifiers = 0_u16..;
    let both = identifiers.zip(handles);
    both.map(|(identifier, &handle)| Handle { identifier, handle })
        .collect()
}

fn drive_of(device: &mut Device) -> &mut DriveFindings {
    device.drive.as_mut().unwrap().as_mut().unwrap()
}

fn fdp_of(device: &mut Device) -> &mut PlacementFindings {
    drive_of(device).fdp.as_mut().unwrap()
}

/// A block device is in front of the drive, as the findings of a host have it.
fn served(device: &mut Device, process: Option<i32>) {
    device.users.push("the block device /dev/ublkb0".into());
    device.front = Some(FrontFindings {
        block: "/dev/ublkb0".into(),
        process,
    });
}

fn mounted(device: &mut Device, file_system: &str) {
    device.mounts.push(Mount {
        place: "/data".into(),
        file_system: file_system.into(),
    });
}

/// A verdict: how far, words, and remedy ("" for none).
type Said = (Conduit, Reach, &'static str, &'static str);

/// One piece, how it is taken from a host that lacks nothing, and the verdicts that change by it.
struct Case {
    piece: &'static str,
    take: fn(&mut Findings, &mut Device),
    changed: &'static [Said],
}

/// The verdicts on ublk and passthrough where the drive has nothing to tell writes apart by.
const NOTHING_TO_STEER_TO: Said = (
    Conduit::Ublk,
    Reach::No,
    "ublk is there, but the drive has nothing to steer to.",
    "",
);
const NO_HANDLES_TO_NAME: Said = (
    Conduit::Passthrough,
    Reach::Partly,
    "/dev/ng0n1 takes commands; the drive has no handles to name in them.",
    "",
);

fn all() -> impl Iterator<Item = &'static Case> {
    cases::CASES.iter().chain(handles::CASES)
}

/// The verdicts without a piece.
fn without(take: impl FnOnce(&mut Findings, &mut Device)) -> Vec<Verdict> {
    let mut found = whole();
    let mut device = found.device.take().unwrap();
    take(&mut found, &mut device);
    found.device = Some(device);
    verdicts(&found)
}

fn said(verdict: &Verdict) -> (Conduit, Reach, &str, &str) {
    let remedy = verdict.remedy.as_deref().unwrap_or_default();
    (verdict.conduit, verdict.reach, &verdict.words, remedy)
}

#[test]
fn each_missing_piece_has_its_words_and_changes_no_others() {
    assert_eq!(
        without(|_, _| ()).iter().map(said).collect::<Vec<_>>(),
        WHOLE
    );
    for case in all() {
        let verdicts = without(case.take);
        let told: Vec<Said> = WHOLE
            .iter()
            .map(|whole| {
                *case
                    .changed
                    .iter()
                    .find(|one| one.0 == whole.0)
                    .unwrap_or(whole)
            })
            .collect();
        assert_eq!(
            verdicts.iter().map(said).collect::<Vec<_>>(),
            told,
            "without {}",
            case.piece
        );
        assert!(
            case.changed.iter().all(|one| !WHOLE.contains(one)),
            "{}",
            case.piece
        );
    }
}

#[test]
fn verdicts_are_json_word_for_word() {
    for case in all() {
        let verdicts = without(case.take);
        let json = serde_json::to_value(&verdicts).unwrap();
        for (json, verdict) in json.as_array().unwrap().iter().zip(&verdicts) {
            let name = verdict.conduit.name().replace(' ', "_");
            let reach = format!("{:?}", verdict.reach).to_lowercase();
            assert_eq!(
                (&json["conduit"], &json["reach"]),
                (&name.into(), &reach.into())
            );
            assert_eq!(json["words"], verdict.words.as_str());
            assert_eq!(
                json["remedy"].as_str(),
                verdict.remedy.as_deref(),
                "{}",
                case.piece
            );
        }
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
fn persistent_isolation_is_told() {
    let verdicts = without(|_, device| fdp_of(device).persistently_isolated = Some(true));
    let words = &verdicts[1].words;
    assert!(
        words.contains("persistently isolated, so that garbage collection keeps them apart"),
        "{words}"
    );
}

#[test]
fn hints_of_each_file_system_on_a_scsi_drive_have_their_words() {
    for (system, words) in [
        ("xfs", "those of XFS arrive"),
        ("ext4", "of ext4 those of writes past the page cache arrive"),
        ("btrfs", "was not tried"),
    ] {
        let verdicts = without(|_, device| {
            device.scsi_streams = Some(5);
            mounted(device, system);
        });
        let hints = &verdicts[3];
        assert_eq!(
            (hints.conduit, hints.reach),
            (Conduit::FileHints, Reach::Partly)
        );
        assert!(
            hints.words.contains("tells 5 streams apart"),
            "{}",
            hints.words
        );
        assert!(hints.words.contains(words), "{}", hints.words);
    }
}
