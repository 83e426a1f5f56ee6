//! Text of Linux' trace events `block_rq_issue` and `mmc_request_start`, as `trace_pipe`,
//! `trace-cmd report` and `perf script` print it.
//!
//! ```text
//! jbd2/sda1-8-496 [002] ..... 11484.223264: block_rq_issue: 8,0 WSM 4096 () 229376 + 8 be,0,3 [jbd2/sda1-8]
//! kworker/1:1H-34 [001] ..... 5163.991838: mmc_request_start: mmc1: start struct mmc_request[…]: cmd_opcode=25 …
//! ```
//!
//! Before an event: the process's name and number, the processor in brackets, flags, and the time
//! in seconds.
//!
//! `block_rq_issue` (Linux `include/trace/events/block.h`): the device's numbers, which are the
//! volume; what is asked (`RWBS`); bytes (not in old kernels); a passthrough command's bytes in
//! parentheses; offset, `+` and length in sectors of 512 bytes; priority (not in old kernels); the
//! process's name, the context.
//!
//! `mmc_request_start` (Linux `include/trace/events/mmc.h`) tells commands of JESD84-B51, section
//! 6.10.4, and of the SD specification:
//!
//! | `cmd_opcode` | |
//! |---|---|
//! | 17, 18, 46 | read `blocks` × `block_size` bytes at sector `blk_addr`; where it is not told (old kernels, commands of programs), at `cmd_arg`, and 46 at its task's address |
//! | 24, 25, 47 | write, the same |
//! | 35, 36 (SD: 32, 33) | first and last sector of an erase to come |
//! | 38 | erase, trim or discard them: a discard; 0x80000001 only marks, for a second step |
//! | 44, 45 | a queued task's number, and its first sector |
//! | 0, without data | reset: the user's partition is chosen |
//! | 6, byte 32 changed to 1 | flush of the cache (`FLUSH_CACHE`, JESD84-B51, 7.4) |
//! | 0, with data | read or write by `data_flags`, of a host whose engine sends queued tasks itself |
//! | 6, byte 179 | switch to a boot or replay-protected partition or back (`PARTITION_CONFIG`): these are volumes of their own, `mmc1:1` |
//!
//! Addresses are those of cards above 2 GB, which count sectors; smaller ones count bytes in
//! `cmd_arg`, which the trace does not tell.
//!
//! A trace may hold both events of one request. The kind that comes first is taken, the other is
//! passed over. All other events are, too.

use super::blkparse::bracketed;
use crate::foreign::fault::Fault;
use crate::foreign::fields::{
    MICROSECOND_NS, SECOND_NS, SECTOR_BYTES, Words, bytes, number, time_ns,
};
use crate::foreign::form::SECTORS;
use crate::foreign::found::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::names::Names;
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads};
use crate::foreign::rwbs;
use crate::foreign::writer::{FormWriter, Request, text};
use memchr::memmem;

mod mmc;

use mmc::Cards;
pub use mmc::MmcCommand;

/// The format.
pub(super) const ROW: FormatRow = FormatRow {
    name: "ftrace",
    about: "text of Linux' trace events: sectors of 512 bytes, seconds",
    clock: Clock::Shared,
    reader: Reads::Lines(|_| Ok(Box::new(Ftrace::default()))),
};

pub(super) const FORM: FormRow = FormRow {
    about: Some("block_rq_issue of trace_pipe: sectors of 512 bytes, seconds"),
    ..FormRow::new(SECTORS.named().every(1000), |_| Box::new(FtraceWriter))
};

/// The names of the events that are taken.
const BLOCK_EVENT: &[u8] = b"block_rq_issue";
const MMC_EVENT: &[u8] = b"mmc_request_start";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block,
    Mmc,
}

/// Reads lines of trace events.
#[derive(Debug, Default)]
pub(super) struct Ftrace {
    taken: Option<Kind>,
    cards: Cards,
}

/// A line of an event, taken apart.
struct Event<'a> {
    /// The process's name and number.
    task: &'a [u8],
    time: &'a [u8],
    name: &'a [u8],
    details: &'a [u8],
}

impl LineReader for Ftrace {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, Fault> {
        if let Some(events) = lost(line) {
            return Ok(Found::Lost(events));
        }
        if is_comment(line) || is_note(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let event = event(line).ok_or(Fault::Shape("an event with processor and time"))?;
        let kind = match event.name {
            BLOCK_EVENT => Kind::Block,
            MMC_EVENT => Kind::Mmc,
            _ => return Ok(Found::Passed(Passed::OtherEvent)),
        };
        if *self.taken.get_or_insert(kind) != kind {
            return Ok(Found::Passed(Passed::OtherEvent));
        }
        let time_ns = time_ns(event.time, SECOND_NS)?;
        match kind {
            Kind::Block => block_request(time_ns, event.details, names),
            Kind::Mmc => self
                .cards
                .request(time_ns, command(event.task), event.details, names),
        }
    }
}

/// What one line tells of commands to cards.
pub(in crate::foreign) enum MmcLine<'a> {
    /// A command to the card of a host.
    Command(&'a [u8], MmcCommand),
    /// Events that are missing here.
    Lost(u64),
    /// Something else.
    Other,
}

/// Understands a line of a trace with `mmc_request_start`.
pub(in crate::foreign) fn mmc_line(line: &[u8]) -> Result<MmcLine<'_>, Fault> {
    if let Some(events) = lost(line) {
        return Ok(MmcLine::Lost(events));
    }
    if is_comment(line) || is_note(line) {
        return Ok(MmcLine::Other);
    }
    let event = event(line).ok_or(Fault::Shape("an event with processor and time"))?;
    if event.name != MMC_EVENT {
        return Ok(MmcLine::Other);
    }
    let (host, command) = mmc::command(event.details)?;
    Ok(MmcLine::Command(host, command))
}

/// The number in `CPU:2 [LOST 123 EVENTS]`, which stands where the ring was overwritten (Linux
/// `kernel/trace/trace.c`, `print_trace_line`).
fn lost(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"CPU:")?;
    let mut words = Words(rest);
    words.next()?;
    if words.next()? != b"[LOST" {
        return None;
    }
    number(words.next()?)
}

/// Whether the line is a heading of `trace-cmd report`: `cpus=4`, `version = 7`, or `CPU 3 is empty`.
fn is_note(line: &[u8]) -> bool {
    let begins = |word: &[u8]| line.trim_ascii_start().starts_with(word);
    begins(b"cpus=") || begins(b"CPU:") || begins(b"CPU ") || begins(b"version =")
}

/// Splits a line at the first processor in brackets.
fn event(line: &[u8]) -> Option<Event<'_>> {
    let (task, after) = memmem::find_iter(line, b" [").find_map(|at| {
        let rest = line.get(at + 2..)?;
        let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let found = end > 0 && rest.get(end) == Some(&b']');
        found.then_some((line.get(..at)?, rest.get(end + 1..)?))
    })?;
    let mut words = Words(after);
    // Of flags there are none or one word.
    let time = words
        .by_ref()
        .take(2)
        .find_map(|word| word.strip_suffix(b":"))?;
    let name = words.next()?.strip_suffix(b":")?;
    // perf names the subsystem, too: `block:block_rq_issue:`.
    let name = name.rsplit(|byte| *byte == b':').next()?;
    Some(Event {
        task: task.trim_ascii(),
        time,
        name,
        details: words.rest(),
    })
}

/// The process's name in `name-number`, or in perf's `name number`.
fn command(task: &[u8]) -> &[u8] {
    let digits = task.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let name = task.get(..task.len() - digits.count()).unwrap_or_default();
    let name = name.trim_ascii_end();
    name.strip_suffix(b"-").unwrap_or(name)
}

/// Parses `8,0 WS 4096 () 123 + 8 be,0,4 [sh]`, in old kernels `8,0 WS () 123 + 8 [sh]`.
fn block_request(time_ns: u64, details: &[u8], names: &mut Names) -> Result<Found, Fault> {
    let mut before = Words(details);
    let device = before.need("device")?;
    let letters = before.need("RWBS")?;
    let rest = before.rest();
    let close = memmem::find(rest, b") ").ok_or(Fault::Missing("parentheses"))?;
    let mut words = Words(rest.get(close + 1..).unwrap_or_default());
    let sector = words.number("sector")?;
    if words.need("length")? != b"+" {
        return Err(Fault::Shape("an event with sector + length"));
    }
    let sectors = words.number("length")?;
    let Some(operation) = rwbs::operation(letters, sectors > 0)? else {
        return Ok(Found::Passed(Passed::NoData));
    };
    let offset_bytes = bytes(sector, SECTOR_BYTES, "sector")?;
    let length_bytes = bytes(sectors, SECTOR_BYTES, "length")?;
    let mut io = request(time_ns, operation, offset_bytes, length_bytes);
    io.tenant = names.device_text(device)?;
    io.context = names.context(bracketed(words.rest()))?;
    Ok(Found::Io(io))
}

/// Writes lines of `block_rq_issue`, as `trace_pipe` prints them, on processor 0.
#[derive(Debug)]
pub(super) struct FtraceWriter;

impl FormWriter for FtraceWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let Request {
            process,
            name,
            length_bytes,
            ..
        } = request;
        let (seconds, ns) = request.seconds();
        let microseconds = ns / MICROSECOND_NS;
        let (major, minor) = request.device();
        let (letters, (sector, sectors)) = (request.letters(), request.sectors());
        text(
            bytes,
            format_args!(
                "{name:>16}-{process:<7} [000] ..... {seconds}.{microseconds:06}: block_rq_issue: \
                 {major},{minor} {letters} {length_bytes} () {sector} + {sectors} none,0,0 [{name}]\n"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printer_of_events_is_understood() {
        for line in [
            "  a b-12   [001] d..1. 5.25: block_rq_issue: 8,0 W",
            "  a b-12   [001]  5.25: block_rq_issue:  8,0 W",
            "  a b    12 [001]  5.25: block:block_rq_issue: 8,0 W",
            "  a b-12 (  12) [001] d... 5.25: block_rq_issue: 8,0 W",
        ] {
            let event = event(line.as_bytes()).unwrap();
            assert_eq!(event.time, b"5.25", "{line}");
            assert_eq!(event.name, BLOCK_EVENT, "{line}");
            assert_eq!(event.details, b"8,0 W", "{line}");
        }
        for line in [
            "",
            "a-1 5.25: x: y",
            "a-1 [001] 5.25 x: y",
            "a-1 [x] 5.2: x: y",
        ] {
            assert!(event(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn a_command_ends_before_its_number() {
        for (task, expected) in [
            ("kworker/1:1H-34", "kworker/1:1H"),
            ("a b   12", "a b"),
            ("jbd2/sda1-8-496", "jbd2/sda1-8"),
            ("<...>-7", "<...>"),
        ] {
            assert_eq!(command(task.as_bytes()), expected.as_bytes());
        }
    }
}
