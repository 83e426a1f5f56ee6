//! Counters in the JSON of `nvme` and `smartctl`.

use serde_json::Value;

use crate::attributes;
use crate::count::{Count, Quantity, Unit};
use crate::number::number;
use crate::row::{Drives, Place, Row};

/// A form of document that is known by a member.
pub(crate) struct Form {
    /// The command that writes it.
    name: &'static str,
    /// Member that no other form before it has.
    mark: &'static str,
    /// Its counters.
    pub(crate) rows: &'static [Row],
}

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
}

const fn row(
    log: &'static str,
    place: Place,
    quantity: Quantity,
    unit: Unit,
    source: &'static str,
) -> Row {
    Row {
        log,
        drives: Drives::Any,
        place,
        quantity,
        unit,
        may_be_zero: false,
        source,
    }
}

const BYTE: Unit = Unit::Bytes(1);
const DATA_UNIT: Unit = Unit::Bytes(512_000);
const BILLION: Unit = Unit::Bytes(1_000_000_000);
const ENTRIES: Unit = Unit::Unnamed("units of log CAh");

const SHOWN: &str = "nvme-cli src/nvme-print-json.c";
const OCP: &str = "nvme-cli plugins/ocp/ocp-print-json.c";
const WDC: &str = "nvme-cli plugins/wdc/wdc-nvme.c";
const SEAGATE: &str = "nvme-cli plugins/seagate/seagate-nvme.c";
const MICRON: &str = "nvme-cli plugins/micron/micron-nvme.c";
const INTEL: &str = "nvme-cli plugins/intel/intel-nvme.c and plugins/solidigm/solidigm-smart.c";

use Place::{Member, Named};
use Quantity::{Flash, Host, Share};

/// The forms; the first whose mark is there is the document's.
pub(crate) const FORMS: &[Form] = &[
    Form {
        name: "nvme fdp stats",
        mark: "mbmw",
        rows: &[
            Row {
                may_be_zero: true,
                ..row("FDP statistics", Member("hbmw"), Host, BYTE, SHOWN)
            },
            Row {
                may_be_zero: true,
                ..row("FDP statistics", Member("mbmw"), Flash, BYTE, SHOWN)
            },
        ],
    },
    Form {
        name: "nvme endurance-log",
        mark: "media_units_written",
        rows: &[
            row(
                "endurance group",
                Member("data_units_written"),
                Host,
                BILLION,
                SHOWN,
            ),
            row(
                "endurance group",
                Member("media_units_written"),
                Flash,
                BILLION,
                SHOWN,
            ),
        ],
    },
    Form {
        name: "nvme ocp smart-add-log",
        mark: "physical_media_units_written",
        rows: &[row(
            "OCP SMART log",
            Member("physical_media_units_written"),
            Flash,
            BYTE,
            OCP,
        )],
    },
    Form {
        name: "nvme ocp smart-add-log",
        mark: "Physical media units written",
        rows: &[row(
            "OCP SMART log",
            Member("Physical media units written"),
            Flash,
            BYTE,
            OCP,
        )],
    },
    Form {
        name: "nvme micron vs-smart-add-log",
        mark: "Physical Media Units Written",
        rows: &[row(
            "OCP SMART log",
            Member("Physical Media Units Written"),
            Flash,
            BYTE,
            MICRON,
        )],
    },
    Form {
        name: "nvme seagate vs-smart-add-log",
        mark: "Seagate SMART Health Attributes",
        rows: &[row(
            "OCP SMART log",
            Named("Physical Media Units Written"),
            Flash,
            BYTE,
            SEAGATE,
        )],
    },
    Form {
        name: "nvme seagate vs-smart-add-log",
        mark: "Extended-SMART-Attributes",
        rows: &[
            row(
                "Seagate log C4h",
                Named("LSB of Physical (HOST) bytes written"),
                Host,
                BYTE,
                SEAGATE,
            ),
            row(
                "Seagate log C4h",
                Named("LSB of Physical (NAND) bytes written"),
                Flash,
                BYTE,
                SEAGATE,
            ),
        ],
    },
    Form {
        name: "nvme intel smart-log-add",
        mark: "nand_bytes_written",
        rows: &[
            row(
                "Intel's log CAh",
                Member("host_bytes_written"),
                Host,
                ENTRIES,
                INTEL,
            ),
            row(
                "Intel's log CAh",
                Member("nand_bytes_written"),
                Flash,
                ENTRIES,
                INTEL,
            ),
        ],
    },
    Form {
        name: "nvme micron vs-nand-stats",
        mark: "NAND Writes (Bytes Written)",
        rows: &[row(
            "Micron log D0h",
            Member("NAND Writes (Bytes Written)"),
            Flash,
            BYTE,
            MICRON,
        )],
    },
    Form {
        name: "nvme wdc vs-nand-stats",
        mark: "NAND Writes TLC (Bytes)",
        rows: &[
            row(
                "Western Digital log FBh",
                Member("NAND Writes TLC (Bytes)"),
                Share,
                BYTE,
                WDC,
            ),
            row(
                "Western Digital log FBh",
                Member("NAND Writes SLC (Bytes)"),
                Share,
                BYTE,
                WDC,
            ),
        ],
    },
    Form {
        name: "nvme wdc vs-smart-add-log",
        mark: "physical_media_units_bytes_tlc",
        rows: &[
            row(
                "OCP boot drive log",
                Member("physical_media_units_bytes_tlc"),
                Share,
                BYTE,
                WDC,
            ),
            row(
                "OCP boot drive log",
                Member("physical_media_units_bytes_slc"),
                Share,
                BYTE,
                WDC,
            ),
        ],
    },
    Form {
        name: "nvme smart-log or smartctl -x -j",
        mark: "data_units_written",
        rows: &[Row {
            may_be_zero: true,
            ..row(
                "SMART log",
                Member("data_units_written"),
                Host,
                DATA_UNIT,
                SHOWN,
            )
        }],
    },
    // Its rows are those of `ATTRIBUTES`.
    Form {
        name: "smartctl -x -j",
        mark: "ata_smart_attributes",
        rows: &[],
    },
];

/// Reads a document, or a list of documents of one drive.
///
/// # Errors
/// When it is in no form that is known.
pub fn document(json: &Value) -> Result<Document, String> {
    let mut found = Document::default();
    found.add(json)?;
    Ok(found)
}

impl Document {
    /// Adds another document of the same drive, or a list of them.
    ///
    /// # Errors
    /// When it is in no form that is known.
    pub fn add(&mut self, json: &Value) -> Result<(), String> {
        if let Value::Array(several) = json
            && !several.is_empty()
        {
            return several.iter().try_for_each(|one| self.add(one));
        }
        let form = FORMS.iter().find(|form| member(json, form.mark).is_some());
        let form = form.ok_or_else(|| {
            let mut names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
            names.dedup();
            format!(
                "it has no counter of writes; known is the JSON of: {}",
                names.join(", ")
            )
        })?;
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        self.model = self.model.take().or(text("model_name"));
        self.serial = self.serial.take().or(text("serial_number"));
        self.forms.push(form.name);
        let values = form.rows.iter().filter_map(|row| {
            let value = match row.place {
                Member(name) => member(json, name),
                Named(name) => named(json, name),
                _ => None,
            };
            row.count(number(value?)?)
        });
        self.counts.extend(values);
        if form.rows.is_empty() {
            self.counts
                .extend(attributes::counts(json, &mut self.notes));
        }
        self.notes.dedup();
        Ok(())
    }
}

/// A member of this name, wherever it lies. The parser bounds how deep that is.
fn member<'a>(json: &'a Value, name: &str) -> Option<&'a Value> {
    match json {
        Value::Object(members) => members
            .get(name)
            .or_else(|| members.values().find_map(|value| member(value, name))),
        Value::Array(values) => values.iter().find_map(|value| member(value, name)),
        _ => None,
    }
}

/// The `attribute_value` of the object with this `attribute_name`.
fn named<'a>(json: &'a Value, name: &str) -> Option<&'a Value> {
    match json {
        Value::Object(members) if members.get("attribute_name").is_some_and(|one| one == name) => {
            members.get("attribute_value")
        }
        Value::Object(members) => members.values().find_map(|value| named(value, name)),
        Value::Array(values) => values.iter().find_map(|value| named(value, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
