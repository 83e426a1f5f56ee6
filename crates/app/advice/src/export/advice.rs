//! The files of an advice, and what each is worth.

use std::{fs, io::Write as _, path::Path};

use anabranch_compare::Result;
use anabranch_report::bytes;
use anabranch_ssd::Counters;
use anabranch_trace::WholeFile;
use serde_json::{Value, json};

use super::{check::Cost, plan::Plan, survey::WriterSurvey};
use crate::convert::cannot_write;

/// The most by which a piece may exceed the promised cost without a note that it loses something (our choice).
const TOLERANCE: f64 = 0.05;

/// A file of the advice.
#[derive(Debug)]
pub struct File {
    /// The file's path below the directory.
    pub name: String,
    /// The file's content.
    pub text: String,
}

/// The result of feeding one piece of advice back to the drive.
#[derive(Debug)]
pub struct Checked {
    /// The file, and how it was made where there were several ways.
    pub what: String,
    /// The cost on the drive that followed the piece.
    pub cost: Cost,
    /// The part that the piece cannot express of the scheme it stands for; `None` for a piece that is measured beside the
    /// scheme.
    pub loses: Option<String>,
}

/// The advice made for one plan.
#[derive(Debug)]
pub struct Advice {
    /// The scheme that the advice stands for; empty where it was made from lifetimes only.
    pub scheme: String,
    /// The cost of the scheme itself.
    pub promised: Option<Cost>,
    /// The files to write.
    pub files: Vec<File>,
    /// The price of each piece of advice.
    pub checks: Vec<Checked>,
    /// Further sentences for people.
    pub notes: Vec<String>,
    page_bytes: u64,
}

impl Advice {
    pub(crate) fn new(plan: &Plan, survey: &WriterSurvey) -> Advice {
        let drive = &plan.drive;
        let mut notes = vec![format!(
            "drive: {} in erase units of {}, {} host and {} internal streams; {:.2} capacities were written",
            bytes(drive.logical_bytes()),
            bytes(drive.unit_bytes()),
            drive.host_streams,
            drive.internal_streams,
            survey.promised.whole.host_pages as f64 / f64::from(drive.logical_pages)
        )];
        notes.push(
            "made from the first half of the writes, and priced on the second, which it has not seen: off by, and \
             whether the promise holds, are those of the second half"
                .to_owned(),
        );
        if survey.promised.whole.copied_pages == 0 {
            notes.push(
                "NOTHING was ever copied on this drive, so that every placement is as good as any: give a \
                 smaller one (--size), or larger erase units (--unit)"
                    .to_owned(),
            );
        }
        Advice {
            scheme: plan.scheme.name().to_owned(),
            page_bytes: u64::from(drive.page_bytes),
            promised: Some(survey.promised),
            files: Vec::new(),
            checks: Vec::new(),
            notes,
        }
    }

    /// Advice whose files could not be fed back.
    pub(crate) fn unchecked(files: Vec<File>) -> Advice {
        Advice {
            scheme: String::new(),
            page_bytes: 0,
            promised: None,
            files,
            checks: Vec::new(),
            notes: vec![
                "not checked: lifetimes alone have no writes to feed back (give --trace)"
                    .to_owned(),
            ],
        }
    }

    pub(crate) fn file(&mut self, name: &str, text: String) {
        self.files.push(File {
            name: name.to_owned(),
            text,
        });
    }

    /// The share by which the flash writes more of the second half than the scheme promised; negative if less.
    pub fn off(&self, checked: &Checked) -> Option<f64> {
        let promised = self.promised?.unseen.waf()?;
        Some(checked.cost.unseen.waf()? / promised - 1.0)
    }

    /// Whether the piece costs no more than the scheme promised; `None` where nothing was promised.
    pub fn holds(&self, checked: &Checked) -> Option<bool> {
        checked.loses.as_ref()?;
        Some(self.off(checked)? <= TOLERANCE)
    }

    /// Writes every file into a directory, and the results of the checks as `export.json`. Each appears whole or not at
    /// all; files of the same names are replaced.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result {
        for file in &self.files {
            write(&directory.join(&file.name), &file.text)?;
        }
        let told = format!("{:#}\n", self.as_json());
        write(&directory.join("export.json"), &told)
    }

    /// The advice and the results of its checks as JSON.
    pub fn as_json(&self) -> Value {
        let of = |counters: &Counters| {
            json!({
                "waf": counters.waf(),
                "host_page_bytes": counters.host_pages * self.page_bytes,
                "copied_bytes": counters.copied_pages * self.page_bytes,
            })
        };
        let checks = self.checks.iter().map(|checked| {
            json!({
                "what": checked.what,
                "under_it": of(&checked.cost.whole),
                "second_half": of(&checked.cost.unseen),
                "off_by": self.off(checked),
                "holds": self.holds(checked),
                "loses": checked.loses.as_ref().filter(|_| self.holds(checked) == Some(false)),
            })
        });
        json!({
            "schema": anabranch_replay::SCHEMA,
            "scheme": self.scheme,
            "promised": self.promised.as_ref().map(|cost| of(&cost.whole)),
            "promised_second_half": self.promised.as_ref().map(|cost| of(&cost.unseen)),
            "files": self.files.iter().map(|file| &file.name).collect::<Vec<_>>(),
            "checks": checks.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

fn write(path: &Path, text: &str) -> Result {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error))?;
    }
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes())
        .map_err(|error| cannot_write(path, &error))?;
    Ok(file.finish()?)
}
