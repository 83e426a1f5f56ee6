//! The endurance of the drives that are compared, and the grounds it rests on.

use super::{Known, waf};
use crate::{
    endurance::{Limit, Stands},
    outcome::{WIDENED, rounded},
    verdict::{Answer, DriveKind},
};

impl Known<'_> {
    /// The endurance of the ordinary drive, of one that is sold and of one with a scheme in its firmware; empty where
    /// there is no answer yet, or no endurance is known.
    pub(super) fn stands(&self, answer: Answer) -> Vec<Stands> {
        let (Some(endurance), Some(before)) = (&self.outcome.endurance, self.before) else {
            return Vec::new();
        };
        if answer == Answer::NoAnswerYet {
            return Vec::new();
        }
        let kinds = [DriveKind::Sold, DriveKind::Firmware];
        let others = kinds.into_iter().filter_map(|kind| self.chosen(kind));
        let all = [before].into_iter().chain(others);
        all.map(|one| endurance.with(&one.name, waf(one), waf(before)))
            .collect()
    }

    /// The grounds of the endurance in a sentence; empty where none is known.
    pub(super) fn endurance_words(&self, answer: Answer) -> String {
        let (Some(endurance), Some(_)) = (&self.outcome.endurance, self.before) else {
            return String::new();
        };
        if answer == Answer::NoAnswerYet {
            return String::new();
        }
        let limit = match endurance.limit {
            Limit::Flash { rated_erases, .. } => {
                let rounding = endurance.page_rounding;
                let widened = if rounding > WIDENED {
                    format!(" and {rounding:.2} bytes of whole pages for each that is asked for")
                } else {
                    String::new()
                };
                format!("by {rated_erases} rated erases a unit{widened}")
            }
            Limit::Host { bytes } => format!(
                "if an ordinary drive just stands the {} of its data sheet",
                decimal(bytes)
            ),
        };
        let rate = endurance.writes_per_day.map(|bytes| rounded(bytes as u64));
        let rate = match (rate, endurance.measured_seconds) {
            (None, _) => String::new(),
            (Some(rate), None) => format!(", at {rate} a day"),
            (Some(rate), Some(seconds)) => {
                format!(", at {rate} a day, as this trace wrote for {seconds:.0} s")
            }
        };
        let capacity = match (endurance.years, endurance.logical_bytes) {
            (Some(_), None) => {
                " Drive writes a day need that drive's capacity: name its profile with --device."
            }
            _ => "",
        };
        format!("Endurance {limit}{rate}.{capacity}")
    }
}

/// Bytes as data sheets have them.
fn decimal(bytes: f64) -> String {
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit);
    let (unit, name) = unit.unwrap_or((1.0, "bytes"));
    let number = bytes / unit;
    let digits = if number < 10.0 && unit > 1.0 { 1 } else { 0 };
    format!("{number:.digits$} {name}")
}
