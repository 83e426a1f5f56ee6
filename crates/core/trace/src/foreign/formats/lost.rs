//! Notes of tracers on events that they lost.
//!
//! | note | |
//! |---|---|
//! | `# entries-in-buffer/entries-written: 3/250280   #P:4` | Linux `kernel/trace/trace.c`, `print_event_info`: all others were overwritten |
//! | `CPU:2 [LOST 123 EVENTS]`, `CPU:2 [LOST EVENTS]` | the same file, `print_trace_line`: the ring was overwritten here |
//! | `CPU:2 [123 EVENTS DROPPED]`, `CPU:2 [EVENTS DROPPED]` | trace-cmd `tracecmd/trace-read.c` |
//! | `PERF_RECORD_LOST lost 7` | Linux `tools/perf/util/event.c`, `perf_event__fprintf_lost` |
//! | `Skips: 3 forward (1,234 -   5.2%)` | blktrace's `blkparse.c`, `show_stats`: events whose numbers are missing |
//! | `Lost 12 events` | bpftrace `src/output/text.cpp` |
//! | `Events Lost: 3`, `Buffers lost: 0` | the heading of `xperf -a dumper` |

use memchr::memmem;

use crate::foreign::fields::{Words, number};
use crate::foreign::record_outcome::{Found, Passed};

/// A number of lost events; `None` where the note does not tell it.
pub(super) type LostEvents = Option<u64>;

/// The outcome of a note: events that were lost, or nothing.
pub(super) fn found(lost: LostEvents) -> Found {
    match lost {
        Some(0) => Found::Passed(Passed::Note),
        lost => Found::Lost(lost),
    }
}

/// Reads a note of the kernel's ring, or of trace-cmd.
pub(super) fn in_ring(line: &[u8]) -> Option<LostEvents> {
    if line.starts_with(b"#") {
        return overwritten(line).map(Some);
    }
    let mut words = Words(line.strip_prefix(b"CPU:")?);
    words.next()?;
    match words.next()? {
        b"[LOST" => Some(words.next().and_then(number)),
        b"[EVENTS" => Some(None),
        count => {
            let count = number(count.strip_prefix(b"[")?)?;
            (words.next()? == b"EVENTS").then_some(Some(count))
        }
    }
}

/// The events that are not in the ring any more.
fn overwritten(line: &[u8]) -> Option<u64> {
    let mut words = Words(line.strip_prefix(b"#")?);
    if words.next()? != b"entries-in-buffer/entries-written:" {
        return None;
    }
    let counts = words.next()?;
    let slash = counts.iter().position(|byte| *byte == b'/')?;
    let (held, written) = (counts.get(..slash)?, counts.get(slash + 1..)?);
    number(written)?.checked_sub(number(held)?)
}

/// Reads a record of perf that is no event, behind its time; `Some(0)` of one that tells of something else than losses.
pub(super) fn in_perf_record(record: &[u8]) -> Option<LostEvents> {
    let mut words = Words(record);
    if !words.next()?.starts_with(b"PERF_RECORD_") {
        return None;
    }
    if !record.starts_with(b"PERF_RECORD_LOST") {
        return Some(Some(0));
    }
    let is_count = |word: &[u8]| word == b"lost";
    Some(
        words
            .by_ref()
            .find(|word| is_count(word))
            .and(words.next())
            .and_then(number),
    )
}

/// Reads the line of blkparse's summary.
pub(super) fn in_summary(line: &[u8]) -> Option<LostEvents> {
    let mut words = Words(line);
    if words.next()? != b"Skips:" {
        return None;
    }
    let count = words
        .find(|word| word.starts_with(b"("))?
        .strip_prefix(b"(")?;
    // Thousands may be set apart.
    let digits: Vec<u8> = count.iter().copied().filter(u8::is_ascii_digit).collect();
    number(&digits).map(Some)
}

/// Reads bpftrace's own line.
pub(super) fn in_bpftrace(line: &[u8]) -> Option<LostEvents> {
    let mut words = Words(line.strip_prefix(b"Lost ")?);
    let count = number(words.next()?)?;
    let is_note = words.next()? == b"events" && words.remaining().is_empty();
    is_note.then_some(Some(count))
}

/// Reads the heading of an event trace of Windows. A buffer that was lost is one event at least.
pub(super) fn in_heading(line: &[u8]) -> LostEvents {
    let count = |name: &[u8]| {
        let at = memmem::find(line, name)?;
        let rest = line.get(at + name.len()..)?.trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        number(rest.get(..digits)?)
    };
    let events = count(b"Events Lost:").unwrap_or(0);
    let buffers = count(b"Buffers lost:").or_else(|| count(b"Buffers Lost:"));
    Some(events.saturating_add(buffers.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_on_lost_events_is_read() {
        for (note, lost) in [
            (
                "# entries-in-buffer/entries-written: 3/250280   #P:4",
                Some(Some(250_277)),
            ),
            (
                "# entries-in-buffer/entries-written: 4/4   #P:4",
                Some(Some(0)),
            ),
            ("CPU:2 [LOST 123 EVENTS]", Some(Some(123))),
            ("CPU:2 [LOST EVENTS]", Some(None)),
            ("CPU:0 [51 EVENTS DROPPED]", Some(Some(51))),
            ("CPU:0 [EVENTS DROPPED]", Some(None)),
            ("CPU:0 [SUBBUFFER START]", None),
            ("# tracer: nop", None),
        ] {
            assert_eq!(in_ring(note.as_bytes()), lost, "{note}");
        }
        for (record, lost) in [
            ("PERF_RECORD_LOST lost 7", Some(Some(7))),
            ("PERF_RECORD_LOST_SAMPLES lost 9", Some(Some(9))),
            ("PERF_RECORD_LOST", Some(None)),
            ("PERF_RECORD_COMM: dd:4242/4242", Some(Some(0))),
            ("block:block_rq_issue: 8,0 W", None),
        ] {
            assert_eq!(in_perf_record(record.as_bytes()), lost, "{record}");
        }
        let summary = |line: &str| in_summary(line.as_bytes());
        assert_eq!(
            summary("Skips: 3 forward (1,234 -   5.2%)"),
            Some(Some(1234))
        );
        assert_eq!(summary("Skips: 0 forward (0 -   0.0%)"), Some(Some(0)));
        assert_eq!(in_bpftrace(b"Lost 12 events"), Some(Some(12)));
        assert_eq!(in_bpftrace(b"Lost 12 8 4096"), None);
        let heading = b"OS Version: 6.0.6001, Trace Size: 81600KB, Events Lost: 3, Buffers lost: 2, Trace Start: 1";
        assert_eq!(in_heading(heading), Some(5));
    }
}
