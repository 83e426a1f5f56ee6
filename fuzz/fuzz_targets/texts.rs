#![no_main]

#[path = "../src/texts.rs"]
mod texts;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    texts::texts(input);
});
