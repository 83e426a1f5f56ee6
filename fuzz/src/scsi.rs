//! What must hold of any bytes that are read as a SCSI command.
//!
//! The fuzz target and the tests of `crates/host/scsi` share this; it panics when it does not hold.

use anabranch_scsi::{ScsiCommand, Sense};

/// ILLEGAL REQUEST.
const ILLEGAL_REQUEST: u8 = 5;

/// Any bytes are a command, or a fault of the command that points into it; what follows the first 16 bytes changes
/// nothing, and a unit without streams takes what one with streams takes as the same.
pub fn scsi(input: &[u8]) {
    let all = [false, true].map(|streams| ScsiCommand::of(input, streams));
    let [without, with] = &all;
    if without.is_ok() {
        assert_eq!(without, with);
    }
    for (read, streams) in all.iter().zip([false, true]) {
        if let Err(sense) = read {
            points_into(*sense, input);
        }
        if let Some(first) = input.first_chunk::<16>() {
            assert_eq!(*read, ScsiCommand::of(first, streams));
        }
    }
}

/// The fault is told as one of the command's bytes, or of the first that is missing.
fn points_into(sense: Sense, command: &[u8]) {
    assert_eq!(sense.key, ILLEGAL_REQUEST);
    if let Some(field) = sense.field {
        assert!(field.in_command && usize::from(field.byte) <= command.len());
    }
    let told = sense.to_bytes();
    assert_eq!((told[2], (told[12], told[13])), (sense.key, sense.code));
}
