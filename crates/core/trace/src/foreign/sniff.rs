//! The format that an input looks like.

use memchr::memmem;

use super::error::ImportError;
use super::formats::Format;
use super::input::{Input, bare};
use super::names::Names;
use super::options::Options;
use super::parse_error::ParseError;
use super::reader::quoted;
use super::record_outcome::{Found, LineReader, Passed};
use super::row::Reads;

/// Lines from which a format is guessed. Our choice.
const LINES: usize = 64;

/// The share of lines that a format's reader has to understand to be guessed where malformed records are skipped:
/// more than one half (our choice).
const LEAST_SHARE: usize = 2;

impl Input {
    /// Guesses the format from the beginning: the one whose reader understands all of its first
    /// lines. A CSV with columns of its own is never guessed.
    ///
    /// # Errors
    /// [`ImportError::Unrecognised`] when it looks like no format, with the one that comes closest.
    pub fn sniff(&mut self) -> Result<Format, ImportError> {
        self.sniff_with(&Options::default())
    }

    /// Guesses the format as [`Input::sniff`] does. Where malformed records are skipped, the format that understands
    /// most lines is taken, if it understands more than half; where the options name the column of an address, it is
    /// a CSV.
    ///
    /// # Errors
    /// As [`Input::sniff`].
    pub fn sniff_with(&mut self, options: &Options) -> Result<Format, ImportError> {
        let names_address = options
            .columns
            .as_ref()
            .is_some_and(|map| map.names_address());
        if names_address {
            return Ok(Format::Csv);
        }
        let path = self.path().into();
        let head = self.head()?;
        let hint = event_hint(head);
        let (best, verdict) = match guess(head) {
            Guess::Sure(format) => return Ok(format),
            Guess::Closest(best) => best,
            Guess::None => {
                let closest = format!("name it with --format{hint}");
                return Err(ImportError::Unrecognised { path, closest });
            }
        };
        let is_most = LEAST_SHARE * verdict.understood > verdict.records;
        if options.skip_bad && is_most {
            return Ok(best);
        }
        let closest = verdict.sentence(best, is_most) + hint;
        Err(ImportError::Unrecognised { path, closest })
    }
}

/// The beginnings of names of events that tell of requests.
const EVENTS: [&[u8]; 3] = [b"block_rq_", b"block_bio_", b"nvme_setup_cmd"];

/// The remedy for a text that names the kernel's events in a form that tells too little of them, as perf prints it when
/// fields are chosen, and `perf trace`; empty for others.
fn event_hint(head: &[u8]) -> &'static str {
    let is_named = EVENTS
        .iter()
        .any(|event| memmem::find(head, event).is_some());
    if is_named {
        "; it names events of the kernel: an event needs its time, its name and its fields, as `perf script -F \
         comm,pid,tid,cpu,time,event,trace` prints them"
    } else {
        ""
    }
}

enum Guess {
    Sure(Format),
    Closest((Format, Verdict)),
    None,
}

/// The outcome of a reader on the first lines of a text.
#[derive(Default)]
struct Verdict {
    /// Lines that are no notes.
    records: usize,
    /// Those that the reader understands.
    understood: usize,
    /// The first line that it does not: its number, the fault and the line.
    first_bad: Option<(usize, ParseError, String)>,
}

/// The first format whose reader understands the beginning of an input, or the one that understands most of it.
fn guess(head: &[u8]) -> Guess {
    let mut closest: Option<(Format, Verdict)> = None;
    let all = Format::ALL.iter().copied();
    for format in all.filter(|format| format.row().uses.is_guessed) {
        let verdict = match format.row().reader {
            Reads::Records(_, looks_like) if looks_like(head) => return Guess::Sure(format),
            Reads::Records(..) => continue,
            Reads::Lines(open) => match open(&Options::default()) {
                Ok(reader) => verdict(reader, head),
                Err(_) => continue,
            },
        };
        if verdict.understood > 0 && verdict.understood == verdict.records {
            return Guess::Sure(format);
        }
        // Of equal numbers the first, as among formats that understand all.
        let most = closest.as_ref().map_or(0, |(_, best)| best.understood);
        if verdict.understood > most {
            closest = Some((format, verdict));
        }
    }
    closest.map_or(Guess::None, Guess::Closest)
}

/// Lets a text format's reader read the first lines.
fn verdict(mut reader: Box<dyn LineReader>, head: &[u8]) -> Verdict {
    let mut names = Names::new();
    let mut verdict = Verdict::default();
    // The last line is mostly cut off; where it is not, nothing follows its end.
    let end = memchr::memrchr(b'\n', head).unwrap_or(head.len());
    let lines = head.get(..end).unwrap_or_default();
    let lines = lines.split(|byte| *byte == b'\n');
    for (place, line) in lines.take(LINES).map(bare).enumerate() {
        match reader.line(line, &mut names) {
            Ok(Found::Passed(Passed::Note)) => {}
            // The shape is the format's: only the unit is in doubt, which the reader will say.
            Ok(_) | Err(ParseError::Unit { .. }) => {
                verdict.records += 1;
                verdict.understood += 1;
            }
            Err(fault) => {
                verdict.records += 1;
                let bad = || (place + 1, fault, quoted(line));
                verdict.first_bad.get_or_insert_with(bad);
            }
        }
    }
    verdict
}

impl Verdict {
    /// The closest format and the line that it does not understand, in words.
    fn sentence(&self, format: Format, is_most: bool) -> String {
        let name = format.name();
        let Verdict {
            records,
            understood,
            ..
        } = self;
        let line = self
            .first_bad
            .as_ref()
            .map(|(line, fault, content)| format!(", not line {line}: {fault}: {content}"));
        let remedy = if is_most {
            format!("--format {name} names it, and --skip-bad leaves such lines out")
        } else {
            "name the true one with --format".into()
        };
        format!(
            "{name} comes closest and understands {understood} of the first {records} lines{}; {remedy}",
            line.unwrap_or_default()
        )
    }
}
