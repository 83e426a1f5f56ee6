#![no_main]

#[path = "../src/native.rs"]
mod native;

libfuzzer_sys::fuzz_target!(
    // The reader contains panics of the Parquet library: the fuzzer's hook would take them for ours.
    init: drop(std::panic::take_hook()),
    |input: &[u8]| {
        native::native(input);
    }
);
