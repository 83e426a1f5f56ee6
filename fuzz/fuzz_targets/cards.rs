#![no_main]

#[path = "../src/cards.rs"]
mod cards;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    cards::cards(input);
});
