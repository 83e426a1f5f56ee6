//! Drives and files whose counters are read.

use std::{
    fs,
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

use anabranch_compare::small_file;
use anabranch_counters::{Amplification, Count, Document, Unit, missing, table};
use anabranch_nvme_host::Log;
use serde_json::Value;

use super::arguments::parts;
use crate::error::{CommandError, Result};

/// A drive, or files with its counters.
#[derive(Debug)]
pub enum CounterSource {
    /// An NVMe namespace.
    Namespace {
        /// Its name as it was asked for.
        name: String,
        log: Box<Log>,
    },
    Files {
        /// Their names as they were asked for.
        name: String,
        /// Their content.
        document: Document,
    },
}

/// A drive's counters at one moment.
#[derive(Debug)]
pub struct Reading {
    /// The drive as it was asked for.
    pub device: String,
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// The counters.
    pub counts: Vec<Count>,
    /// Sentences on counters that are missing.
    pub notes: Vec<String>,
}

impl Reading {
    /// The pair of counters.
    pub fn amplification(&self) -> Amplification {
        Amplification::of(&self.counts)
    }
}

impl CounterSource {
    /// Opens a device, or reads the files of one drive.
    pub fn open(words: &str) -> Result<CounterSource> {
        let path = Path::new(words);
        let kind = fs::metadata(path).map(|found| found.file_type());
        let is_device = |kind: &fs::FileType| kind.is_block_device() || kind.is_char_device();
        if kind.as_ref().is_ok_and(is_device) {
            return CounterSource::namespace(words, path);
        }
        let mut document = Document::default();
        for path in parts(words) {
            let wrong = |why: &dyn std::fmt::Display| {
                CommandError::wrong_use(format!("{}: {why}", path.display()))
            };
            let added = document.add(&json(&path)?);
            added.map_err(|why| wrong(&why))?;
        }
        Ok(CounterSource::Files {
            name: words.to_owned(),
            document,
        })
    }

    fn namespace(words: &str, path: &Path) -> Result<CounterSource> {
        let character = character(path).ok_or_else(|| {
            CommandError::wrong_use(format!(
                "{words}: it is no NVMe namespace, as /dev/nvme0n1 is; of another drive read the file that \
                 `smartctl -x -j {words} > drive.json` writes"
            ))
        })?;
        let log = Log::open(&character).map_err(CommandError::work)?;
        Ok(CounterSource::Namespace {
            name: words.to_owned(),
            log: Box::new(log),
        })
    }

    /// Whether its counters go on.
    pub fn is_live(&self) -> bool {
        matches!(self, CounterSource::Namespace { .. })
    }

    /// Reads the counters.
    pub fn read(&self) -> Result<Reading> {
        Ok(match self {
            CounterSource::Namespace { name, log } => {
                let counts = log.counts();
                let known = Amplification::of(&counts);
                let need = match (known.host, known.flash) {
                    // Every drive has the SMART log.
                    (None, None) => Some("the drive does not answer".to_owned()),
                    (_, None) => Some(missing(log.drive())),
                    _ => None,
                };
                Reading {
                    device: name.clone(),
                    model: Some(log.model().to_owned()),
                    serial: Some(log.serial().to_owned()),
                    counts,
                    notes: need.into_iter().collect(),
                }
            }
            CounterSource::Files { name, document } => Reading {
                device: name.clone(),
                model: document.model.clone(),
                serial: document.serial.clone(),
                counts: document.counts.clone(),
                notes: document.notes.clone(),
            },
        })
    }
}

/// The character device of a namespace or of a partition on one: `/dev/ng0n1` of `/dev/nvme0n1p2`.
fn character(path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    let name = path.file_name()?.to_str()?;
    let rest = name.strip_prefix("nvme").or(name.strip_prefix("ng"))?;
    let (drive, namespace) = rest.split_once('n')?;
    let namespace = namespace.split('p').next()?;
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    (is_number(drive) && is_number(namespace))
        .then(|| path.with_file_name(format!("ng{drive}n{namespace}")))
}

/// Reads JSON of a regular file, which may be anybody's.
fn json(path: &Path) -> Result<Value> {
    let wrong =
        |why: &dyn std::fmt::Display| CommandError::wrong_use(format!("{}: {why}", path.display()));
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let found = fs::metadata(path).map_err(|error| wrong(&error))?;
    if !found.is_file() {
        return Err(wrong(&"it is neither a drive nor a regular file"));
    }
    let text = small_file::settings(path).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| {
        wrong(&format!(
            "it is no JSON ({error}): write it with `nvme … -o json` or `smartctl -x -j`"
        ))
    })
}

/// Readings of before.
#[derive(Debug)]
pub struct Earlier {
    unix_s: u64,
    drives: Vec<(String, Option<String>, Amplification)>,
}

/// Reads the file of an earlier reading.
pub fn earlier(path: &Path) -> Result<Earlier> {
    let found = json(path)?;
    let wrong = || {
        CommandError::wrong_use(format!(
            "--since {}: it is no reading; `anabranch waf DEVICE -o FILE` writes one",
            path.display()
        ))
    };
    let unix_s = found["unix_s"].as_u64().ok_or_else(wrong)?;
    let drives = found["drives"].as_array().ok_or_else(wrong)?;
    let drives = drives.iter().map(|drive| {
        let device = drive["device"].as_str()?.to_owned();
        let serial = drive["serial"].as_str().map(str::to_owned);
        let counts = drive["counts"].as_array()?.iter().filter_map(restored);
        let counts: Vec<Count> = counts.collect();
        Some((device, serial, Amplification::of(&counts)))
    });
    let drives = drives.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    Ok(Earlier { unix_s, drives })
}

impl Earlier {
    /// The counts of the same drive, by serial number or, without one, by name; and the seconds since then.
    pub fn of(&self, reading: &Reading) -> Option<(Amplification, f64)> {
        let is_same = |(device, serial, _): &&(String, Option<String>, Amplification)| match (
            serial,
            &reading.serial,
        ) {
            (Some(before), Some(now)) => before == now,
            _ => *device == reading.device,
        };
        let (_, _, before) = self.drives.iter().find(is_same)?;
        let seconds = super::unix_seconds().saturating_sub(self.unix_s);
        Some((*before, seconds as f64))
    }
}

/// A count as [`super::report`] writes it; `None` for one that this version does not know.
fn restored(json: &Value) -> Option<Count> {
    let row = table().find(|row| {
        json["log"] == row.log
            && json["quantity"] == row.quantity.name()
            && json["source"] == row.source
    })?;
    let unit = json["unit_bytes"].as_u64();
    Some(Count {
        log: row.log,
        quantity: row.quantity,
        value: json["value"].as_str()?.parse().ok()?,
        unit: unit.map_or(row.unit, Unit::Bytes),
        source: row.source,
    })
}

/// The log that gives a drive's write amplification, in words.
pub fn read_by(counts: &[Count]) -> String {
    let known = Amplification::of(counts);
    let logs = [known.host, known.flash];
    let mut logs: Vec<&str> = logs.iter().flatten().map(|count| count.log).collect();
    logs.dedup();
    logs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_restored_as_it_was_reported() {
        for row in table() {
            let count = Count {
                log: row.log,
                quantity: row.quantity,
                value: u128::MAX,
                unit: row.unit,
                source: row.source,
            };
            assert_eq!(restored(&super::super::report::count(&count)), Some(count));
        }
        assert_eq!(restored(&Value::Null), None);
    }

    #[test]
    fn only_names_of_namespaces_have_a_character_device() {
        let directory = tempfile::tempdir().unwrap();
        let of = |name: &str| {
            let path = directory.path().join(name);
            fs::write(&path, "").unwrap();
            let found = character(&path)?;
            Some(found.file_name()?.to_str()?.to_owned())
        };
        for name in ["nvme0n1", "nvme0n1p2", "ng0n1"] {
            assert_eq!(of(name).as_deref(), Some("ng0n1"), "{name}");
        }
        for name in ["nvme0", "sda", "nvme0c1n1", "nvmen1", "ng0"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
