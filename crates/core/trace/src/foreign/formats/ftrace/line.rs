//! Lines of trace events, taken apart: the forms of `trace_pipe`, Android's systrace, `trace-cmd report` and
//! `perf script`.
//!
//! ```text
//! NAME-PID [CPU] FLAGS TIME: EVENT: DETAILS          trace_pipe, trace-cmd
//! NAME-PID (TGID) [CPU] FLAGS TIME: EVENT: DETAILS   systrace
//! NAME PID [CPU] TIME: SYSTEM:EVENT: DETAILS         perf; without the processor with `-F`, with a period before the event
//! ```

use std::hash::Hasher as _;

use fnv::FnvHasher;
use memchr::memmem;

use super::super::lost::{self, LostEvents};
use crate::foreign::fields::{Words, hexadecimal_digits, number};
use crate::foreign::record_outcome::is_comment;

/// A line, by its kind.
pub(super) enum Line<'a> {
    /// The event with its fields, which begins a request or ends one.
    Event(Event<'a>),
    /// The beginning of the call stack of the event before, of the kernel or of the program.
    Stack(Source<'a>, Side),
    /// A line of a call stack.
    Frame(&'a [u8]),
    /// A note that this many events are missing, or some.
    Lost(LostEvents),
    /// A heading, a comment, an empty line.
    Note,
    /// Something else.
    Other,
}

/// The side of a call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Kernel,
    Program,
}

/// The task and the processor that an event comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    /// The process's name and number.
    pub(super) task: &'a [u8],
    /// The processor's number; empty where it is not printed.
    pub(super) processor: &'a [u8],
}

impl Source<'_> {
    /// A number for task and processor.
    pub(super) fn hash(&self) -> u64 {
        let mut hash = FnvHasher::default();
        hash.write(self.task);
        hash.write(b"[");
        hash.write(self.processor);
        hash.finish()
    }
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event<'a> {
    pub(super) source: Source<'a>,
    pub(super) time: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) details: &'a [u8],
}

/// The beginnings of headings: of `trace-cmd report` (`cpus=4`, `version = 7`, `CPU 3 is empty`) and of Android's `atrace`
/// (`TRACE:`, `capturing trace... done`), which may stand in a page (`<!-- BEGIN TRACE -->`).
const HEADINGS: [&[u8]; 9] = [
    b"cpus=",
    b"CPU:",
    b"CPU ",
    b"version =",
    b"TRACE:",
    b"capturing trace",
    b"label:",
    b"trace:",
    b"<",
];

/// Takes a line apart.
pub(super) fn line(line: &[u8]) -> Line<'_> {
    if let Some(events) = lost::in_ring(line) {
        return lost_line(events);
    }
    if let Some(frame) = line.trim_ascii_start().strip_prefix(b"=>") {
        return Line::Frame(frame.trim_ascii());
    }
    if let Some(found) = header(line).and_then(|(source, time, rest)| event(source, time, rest)) {
        return found;
    }
    if is_comment(line) || is_heading(line) || is_source_line(line) {
        return Line::Note;
    }
    if is_perf_frame(line) {
        return Line::Frame(line.trim_ascii());
    }
    Line::Other
}

/// A note on lost events, or one that there are none.
fn lost_line(events: LostEvents) -> Line<'static> {
    match events {
        Some(0) => Line::Note,
        events => Line::Lost(events),
    }
}

fn is_heading(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    // A name such as `<...>` begins an event, which was looked for before.
    HEADINGS.iter().any(|heading| line.starts_with(heading))
}

/// Whether a line names the source of the frame before: `  dd.c:120`, `  [kernel.kallsyms][ffffffff81b0785f]`,
/// `  main+17` (Linux `tools/perf/util/srcline.c`, `__get_srcline`; printed with `-F srcline`).
fn is_source_line(line: &[u8]) -> bool {
    let Some(place) = line
        .strip_prefix(b"  ")
        .filter(|rest| !rest.starts_with(b" "))
    else {
        return false;
    };
    // A compiler's number for one of several places on the line.
    let end = memmem::find(place, b" (discriminator ");
    let place = place.get(..end.unwrap_or(place.len())).unwrap_or(place);
    if let Some(address) = place.strip_suffix(b"]") {
        let open = address.iter().rposition(|byte| *byte == b'[');
        let digits = open.and_then(|open| address.get(open + 1..));
        return digits.is_some_and(|digits| hexadecimal_digits(digits).is_some());
    }
    let mark = place.iter().rposition(|byte| matches!(byte, b':' | b'+'));
    let digits = mark.filter(|at| *at > 0).and_then(|at| place.get(at + 1..));
    digits.is_some_and(|digits| digits == b"?" || number(digits).is_some())
}

/// Whether a line is one of a call stack of perf: behind blanks an address in hexadecimal, or a function with its
/// object in parentheses.
fn is_perf_frame(line: &[u8]) -> bool {
    let Some(b' ' | b'\t') = line.first() else {
        return false;
    };
    let line = line.trim_ascii();
    let first = Words(line).next().unwrap_or_default();
    first.iter().all(u8::is_ascii_hexdigit) || line.ends_with(b")")
}

/// Splits a line at its time: the source, the time, and the rest.
pub(super) fn header(line: &[u8]) -> Option<(Source<'_>, &[u8], &[u8])> {
    let with_processor = memmem::find_iter(line, b" [").find_map(|at| {
        let rest = line.get(at + 2..)?;
        let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let found = end > 0 && rest.get(end) == Some(&b']');
        found.then_some((line.get(..at)?, rest.get(..end)?, rest.get(end + 1..)?))
    });
    if let Some((task, processor, after)) = with_processor {
        let mut words = Words(after);
        // Of flags there are none or one word.
        if let Some(time) = words.by_ref().take(2).find_map(time) {
            let task = task.trim_ascii();
            return Some((Source { task, processor }, time, words.remaining()));
        }
    }
    let mut words = Words(line);
    loop {
        let before = words.remaining().len();
        if let Some(time) = time(words.next()?) {
            let task = line.get(..line.len() - before)?.trim_ascii();
            let processor = b"".as_slice();
            return Some((Source { task, processor }, time, words.remaining()));
        }
    }
}

/// The time in `12.345678:`.
fn time(word: &[u8]) -> Option<&[u8]> {
    let time = word.strip_suffix(b":")?;
    let point = time.iter().position(|byte| *byte == b'.')?;
    let (whole, fraction) = (time.get(..point)?, time.get(point + 1..)?);
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    (is_number(whole) && is_number(fraction)).then_some(time)
}

fn event<'a>(source: Source<'a>, time: &'a [u8], rest: &'a [u8]) -> Option<Line<'a>> {
    if let Some(events) = lost::in_perf_record(rest) {
        return Some(lost_line(events));
    }
    if let Some(side) = stack(rest) {
        return Some(Line::Stack(source, side));
    }
    let mut words = Words(rest);
    let mut word = words.next()?;
    // perf prints an event's period before its name, if it is asked to.
    if number(word).is_some() {
        word = words.next()?;
    }
    let name = word.strip_suffix(b":")?;
    // perf names the subsystem, too: `block:block_rq_issue:`.
    let name = name.rsplit(|byte| *byte == b':').next()?;
    let details = words.remaining();
    if let Some(side) = stack(details) {
        return Some(Line::Stack(source, side));
    }
    Some(Line::Event(Event {
        source,
        time,
        name,
        details,
    }))
}

/// The side of a call stack whose heading this is: `<stack trace>`, `<user stack trace>` (Linux
/// `kernel/trace/trace_output.c`); trace-cmd prints `kernel_stack:` before it.
fn stack(rest: &[u8]) -> Option<Side> {
    if rest.starts_with(b"<stack trace") {
        Some(Side::Kernel)
    } else if rest.starts_with(b"<user stack trace") {
        Some(Side::Program)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printer_of_events_is_understood() {
        for (text, processor) in [
            ("  a b-12   [001] d..1. 5.25: block_rq_issue: 8,0 W", "001"),
            ("  a b-12   [001]  5.25: block_rq_issue:  8,0 W", "001"),
            (
                "  a b    12 [001]  5.25: block:block_rq_issue: 8,0 W",
                "001",
            ),
            (
                "  a b-12 (  12) [001] d... 5.25: block_rq_issue: 8,0 W",
                "001",
            ),
            ("a b 12  5.25: block:block_rq_issue: 8,0 W", ""),
            (
                "a b 12/12 [001] 5.25:  1 block:block_rq_issue: 8,0 W",
                "001",
            ),
            ("5.25: block:block_rq_issue: 8,0 W", ""),
        ] {
            let Line::Event(event) = line(text.as_bytes()) else {
                panic!("{text}");
            };
            assert_eq!(event.time, b"5.25", "{text}");
            assert_eq!(event.name, b"block_rq_issue", "{text}");
            assert_eq!(event.details, b"8,0 W", "{text}");
            assert_eq!(event.source.processor, processor.as_bytes(), "{text}");
        }
        for text in [
            "x",
            "a-1 [001] 5.25 x: y",
            "a-1 [x] 5: x: y",
            "hello world (x)",
        ] {
            assert!(matches!(line(text.as_bytes()), Line::Other), "{text}");
        }
    }

    #[test]
    fn headings_and_stacks_are_told_from_events() {
        for text in [
            "  dd.c:120",
            "  ./nptl/write.c:26 (discriminator 2)",
            "  [kernel.kallsyms][ffffffff81b0785f]",
            "  main+17",
            "swapper 0 [000] 5.25: PERF_RECORD_COMM exec: dd:42/42",
            "dd 42 [000] 5.25: PERF_RECORD_FORK(43:43):(42:42)",
            "",
            "# tracer: nop",
            "TRACE:",
            "cpus=4",
            "capturing trace... done",
        ] {
            assert!(matches!(line(text.as_bytes()), Line::Note), "{text}");
        }
        for text in [
            "\tffffffff81b47d7f blk_mq_start_request+0xcf ([kernel.kallsyms])",
            "           1cbd1 dl_main+0xc11 (/usr/lib/ld.so)",
            "\tmain (inlined)",
            " => blk_mq_start_request",
            "=> /usr/lib/libc.so.6[+0x1147e2]",
        ] {
            assert!(matches!(line(text.as_bytes()), Line::Frame(_)), "{text}");
        }
        for (text, side) in [
            ("a-1 [000] d..1. 5.25: <stack trace>", Side::Kernel),
            ("a-1 [000] ..... 5.25: <user stack trace>", Side::Program),
            (
                "a-1 [000] 5.25: kernel_stack:  <stack trace >",
                Side::Kernel,
            ),
        ] {
            assert!(
                matches!(line(text.as_bytes()), Line::Stack(_, found) if found == side),
                "{text}"
            );
        }
    }
}
