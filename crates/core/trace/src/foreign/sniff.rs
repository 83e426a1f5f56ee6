//! Which format an input looks like.

use super::error::ImportError;
use super::formats::Format;
use super::found::{Found, LineReader, Passed};
use super::input::Input;
use super::names::Names;
use super::options::Options;
use super::row::Reads;

/// Lines from which a format is guessed. Our choice.
const LINES: usize = 64;

impl Input {
    /// Guesses the format from the beginning: the one whose reader understands all of its first
    /// lines. A CSV with columns of its own is never guessed.
    ///
    /// # Errors
    /// [`ImportError::Unrecognised`] when it looks like no format.
    pub fn sniff(&mut self) -> Result<Format, ImportError> {
        let path = self.path().into();
        sniff(self.head()?).ok_or(ImportError::Unrecognised { path })
    }
}

/// The first format whose reader understands the beginning of an input.
fn sniff(head: &[u8]) -> Option<Format> {
    let mut all = Format::ALL.iter().copied();
    all.find(|format| match format.row().reader {
        Reads::Records(_, looks_like) => looks_like(head),
        // Which columns a CSV has cannot be seen.
        Reads::Lines(open) => {
            open(&Options::default()).is_ok_and(|reader| understands(reader, head))
        }
    })
}

/// Whether a text format's reader understands the first lines, and finds more in them than notes.
fn understands(mut reader: Box<dyn LineReader>, head: &[u8]) -> bool {
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
            Ok(Found::Passed(Passed::Note)) => {}
            Ok(_) => found_any = true,
            Err(_) => return false,
        }
    }
    found_any
}
