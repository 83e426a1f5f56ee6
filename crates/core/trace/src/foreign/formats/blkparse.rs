//! The text `blkparse` prints of what `blktrace` recorded.
//!
//! ```text
//!   8,0    3        2     0.000004162   697  D  WS 223490 + 8 [kjournald]
//! ```
//!
//! The kernel's own `blk` tracer prints the same, with its option `blk_classic`; without it, the action behind ftrace's
//! own columns:
//!
//! ```text
//!              cat-12345   [003] .....  1234.567890:   8,0    D   W 6685328 + 32 [cat]
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
//! | last | the process's name in brackets: the context; for a `C`, an error number: but for 0, the request does not count |
//!
//! One event of a request's life is taken, `D` if nothing else is asked for: there merges are done. A requeue (`R`) takes
//! the issue before it back. After a split (`X`) old kernels queue the rest once more, which counts once. A request
//! without sectors is a flush if its letters say
//! so; `(` after the length are the bytes of a passthrough command. The summary after the events,
//! and messages (`m`), are passed over.
//!
//! Source: blkparse(1), "Output description and formatting"; blktrace's `blkparse_fmt.c`,
//! `process_default`; Linux `kernel/trace/blktrace.c`, `blk_log_generic`, `blk_log_action`.

use super::{ftrace, lost};
use crate::foreign::block_event::BlockEvent;
use crate::foreign::fields::{SECOND_NS, Words, sector, time_ns};
use crate::foreign::form::SECTORS;
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Moment, Passed, is_comment};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "blkparse",
    about: "text of blkparse: sectors of 512 bytes, seconds",
    clock: Clock::Own,
    uses: Uses::NOTHING.events(),
    reader: Reads::Lines(|options| {
        Ok(Box::new(Blkparse {
            event: options.event.unwrap_or_default(),
            volume: options.one_volume().map(str::to_owned),
        }))
    }),
};

pub(super) const FORM: FormRow =
    FormRow::new(SECTORS.named(), |_| Box::new(BlkparseWriter::default()));

/// The beginnings of lines of blkparse's summary.
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
    /// The only volume that is wanted.
    volume: Option<String>,
}

impl LineReader for Blkparse {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        let Some(EventLine {
            device,
            time,
            action,
            words,
        }) = split(line)?
        else {
            return no_event(line);
        };
        let Some(moment) = moment(action) else {
            return Ok(Found::Passed(match action {
                b"m" => Passed::Note,
                _ => Passed::OtherEvent,
            }));
        };
        if moment == Moment::Of(self.event) {
            return event(moment, device, time, words, names, true);
        }
        // Of events that are not taken, one that is not understood is passed over.
        if let Some(passed) = moment.useless_for(self.event) {
            let wanted = self.volume.as_deref();
            return Ok(Found::Passed(passed.of_device(device, wanted)));
        }
        let found = event(moment, device, time, words, names, false);
        Ok(found
            .ok()
            .filter(|found| matches!(found, Found::Event(..)))
            .unwrap_or(Found::Passed(Passed::OtherEvent)))
    }
}

/// The parts of an event's line.
struct EventLine<'a> {
    device: &'a [u8],
    time: &'a [u8],
    action: &'a [u8],
    /// The words behind the action.
    words: Words<'a>,
}

/// Splits the line of an event; `None` where it is none.
fn split(line: &[u8]) -> Result<Option<EventLine<'_>>, ParseError> {
    let mut words = Words(line);
    let Some(device) = words.next() else {
        return Ok(None);
    };
    let is_device =
        |word: &[u8]| word.first().is_some_and(u8::is_ascii_digit) && word.contains(&b',');
    if is_device(device) {
        words.number("processor")?;
        let mut time = words.need("event number")?;
        if !time.contains(&b'.') {
            time = words.need("time")?;
        }
        words.number("process")?;
        let action = words.need("action")?;
        return Ok(Some(EventLine {
            device,
            time,
            action,
            words,
        }));
    }
    let Some((time, rest)) = ftrace::timed(line) else {
        return Ok(None);
    };
    let mut words = Words(rest);
    let Some(device) = words.next().filter(|word| is_device(word)) else {
        return Ok(None);
    };
    let mut action = words.need("action")?;
    // With `blk_cgroup` the group stands before, as two numbers or as a path.
    if is_device(action) || action.starts_with(b"/") {
        action = words.need("action")?;
    }
    Ok(Some(EventLine {
        device,
        time,
        action,
        words,
    }))
}

/// The outcome of a line that is no event.
fn no_event(line: &[u8]) -> Result<Found, ParseError> {
    // The kernel's own tracer has notes of its ring, blkparse a line in its summary.
    if let Some(events) = lost::in_ring(line).or_else(|| lost::in_summary(line)) {
        return Ok(lost::found(events));
    }
    let first = Words(line).next().unwrap_or_default();
    if is_comment(line) || SUMMARY.iter().any(|word| first.starts_with(word)) {
        return Ok(Found::Passed(Passed::Note));
    }
    Err(if first.first().is_some_and(u8::is_ascii_digit) {
        ParseError::Shape("an event, which begins with the device's numbers")
    } else {
        ParseError::Shape("an event, nor of the summary")
    })
}

/// The moment of a request's life that an action is (blkparse(1), "Action identifiers").
fn moment(action: &[u8]) -> Option<Moment> {
    let event = Event::ALL
        .into_iter()
        .find(|event| event.letter() == action);
    match action {
        b"R" => Some(Moment::Requeue),
        b"X" => Some(Moment::Split),
        _ => event.map(Moment::Of),
    }
}

/// The request of an event. The words left begin behind the action.
fn event(
    moment: Moment,
    device: &[u8],
    time: &[u8],
    mut words: Words<'_>,
    names: &mut Names,
    is_taken: bool,
) -> Result<Found, ParseError> {
    let time_ns = time_ns(time, SECOND_NS)?;
    let letters = words.need("RWBS")?;
    let Some((sector, sectors)) = range(moment, &mut words)? else {
        return Ok(Found::Passed(Passed::NoData));
    };
    let event = BlockEvent {
        time_ns,
        moment,
        device,
        letters,
        sector,
        sectors,
        rest: words.remaining(),
    };
    event.found(names, is_taken)
}

/// First sector and number of sectors, of a split the first sector of its rest and 0; `None` for a passthrough command.
/// The words left begin with the process's name.
fn range(moment: Moment, words: &mut Words<'_>) -> Result<Option<(u64, u64)>, ParseError> {
    // `D FN [kworker/3:1H]`: no range at all.
    if words.remaining().first().is_none_or(|byte| *byte == b'[') {
        return Ok(Some((0, 0)));
    }
    let sector = sector(words)?;
    if moment == Moment::Split {
        // `X WS 32768 / 35328 [dd]`.
        if words.need("slash")? != b"/" {
            return Err(ParseError::Shape("a split with sector / sector"));
        }
        return Ok(Some((words.number("sector")?, 0)));
    }
    match words.remaining().first() {
        // `C FN 0 [0]`: no length.
        None | Some(b'[') => Ok(Some((0, 0))),
        // `D R 36 (12 00 00 00 24 00) [hal]`: the command's own bytes.
        Some(b'(') => Ok(None),
        Some(_) => {
            if words.need("length")? != b"+" {
                return Err(ParseError::Shape("an event with sector + length"));
            }
            Ok(Some((sector, words.number("length")?)))
        }
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
