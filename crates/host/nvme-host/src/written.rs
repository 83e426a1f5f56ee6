//! A drive's counts of its writes in bytes. Pure.

use anabranch_counters::{Amplification, Count, PAGES};

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

impl Written {
    /// The pair of counts, where both are in bytes.
    pub fn of(counts: &[Count]) -> Option<Written> {
        let known = Amplification::of(counts);
        Some(Written {
            host_bytes: known.host_bytes()?,
            media_bytes: known.flash_bytes()?,
            grain_bytes: known.grain_bytes()?,
        })
    }
}

/// The counts in a page that any drive may have.
fn standard(page: u8, bytes: &[u8]) -> Vec<Count> {
    let rows = PAGES.iter().filter(|row| row.page() == Some(page));
    rows.filter_map(|row| row.decode(bytes)).collect()
}

/// FDP statistics log (22h).
pub fn of_fdp(log: &[u8]) -> Option<Written> {
    Written::of(&standard(0x22, log))
}

/// OCP's SMART log (C0h), which has the bytes written to the flash, beside the SMART log (02h), which has those of hosts.
pub fn of_ocp(log: &[u8], smart: &[u8]) -> Option<Written> {
    Written::of(&[standard(0x02, smart), standard(0xc0, log)].concat())
}

/// Bytes hosts wrote by the SMART log (02h): what every drive counts.
pub fn of_smart(smart: &[u8]) -> Option<u128> {
    Amplification::of(&standard(0x02, smart)).host_bytes()
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
        let most = of_ocp(&ocp, &log(&[(48, u128::MAX)])).unwrap();
        assert_eq!(most.host_bytes, u128::MAX);
        assert_eq!(of_smart(&log(&[(48, 4)])), Some(2_048_000));
    }
}
