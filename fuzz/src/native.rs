//! What must hold of any bytes that are read as one of our traces.
//!
//! The fuzz target and `crates/app/cli/tests/fuzzed.rs` share this; it panics when it does not hold.

use std::io::Write as _;

use anabranch_trace::Reader;

/// Every record keeps to the tables and to the device, there are as many as the file says, and after an
/// error nothing more is told. Whether it was read to its end.
pub fn native(input: &[u8]) -> bool {
    let mut file = tempfile::NamedTempFile::new().expect("a place for files");
    file.write_all(input).expect("room for the file");
    let Ok(mut reader) = Reader::open(file.path()) else {
        return false;
    };
    let (rows, tables) = (reader.rows(), reader.tables().clone());
    let mut ios = Vec::new();
    let mut read = 0;
    loop {
        match reader.read_batch(&mut ios) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => {
                assert!(
                    matches!(reader.read_batch(&mut ios), Ok(false)),
                    "it goes on"
                );
                return false;
            }
        }
        read += ios.len() as u64;
        for io in &ios {
            assert!(io.context.0 as usize <= tables.contexts.len(), "{io:?}");
            assert!(io.file.0 as usize <= tables.files.len(), "{io:?}");
            let end = io
                .offset_bytes
                .checked_add(io.length_bytes)
                .expect("an end");
            let device_bytes = tables.capture.device_bytes;
            assert!(device_bytes == 0 || end <= device_bytes, "{io:?}");
        }
    }
    assert_eq!(read, rows, "records were left out");
    true
}
