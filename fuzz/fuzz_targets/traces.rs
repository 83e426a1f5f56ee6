#![no_main]

#[path = "../src/traces.rs"]
mod traces;

libfuzzer_sys::fuzz_target!(|input: &[u8]| traces::traces(input));
