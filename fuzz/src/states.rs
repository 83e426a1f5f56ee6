//! What must hold of any bytes that are read as the state of a drive.
//!
//! The fuzz target and `crates/app/cli/tests/fuzzed.rs` share this; it panics when it does not hold.

use std::{hash::Hasher as _, io::Write as _};

use anabranch_nvme::Checkpoint;
use anabranch_ssd::{PageRange, StreamId, state::SavedDrive};
use twox_hash::XxHash3_64;

/// Bytes of the numbers in each run behind the header of a drive with one reclaim group.
const WIDTHS: [usize; 12] = [4, 4, 2, 8, 8, 4, 4, 4, 4, 4, 4, 8];

/// A drive that is read is consistent and takes writes, or is refused. The first byte says whether it is a
/// served drive's state or a saved drive's, and whether its checksums are made right first, so that what they
/// guard is met as well. Whether it became a drive.
pub fn states(input: &[u8]) -> bool {
    let Some((&how, bytes)) = input.split_first() else {
        return false;
    };
    let mut bytes = bytes.to_vec();
    let is_served = how & 1 != 0;
    match (how & 2 != 0, is_served) {
        (true, true) => sealed_at_the_end(&mut bytes),
        (true, false) => sealed_run_by_run(&mut bytes),
        _ => {}
    }
    let drive = if is_served {
        let mut file = tempfile::NamedTempFile::new().expect("a place for files");
        file.write_all(&bytes).expect("room for the file");
        let found = Checkpoint::at(file.path(), "").read();
        found.ok().flatten().map(|found| found.drive)
    } else {
        SavedDrive::read(&*bytes).ok()
    };
    drive.is_some_and(serves)
}

/// Whether it can go on, without a relocation of its own. It then must.
fn serves(drive: SavedDrive) -> bool {
    // What says that it is huge is taken at its word by whoever has the memory.
    let config = drive.config();
    if u64::from(config.physical_units) * u64::from(config.pages_per_unit) > 1 << 20 {
        return false;
    }
    let Ok(mut device) = drive.resume(&mut (), ()) else {
        return false;
    };
    device
        .verify()
        .expect("a drive that was accepted is consistent");
    for page in 0..device.config().logical_pages.min(64) {
        if device
            .write(&mut (), PageRange::new(page, 1), StreamId(0))
            .is_err()
        {
            break;
        }
    }
    device.verify().expect("it is consistent after writes, too");
    true
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = XxHash3_64::with_seed(0);
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

fn sealed_at_the_end(bytes: &mut [u8]) {
    if let Some(at) = bytes.len().checked_sub(8) {
        let sum = checksum(&bytes[..at]);
        bytes[at..].copy_from_slice(&sum);
    }
}

/// Magic, version, the header's length, the header and its checksum; then runs, each a count, its numbers and a
/// checksum.
fn sealed_run_by_run(bytes: &mut [u8]) {
    let Some(length) = number(bytes, 12, 4) else {
        return;
    };
    let mut end = seal(bytes, 0, 16_usize.saturating_add(length));
    for width in WIDTHS {
        let Some(begin) = end else {
            return;
        };
        let Some(count) = number(bytes, begin, 8) else {
            return;
        };
        let length = count.saturating_mul(width);
        end = seal(bytes, begin, (begin + 8).saturating_add(length));
    }
}

/// A little-endian number, where there are bytes for one.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let digits = bytes.get(at..at + width)?.iter().rev();
    usize::try_from(digits.fold(0_u64, |all, &byte| all << 8 | u64::from(byte))).ok()
}

/// Puts the checksum of a part behind it, where there is room, and answers where that ends.
fn seal(bytes: &mut [u8], begin: usize, end: usize) -> Option<usize> {
    let behind = end.checked_add(8).filter(|behind| *behind <= bytes.len())?;
    let sum = checksum(&bytes[begin..end]);
    bytes[end..behind].copy_from_slice(&sum);
    Some(behind)
}
