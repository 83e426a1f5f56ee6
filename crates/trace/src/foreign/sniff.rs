//! Which format an input looks like.

use super::blktrace;
use super::format::Format;
use super::found::Found;
use super::names::Names;
use super::options::Options;
use super::oracle_general;
use super::reader::line_reader;

/// Lines a guess is made from. Our choice.
const LINES: usize = 64;

/// The first format whose reader understands the beginning of an input.
pub(super) fn sniff(head: &[u8]) -> Option<Format> {
    Format::ALL.into_iter().find(|format| match format {
        Format::Blktrace => blktrace::looks_like(head),
        Format::OracleGeneral => oracle_general::looks_like(head),
        // Which columns it has cannot be seen.
        Format::Csv => false,
        _ => understands(*format, head),
    })
}

/// Whether a text format's reader understands the first lines, and finds more in them than notes.
fn understands(format: Format, head: &[u8]) -> bool {
    let Some(Ok(mut reader)) = line_reader(format, &Options::default()) else {
        return false;
    };
    let mut names = Names::new();
    let mut found_any = false;
    // The last line is mostly cut off; where it is not, nothing follows its end.
    let end = memchr::memrchr(b'\n', head).unwrap_or(head.len());
    let lines = head
        .get(..end)
        .unwrap_or_default()
        .split(|byte| *byte == b'\n');
    for line in lines.take(LINES) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match reader.line(line, &mut names) {
            Ok(Found::Passed(super::found::Passed::Note)) => {}
            Ok(_) => found_any = true,
            Err(_) => return false,
        }
    }
    found_any
}
