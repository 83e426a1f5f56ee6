//! The unit of work: cells that share a trace and a drive.

use std::collections::BTreeMap;

use anabranch_compare::{CompareError, ComparedDrive, Format, Result, TimeOptions};
use serde::{Deserialize, Serialize};

use crate::key::key;

/// Version of all that a cell's row depends on besides the batch; with another version every cell
/// is a new one.
const VERSION: &str = concat!("1 ", env!("CARGO_PKG_VERSION"));

/// A batch with everything that decides its result, resolved: wherever it is done, the result is
/// the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Batch {
    /// The settings that its cells share.
    pub common: Common,
    /// The schemes, one for each cell.
    pub schemes: Vec<String>,
    /// The most bytes of memory that it takes.
    pub memory_bytes: u64,
}

/// The settings that the cells of a batch share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Common {
    /// The version of the rows: [`VERSION`].
    pub version: String,
    /// The trace, as the grid names it.
    pub trace: String,
    /// The trace's length in bytes.
    pub trace_bytes: u64,
    /// The trace's form; `None` where it is guessed.
    pub format: Option<String>,
    /// Whether only the first GiB of writes counts.
    pub quick: bool,
    /// The share of the drive that the trace's written pages fill, where that is asked for.
    pub fill: Option<f64>,
    /// Whether `fill` counts the pages that held data at one time, instead of all pages ever
    /// written.
    pub pack: bool,
    /// Whether the drive gets no discards.
    pub no_discards: bool,
    pub drive: ComparedDrive,
    /// Settings of simulated time.
    pub time: TimeOptions,
    /// Seed of everything random.
    pub seed: u64,
    /// Number of samples of the drive, where it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Texts of the files that schemes' parameters name.
    pub texts: BTreeMap<String, String>,
}

impl Common {
    pub(crate) fn version() -> String {
        VERSION.to_owned()
    }

    /// The name of one of its cells.
    pub(crate) fn cell(&self, scheme: &str) -> String {
        key(&(self, scheme))
    }

    /// The name that cells of the same comparison share: all but the scheme.
    pub(crate) fn comparison(&self) -> String {
        key(self)
    }

    /// The text of a file that a scheme's parameter names.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        let text = self.texts.get(name).cloned();
        text.ok_or_else(|| format!("{name} is not among the files of the sweep"))
    }
}

impl Batch {
    /// The name of the batch's file.
    pub fn key(&self) -> String {
        key(&(&self.common, &self.schemes))
    }

    /// A batch for each of its cells. They are tried when the whole batch has failed, so that one
    /// scheme that does not fit does not take the others with it.
    pub fn singles(&self) -> Vec<Batch> {
        let single = |scheme: &String| Batch {
            schemes: vec![scheme.clone()],
            ..self.clone()
        };
        self.schemes.iter().map(single).collect()
    }

    /// A name of the batch for people.
    pub fn name(&self) -> String {
        let Common {
            trace, drive, fill, ..
        } = &self.common;
        let fill = fill.map_or(String::new(), |fill| format!(" {:.0} % full", 100.0 * fill));
        format!(
            "{trace} on {}{fill}: {}",
            drive.profile,
            self.schemes.join(", ")
        )
    }
}

/// Parses the name of a form of traces.
pub(crate) fn parse_format(name: Option<&str>) -> Result<Option<Format>> {
    let parsed = name.map(|name| {
        let parsed = name.parse::<Format>();
        parsed.map_err(|words| CompareError::wrong_use(format!("format \"{name}\": {words}")))
    });
    parsed.transpose()
}
