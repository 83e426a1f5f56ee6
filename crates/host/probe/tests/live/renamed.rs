//! Files that are renamed while they are written.

use anabranch_probe::ProbeOptions;

use super::drive::Drive;
use super::watch::watch;
use super::{MIB, python};

/// Renames one file between its writes, and one after it was written to the page cache alone.
const RENAMING_WRITER: &str = "
import os, sys
place = os.path.dirname(sys.argv[1]) + '/'
begun = open(place + 'begun.tmp', 'wb', 0)
begun.write(bytes(1 << 20)); os.fsync(begun)
os.rename(place + 'begun.tmp', place + 'begun')
begun.write(bytes(2 << 20)); os.fsync(begun)
cached = open(place + 'cached.tmp', 'wb', 0)
cached.write(bytes(1 << 20))
os.rename(place + 'cached.tmp', place + 'cached')
os.fsync(cached)
for round in range(3):
    lock = open(place + 'index.lock', 'wb', 0)
    lock.write(bytes(1 << 20)); os.fsync(lock); lock.close()
    os.rename(place + 'index.lock', place + 'index')
";

#[test]
fn a_renamed_files_requests_carry_the_name_that_it_has() {
    for file_system in ["ext4", "xfs"] {
        let drive = Drive::with(file_system, 320);
        let mut options = ProbeOptions::new(&drive.device);
        // The hook for hints is that for renames where a function's way out cannot be watched.
        options.hints = true;
        let watched = watch(&options, || {
            python(RENAMING_WRITER, &drive.path().join("any"));
        });
        watched.assert_written("begun.tmp", MIB, "python");
        watched.assert_written("begun", 2 * MIB, "python");
        watched.assert_written("cached.tmp", 0, "python");
        watched.assert_written("cached", MIB, "python");
        // Once it was renamed nothing is written to it: the row has both names.
        watched.assert_written("index.lock", 3 * MIB, "python");
        for io in watched.writes_to("index.lock") {
            assert_eq!(watched.file(io).next_name, "index", "{file_system}");
        }
    }
}
