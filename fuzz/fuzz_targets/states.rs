#![no_main]

#[path = "../src/states.rs"]
mod states;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    states::states(input);
});
