//! Verdicts on a drive's handles: their users, and those whose users are not known.

use super::super::{
    Conduit::Drive,
    Reach::{Partly, Yes},
};
use super::{Case, NO_HANDLES_TO_NAME, NOTHING_TO_STEER_TO, fdp_of, own};
use crate::findings::{Device, Neighbour};

/// Gives the namespace these handles alone, of the drive's eight, of which those up to `used` are in use.
fn owns(device: &mut Device, handles: &[u16], used: usize) {
    let fdp = fdp_of(device);
    (fdp.handles, fdp.own) = (handles.len() as u16, own(handles));
    fdp.usage[used..].fill("unused");
}

/// A namespace beside it, with these handles.
fn beside(device: &mut Device, number: u16, handles: Result<&[u16], &str>) {
    let handles = handles.map(<[u16]>::to_vec).map_err(str::to_owned);
    let device_of = format!("/dev/ng0n{number}");
    fdp_of(device).neighbours.push(Neighbour {
        device: device_of,
        handles,
    });
}

/// Each piece, and what is said of the conduits that change.
pub const CASES: &[Case] = &[
    Case {
        piece: "handles that nobody uses",
        take: |_, device| {
            owns(device, &[0, 1, 2, 3], 4);
        },
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 4 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB. Of the drive's 8 handles 0-3 are this namespace's; 4-7 are used by no namespace.",
            "",
        )],
    },
    Case {
        piece: "handles of its own beside another namespace",
        take: |_, device| {
            owns(device, &[0, 1, 2, 3], 7);
            beside(device, 2, Ok(&[4, 5]));
        },
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 4 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB. Of the drive's 8 handles 0-3 are this namespace's; 4-5 are those of /dev/ng0n2; 6 is used by a namespace that this host does not see; 7 is used by no namespace.",
            "",
        )],
    },
    Case {
        piece: "handles that no other namespace has",
        take: |_, device| {
            owns(device, &[0, 1, 2, 5], 8);
            beside(device, 2, Ok(&[5, 2, 6]));
            beside(device, 3, Err("no"));
        },
        changed: &[(
            Drive,
            Partly,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 4 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB. Of the drive's 8 handles 0-2, 5 are this namespace's; 2, 5-6 are those of /dev/ng0n2, and 2, 5 are shared: data of both namespaces mix in the same reclaim units; /dev/ng0n3 does not tell which it has (no); 3-4, 7 are used by a namespace that does not tell, or that this host does not see.",
            "make the namespaces anew, each with handles of its own (`nvme create-ns --phndls`), or leave out those that are shared: `anabranch steer --handles 0-1`",
        )],
    },
    Case {
        piece: "one of its handles to itself",
        take: |_, device| {
            owns(device, &[0, 1, 2, 3], 4);
            beside(device, 2, Ok(&[1]));
        },
        changed: &[(
            Drive,
            Partly,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 4 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB. Of the drive's 8 handles 0-3 are this namespace's; 1 is that of /dev/ng0n2, and 1 is shared: data of both namespaces mix in the same reclaim units; 4-7 are used by no namespace.",
            "make the namespaces anew, each with handles of its own (`nvme create-ns --phndls`), or leave out those that are shared: `anabranch steer --handles 0,2-3`",
        )],
    },
    Case {
        piece: "all handles but one to itself",
        take: |_, device| {
            owns(device, &[0, 1], 3);
            beside(device, 2, Ok(&[2, 1]));
        },
        changed: &[(
            Drive,
            Partly,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 2 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB. Of the drive's 8 handles 0-1 are this namespace's; 1-2 are those of /dev/ng0n2, and 1 is shared: data of both namespaces mix in the same reclaim units; 3-7 are used by no namespace.",
            "make the namespaces anew, each with handles of its own (`nvme create-ns --phndls`)",
        )],
    },
    Case {
        piece: "any handle",
        take: |_, device| {
            owns(device, &[], 2);
            fdp_of(device).persistently_isolated = None;
            beside(device, 2, Ok(&[0, 1]));
            beside(device, 3, Ok(&[]));
        },
        changed: &[
            (
                Drive,
                Partly,
                "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 0 handles, how they are isolated, the drive does not tell, reclaim units of 24 MiB. Of the drive's 8 handles none is this namespace's; 0-1 are those of /dev/ng0n2; /dev/ng0n3 has none; 2-7 are used by no namespace.",
                "make the namespace anew with more placement handles (`nvme create-ns --nphndls`)",
            ),
            NOTHING_TO_STEER_TO,
            NO_HANDLES_TO_NAME,
        ],
    },
    Case {
        piece: "any handle of its own",
        take: |_, device| {
            beside(device, 2, Ok(&[7, 6, 5, 4, 3, 2, 1, 0]));
        },
        changed: &[(
            Drive,
            Partly,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 8 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB. Of the drive's 8 handles 0-7 are this namespace's; 0-7 are those of /dev/ng0n2, and 0-7 are shared: data of both namespaces mix in the same reclaim units.",
            "make the namespaces anew, each with handles of its own (`nvme create-ns --phndls`)",
        )],
    },
    Case {
        piece: "a log that tells who uses handles",
        take: |_, device| {
            owns(device, &[0, 1], 8);
            fdp_of(device).usage.clear();
        },
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 2 handles, initially isolated, so that garbage collection may mix them, reclaim units of 24 MiB. Of the drive's 8 handles 0-1 are this namespace's.",
            "",
        )],
    },
    Case {
        piece: "a configuration that is told",
        take: |_, device| {
            let fdp = fdp_of(device);
            (fdp.configuration, fdp.drive_handles, fdp.unit_bytes) = (None, 0, 0);
            fdp.persistently_isolated = None;
        },
        changed: &[(
            Drive,
            Yes,
            "A drive (up to 4 namespaces, endurance group 1) has Flexible Data Placement: 8 handles, how they are isolated, the drive does not tell.",
            "",
        )],
    },
];
