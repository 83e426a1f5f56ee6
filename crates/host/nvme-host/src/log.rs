//! The logs in which a drive counts writes.

use std::path::Path;

use anabranch_counters::{Amplification, Count, DriveIdentity, read};

use crate::error::NamespaceError;
use crate::identify::{byte, text};
use crate::namespace::Namespace;
use crate::written::{self, Written};

/// The logs in which an NVMe drive counts writes. Asking changes nothing.
#[derive(Debug)]
pub struct Log {
    namespace: Namespace,
    drive: DriveIdentity,
    model: String,
    serial: String,
}

impl Log {
    /// Of a namespace by its character device, `/dev/ngXnY`.
    ///
    /// # Errors
    /// When there is none, or it does not say what it is.
    pub fn open(character: &Path) -> Result<Log, NamespaceError> {
        let namespace = Namespace::open(character)?;
        let controller = namespace.identify_controller()?;
        let drive = DriveIdentity {
            vendor: u16::from_le_bytes([byte(&controller, 0), byte(&controller, 1)]),
            // Controller attributes, bit 19.
            has_fdp: byte(&controller, 98) >> 3 & 1 == 1,
            endurance_group: namespace.endurance_group()?,
        };
        Ok(Log {
            namespace,
            drive,
            model: text(&controller, 24, 40),
            serial: text(&controller, 4, 20),
        })
    }

    /// Reads its counters, until they give its write amplification.
    pub fn counts(&self) -> Vec<Count> {
        counts(&self.namespace, &self.drive)
    }

    /// The properties that decide which logs it is asked for.
    pub fn drive(&self) -> &DriveIdentity {
        &self.drive
    }

    /// Its model number.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Its serial number.
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// Reads host and flash bytes, and names the log that has the latter.
    pub fn written(&self) -> Option<(&'static str, Written)> {
        let counts = self.counts();
        let flash = Amplification::of(&counts).flash?;
        Some((flash.log, Written::of(&counts)?))
    }

    /// Reads host bytes, for drives without a log of flash bytes.
    pub fn host_bytes(&self) -> Option<u128> {
        written::of_smart(&self.namespace.log(0x02, 0, 512).ok()?)
    }
}

/// Reads the counters of a drive, until they give its write amplification.
pub fn counts(namespace: &Namespace, drive: &DriveIdentity) -> Vec<Count> {
    read(drive, |page, specific, bytes| {
        namespace.log(page, specific, bytes).ok()
    })
}
