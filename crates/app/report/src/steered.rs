//! Report on a steered drive: a result of `steer`, and one self-contained page of it.

mod collected;
mod compared;
mod screen;
mod set;

use std::collections::BTreeMap;

use anabranch_replay::Stands;
use serde::{Deserialize, Serialize};

pub use collected::HostCollected;
pub use compared::{Compared, ComparedPeriod, ComparedWay, WafDifference, WafOfWays};
pub use set::{ModelledTotals, SteeredSet, SteeredTotals};

use crate::page::{MOST_DATA_BYTES, assembled, embeddable};

/// Programs of the page, in order.
const PROGRAMS: &[&str] = &[
    include_str!("page/steered/bars.js"),
    include_str!("page/steered/main.js"),
];

/// The `schema` of a report of `steer`, which has a form of its own.
pub const STEERED_SCHEMA: u64 = 1;

/// Part of `steer`'s report, during the run and at its end, that a page or a screen shows: a part of `steer --json`, with
/// its names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steered {
    config: Config,
    /// Time that this server has steered; older results do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steered_s: Option<f64>,
    drive: Drive,
    /// Worth of steering by the models, in a sentence; older results have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// Comparison by the drive's own log, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comparison: Option<Compared>,
    /// Counts of a host that collects; nothing where the drive does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collected: Option<HostCollected>,
    /// Endurance of the drive in one stream and as steered, where it is known and there is an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stands: Vec<Stands>,
    handles: Vec<Handle>,
    /// Counts of bytes, requests and pages by their names.
    #[serde(flatten)]
    counts: Counts,
    #[serde(default)]
    tenants: Vec<Tenant>,
    #[serde(default)]
    limitations: Vec<String>,
    /// Counts of the pages' writers; nothing where nobody watched.
    handover: Option<BTreeMap<String, u64>>,
    shadow: Option<Shadow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Config {
    verb: Verb,
    scheme: String,
    queues: u64,
    depth: u64,
    zero_copy: bool,
    directive: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block_device: Option<String>,
}

/// The one verb whose result this is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    Steer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Drive {
    model: String,
    serial: String,
    bytes: u64,
    host_bytes: Option<u64>,
    media_bytes: Option<u64>,
    waf: Option<f64>,
    /// Unit of the drive's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grain_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Handle {
    handle: u64,
    r#for: String,
    written_bytes: u64,
    /// Bytes that a host which collects wrote anew; older results have none.
    #[serde(default)]
    rewritten_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Counts {
    written_bytes: u64,
    read_bytes: u64,
    discarded_bytes: u64,
    zeroed_bytes: u64,
    unplaced_bytes: u64,
    writes: u64,
    split_writes: u64,
    flushes: u64,
    errors: u64,
    repeated_commands: u64,
    unknown_pages: u64,
    metadata_pages: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tenant {
    number: u64,
    control_group: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Shadow {
    /// The rate of the samples that are modelled, `1/1` for the whole drive; older results have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample: Option<String>,
    missed_requests: u64,
    baseline: Modelled,
    steered: Modelled,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Modelled {
    host_pages: u64,
    copied_pages: u64,
    waf: Option<f64>,
    /// Half the width of the interval of `waf`, where samples are modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
}

/// The data that the page's programs read.
#[derive(Debug, Serialize)]
struct Data<'a> {
    version: &'a str,
    steered: &'a Steered,
}

/// Reason that there is no page of a steered drive.
#[derive(Debug)]
pub enum SteeredError {
    /// It is no result of `steer`, or one of another form.
    Form(serde_json::Error),
    /// Its schema is another than this one reads.
    Schema,
    /// It has more than a page holds.
    TooLarge,
}

impl std::fmt::Display for SteeredError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SteeredError::Form(error) => write!(f, "no result of `anabranch steer`: {error}"),
            SteeredError::Schema => write!(
                f,
                "no result of `anabranch steer` of the schema {STEERED_SCHEMA}, which this anabranch reads"
            ),
            SteeredError::TooLarge => {
                write!(
                    f,
                    "a result of more than {MOST_DATA_BYTES} bytes has no page"
                )
            }
        }
    }
}

impl std::error::Error for SteeredError {}

impl Steered {
    /// Reads what `steer` told, as its JSON.
    ///
    /// # Errors
    /// When that is no such result.
    pub fn read(told: serde_json::Value) -> Result<Steered, SteeredError> {
        if told["schema"] != STEERED_SCHEMA {
            return Err(SteeredError::Schema);
        }
        serde_json::from_value(told).map_err(SteeredError::Form)
    }
}

/// Makes the page of what `steer` told at its end, as its JSON. It needs no network.
///
/// # Errors
/// When that is no such result, or one that is too large for a page.
pub fn steered_page(told: serde_json::Value) -> Result<String, SteeredError> {
    let steered = Steered::read(told)?;
    let title = format!(
        "{} steered by {} - Anabranch",
        steered.drive.model, steered.config.scheme
    );
    let data = Data {
        version: env!("CARGO_PKG_VERSION"),
        steered: &steered,
    };
    let data = embeddable(&data).map_err(SteeredError::Form)?;
    if data.len() > MOST_DATA_BYTES {
        Err(SteeredError::TooLarge)
    } else {
        Ok(assembled(&title, "", PROGRAMS, &data))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub fn sample_report() -> Value {
        json!({
            "schema": STEERED_SCHEMA,
            "config": {
                "verb": "steer", "scheme": "anabranch", "queues": 2, "depth": 64, "zero_copy": true, "directive": "fdp",
            },
            "drive": {
                "model": "</title><script>alert(1)</script>", "serial": "1", "bytes": 1 << 30,
                "host_bytes": null, "media_bytes": null, "waf": null,
            },
            "handles": [{ "handle": 0, "stream": 0, "for": "data", "written_bytes": 4096 }],
            "written_bytes": 4096, "read_bytes": 0, "discarded_bytes": 0, "zeroed_bytes": 0, "unplaced_bytes": 0,
            "writes": 1, "split_writes": 0, "flushes": 0, "errors": 0, "repeated_commands": 0, "unknown_pages": 0,
            "metadata_pages": 0,
            "tenants": [{ "number": 1, "control_group": "<img src=x onerror=alert(2)>" }],
            "limitations": ["<b>a sentence</b>"],
            "handover": null,
            "shadow": null,
        })
    }

    #[test]
    fn foreign_names_are_no_markup_and_no_network_is_named() {
        let page = steered_page(sample_report()).unwrap();
        for markup in ["<script>alert", "<img", "<b>", "@import", "url(", "fetch("] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("/* data */"));
        assert!(page.contains("&lt;/title>&lt;script>alert(1)"));
        assert!(page.contains("\\u003cimg src=x"));
    }

    #[test]
    fn what_no_steer_told_has_no_page() {
        for change in ["schema", "config", "drive", "handles", "written_bytes"] {
            let mut wrong = sample_report();
            wrong[change] = "something".into();
            let error = steered_page(wrong).unwrap_err().to_string();
            assert!(error.contains("no result of `anabranch steer`"), "{error}");
        }
        let mut wrong = sample_report();
        wrong["config"]["verb"] = "replay".into();
        assert!(steered_page(wrong).is_err() && steered_page(Value::Null).is_err());
        let mut large = sample_report();
        large["limitations"] = json!(["x".repeat(MOST_DATA_BYTES)]);
        assert!(matches!(steered_page(large), Err(SteeredError::TooLarge)));
    }
}
