//! The rate of a sample of writes that pass by once.

use anabranch_trace::Rate;

/// The refusal of `auto`, with the verb that takes it.
pub const NO_AUTO: &str = "auto needs the same writes at several rates, and here they pass by once: give a rate, as in \
    --sample 1/64, or record them whole and replay the trace with --sample auto";

/// A rate as people write it, `1/64`.
pub fn one_rate(text: &str) -> Result<Rate, String> {
    match text {
        "auto" => Err(NO_AUTO.to_owned()),
        rate => rate
            .parse()
            .map_err(|wrong: anabranch_trace::NoRate| wrong.to_string()),
    }
}
