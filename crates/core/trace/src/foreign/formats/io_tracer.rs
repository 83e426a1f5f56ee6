//! Block events of cacheMon's io-tracer-linux: `ds/ds_*.csv.gz` of its output.
//!
//! ```text
//! 2024-01-15 10:30:45.123456,1234,python3,2048000,write,8192,1.234,1235,16,0,1233
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | when it was completed, local time, in microseconds |
//! | 2 | process; not kept |
//! | 3 | the process's name, cut to 16 letters: the context |
//! | 4 | first sector, of 512 bytes |
//! | 5 | `read`, `write`, `flush`, `discard`, `secure_erase`, `none` |
//! | 6 | length in bytes |
//! | 7 to 11 | latency in milliseconds, thread, sectors, processor, parent process; not kept |
//!
//! A secure erase discards. Which file a request is of stands in another file (`fs/`), by inode and not by
//! sector, so that it is not known here.
//!
//! Source: cacheMon/io-tracer, `docs/TRACE_FORMAT.md`, "Block Device Traces".

use crate::foreign::fault::Fault;
use crate::foreign::fields::{Cells, MICROSECOND_NS, SECOND_NS, SECTOR_BYTES, bytes, number};
use crate::foreign::found::{Found, Headed, LineReader, Passed, is_comment, request};
use crate::foreign::names::Names;
use crate::foreign::row::{Clock, FormatRow, Reads};
use crate::io::Operation;

/// The format.
pub(super) const ROW: FormatRow = FormatRow {
    name: "io-tracer",
    about: "io-tracer-linux: sectors of 512 bytes, local time",
    clock: Clock::Shared,
    reader: Reads::Lines(|_| Ok(Box::new(Headed::new(IoTracer)))),
};

/// Columns of a line.
const COLUMNS: usize = 11;

/// Reads lines of io-tracer-linux.
#[derive(Debug)]
pub(super) struct IoTracer;

impl LineReader for IoTracer {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, Fault> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut cells = Cells::new(line, b',');
        let time_ns = local_time_ns(cells.need("time")?)?;
        cells.number("process")?;
        let command = cells.need("command")?;
        let sector = cells.number("sector")?;
        let operation = match cells.need("operation")? {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"flush" => Operation::Flush,
            b"discard" | b"secure_erase" => Operation::Discard,
            b"none" => return Ok(Found::Passed(Passed::NoData)),
            _ => return Err(Fault::Operation("read, write, flush or discard")),
        };
        let length_bytes = cells.number("size")?;
        if cells.count() + 6 != COLUMNS {
            return Err(Fault::Shape("a line of eleven columns"));
        }
        if length_bytes == 0 && operation != Operation::Flush {
            return Ok(Found::Passed(Passed::NoData));
        }
        let offset_bytes = match operation {
            Operation::Flush => 0,
            _ => bytes(sector, SECTOR_BYTES, "sector")?,
        };
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.context = names.context(command)?;
        Ok(Found::Io(io))
    }
}

/// Parses `YYYY-MM-DD HH:MM:SS.ffffff` as nanoseconds since March 1968 of that clock. Python leaves out a fraction of
/// zero.
fn local_time_ns(text: &[u8]) -> Result<u64, Fault> {
    let bad = || Fault::Shape("a time like 2024-01-15 10:30:45.123456");
    let (date, clock) = text.split_at_checked(10).ok_or_else(bad)?;
    let clock = clock.strip_prefix(b" ").ok_or_else(bad)?;
    let (clock, fraction) = clock.split_at_checked(8).ok_or_else(bad)?;
    let [year, month, day] = three(date, b'-').ok_or_else(bad)?;
    let [hour, minute, second] = three(clock, b':').ok_or_else(bad)?;
    // Years that fit 64 bits of nanoseconds.
    let is_date =
        (1970..2500).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return Err(bad());
    }
    let micros = match fraction {
        b"" => 0,
        [b'.', digits @ ..] if digits.len() == 6 => number(digits).ok_or_else(bad)?,
        _ => return Err(bad()),
    };
    let days = days(year, month, day) - days(1968, 3, 1);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Ok(seconds * SECOND_NS + micros * MICROSECOND_NS)
}

/// Parses three numbers with the byte `between` between them.
fn three(text: &[u8], between: u8) -> Option<[u64; 3]> {
    let mut parts = text.split(|byte| *byte == between);
    let mut next = || number(parts.next()?);
    let found = [next()?, next()?, next()?];
    parts.next().is_none().then_some(found)
}

/// Days of the Gregorian calendar since March of the year 0: years that begin in March have their leap day last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let month = (month + 9) % 12;
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_day_over_leap_years_and_years_ends() {
        let at = |text: &str| local_time_ns(text.as_bytes()).unwrap();
        let day_ns = 86_400 * SECOND_NS;
        for (one, next) in [
            ("2024-02-28 00:00:00", "2024-02-29 00:00:00"),
            ("2024-02-29 00:00:00", "2024-03-01 00:00:00"),
            ("2023-02-28 12:00:00", "2023-03-01 12:00:00"),
            ("2023-12-31 23:59:59.000001", "2024-01-01 23:59:59.000001"),
            ("2100-02-28 00:00:00", "2100-03-01 00:00:00"),
        ] {
            assert_eq!(at(next) - at(one), day_ns, "{one}");
        }
        assert_eq!(
            at("2024-01-15 10:30:45.500000") - at("2024-01-15 10:30:45"),
            SECOND_NS / 2
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in [
            "",
            "2024-01-15",
            "2024-13-01 00:00:00",
            "2024-01-15T10:30:45",
            "2024-01-15 25:00:00",
            "2024-01-15 10:30:45.1",
            "0000-01-01 00:00:00",
            "2024-01-15 00:00:0x",
        ] {
            assert!(local_time_ns(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
