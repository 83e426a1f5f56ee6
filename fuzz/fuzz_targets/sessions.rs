#![no_main]

#[path = "../src/session.rs"]
mod session;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    session::session(input);
});
