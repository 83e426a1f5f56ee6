//! Numbers in JSON documents, whichever program wrote them.

use serde_json::Value;

/// A number as the programs write it: a number, decimal or hexadecimal text, halves, or the `raw` one of an entry.
pub(crate) fn number(value: &Value) -> Option<u128> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(number) => Some(number.into()),
            // Of more than 64 bits: `as` saturates, and makes no number of a negative one.
            None => number
                .as_f64()
                .filter(|number| *number >= 0.0)
                .map(|number| number as u128),
        },
        Value::String(text) => match text.trim().strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).ok(),
            None => text.trim().parse().ok(),
        },
        Value::Object(members) => {
            if let (Some(high), Some(low)) = (members.get("hi"), members.get("lo")) {
                return Some(u128::from(high.as_u64()?) << 64 | u128::from(low.as_u64()?));
            }
            members.get("raw")?.as_u64().map(u128::from)
        }
        _ => None,
    }
}
