//! The JSON of results, on which other people's scripts depend.

use anabranch_replay::{Comparison, SCHEMA};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::error::{CompareError, Result};

/// A single result as an object, several as a list.
///
/// # Errors
/// When a result cannot be written as JSON, which is a defect of this program.
pub fn json(results: &[Comparison]) -> Result<Value> {
    match results {
        [one] => serde_json::to_value(one),
        many => serde_json::to_value(many)
            .map(|results| json!({ "schema": SCHEMA, "results": results })),
    }
    .map_err(CompareError::work)
}

/// Parses the results in a text: one, or those of a grid or an experiment. Errors call the text `name`.
///
/// # Errors
/// When the text holds no result, or results of another version.
pub fn results(name: &str, text: &str) -> Result<Vec<Comparison>> {
    let wrong = |error: serde_json::Error| {
        CompareError::wrong_use(format!(
            "{name} is no result of anabranch: {error} (write one with `anabranch replay TRACE -o \
             RESULT.json`)"
        ))
    };
    let found: Found = match serde_json::from_str(text) {
        // JSON of another make has no schema that we could read.
        Err(error) if error.is_data() => Found::default(),
        found => found.map_err(wrong)?,
    };
    check_schema(name, found.schema)?;
    let results = match (found.results, found.runs) {
        (Some(_), _) => serde_json::from_str(text).map(|many: Many| many.results),
        (None, Some(_)) => serde_json::from_str(text).and_then(|mut json| {
            let results = compared(&mut json).into_iter();
            results.map(serde_json::from_value).collect()
        }),
        (None, None) => serde_json::from_str(text).map(|one| vec![one]),
    };
    match results.map_err(wrong)? {
        results if results.is_empty() => {
            Err(CompareError::wrong_use(format!("{name} holds no result")))
        }
        results => Ok(results),
    }
}

/// The kind of a file, without its content: a file that is not ours can be large.
#[derive(Default, Deserialize)]
struct Found {
    schema: Option<u64>,
    results: Option<IgnoredAny>,
    runs: Option<IgnoredAny>,
}

/// The results of a grid.
#[derive(Deserialize)]
struct Many {
    results: Vec<Comparison>,
}

/// The results of an experiment. The settings that tell them apart join their configuration.
fn compared(experiment: &mut Value) -> Vec<Value> {
    let mut results = Vec::new();
    let runs = experiment["runs"].as_array_mut().into_iter().flatten();
    for run in runs.filter(|run| run.is_object()) {
        let name = run["name"].take();
        let cells = run["comparisons"].as_array_mut().into_iter().flatten();
        for cell in cells.filter(|cell| cell.is_object()) {
            let mut result = cell["result"].take();
            if let Some(config) = result.get_mut("config").and_then(Value::as_object_mut) {
                config.insert("run".to_owned(), name.clone());
                config.insert("at".to_owned(), cell["at"].take());
            }
            results.push(result);
        }
    }
    results
}

/// Refuses results of a form that is not ours.
fn check_schema(name: &str, schema: Option<u64>) -> Result {
    let ours = SCHEMA;
    match schema {
        Some(schema) if schema == u64::from(ours) => Ok(()),
        Some(schema) => Err(CompareError::wrong_use(format!(
            "{name} has schema {schema}, and this anabranch reads {ours}: use the anabranch that wrote it"
        ))),
        None => Err(CompareError::wrong_use(format!(
            "{name} is no result of anabranch: it has no \"schema\" (write one with `anabranch replay \
             TRACE -o RESULT.json`)"
        ))),
    }
}
