//! The I/O log fio writes with `write_iolog` and replays with `read_iolog`, versions 2 and 3.
//!
//! ```text
//! fio version 2 iolog               fio version 3 iolog
//! /dev/sdb add                      26 /dev/sdb add
//! /dev/sdb open                     143 /dev/sdb open
//! wait 2000                         147 /dev/sdb write 0 4096
//! /dev/sdb write 0 4096             375 /dev/sdb trim 8192 4096
//! ```
//!
//! - Offsets and lengths are bytes within the file, so that each file is a volume of its own.
//! - Version 3 begins a line with its time in microseconds since the log began (fio `iolog.c`,
//!   `log_io_u`: `utime_since_now`; a log of fio 3.33 replays at that pace).
//! - Version 2 has no times but `wait` lines, `[file] wait N [0]`: N microseconds after the wait
//!   before it (fio HOWTO, "Trace file format v2"). Requests between two waits have one time.
//! - `read` and `write` are what they are called, `trim` is a discard, `sync`, `datasync` and
//!   `sync_file_range` are flushes, whose offset and length mean nothing.
//! - `add`, `open` and `close` manage files.
//!
//! Source: fio HOWTO, "Trace file format v2" and "v3".

use std::collections::HashSet;

use crate::foreign::fields::{MICROSECOND_NS, Words, time_ns};
use crate::foreign::form::BYTES;
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "fio",
    about: "fio's I/O log, version 2 or 3: bytes, microseconds",
    clock: Clock::Own,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Fio::default()))),
};

/// Its form in version 2.
pub(super) const SECOND: FormRow = FormRow {
    name: Some("fio-iolog-v2"),
    about: Some("fio's I/O log, version 2: bytes, microseconds by `wait`"),
    ..FormRow::new(BYTES.every(1000).ordered(), |_| {
        Box::new(FioWriter::second())
    })
};

/// Its form in version 3.
pub(super) const THIRD: FormRow = FormRow {
    name: Some("fio-iolog-v3"),
    about: Some("fio's I/O log, version 3: bytes, microseconds"),
    ..FormRow::new(BYTES.every(1000), |_| Box::new(FioWriter::third()))
};

/// The first lines of the versions.
const HEADINGS: [(&[u8], Version); 2] = [
    (b"fio version 2 iolog", Version::Two),
    (b"fio version 3 iolog", Version::Three),
];

#[derive(Debug, Clone, Copy)]
enum Version {
    Two,
    Three,
}

impl Version {
    /// The time of a request at 0, in microseconds.
    fn first_us(self) -> u64 {
        match self {
            Version::Two => 0,
            // fio does not wait behind a time of 0, which means "none yet" to it (`iolog.c`, `delay_since_ttime`).
            Version::Three => 1,
        }
    }
}

/// Reads lines of an I/O log.
#[derive(Debug, Default)]
pub(super) struct Fio {
    version: Option<Version>,
    /// Sum of the waits of version 2 so far.
    waited_ns: u64,
}

impl LineReader for Fio {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        let heading = HEADINGS.iter().find(|(text, _)| *text == line.trim_ascii());
        if let Some((_, version)) = heading {
            self.version = Some(*version);
            return Ok(Found::Passed(Passed::Note));
        }
        let Some(version) = self.version else {
            return Err(ParseError::Shape(
                "the heading of a fio log of version 2 or 3",
            ));
        };
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut words = Words(line);
        match version {
            Version::Two => self.second(words, names),
            Version::Three => {
                let time_ns = time_ns(words.need("time")?, MICROSECOND_NS)?;
                action(time_ns, words, names)
            }
        }
    }
}

impl Fio {
    fn second(&mut self, words: Words<'_>, names: &mut Names) -> Result<Found, ParseError> {
        let mut first = words;
        let mut after_file = words;
        after_file.next();
        let wait = if first.next() == Some(b"wait") {
            Some(first)
        } else {
            (after_file.next() == Some(b"wait")).then_some(after_file)
        };
        let Some(mut wait) = wait else {
            return action(self.waited_ns, words, names);
        };
        let waited_ns = time_ns(wait.need("time to wait")?, MICROSECOND_NS)?;
        self.waited_ns = self
            .waited_ns
            .checked_add(waited_ns)
            .ok_or(ParseError::Time)?;
        Ok(Found::Passed(Passed::OtherEvent))
    }
}

fn action(time_ns: u64, mut words: Words<'_>, names: &mut Names) -> Result<Found, ParseError> {
    let path = words.need("file")?;
    let operation = match words.need("action")? {
        b"read" => Operation::Read,
        b"write" => Operation::Write,
        b"trim" => Operation::Discard,
        b"sync" | b"datasync" | b"sync_file_range" => Operation::Flush,
        b"add" | b"open" | b"close" => return Ok(Found::Passed(Passed::OtherEvent)),
        _ => return Err(ParseError::Operation("one that fio logs have")),
    };
    let (offset_bytes, length_bytes) = match operation {
        Operation::Flush => (0, 0),
        _ => (words.number("offset")?, words.number("length")?),
    };
    let mut io = request(time_ns, operation, offset_bytes, length_bytes);
    (io.file, io.tenant) = names.file(path)?;
    Ok(Found::Io(io))
}

/// Writes lines of an I/O log. Each volume is a file of its own, `volume-0` and so on, to be replayed
/// on a device by `replay_redirect`. Version 2 has a wait before each request that comes later than
/// the one before, as documented; fio itself takes a wait for milliseconds since its own start (`iolog.c`,
/// `read_iolog_get`), so that only version 3 keeps the pace.
#[derive(Debug)]
pub(super) struct FioWriter {
    version: Version,
    opened: HashSet<u32>,
    waited_us: u64,
}

impl FioWriter {
    /// A writer of version 2.
    pub(super) fn second() -> FioWriter {
        FioWriter::of(Version::Two)
    }

    /// A writer of version 3.
    pub(super) fn third() -> FioWriter {
        FioWriter::of(Version::Three)
    }

    fn of(version: Version) -> FioWriter {
        FioWriter {
            version,
            opened: HashSet::new(),
            waited_us: 0,
        }
    }

    /// Adds the beginning of a line.
    fn stamp(&self, time_us: u64, bytes: &mut Vec<u8>) {
        if matches!(self.version, Version::Three) {
            text(bytes, format_args!("{time_us} "));
        }
    }
}

impl FormWriter for FioWriter {
    fn begin(&mut self, bytes: &mut Vec<u8>) {
        let [(second, _), (third, _)] = HEADINGS;
        bytes.extend(match self.version {
            Version::Two => second,
            Version::Three => third,
        });
        bytes.push(b'\n');
    }

    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let Request {
            offset_bytes,
            length_bytes,
            volume,
            ..
        } = request;
        let time_us = (request.time_ns / MICROSECOND_NS).saturating_add(self.version.first_us());
        if self.opened.insert(*volume) {
            for action in ["add", "open"] {
                self.stamp(time_us, bytes);
                text(bytes, format_args!("volume-{volume} {action}\n"));
            }
        }
        let wait_us = time_us.saturating_sub(self.waited_us);
        if matches!(self.version, Version::Two) && wait_us > 0 {
            self.waited_us = time_us;
            text(bytes, format_args!("volume-{volume} wait {wait_us} 0\n"));
        }
        let action = match request.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "trim",
            Operation::Flush => "sync",
        };
        self.stamp(time_us, bytes);
        text(
            bytes,
            format_args!("volume-{volume} {action} {offset_bytes} {length_bytes}\n"),
        );
    }
}
