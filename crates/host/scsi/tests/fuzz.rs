//! The fuzzer's cases of commands, replayed, and a small fuzzer that needs no nightly compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../../fuzz/src/scsi.rs"]
mod scsi;

use std::{fs, path::Path};

use proptest::prelude::*;

#[test]
fn cases_of_commands_that_were_found_hold() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/scsi");
    let cases: Vec<_> = fs::read_dir(place).unwrap().collect();
    assert!(!cases.is_empty());
    for case in cases {
        scsi::scsi(&fs::read(case.unwrap().path()).unwrap());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_command_or_say_what_is_wrong(command in proptest::collection::vec(any::<u8>(), 0..40)) {
        scsi::scsi(&command);
    }
}
