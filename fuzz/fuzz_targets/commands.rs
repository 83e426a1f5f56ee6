#![no_main]

#[path = "../src/codec.rs"]
mod codec;

libfuzzer_sys::fuzz_target!(|input: &[u8]| codec::commands(input));
