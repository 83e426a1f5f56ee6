#![no_main]

#[path = "../src/security.rs"]
mod security;

libfuzzer_sys::fuzz_target!(|input: &[u8]| security::security(input));
