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

/// A drive's counters at an earlier moment, and the seconds since then.
#[derive(Debug)]
pub struct Before {
    pub seconds: f64,
    /// The pair, or a sentence on why it is not known.
    pub counts: std::result::Result<Amplification, String>,
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
                notes: {
                    let mut notes = document.notes.clone();
                    notes.extend(Amplification::of(&document.counts).missing());
                    notes
                },
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
    values(&text).map_err(|error| {
        wrong(&format!(
            "it is no JSON ({error}): write it with `nvme … -o json` or `smartctl -x -j`"
        ))
    })
}

/// Reads one JSON value, or the list of those that stand one after another, as `cat` joins them. Lines of words may stand
/// before each: nvme-cli's plug-in of Seagate prints a heading.
fn values(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|error| {
        let mut found: Vec<Value> = Vec::new();
        let mut rest = text;
        while let Some(begin) = beginning(rest) {
            rest = &rest[begin..];
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter();
            let Some(Ok(value)) = stream.next() else {
                return Err(error);
            };
            found.push(value);
            rest = &rest[stream.byte_offset()..];
        }
        if found.is_empty() {
            return Err(error);
        }
        Ok(Value::Array(found))
    })
}

/// Offset of the first object or list that begins a line.
fn beginning(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        if words.starts_with(['{', '[']) {
            return Some(at + line.len() - words.len());
        }
        at += line.len();
    }
    None
}

/// Readings of before.
#[derive(Debug)]
pub struct Earlier {
    unix_s: u64,
    drives: Vec<EarlierDrive>,
}

/// A drive's counts in an earlier reading.
#[derive(Debug)]
struct EarlierDrive {
    device: String,
    model: Option<String>,
    serial: Option<String>,
    counts: Amplification,
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
        let text = |member: &str| drive[member].as_str().map(str::to_owned);
        let counts = drive["counts"].as_array()?.iter().filter_map(restored);
        let counts: Vec<Count> = counts.collect();
        Some(EarlierDrive {
            device,
            model: text("model"),
            serial: text("serial"),
            counts: Amplification::of(&counts),
        })
    });
    let drives = drives.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    Ok(Earlier { unix_s, drives })
}

impl Earlier {
    /// The drives' counts of before, each with the seconds since then, or the reason why the file has none of that drive.
    ///
    /// # Errors
    /// When the file has none of any of these drives.
    pub fn of(&self, now: &[Reading]) -> Result<Vec<Before>> {
        let seconds = super::unix_seconds().saturating_sub(self.unix_s) as f64;
        let found: Vec<Option<&EarlierDrive>> = now
            .iter()
            .map(|drive| self.find(drive, now.len()))
            .collect();
        let missing = |drive: &Reading| {
            let before = self.drives.iter().map(EarlierDrive::name);
            let before = before.collect::<Vec<String>>().join(", ");
            let now = name(&drive.device, drive.serial.as_deref());
            format!("the earlier reading is of {before}, and not of {now}")
        };
        if let (Some(first), true) = (now.first(), found.iter().all(Option::is_none)) {
            return Err(CommandError::wrong_use(format!(
                "--since: {}",
                missing(first)
            )));
        }
        let before = now.iter().zip(found).map(|(drive, before)| Before {
            seconds,
            counts: before
                .map(|before| before.counts)
                .ok_or_else(|| missing(drive)),
        });
        Ok(before.collect())
    }

    /// The same drive: by serial number; without one by name, and the only drive by being it.
    fn find(&self, drive: &Reading, of: usize) -> Option<&EarlierDrive> {
        let is_other = |before: &Option<String>, now: &Option<String>| {
            before
                .as_ref()
                .zip(now.as_ref())
                .is_some_and(|(before, now)| before != now)
        };
        let mut possible = self.drives.iter().filter(|before| {
            !is_other(&before.serial, &drive.serial) && !is_other(&before.model, &drive.model)
        });
        let is_same = |before: &&EarlierDrive| match (&before.serial, &drive.serial) {
            (Some(before), Some(now)) => before == now,
            _ => before.device == drive.device,
        };
        let is_only = of == 1 && self.drives.len() == 1;
        possible
            .clone()
            .find(is_same)
            .or(possible.next().filter(|_| is_only))
    }
}

impl EarlierDrive {
    fn name(&self) -> String {
        name(&self.device, self.serial.as_deref())
    }
}

/// A drive in words.
fn name(device: &str, serial: Option<&str>) -> String {
    match serial {
        Some(serial) => format!("{device} (serial number {serial})"),
        None => device.to_owned(),
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
    fn json_is_read_past_headings_and_one_after_another_but_never_in_part() {
        let read = |text: &str| values(text).ok();
        assert_eq!(read(" {} "), Some(serde_json::json!({})));
        assert_eq!(read("[1]"), Some(serde_json::json!([1])));
        let several = Some(serde_json::json!([{"a": 1}, [2]]));
        for text in [
            "Seagate Extended SMART Information :\n{\"a\": 1}\n[2]\n",
            "{\"a\": 1}[2]",
            "{\"a\": 1}\nNVMe status: success\n  [\n2]",
            "é\n{\"a\": 1}\né\n[2] \n",
        ] {
            assert_eq!(read(text), several, "{text}");
        }
        for text in [
            "",
            "words",
            "words\n{\"a\": 1",
            "{\"a\": 1}\n{",
            "{\n{\"a\": 1}",
            "a: {}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
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
