//! Results as the JSON other people script against.

use anabranch_replay::{Outcome as Comparison, SCHEMA};
use serde_json::{Value, json};

use crate::fault::{Fault, Outcome};

/// One result as it is, several as a list.
///
/// # Errors
/// When a result cannot be written as JSON: a defect of ours.
pub fn json(results: &[Comparison]) -> Outcome<Value> {
    match results {
        [one] => serde_json::to_value(one),
        many => serde_json::to_value(many)
            .map(|results| json!({ "schema": SCHEMA, "results": results })),
    }
    .map_err(Fault::work)
}
