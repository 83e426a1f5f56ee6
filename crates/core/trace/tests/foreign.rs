//! Traces of other people: hand-made samples with what they mean beside them, traces written in a
//! format and read again, and inputs that mean harm.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "foreign/cases.rs"]
mod cases;
#[path = "foreign/expected.rs"]
mod expected;
#[path = "foreign/fuzzed.rs"]
mod fuzzed;
#[path = "foreign/hostile.rs"]
mod hostile;
#[path = "foreign/inputs.rs"]
mod inputs;
#[path = "foreign/layers.rs"]
mod layers;
#[path = "foreign/published.rs"]
mod published;
#[path = "foreign/round_trip.rs"]
mod round_trip;
#[path = "foreign/sample.rs"]
mod sample;
