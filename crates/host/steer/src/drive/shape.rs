//! A namespace's size and blocks, and whether such a one can be steered.

use crate::split::PAGE_BYTES;

/// A namespace's size and the form of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a logical block; 0 where the namespace names none that can be.
    pub block_bytes: u64,
    /// Bytes of metadata beside each block.
    pub metadata_bytes: u16,
    /// Bytes of the namespace.
    pub bytes: u64,
}

impl Shape {
    /// From what Identify tells of a namespace (NVM Command Set: NSZE, FLBAS and the LBA format it names).
    pub fn of(namespace: &[u8]) -> Shape {
        let byte = |at: usize| namespace.get(at).copied().unwrap_or(0);
        let format = 128 + 4 * usize::from(byte(26) & 0xf);
        let size = namespace.get(..8).and_then(|size| size.try_into().ok());
        let blocks = size.map_or(0, u64::from_le_bytes);
        let block_bytes = match byte(format + 2) {
            shift @ 1..=31 => 1 << shift,
            _ => 0,
        };
        Shape {
            block_bytes,
            metadata_bytes: u16::from_le_bytes([byte(format), byte(format + 1)]),
            bytes: blocks.saturating_mul(block_bytes),
        }
    }

    /// Returns the reason not to steer a drive of this shape, to stand behind its name and "has"; nothing where it can be.
    pub fn refusal(&self) -> Option<String> {
        if self.metadata_bytes != 0 || !matches!(self.block_bytes, 512 | 1024 | 2048 | 4096) {
            return Some(format!(
                "logical blocks of {} bytes with metadata of {}: blocks of 512 to 4096 bytes without metadata can be \
                 steered",
                self.block_bytes, self.metadata_bytes
            ));
        }
        let most_bytes = u64::from(u32::MAX) * PAGE_BYTES;
        (self.bytes > most_bytes).then(|| "16 TiB or more, which is not steered".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        told[128 + 8] = 0;
        told[..8].copy_from_slice(&(u64::from(u32::MAX) + 1).to_le_bytes());
        let refusal = shape(&told).refusal().unwrap();
        assert!(refusal.contains("16 TiB"), "{refusal}");
        told[..8].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
        assert_eq!(shape(&told).refusal(), None);
        for (shift, fits) in [(8, false), (9, true), (13, false), (77, false)] {
            told[128 + 8 + 2] = shift;
            assert_eq!(shape(&told).refusal().is_none(), fits, "{shift}");
        }
    }
}
