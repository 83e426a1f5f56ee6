//! A namespace's size and blocks, and whether such a one can be steered.

use crate::split::PAGE_BYTES;

/// A namespace's size and the form of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a logical block; 0 where the namespace names none that can be.
    pub block_bytes: u64,
    /// Bytes of metadata beside each block.
    pub metadata_bytes: u16,
    /// Number of the drive's format of largest blocks, 4 KiB at most, that can be steered; `None` where it has none.
    pub plain_format: Option<u8>,
    /// Bytes of the namespace.
    pub bytes: u64,
}

impl Shape {
    /// From what Identify tells of a namespace (NVM Command Set: NSZE, NLBAF, FLBAS and the LBA formats).
    pub fn of(namespace: &[u8]) -> Shape {
        let byte = |at: usize| namespace.get(at).copied().unwrap_or(0);
        let format = |number: u8| {
            let at = 128 + 4 * usize::from(number);
            let block_bytes = match byte(at + 2) {
                shift @ 1..=31 => 1_u64 << shift,
                _ => 0,
            };
            let metadata_bytes = u16::from_le_bytes([byte(at), byte(at + 1)]);
            (block_bytes, metadata_bytes)
        };
        let size = namespace.get(..8).and_then(|size| size.try_into().ok());
        let blocks = size.map_or(0, u64::from_le_bytes);
        let (used, last) = (byte(26), byte(25));
        // Of more than 16 formats (NLBAF counts from 0) bits 6:5 are the upper bits of the number.
        let upper = if last > 15 { used >> 5 & 0x3 } else { 0 };
        let (block_bytes, metadata_bytes) = format(used & 0xf | upper << 4);
        let plain = (0..=last.min(MOST_FORMATS - 1)).filter(|number| is_plain(format(*number)));
        Shape {
            block_bytes,
            metadata_bytes,
            plain_format: plain.max_by_key(|number| format(*number).0),
            bytes: blocks.saturating_mul(block_bytes),
        }
    }

    /// Returns the reason not to steer a drive of this shape, to stand behind its name and "has"; nothing where it can be.
    pub fn refusal(&self) -> Option<String> {
        if !is_plain((self.block_bytes, self.metadata_bytes)) {
            return Some(format!(
                "logical blocks of {} bytes with metadata of {}: blocks of 512 to 4096 bytes without metadata can be \
                 steered",
                self.block_bytes, self.metadata_bytes
            ));
        }
        let most_bytes = u64::from(u32::MAX) * PAGE_BYTES;
        (self.bytes > most_bytes).then(|| "16 TiB or more, which is not steered".to_owned())
    }

    /// Returns what makes a refused drive one that can be steered.
    pub fn remedy(&self, device: &str) -> String {
        if is_plain((self.block_bytes, self.metadata_bytes)) {
            return "a smaller namespace (`nvme delete-ns`, `nvme create-ns`), which deletes what is on it"
                .to_owned();
        }
        self.plain_format.map_or_else(
            || "another drive: this one has no format without metadata".to_owned(),
            |number| {
                let command = format!("`nvme format {device} --lbaf={number}`");
                format!("blocks without metadata: {command}, which deletes what is on it")
            },
        )
    }
}

/// The most LBA formats that a namespace lists (NVM Command Set 1.0, figure 97: LBAF0 to LBAF63).
const MOST_FORMATS: u8 = 64;

/// Whether blocks of so many bytes, with so many of metadata, can be steered. The block device in front of the drive
/// has no metadata, which each command to such a format must bring.
fn is_plain((block_bytes, metadata_bytes): (u64, u16)) -> bool {
    metadata_bytes == 0 && matches!(block_bytes, 512 | 1024 | 2048 | 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_in_use_may_be_one_behind_the_sixteenth() {
        let mut told = vec![0; 4096];
        // Number 18 of 20: 2 below, 1 above (NVM Command Set, FLBAS).
        (told[25], told[26]) = (19, 2 | 1 << 5);
        (told[128 + 18 * 4], told[128 + 18 * 4 + 2]) = (64, 12);
        let found = Shape::of(&told);
        assert_eq!((found.block_bytes, found.metadata_bytes), (4096, 64));
        // Of up to 16 formats, these bits mean nothing.
        told[25] = 15;
        (told[128 + 8], told[128 + 8 + 2]) = (0, 9);
        let found = Shape::of(&told);
        assert_eq!((found.block_bytes, found.metadata_bytes), (512, 0));
    }

    #[test]
    fn a_namespace_is_refused_by_its_blocks_and_by_its_size() {
        let mut told = vec![0; 4096];
        let shape = |told: &[u8]| Shape::of(told);
        assert_eq!(shape(&told).block_bytes, 0);
        assert!(shape(&told).refusal().is_some());
        // The third format, of two that the namespace has and one that it uses.
        told[26] = 2;
        told[128 + 8 + 2] = 12;
        told[..8].copy_from_slice(&1000_u64.to_le_bytes());
        let found = shape(&told);
        assert_eq!((found.block_bytes, found.bytes), (4096, 1000 << 12));
        assert_eq!(found.refusal(), None);
        told[128 + 8] = 64;
        let refusal = shape(&told).refusal().unwrap();
        assert!(
            refusal.contains("4096 bytes with metadata of 64"),
            "{refusal}"
        );
        // Of formats 0 to 3: 512 bytes, 4 KiB + 8, 4 KiB + 64 (in use), 4 KiB.
        told[25] = 3;
        told[128 + 2] = 9;
        (told[128 + 4], told[128 + 4 + 2]) = (8, 12);
        assert!(
            shape(&told)
                .remedy("/dev/nvme0n1")
                .contains("`nvme format /dev/nvme0n1 --lbaf=0`")
        );
        told[128 + 12 + 2] = 12;
        assert!(shape(&told).remedy("/dev/nvme0n1").contains("--lbaf=3`"));
        told[25] = 2;
        told[128] = 8;
        assert!(
            shape(&told)
                .remedy("/dev/nvme0n1")
                .contains("no format without metadata")
        );
        told[128 + 8] = 0;
        told[..8].copy_from_slice(&(u64::from(u32::MAX) + 1).to_le_bytes());
        let refusal = shape(&told).refusal().unwrap();
        assert!(refusal.contains("16 TiB"), "{refusal}");
        assert!(
            shape(&told)
                .remedy("/dev/nvme0n1")
                .contains("nvme create-ns")
        );
        told[..8].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
        assert_eq!(shape(&told).refusal(), None);
        for (shift, fits) in [(8, false), (9, true), (13, false), (77, false)] {
            told[128 + 8 + 2] = shift;
            assert_eq!(shape(&told).refusal().is_none(), fits, "{shift}");
        }
    }
}
