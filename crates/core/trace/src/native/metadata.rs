//! The tables in a trace file's key-value metadata.

use std::path::Path;

use parquet::file::metadata::{FileMetaData, KeyValue};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::digest::{Blocks, Digests};
use crate::capture::Tables;
use crate::error::TraceError;

const SCHEMA_KEY: &str = "anabranch.schema";
const CONTEXTS_KEY: &str = "anabranch.contexts";
const FILES_KEY: &str = "anabranch.files";
const CAPTURE_KEY: &str = "anabranch.capture";
const DIGEST_KEY: &str = "anabranch.digest";

/// The version of the schema that is written here, and the only one read.
const SCHEMA: &str = "1";

/// The metadata entries that hold the tables.
pub(super) fn entries(path: &Path, tables: &Tables) -> Result<Vec<KeyValue>, TraceError> {
    if let Some(reason) = tables.fault() {
        return Err(unusable(path, reason));
    }
    Ok(vec![
        KeyValue::new(SCHEMA_KEY.into(), String::from(SCHEMA)),
        entry(path, CONTEXTS_KEY, &tables.contexts)?,
        entry(path, FILES_KEY, &tables.files)?,
        entry(path, CAPTURE_KEY, &tables.capture)?,
    ])
}

/// The entry that holds the digests of the tables, as these entries hold them, and of the records.
pub(super) fn digest_entry(
    path: &Path,
    entries: &[KeyValue],
    blocks: Blocks,
) -> Result<KeyValue, TraceError> {
    entry(path, DIGEST_KEY, &Digests::new(texts(entries), blocks))
}

/// The digests in a file's metadata, if it has any, after the tables were compared with them.
/// Digests that another program copied into its own file belong to what it read, not to what it
/// wrote, and are ignored.
pub(super) fn digests(path: &Path, file: &FileMetaData) -> Result<Option<Digests>, TraceError> {
    let entries = file.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let is_ours = file
        .created_by()
        .is_some_and(|by| by.starts_with("anabranch "));
    if !is_ours || value(entries, DIGEST_KEY).is_none() {
        return Ok(None);
    }
    let digests: Digests = parsed(path, entries, DIGEST_KEY)?;
    match digests.fault(texts(entries)) {
        None => Ok(Some(digests)),
        Some(reason) => Err(unusable(path, reason.into())),
    }
}

/// The texts that are digested: each metadata key with its value.
fn texts(entries: &[KeyValue]) -> impl Iterator<Item = (&str, &str)> {
    let keys = [SCHEMA_KEY, CONTEXTS_KEY, FILES_KEY, CAPTURE_KEY];
    keys.into_iter()
        .map(|key| (key, value(entries, key).unwrap_or_default()))
}

fn entry(path: &Path, key: &str, value: &impl Serialize) -> Result<KeyValue, TraceError> {
    let json =
        serde_json::to_string(value).map_err(|error| unusable(path, format!("{key}: {error}")))?;
    Ok(KeyValue::new(key.into(), json))
}

/// The tables in these metadata entries.
pub(super) fn tables(path: &Path, entries: &[KeyValue]) -> Result<Tables, TraceError> {
    let Some(found) = value(entries, SCHEMA_KEY) else {
        return Err(TraceError::Foreign {
            path: path.into(),
            key: SCHEMA_KEY,
        });
    };
    if found != SCHEMA {
        return Err(TraceError::Schema {
            path: path.into(),
            found: found.into(),
            known: SCHEMA,
        });
    }
    let tables = Tables {
        contexts: parsed(path, entries, CONTEXTS_KEY)?,
        files: parsed(path, entries, FILES_KEY)?,
        capture: parsed(path, entries, CAPTURE_KEY)?,
    };
    match tables.fault() {
        None => Ok(tables),
        Some(reason) => Err(unusable(path, reason)),
    }
}

fn parsed<T: DeserializeOwned>(
    path: &Path,
    entries: &[KeyValue],
    key: &str,
) -> Result<T, TraceError> {
    let json = value(entries, key)
        .ok_or_else(|| unusable(path, format!("the metadata key \"{key}\" is missing")))?;
    serde_json::from_str(json).map_err(|error| unusable(path, format!("{key}: {error}")))
}

fn value<'a>(entries: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let entry = entries.iter().find(|entry| entry.key == key)?;
    entry.value.as_deref()
}

fn unusable(path: &Path, reason: String) -> TraceError {
    TraceError::Tables {
        path: path.into(),
        reason,
    }
}
