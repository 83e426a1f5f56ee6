//! Whether it could pay that the host collects on a drive, as far as that shows without a write.

use anabranch_collect::FEWEST_HANDLES;

use crate::findings::Device;

/// A sentence for people; `None` where the drive was not asked. The drive's victim rule decides, which no drive reports.
pub fn host_collection(device: &Device) -> Option<String> {
    let drive = device.drive.as_ref()?.as_ref().ok()?;
    let fdp = drive.fdp.as_ref();
    let Some(fdp) = fdp.filter(|fdp| fdp.handles >= FEWEST_HANDLES) else {
        return Some(
            "Collecting by the host could not pay: it needs Flexible Data Placement and more than two handles."
                .to_owned(),
        );
    };
    let units = match fdp.unit_bytes {
        0 => "of a number that the drive does not tell".to_owned(),
        unit_bytes => format!("here {}", drive.bytes / unit_bytes),
    };
    Some(format!(
        "Collecting by the host could pay if the drive chooses victims greedily and has some hundreds of units ({units}); where \
         it weighs age it does not pay. `anabranch calibrate` measures the rule, on a drive whose data may be lost; `steer \
         --collect host` does it, and leaves it to the drive where it does not pay."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{DriveFindings, PlacementFindings, Writes};

    fn device(handles: u16, unit_bytes: u64) -> Device {
        let fdp = PlacementFindings {
            handles,
            configuration: Some(0),
            drive_handles: handles,
            persistently_isolated: Some(false),
            unit_bytes,
            own: Vec::new(),
            usage: Vec::new(),
            neighbours: Vec::new(),
        };
        let drive = DriveFindings {
            model: "A drive".to_owned(),
            bytes: 700 << 20,
            block_bytes: 4096,
            metadata_bytes: 0,
            plain_format: Some(0),
            namespaces: 1,
            endurance_group: 1,
            fdp: (handles > 0).then_some(fdp),
            has_fdp: true,
            streams: None,
            writes: Writes::default(),
        };
        Device {
            name: "nvme0n1".to_owned(),
            disk: "nvme0n1".to_owned(),
            write_streams: None,
            scsi_streams: None,
            character: None,
            drive: Some(Ok(drive)),
            mounts: Vec::new(),
            holders: Vec::new(),
            partitions: Vec::new(),
            users: Vec::new(),
            front: None,
            lvm: None,
        }
    }

    #[test]
    fn a_drive_of_several_handles_is_sent_to_calibrate_with_its_units() {
        let told = host_collection(&device(8, 1 << 20)).unwrap();
        assert!(
            told.contains("(here 700)") && told.contains("`anabranch calibrate`"),
            "{told}"
        );
        let told = host_collection(&device(8, 0)).unwrap();
        assert!(told.contains("does not tell"), "{told}");
    }

    #[test]
    fn with_two_handles_or_fewer_it_cannot_pay_and_a_silent_drive_is_not_judged() {
        for handles in [0, 1, 2] {
            let told = host_collection(&device(handles, 1 << 20)).unwrap();
            assert!(told.contains("could not pay"), "{told}");
        }
        let mut silent = device(8, 1 << 20);
        silent.drive = Some(Err("no".to_owned()));
        assert_eq!(host_collection(&silent), None);
    }
}
