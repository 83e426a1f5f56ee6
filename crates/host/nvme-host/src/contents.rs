//! The contents at the beginning of a drive. Pure.

/// Bytes of a drive that are inspected.
pub const LOOKED_AT: usize = 128 << 10;

/// Signatures: a name, a place and the bytes there.
const KNOWN: &[(&str, usize, &[u8])] = &[
    ("an ext2, ext3 or ext4 file system", 1080, &[0x53, 0xef]),
    ("an XFS file system", 0, b"XFSB"),
    ("a btrfs file system", 65600, b"_BHRfS_M"),
    ("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    ("a GPT partition table", 512, b"EFI PART"),
    ("a GPT partition table", 4096, b"EFI PART"),
    ("an encrypted volume (LUKS)", 0, b"LUKS\xba\xbe"),
    ("a physical volume of LVM", 512, b"LABELONE"),
    ("a part of an MD array", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("swap space", 4086, b"SWAPSPACE2"),
    ("a partition table or a boot sector", 510, &[0x55, 0xaa]),
];

/// Names the contents of a drive that begins with `head`; nothing where it has nothing but zeroes there.
pub fn found(head: &[u8]) -> Option<&'static str> {
    let is_there = |&&(_, at, bytes): &&(&str, usize, &[u8])| {
        head.get(at..at + bytes.len())
            .is_some_and(|found| found == bytes)
    };
    if let Some(&(name, ..)) = KNOWN.iter().find(is_there) {
        return Some(name);
    }
    let is_empty = head.iter().all(|&byte| byte == 0);
    (!is_empty).then_some("data that are no zeroes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_drive_holds_nothing() {
        assert_eq!(found(&vec![0; LOOKED_AT]), None);
    }

    #[test]
    fn everything_known_is_named_and_anything_else_is_data() {
        for &(name, at, bytes) in KNOWN {
            let mut head = vec![0; LOOKED_AT];
            head[at..at + bytes.len()].copy_from_slice(bytes);
            assert_eq!(found(&head), Some(name));
        }
        let mut head = vec![0; LOOKED_AT];
        head[LOOKED_AT - 1] = 1;
        assert_eq!(found(&head), Some("data that are no zeroes"));
    }
}
