//! The drive that a trace was recorded for, as the trace carries it.

use anabranch_ssd::profile::Profile;
use anabranch_trace::Capture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{CompareError, Result};

/// Version of the drive's description in a trace. Another version is refused, since a drive that is
/// understood in part only is another drive.
const VERSION: u64 = 1;

/// A drive by the profile it was made from, with all options applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The name of the profile that the options were applied to.
    pub device: String,
    /// The profile with all options applied.
    pub profile: Profile,
}

impl Recorded {
    /// The value that a trace carries.
    pub fn to_json(&self) -> Value {
        json!({ "version": VERSION, "device": self.device, "profile": self.profile })
    }

    /// The drive that a trace carries; `None` where it was recorded without one, or by a version
    /// that did not note it.
    ///
    /// # Errors
    /// When the description is of another version, or makes no sense.
    pub fn of(capture: &Capture) -> Result<Option<Recorded>> {
        let Some(noted) = &capture.drive else {
            return Ok(None);
        };
        let refused = |why: String| {
            CompareError::wrong_use(format!(
                "the trace tells of the drive it was recorded for, but {why}: name the drive with \
                 --device"
            ))
        };
        match noted.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            version => {
                let found = version.map_or("none".to_owned(), |version| version.to_string());
                return Err(refused(format!(
                    "in version {found}, and this program reads {VERSION}"
                )));
            }
        }
        let read = Recorded::deserialize(noted);
        read.map(Some).map_err(|error| refused(error.to_string()))
    }
}
