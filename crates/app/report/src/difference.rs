//! The difference of two results: settings that changed, and figures that moved.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_replay::{Comparison, SchemeResult};
use serde::Serialize;
use serde_json::{Value, json};

use crate::format::bytes;

/// The difference of two results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// A sentence where the two results are not of the same writes; otherwise empty.
    pub note: String,
    /// Settings, or properties of the trace, that are not the same.
    pub changed: Vec<Change>,
    /// Every scheme that either result has, in their order.
    pub schemes: Vec<Moved>,
}

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The setting's path in the result, with dots.
    pub key: String,
    /// Its value before; null where it was not set.
    pub before: Value,
    /// Its value after; null where it is not set.
    pub after: Value,
}

/// A scheme of either result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// The scheme's name.
    pub name: String,
    /// Its figures before; null where the scheme was not compared.
    pub before: Option<Figures>,
    /// Its figures after; null where the scheme was not compared.
    pub after: Option<Figures>,
}

/// The figures that are set side by side, as the result has them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Write amplification of the whole run.
    pub waf: Option<f64>,
    /// Write amplification of the last capacity of writes.
    pub waf_window: Option<f64>,
    /// Bytes that the host wrote, in whole pages.
    pub host_page_bytes: u64,
    /// Bytes garbage collection copied.
    pub copied_bytes: u64,
    /// Erase units erased in the run.
    pub erased_units: u64,
    /// Life of the flash as a multiple of the comparator's.
    pub lifetime_vs_ordinary: Option<f64>,
    /// Whether the WAF had settled.
    pub steady: bool,
    /// Simulated time that passed, where time was simulated.
    pub elapsed_ns: Option<u64>,
    /// The 99.9th percentile of the latency of writes, where time was simulated.
    pub write_p99_9_ns: Option<u64>,
}

impl Figures {
    fn of(scheme: &SchemeResult) -> Figures {
        let time = scheme.time.as_ref();
        Figures {
            waf: scheme.waf,
            waf_window: scheme.waf_window,
            host_page_bytes: scheme.host_page_bytes,
            copied_bytes: scheme.copied_bytes,
            erased_units: scheme.erased_units,
            lifetime_vs_ordinary: scheme.lifetime_vs_ordinary,
            steady: scheme.steady,
            elapsed_ns: time.map(|time| time.elapsed_ns),
            write_p99_9_ns: time.map(|time| time.latency.write.p99_9_ns),
        }
    }
}

/// The difference from one result to another.
pub fn difference(before: &Comparison, after: &Comparison) -> Difference {
    let (settings, other) = (settings(before), settings(after));
    let keys: BTreeSet<&String> = settings.keys().chain(other.keys()).collect();
    let value = |of: &BTreeMap<String, Value>, key| of.get(key).cloned().unwrap_or_default();
    let changed = keys
        .into_iter()
        .map(|key| Change {
            key: key.clone(),
            before: value(&settings, key),
            after: value(&other, key),
        })
        .filter(|change| change.before != change.after);
    let mut names: Vec<&String> = before.schemes.iter().map(|scheme| &scheme.name).collect();
    for scheme in &after.schemes {
        if !names.contains(&&scheme.name) {
            names.push(&scheme.name);
        }
    }
    let figures = |of: &Comparison, name: &str| {
        let scheme = of.schemes.iter().find(|scheme| scheme.name == name)?;
        Some(Figures::of(scheme))
    };
    let moved = names.into_iter().map(|name| Moved {
        name: name.clone(),
        before: figures(before, name),
        after: figures(after, name),
    });
    Difference {
        note: other_writes(before, after),
        changed: changed.collect(),
        schemes: moved.collect(),
    }
}

/// A sentence on two results that are not of the same writes; empty where they are.
fn other_writes(before: &Comparison, after: &Comparison) -> String {
    let writes = |of: &Comparison| {
        let source = of.source;
        (source.records, source.write_bytes, source.discarded_bytes)
    };
    if writes(before) == writes(after) {
        return String::new();
    }
    let name = |of: &Comparison| {
        let trace = of.config.get("trace").and_then(|name| name.as_str());
        trace.map(str::to_owned)
    };
    let what = match (name(before), name(after)) {
        (Some(one), Some(other)) if one != other => {
            format!("These are two traces, {one} and {other}")
        }
        _ => "These are two runs that did not write the same".to_owned(),
    };
    let written = |of: &Comparison| bytes(of.source.write_bytes);
    format!(
        "{what}: {} and {} written. The figures differ by that, and not by settings alone.",
        written(before),
        written(after)
    )
}

/// The settings that decided a result, with dotted keys. The drive's sizes follow from its
/// configuration, so only the profile is taken of the device.
fn settings(outcome: &Comparison) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::new();
    flatten("config", &json!(outcome.config), &mut settings);
    flatten("source", &json!(outcome.source), &mut settings);
    settings.insert("device.profile".to_owned(), json!(outcome.device.profile));
    settings.insert("seed".to_owned(), json!(outcome.seed));
    settings.insert("steady".to_owned(), json!(outcome.steady));
    for scheme in &outcome.schemes {
        let key = format!("schemes.{}.parameters", scheme.name);
        flatten(&key, &json!(scheme.parameters), &mut settings);
    }
    settings
}

fn flatten(key: &str, value: &Value, settings: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| flatten(&format!("{key}.{name}"), value, settings)),
        _ => {
            settings.insert(key.to_owned(), value.clone());
        }
    }
}
