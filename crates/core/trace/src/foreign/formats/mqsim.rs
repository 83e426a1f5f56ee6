//! The ASCII traces of MQSim, and of the simulators that took over its form.
//!
//! ```text
//! 4851300 1 524288 16 0
//! ```
//!
//! | word | |
//! |---|---|
//! | 1 | time in nanoseconds since the trace began |
//! | 2 | number of the device: the volume |
//! | 3, 4 | offset and length in sectors of 512 bytes |
//! | 5 | 0 write, 1 read: the opposite of Tencent |
//!
//! Source: MQSim's README, "Defining a Trace-based Workload", and its
//! `ASCII_Trace_Definition.h`; the unit of time is MQSim's own unit of simulated time
//! (`Time_Unit` can name another one to it, which the trace does not tell).

use crate::foreign::fault::Fault;
use crate::foreign::fields::{SECTOR_BYTES, Words, bytes, time_ns, volume};
use crate::foreign::form::{READ_WRITE, SECTORS};
use crate::foreign::found::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::names::Names;
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

/// The format.
pub(super) const ROW: FormatRow = FormatRow {
    name: "mqsim",
    about: "MQSim: sectors of 512 bytes, nanoseconds, 0 write, 1 read",
    clock: Clock::Own,
    reader: Reads::Lines(|_| Ok(Box::new(MqSim))),
};

pub(super) const FORM: FormRow = FormRow::new(SECTORS.only(READ_WRITE), |_| Box::new(MqSimWriter));

/// Reads lines of MQSim's traces.
#[derive(Debug)]
pub(super) struct MqSim;

impl LineReader for MqSim {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, Fault> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut words = Words(line);
        let time_ns = time_ns(words.need("time")?, 1)?;
        let device = volume(words.number("device")?)?;
        let offset_bytes = bytes(words.number("offset")?, SECTOR_BYTES, "offset")?;
        let length_bytes = bytes(words.number("length")?, SECTOR_BYTES, "length")?;
        let operation = match words.need("operation")? {
            b"0" => Operation::Write,
            b"1" => Operation::Read,
            _ => return Err(Fault::Operation("0 (write) or 1 (read)")),
        };
        if !words.rest().is_empty() {
            return Err(Fault::Shape("five words"));
        }
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.tenant = device;
        Ok(Found::Io(io))
    }
}

/// Writes lines of MQSim's traces.
#[derive(Debug)]
pub(super) struct MqSimWriter;

impl FormWriter for MqSimWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let Request {
            time_ns, volume, ..
        } = request;
        let (sector, sectors) = request.sectors();
        let is_read = u8::from(request.operation == Operation::Read);
        text(
            bytes,
            format_args!("{time_ns} {volume} {sector} {sectors} {is_read}\n"),
        );
    }
}
