//! The drive that a trace was recorded for, as the trace carries it.

use anabranch_ssd::profile::Profile;
use anabranch_trace::Capture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fault::{Fault, Result};

/// Version of what a trace says of its drive. Another one is refused, since a drive that is half
/// understood is another drive.
const VERSION: u64 = 1;

/// A drive by the profile it was made from, with all options applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The name of the profile that it began as.
    pub device: String,
    /// The drive.
    pub profile: Profile,
}

impl Recorded {
    /// What a trace is to carry.
    pub fn note(&self) -> Value {
        json!({ "version": VERSION, "device": self.device, "profile": self.profile })
    }

    /// What a trace carries; nothing where it was recorded for no drive of ours, or before traces
    /// told.
    ///
    /// # Errors
    /// When it is of another version, or makes no sense.
    pub fn of(capture: &Capture) -> Result<Option<Recorded>> {
        let Some(noted) = &capture.drive else {
            return Ok(None);
        };
        let refused = |why: String| {
            Fault::say(format!(
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
