//! What is given away, and what it is worth.

use std::path::Path;

use anabranch_report::{bytes, ratio};
use anabranch_ssd::Counters;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::{source::Plan, survey::Survey};

/// How far from its promise a piece may be without being said to lose something.
const TOLERANCE: f64 = 0.05;

/// A file to write, by its name in the directory.
#[derive(Debug)]
pub struct File {
    pub name: String,
    pub text: String,
}

/// What came of feeding a piece back.
#[derive(Debug)]
pub struct Checked {
    /// The file, and what it was made by where there were several ways.
    pub what: String,
    /// Copies and host writes under it.
    pub counters: Counters,
    /// What it cannot say, where it is to stand for the scheme; `None` of what is measured beside it.
    pub loses: Option<String>,
}

/// All that is given away of one plan.
#[derive(Debug)]
pub struct Advice {
    scheme: String,
    page_bytes: u64,
    promised: Option<Counters>,
    pub files: Vec<File>,
    pub checks: Vec<Checked>,
    notes: Vec<String>,
}

impl Advice {
    pub fn new(plan: &Plan, survey: &Survey) -> Advice {
        let drive = &plan.drive;
        let mut notes = vec![format!(
            "drive: {} in erase units of {}, {} host and {} internal streams; {:.2} capacities were written",
            bytes(drive.logical_bytes()),
            bytes(drive.unit_bytes()),
            drive.host_streams,
            drive.internal_streams,
            survey.written_pages as f64 / f64::from(drive.logical_pages)
        )];
        if survey.promised.copied_pages == 0 {
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

    /// Files that nothing could be fed back to.
    pub fn unchecked(files: Vec<File>) -> Advice {
        Advice {
            scheme: String::new(),
            page_bytes: 0,
            promised: None,
            files,
            checks: Vec::new(),
            notes: vec![
                "not checked: a lifetime profile has no writes to feed back (give --trace)"
                    .to_owned(),
            ],
        }
    }

    pub fn file(&mut self, name: &str, text: String) {
        self.files.push(File {
            name: name.to_owned(),
            text,
        });
    }

    /// The share by which the flash writes more than the scheme promised, or less where negative.
    fn off(&self, checked: &Checked) -> Option<f64> {
        let promised = self.promised?.waf()?;
        Some(checked.counters.waf()? / promised - 1.0)
    }

    /// Whether it costs no more than was promised; `None` where it promised nothing.
    fn holds(&self, checked: &Checked) -> Option<bool> {
        checked.loses.as_ref()?;
        Some(self.off(checked)? <= TOLERANCE)
    }

    pub fn as_json(&self) -> Value {
        let of = |counters: &Counters| {
            json!({
                "waf": counters.waf(),
                "host_bytes": counters.host_pages * self.page_bytes,
                "copied_bytes": counters.copied_pages * self.page_bytes,
            })
        };
        let checks = self.checks.iter().map(|checked| {
            json!({
                "what": checked.what,
                "under_it": of(&checked.counters),
                "off_by": self.off(checked),
                "holds": self.holds(checked),
                "loses": checked.loses.as_ref().filter(|_| self.holds(checked) == Some(false)),
            })
        });
        json!({
            "schema": anabranch_replay::SCHEMA,
            "scheme": self.scheme,
            "promised": self.promised.as_ref().map(of),
            "files": self.files.iter().map(|file| &file.name).collect::<Vec<_>>(),
            "checks": checks.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    pub fn as_text(&self, directory: &Path) -> String {
        let mut text = String::new();
        if let Some(promised) = &self.promised {
            text += &format!("{}: WAF {}\n\n", self.scheme, ratio(promised.waf()));
        }
        if !self.checks.is_empty() {
            text += &format!("{}\n\n", self.table());
        }
        for checked in &self.checks {
            if let (Some(false), Some(loses)) = (self.holds(checked), &checked.loses) {
                text += &format!("what is lost in {}: {loses}\n", checked.what);
            }
        }
        for file in &self.files {
            text += &format!("wrote {}\n", directory.join(&file.name).display());
        }
        for note in &self.notes {
            text += &format!("{note}\n");
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header([
            "fed back",
            "WAF",
            "off by",
            "its promise",
        ]);
        for column in table.column_iter_mut().skip(1).take(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for checked in &self.checks {
            let off = self.off(checked);
            table.add_row([
                checked.what.clone(),
                ratio(checked.counters.waf()),
                off.map_or_else(|| "-".to_owned(), |off| format!("{:+.1} %", 100.0 * off)),
                match self.holds(checked) {
                    Some(true) => "holds",
                    Some(false) => "does NOT hold",
                    None => "-",
                }
                .to_owned(),
            ]);
        }
        table
    }
}
