//! Names of finished work, made of all that it depends on.

use serde::Serialize;
use serde_json::Value;
use twox_hash::XxHash3_64;

/// 16 hexadecimal digits that are the same for equal values, and differ for others.
pub(crate) fn key(value: &impl Serialize) -> String {
    // Through a value: its maps are sorted.
    let text = serde_json::to_value(value)
        .unwrap_or(Value::Null)
        .to_string();
    format!("{:016x}", XxHash3_64::oneshot(text.as_bytes()))
}
