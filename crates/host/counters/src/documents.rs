//! Counters in the JSON of `nvme` and `smartctl`.

mod forms;

use serde_json::{Map, Value};

use crate::attributes;
use crate::count::Count;
use crate::number::number;
use crate::row::{Place, Row};
pub(crate) use forms::{FORMS, Form};

/// Share of a counter by which two readings of it may differ, as those of one document do (our choice): Seagate's command reads
/// its log twice.
const SAME_READING: u128 = 1000;

/// A document's counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// The drive's model, where the document has it.
    pub model: Option<String>,
    /// The drive's serial number, where the document has it.
    pub serial: Option<String>,
    /// The commands that wrote it.
    pub forms: Vec<&'static str>,
    /// The counters.
    pub counts: Vec<Count>,
    /// Sentences on counters that cannot be read.
    pub notes: Vec<String>,
    /// The counters of each form, by its mark.
    readings: Vec<(&'static str, Vec<Count>)>,
}

/// The drive that an object belongs to, by its own members or those of an object around it.
#[derive(Debug, Clone, Copy, Default)]
struct Identity<'a> {
    model: Option<&'a str>,
    serial: Option<&'a str>,
}

impl<'a> Identity<'a> {
    /// The drive of an object inside one of this drive, by its names in smartctl, in SPDK and in `nvme id-ctrl`.
    fn within(self, members: &'a Map<String, Value>) -> Identity<'a> {
        let text = |names: &[&str]| {
            let mut found = names.iter().filter_map(|name| members.get(*name)?.as_str());
            found.find_map(|text| Some(text.trim()).filter(|text| !text.is_empty()))
        };
        Identity {
            model: text(&["model_name", "model_number", "mn"]).or(self.model),
            serial: text(&["serial_number", "sn"]).or(self.serial),
        }
    }
}

/// Reads a document, or a list of documents of one drive.
///
/// # Errors
/// When it is in no form that is known, or of more than one drive.
pub fn document(json: &Value) -> Result<Document, String> {
    let mut found = Document::default();
    found.add(json)?;
    Ok(found)
}

impl Document {
    /// Adds another document of the same drive, or a list of them.
    ///
    /// # Errors
    /// When it is in no form that is known, or of another drive.
    pub fn add(&mut self, json: &Value) -> Result<(), String> {
        if let Value::Array(several) = json
            && !several.is_empty()
        {
            return several.iter().try_for_each(|one| self.add(one));
        }
        let before = self.forms.len();
        self.search(json, Identity::default())?;
        if self.forms.len() == before {
            let mut names: Vec<&str> = Vec::new();
            for form in FORMS {
                if !names.contains(&form.name) {
                    names.push(form.name);
                }
            }
            return Err(format!(
                "it has no counter of writes; known is the JSON of: {}",
                names.join(", ")
            ));
        }
        Ok(())
    }

    /// Reads every object that has the mark of a form, wherever it lies. The parser bounds how deep that is.
    fn search(&mut self, json: &Value, around: Identity<'_>) -> Result<(), String> {
        match json {
            Value::Object(members) => {
                let identity = around.within(members);
                for form in FORMS {
                    let is_other = form.unless.iter().any(|name| members.contains_key(*name));
                    if members.contains_key(form.mark) && !is_other {
                        self.belongs_to(identity)?;
                        self.read(form, json)?;
                    }
                }
                let mut below = members.values();
                below.try_for_each(|value| self.search(value, identity))
            }
            Value::Array(values) => {
                let mut below = values.iter();
                below.try_for_each(|value| self.search(value, around))
            }
            _ => Ok(()),
        }
    }

    /// Takes the drive's names; refuses those of another drive.
    fn belongs_to(&mut self, drive: Identity<'_>) -> Result<(), String> {
        let serials = (&mut self.serial, drive.serial, "serial numbers");
        for (known, found, names) in [serials, (&mut self.model, drive.model, "models")] {
            match (known.as_deref(), found) {
                (Some(known), Some(found)) if known != found => {
                    return Err(format!(
                        "the counters are of two drives, {names} {known} and {found}: give the files of each drive as an argument \
                         of their own"
                    ));
                }
                (None, Some(found)) => *known = Some(found.to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads an object of a form.
    fn read(&mut self, form: &'static Form, object: &Value) -> Result<(), String> {
        self.forms.push(form.name);
        let mut notes = Vec::new();
        let counts: Vec<Count> = if form.rows.is_empty() {
            attributes::counts(object, &mut notes)
        } else {
            let rows = form.rows.iter();
            rows.filter_map(|row| row.count(value(object, form.mark, row, &mut notes)?))
                .collect()
        };
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        if counts.is_empty() {
            return Ok(());
        }
        let known = self.readings.iter().find(|(mark, _)| *mark == form.mark);
        if let Some((_, before)) = known {
            return are_one_reading(form, before, &counts);
        }
        self.counts.extend(&counts);
        self.readings.push((form.mark, counts));
        Ok(())
    }
}

/// Refuses counters that are there twice with other values: which of them is the drive's is not known.
fn are_one_reading(form: &Form, before: &[Count], now: &[Count]) -> Result<(), String> {
    let is_apart = |(one, other): &(&Count, &Count)| {
        let apart = one.value.abs_diff(other.value);
        apart > one.value.max(other.value) / SAME_READING
    };
    let apart = before.iter().zip(now).find(is_apart);
    let values = match apart {
        Some((one, other)) => format!(", as {} and {}", one.value, other.value),
        None if before.len() != now.len() => String::new(),
        None => return Ok(()),
    };
    Err(format!(
        "`{}` of `{}` is there twice{values}: give one reading of one drive",
        form.mark, form.name
    ))
}

/// The value of a row in an object that has the form's mark. Adds a sentence on one that was cut.
fn value(object: &Value, mark: &str, row: &Row, notes: &mut Vec<String>) -> Option<u128> {
    let (name, written) = match row.place {
        Place::Member(name) => (name, object.get(name)?),
        Place::Named(name) => (name, named(object.get(mark)?, name)?),
        Place::Thousandths(path) => {
            let place = path.iter().try_fold(object, |at, name| at.get(name))?;
            return thousandths(place);
        }
        Place::Halves { high, low } => {
            let half = |name| object.get(name)?.as_u64();
            let whole = half(high).zip(half(low));
            let whole = whole.map(|(high, low)| u128::from(high) << 64 | u128::from(low));
            // A count that was cut is at most that. A whole one has so few bytes only as long as the drive is new.
            let whole = whole.filter(|count| *count > i32::MAX.unsigned_abs().into());
            if whole.is_none() {
                notes.push(cut(low));
            }
            return whole;
        }
        _ => return None,
    };
    let raw = written.get("raw").unwrap_or(written);
    if raw.as_i64().is_some_and(i64::is_negative) {
        notes.push(cut(name));
    }
    number(written)
}

/// A sentence on a counter that was cut.
fn cut(name: &str) -> String {
    format!(
        "`{name}` is not whole: nvme-cli cuts it to 32 bits in JSON; `anabranch waf /dev/nvme0n1` asks the drive itself"
    )
}

/// A number with at most three decimals, in thousandths.
fn thousandths(written: &Value) -> Option<u128> {
    let text = match written {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
        return None;
    }
    let decimals: u128 = format!("{decimals:0<3}").parse().ok()?;
    let whole: u128 = whole.parse().ok()?;
    whole.checked_mul(1000)?.checked_add(decimals)
}

/// The `attribute_value` of the object with this `attribute_name` in a list.
fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    let is_it = |one: &&Value| one["attribute_name"] == name;
    list.as_array()?.iter().find(is_it)?.get("attribute_value")
}

#[cfg(test)]
mod tests;
