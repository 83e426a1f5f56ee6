//! The text `blkparse` prints of what `blktrace` recorded.
//!
//! ```text
//!   8,0    3        2     0.000004162   697  D  WS 223490 + 8 [kjournald]
//! ```
//!
//! | word | |
//! |---|---|
//! | 1 | major and minor number of the device: the volume |
//! | 2 | processor |
//! | 3 | number of the event; the kernel's own `blk` tracer prints none |
//! | 4 | time in seconds since the trace began |
//! | 5 | process |
//! | 6 | what happened: `Q` queued, `D` issued to the driver, `C` completed, and others |
//! | 7 | what was asked (`RWBS`) |
//! | 8 to 10 | offset, `+`, length, in sectors of 512 bytes |
//! | last | the process's name in brackets: the context; for a `C`, an error number |
//!
//! One event of a request's life is taken, `D` if nothing else is asked for: only there merges are
//! done, and each request appears once. A request without sectors is a flush if its letters say
//! so; `(` after the length are the bytes of a passthrough command. The summary after the events,
//! and messages (`m`), are passed over.
//!
//! Source: blkparse(1), "Output description and formatting"; blktrace's `blkparse_fmt.c`,
//! `process_default`; Linux `kernel/trace/blktrace.c`, `blk_log_generic`.

use crate::foreign::fault::Fault;
use crate::foreign::fields::{SECOND_NS, SECTOR_BYTES, Words, bytes, time_ns};
use crate::foreign::form::SECTORS;
use crate::foreign::found::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads};
use crate::foreign::rwbs;
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

/// The format.
pub(super) const ROW: FormatRow = FormatRow {
    name: "blkparse",
    about: "text of blkparse: sectors of 512 bytes, seconds",
    clock: Clock::Own,
    reader: Reads::Lines(|options| {
        Ok(Box::new(Blkparse {
            event: options.event,
        }))
    }),
};

pub(super) const FORM: FormRow =
    FormRow::new(SECTORS.named(), |_| Box::new(BlkparseWriter::default()));

/// How the lines of blkparse's summary begin.
const SUMMARY: [&[u8]; 11] = [
    b"CPU",
    b"Reads",
    b"Read",
    b"PC",
    b"IO",
    b"Timer",
    b"Total",
    b"Throughput",
    b"Events",
    b"Skips",
    b"Input",
];

/// Reads lines of blkparse.
#[derive(Debug)]
pub(super) struct Blkparse {
    pub(super) event: Event,
}

impl LineReader for Blkparse {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, Fault> {
        let mut words = Words(line);
        let Some(device) = words.next() else {
            return Ok(Found::Passed(Passed::Note));
        };
        if !device.first().is_some_and(u8::is_ascii_digit) {
            let summary = SUMMARY.iter().any(|word| device.starts_with(word));
            return if summary || is_comment(line) {
                Ok(Found::Passed(Passed::Note))
            } else {
                Err(Fault::Shape("an event, nor of the summary"))
            };
        }
        if !device.contains(&b',') {
            return Err(Fault::Shape(
                "an event, which begins with the device's numbers",
            ));
        }
        words.number("processor")?;
        let mut time = words.need("event number")?;
        if !time.contains(&b'.') {
            time = words.need("time")?;
        }
        words.number("process")?;
        let action = words.need("action")?;
        if action != self.event.letter() {
            return Ok(Found::Passed(match action {
                b"m" => Passed::Note,
                _ => Passed::OtherEvent,
            }));
        }
        let time_ns = time_ns(time, SECOND_NS)?;
        let letters = words.need("RWBS")?;
        let Some((sector, sectors)) = range(&mut words)? else {
            return Ok(Found::Passed(Passed::NoData));
        };
        let Some(operation) = rwbs::operation(letters, sectors > 0)? else {
            return Ok(Found::Passed(Passed::NoData));
        };
        let offset_bytes = bytes(sector, SECTOR_BYTES, "sector")?;
        let length_bytes = bytes(sectors, SECTOR_BYTES, "length")?;
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.tenant = names.device_text(device)?;
        if self.event != Event::Complete {
            io.context = names.context(bracketed(words.rest()))?;
        }
        Ok(Found::Io(io))
    }
}

/// First sector and number of sectors; `None` for a passthrough command. The words left begin with
/// the process's name.
fn range(words: &mut Words<'_>) -> Result<Option<(u64, u64)>, Fault> {
    // `D FN [kworker/3:1H]`: no range at all.
    if words.rest().first().is_none_or(|byte| *byte == b'[') {
        return Ok(Some((0, 0)));
    }
    let sector = words.number("sector")?;
    match words.rest().first() {
        // `C FN 0 [0]`: no length.
        None | Some(b'[') => Ok(Some((0, 0))),
        // `D R 36 (12 00 00 00 24 00) [hal]`: the command's own bytes.
        Some(b'(') => Ok(None),
        Some(_) => {
            if words.need("length")? != b"+" {
                return Err(Fault::Shape("an event with sector + length"));
            }
            Ok(Some((sector, words.number("length")?)))
        }
    }
}

/// The text between the first bracket and the last; empty where there are none.
pub(super) fn bracketed(text: &[u8]) -> &[u8] {
    let from = text.iter().position(|byte| *byte == b'[');
    let to = text.iter().rposition(|byte| *byte == b']');
    match (from, to) {
        (Some(from), Some(to)) => text.get(from + 1..to).unwrap_or_default(),
        _ => b"",
    }
}

/// Writes lines of blkparse: the event `D` of each request, on processor 0.
#[derive(Debug, Default)]
pub(super) struct BlkparseWriter {
    events: u64,
}

impl FormWriter for BlkparseWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        self.events += 1;
        let (major, minor) = request.device();
        let (seconds, ns) = request.seconds();
        let Request { process, name, .. } = request;
        let letters = request.letters();
        // The widths of blkparse's own format (`%D %2c %8s %5T.%9t %5p %2a %3d`).
        text(
            bytes,
            format_args!(
                "{major:3},{minor:<3} {:2} {:8} {seconds:5}.{ns:09} {process:5}  D {letters:>3} ",
                0, self.events
            ),
        );
        if request.operation != Operation::Flush {
            let (sector, sectors) = request.sectors();
            text(bytes, format_args!("{sector} + {sectors} "));
        }
        text(bytes, format_args!("[{name}]\n"));
    }
}
