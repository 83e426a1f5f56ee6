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
//! (`Time_Unit` can name another one to it, which the trace does not tell). MQSim counts whole nanoseconds: a time with
//! a fraction is proof of another unit, and refused until a column map's `time-unit` names it. Other tools write the
//! same five columns: DiskSim has its own format. Its whole milliseconds are only known by the number of requests that
//! they would mean. `id-unit` and `size-unit` name other units of offsets and lengths.

use crate::foreign::fields::{
    MICROSECOND_NS, SECTOR_BYTES, Words, bytes, hexadecimal_digits, time_ns, volume,
};
use crate::foreign::form::{READ_WRITE, SECTORS};
use crate::foreign::names::Names;
use crate::foreign::options::Options;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "mqsim",
    about: "MQSim: sectors of 512 bytes, nanoseconds, 0 write, 1 read",
    clock: Clock::Own,
    uses: Uses::NOTHING.keys(UNITS),
    reader: Reads::Lines(|options| Ok(Box::new(MqSim(Units::new(options, None))))),
};

/// The keys of a column map that name units.
pub(super) const UNITS: &[&str] = &["time-unit", "id-unit", "size-unit"];

pub(super) const FORM: FormRow = FormRow::new(SECTORS.only(READ_WRITE).ordered(), |_| {
    Box::new(MqSimWriter)
});

/// Reads lines of MQSim's traces.
#[derive(Debug)]
pub(super) struct MqSim(Units);

impl LineReader for MqSim {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, ParseError> {
        self.0.line(line, |word| match word {
            b"0" => Ok(Operation::Write),
            b"1" => Ok(Operation::Read),
            _ => Err(ParseError::Operation("0 (write) or 1 (read)")),
        })
    }

    fn remarks(&self) -> Vec<String> {
        self.0.remarks()
    }
}

/// The units of lines of five words: time, device, offset, length, and a word for the operation.
#[derive(Debug)]
pub(super) struct Units {
    /// `None`: whole nanoseconds.
    time_ns: Option<u64>,
    id_bytes: u64,
    size_bytes: u64,
    /// Whether the units of offsets and lengths were named.
    are_named: bool,
    requests: u64,
    /// The earliest and the latest time.
    range_ns: Option<(u64, u64)>,
    /// All offsets and lengths so far, in their units, laid over each other.
    bits: u64,
}

/// The requests from which multiples say something. Our choice.
const LEAST_REQUESTS: u64 = 3;

/// The mean time between requests below which the unit of time is doubtful, and the requests from which that says
/// something. Our choice: half a million requests a second are few drives' limit, and two requests a second in
/// milliseconds.
const LEAST_NS: u64 = 2000;
const LEAST_TIMES: u64 = 16;

impl Units {
    /// The units that the options name, else these nanoseconds and sectors.
    pub(super) fn new(options: &Options, time_ns: Option<u64>) -> Units {
        let map = options.columns.as_ref();
        let (id, size) = (
            map.and_then(|map| map.id_unit_bytes),
            map.and_then(|map| map.size_unit_bytes),
        );
        Units {
            time_ns: map.and_then(|map| map.time_unit_ns).or(time_ns),
            id_bytes: id.unwrap_or(SECTOR_BYTES),
            size_bytes: size.unwrap_or(SECTOR_BYTES),
            are_named: id.or(size).is_some(),
            requests: 0,
            range_ns: None,
            bits: 0,
        }
    }

    /// Reads a line, with the operation that its last word stands for.
    pub(super) fn line(
        &mut self,
        line: &[u8],
        operation: impl Fn(&[u8]) -> Result<Operation, ParseError>,
    ) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut words = Words(line);
        let time = words.need("time")?;
        let ns = time_ns(time, self.time_ns.unwrap_or(1))?;
        let device = volume(words.number("device")?)?;
        let (offset, length) = (words.number("offset")?, words.number("length")?);
        let word = words.need("operation")?;
        if !words.remaining().is_empty() {
            return Err(ParseError::Shape("five words"));
        }
        let is_finer = self.time_ns.is_none() && time.contains(&b'.');
        let operation = match operation(word) {
            // DiskSim's flags have more values than MQSim's operation.
            Err(_) if is_finer && hexadecimal_digits(word).is_some() => None,
            found => Some(found?),
        };
        // Last, so that only a line of the right shape is said to be in another unit.
        let Some(operation) = operation.filter(|_| !is_finer) else {
            return Err(ParseError::Unit {
                unit: "nanoseconds",
                other: "--format disksim has milliseconds",
            });
        };
        self.requests += 1;
        let (first_ns, last_ns) = self.range_ns.unwrap_or((ns, ns));
        self.range_ns = Some((first_ns.min(ns), last_ns.max(ns)));
        self.bits |= offset | length;
        let offset_bytes = bytes(offset, self.id_bytes, "offset")?;
        let length_bytes = bytes(length, self.size_bytes, "length")?;
        let mut io = request(ns, operation, offset_bytes, length_bytes);
        io.tenant = device;
        Ok(Found::Io(io))
    }

    /// Sentences where sectors are probably bytes, and where nanoseconds are perhaps milliseconds.
    pub(super) fn remarks(&self) -> Vec<String> {
        let are_multiples = self.bits > 0 && self.bits.is_multiple_of(SECTOR_BYTES);
        let is_doubtful = !self.are_named && self.requests >= LEAST_REQUESTS && are_multiples;
        let bytes = is_doubtful.then(|| {
            "offsets and lengths are taken for sectors of 512 bytes, but all of them are multiples of 512: if they are \
             bytes, say --columns id-unit=byte,size-unit=byte"
                .into()
        });
        let (first_ns, last_ns) = self.range_ns.unwrap_or_default();
        let is_fast = (last_ns - first_ns) < self.requests.saturating_mul(LEAST_NS);
        let is_doubtful = self.time_ns.is_none() && self.requests >= LEAST_TIMES && is_fast;
        let times = is_doubtful.then(|| {
            format!(
                "times are taken for nanoseconds, so that {} requests come within {} µs: if they are DiskSim's milliseconds, \
                 say --format disksim, else name their unit, as in --columns time-unit=us",
                self.requests,
                (last_ns - first_ns).div_ceil(MICROSECOND_NS)
            )
        });
        bytes.into_iter().chain(times).collect()
    }
}

/// Writes lines of MQSim's traces. MQSim ends with an error where a time goes back.
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
