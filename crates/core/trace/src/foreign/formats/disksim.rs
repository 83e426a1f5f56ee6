//! The ASCII traces of DiskSim, its default form.
//!
//! ```text
//! 64.823000 1 314080 8 1
//! ```
//!
//! | word | |
//! |---|---|
//! | 1 | time in milliseconds since the trace began |
//! | 2 | number of the device: the volume |
//! | 3, 4 | offset and length in sectors of 512 bytes |
//! | 5 | flags in hexadecimal; bit 0 set is a read, else a write |
//!
//! Its lines look like MQSim's, so that it is taken only by its name. A column map's `time-unit`, `id-unit` and
//! `size-unit` name other units.
//!
//! Source: Bucy, Schindler, Schlosser and Ganger, "The DiskSim Simulation Environment Version 4.0 Reference Manual",
//! CMU-PDL-08-101, section "Input Workload", "Traces" (`ascii`).

use super::mqsim::{UNITS, Units};
use crate::foreign::fields::{MICROSECOND_NS, hexadecimal, hexadecimal_digits};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "disksim",
    about: "DiskSim: sectors of 512 bytes, milliseconds, bit 0 of the flags is a read",
    clock: Clock::Own,
    uses: Uses::NOTHING.keys(UNITS).by_name(),
    reader: Reads::Lines(|options| {
        let units = Units::new(options, Some(1000 * MICROSECOND_NS));
        Ok(Box::new(DiskSim(units)))
    }),
};

/// Reads lines of DiskSim.
#[derive(Debug)]
pub(super) struct DiskSim(Units);

impl LineReader for DiskSim {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, ParseError> {
        self.0.line(line, |word| {
            let flags = hexadecimal(word).or_else(|| hexadecimal_digits(word));
            let flags = flags.ok_or(ParseError::Operation("flags in hexadecimal"))?;
            Ok(if flags & 1 == 1 {
                Operation::Read
            } else {
                Operation::Write
            })
        })
    }

    fn remarks(&self) -> Vec<String> {
        self.0.remarks()
    }
}
