//! A drive's counts of its writes, by whichever log it has. Pure.

/// Bytes that hosts wrote, and bytes that the drive wrote to its flash for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Bytes hosts wrote.
    pub host_bytes: u128,
    /// Bytes written to the flash.
    pub media_bytes: u128,
    /// Both are known to this many bytes.
    pub grain_bytes: u64,
}

/// GUID of the OCP SMART log (Datacenter NVMe SSD Specification, log C0h), as it stands in bytes 496 to 511.
const OCP_GUID: [u8; 16] = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5_u128.to_le_bytes();
/// Host bytes of a data unit in the SMART log: a thousand blocks of 512 bytes.
const DATA_UNIT: u64 = 512_000;
/// The unit of the endurance group log.
const BILLION: u64 = 1_000_000_000;

fn number(log: &[u8], at: usize) -> Option<u128> {
    let bytes = log.get(at..at + 16)?.try_into().ok()?;
    Some(u128::from_le_bytes(bytes))
}

/// FDP statistics log (22h): host bytes, then media bytes.
pub fn of_fdp(log: &[u8]) -> Option<Written> {
    Some(Written {
        host_bytes: number(log, 0)?,
        media_bytes: number(log, 16)?,
        grain_bytes: 1,
    })
}

/// OCP's SMART log (C0h), which begins with the bytes written to the flash, beside the SMART log (02h), which has what hosts
/// wrote.
pub fn of_ocp(log: &[u8], smart: &[u8]) -> Option<Written> {
    if log.get(496..512)? != OCP_GUID {
        return None;
    }
    Some(Written {
        host_bytes: of_smart(smart)?,
        media_bytes: number(log, 0)?,
        grain_bytes: DATA_UNIT,
    })
}

/// Bytes hosts wrote by the SMART log (02h): what every drive counts.
pub fn of_smart(smart: &[u8]) -> Option<u128> {
    number(smart, 48)?.checked_mul(DATA_UNIT.into())
}

/// Endurance group log (09h), in billions of bytes; a drive that does not count the flash's says 0.
pub fn of_endurance_group(log: &[u8]) -> Option<Written> {
    let media = number(log, 80)?;
    (media > 0).then_some(Written {
        host_bytes: number(log, 64)?.checked_mul(BILLION.into())?,
        media_bytes: media.checked_mul(BILLION.into())?,
        grain_bytes: BILLION,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(fields: &[(usize, u128)]) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        for (at, value) in fields {
            bytes[*at..at + 16].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    fn written(host_bytes: u128, media_bytes: u128, grain_bytes: u64) -> Option<Written> {
        Some(Written {
            host_bytes,
            media_bytes,
            grain_bytes,
        })
    }

    #[test]
    fn each_log_tells_host_and_flash_in_its_own_units() {
        assert_eq!(of_fdp(&log(&[(0, 7), (16, 9)])), written(7, 9, 1));
        assert_eq!(of_fdp(&[0; 20]), None);
        let mut ocp = log(&[(0, 5_000_000)]);
        assert_eq!(of_ocp(&ocp, &log(&[(48, 4)])), None);
        ocp[496..].copy_from_slice(&[
            0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14,
            0xd5, 0xaf,
        ]);
        assert_eq!(
            of_ocp(&ocp, &log(&[(48, 4)])),
            written(2_048_000, 5_000_000, 512_000)
        );
        let group = log(&[(64, 2), (80, 3)]);
        assert_eq!(
            of_endurance_group(&group),
            written(2_000_000_000, 3_000_000_000, BILLION)
        );
        assert_eq!(of_endurance_group(&log(&[(64, 2)])), None);
        assert_eq!(of_ocp(&ocp, &log(&[(48, u128::MAX)])), None);
        assert_eq!(of_smart(&log(&[(48, 4)])), Some(2_048_000));
    }
}
