//! Names the drive goes by. They follow from the subsystem's name, so that a drive that is stopped
//! and started is the same to its hosts.

use twox_hash::XxHash3_64;

/// Identifiers of a subsystem and its namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names {
    high: u64,
    low: u64,
}

impl Names {
    pub(crate) fn of(subsystem: &str) -> Names {
        let hash = |seed| XxHash3_64::oneshot_with_seed(seed, subsystem.as_bytes());
        Names {
            high: hash(1),
            low: hash(2),
        }
    }

    /// Serial Number: 16 hexadecimal digits.
    pub(crate) fn serial(&self) -> String {
        format!("{:016X}", self.high)
    }

    /// UUID of the namespace that was made as the drive's first, second, …, in the form of a random one
    /// (RFC 9562, version 8: of our own making).
    pub(crate) fn uuid(&self, birth: u64) -> [u8; 16] {
        let mut uuid = [0; 16];
        uuid[..8].copy_from_slice(&self.high.to_be_bytes());
        let low = self.low ^ birth.wrapping_sub(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        uuid[8..].copy_from_slice(&low.to_be_bytes());
        uuid[6] = uuid[6] & 0x0f | 0x80;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        uuid
    }
}
