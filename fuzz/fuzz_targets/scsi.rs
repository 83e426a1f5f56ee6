#![no_main]

#[path = "../src/scsi.rs"]
mod scsi;

libfuzzer_sys::fuzz_target!(|input: &[u8]| scsi::scsi(input));
