//! Writing a trace in a foreign form.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use super::form::Holds;
use super::formats::Form;
use super::names::kind;
use super::writer::{FormWriter, Request};
use crate::capture::Tables;
use crate::context::{Context, ContextKind};
use crate::io::{ContextId, FileId, Io, Operation, WriteHint};

/// Bytes that are gathered before they are written. Our choice.
const BUFFER_BYTES: usize = 64 << 10;

/// Letters of a process's name (Linux `TASK_COMM_LEN`, less the zero at the end).
const NAME_LETTERS: usize = 15;

/// Writes a trace in a foreign form, request by request, in memory that does not grow with the
/// trace.
pub struct Exporter<W> {
    form: Form,
    holds: Holds,
    writer: Box<dyn FormWriter>,
    /// The name of each context as a process, and whether an import makes the same context of it.
    names: Vec<(String, bool)>,
    out: W,
    bytes: Vec<u8>,
    /// The latest time that was written.
    latest_ns: u64,
    done: Exported,
}

/// Counts of what was written, and of what the form could not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Requests that were written; a request that was split counts once for each part.
    pub requests: u64,
    /// Reads left out, since the form has no word for them.
    pub reads_left_out: u64,
    /// Discards left out, since the form has no word for them or they contain no whole unit.
    pub discards_left_out: u64,
    /// Flushes left out, since the form has no word for them.
    pub flushes_left_out: u64,
    /// Requests whose time was cut to the form's unit.
    pub times_cut: u64,
    /// Requests whose time went back behind one before it, in a form whose times never do: they have the latest time
    /// before them.
    pub times_held: u64,
    /// Requests that were not a whole number of units: reads and writes were widened, discards
    /// narrowed.
    pub unaligned: u64,
    /// Requests that were split into several, being longer than the form allows.
    pub split: u64,
    /// Requests to volumes other than 0, in a form with a single volume.
    pub volumes_lost: u64,
    /// Requests with a context that the form cannot name, or can name only in part.
    pub contexts_lost: u64,
    /// Requests whose file the form could not name.
    pub files_lost: u64,
    /// Requests whose write hint the form could not hold.
    pub hints_lost: u64,
}

impl<W> fmt::Debug for Exporter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter")
            .field("form", &self.form)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl<W: Write> Exporter<W> {
    /// Begins a file of that form. `tables` gives the contexts, and the time the capture began at.
    pub fn new(form: Form, tables: &Tables, out: W) -> Exporter<W> {
        let mut exporter = Exporter {
            form,
            holds: form.holds(),
            writer: (form.row().writer)(tables.capture.started_unix_s),
            names: tables.contexts.iter().map(name).collect(),
            out,
            bytes: Vec::with_capacity(BUFFER_BYTES),
            latest_ns: 0,
            done: Exported::default(),
        };
        exporter.writer.begin(&mut exporter.bytes);
        exporter
    }

    /// Adds a request, as far as the form can hold it.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn push(&mut self, io: &Io) -> io::Result<()> {
        if !self.holds.operations.contains(&io.operation) {
            self.leave_out(io.operation);
            return Ok(());
        }
        let (first_byte, end_byte) = self.holds.whole_units(io);
        if io.operation == Operation::Discard && first_byte >= end_byte {
            self.leave_out(io.operation);
            return Ok(());
        }
        self.note_losses(io, (first_byte, end_byte));
        let name = self.names.get(io.context.0 as usize);
        let name = name.map_or("0", |(name, _)| name.as_str());
        let cut_ns = io.time_ns - io.time_ns % self.holds.time_unit_ns;
        self.latest_ns = self.latest_ns.max(cut_ns);
        let time_ns = if self.holds.in_order {
            self.latest_ns
        } else {
            cut_ns
        };
        let mut offset_bytes = first_byte;
        loop {
            let length_bytes = (end_byte - offset_bytes).min(self.holds.most_length_bytes);
            let request = Request {
                time_ns,
                operation: io.operation,
                offset_bytes,
                length_bytes,
                volume: if self.holds.volumes { io.tenant } else { 0 },
                process: io.context.0,
                name,
            };
            self.writer.put(&request, &mut self.bytes);
            self.done.requests += 1;
            offset_bytes += length_bytes;
            if offset_bytes >= end_byte {
                break;
            }
        }
        if self.bytes.len() >= BUFFER_BYTES {
            self.write_out()?;
        }
        Ok(())
    }

    /// Ends the file. Hands back the output, and the counts of what was written and lost.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn finish(mut self) -> io::Result<(W, Exported)> {
        self.write_out()?;
        Ok((self.out, self.done))
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn leave_out(&mut self, operation: Operation) {
        let count = match operation {
            Operation::Read => &mut self.done.reads_left_out,
            Operation::Discard => &mut self.done.discards_left_out,
            // There is no form without writes.
            Operation::Flush | Operation::Write => &mut self.done.flushes_left_out,
        };
        *count += 1;
    }

    fn note_losses(&mut self, io: &Io, (first_byte, end_byte): (u64, u64)) {
        let done = &mut self.done;
        let told_whole = match self.names.get(io.context.0 as usize) {
            _ if io.context == ContextId::UNKNOWN => true,
            Some((_, whole)) => self.holds.names && *whole,
            None => false,
        };
        let aligned = first_byte == io.offset_bytes && end_byte - first_byte == io.length_bytes;
        done.times_cut += u64::from(!io.time_ns.is_multiple_of(self.holds.time_unit_ns));
        done.times_held += u64::from(self.holds.in_order && io.time_ns < self.latest_ns);
        done.unaligned += u64::from(!aligned);
        done.split += u64::from(end_byte - first_byte > self.holds.most_length_bytes);
        done.volumes_lost += u64::from(!self.holds.volumes && io.tenant != 0);
        done.contexts_lost += u64::from(!told_whole);
        done.files_lost += u64::from(io.file != FileId(0));
        done.hints_lost += u64::from(io.hint != WriteHint::NotSet);
    }
}

impl Holds {
    /// First byte and end of the whole units that a request touches; for a discard, of the units
    /// that lie within it, since a unit it names in part keeps its data. The end stops at the last
    /// whole unit of 64 bits.
    fn whole_units(&self, io: &Io) -> (u64, u64) {
        let (start, end) = (
            io.offset_bytes,
            io.offset_bytes.saturating_add(io.length_bytes),
        );
        let (offset_unit, length_unit) = (self.offset_unit_bytes, self.length_unit_bytes);
        if io.operation == Operation::Discard {
            let first = start.div_ceil(offset_unit).saturating_mul(offset_unit);
            let length = end.saturating_sub(first);
            return (first, first + (length - length % length_unit));
        }
        let first = start - start % offset_unit;
        let length = (end - first)
            .div_ceil(length_unit)
            .saturating_mul(length_unit);
        (first, first.saturating_add(length))
    }
}

/// The name a context goes by as a process, and whether an import makes the same of it.
fn name(context: &Context) -> (String, bool) {
    let told = match (context.role.as_str(), context.kind) {
        (_, ContextKind::Unknown) => "0".into(),
        ("", ContextKind::Journal) => "jbd2/".into(),
        ("", ContextKind::Metadata) => "metadata".into(),
        ("", ContextKind::Kernel) => "kworker/".into(),
        ("", ContextKind::Application | ContextKind::Folded) => "application".into(),
        (role, wanted) if kind(role) == wanted => role.into(),
        (role, _) => numbered(role),
    };
    let safe = |letter: char| match letter {
        '[' | ']' | '(' | ')' => '_',
        other if other.is_ascii_graphic() => other,
        _ => '_',
    };
    let name: String = told.chars().take(NAME_LETTERS).map(safe).collect();
    let comes_back = name.chars().filter(|letter| !letter.is_ascii_digit());
    let whole = comes_back.eq(context.role.chars()) && kind(&name) == context.kind;
    (
        name,
        whole && context.frames.is_empty() && context.generation == 0,
    )
}

/// A role with the digit that tells its kind put back (see `names.rs`); roles are stored without
/// digits.
fn numbered(role: &str) -> String {
    const DIGITS: [(&str, &str); 3] = [("jbd/", "jbd2/"), ("md", "md0"), ("loop", "loop0")];
    let told = DIGITS.iter().find_map(|(without, with)| {
        let rest = role.strip_prefix(without)?;
        Some(format!("{with}{rest}"))
    });
    told.unwrap_or_else(|| role.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;

    fn exported(form: Form, ios: &[Io]) -> (String, Exported) {
        let tables = Tables::new(Capture::default());
        let mut exporter = Exporter::new(form, &tables, Vec::new());
        ios.iter().for_each(|io| exporter.push(io).unwrap());
        let (bytes, done) = exporter.finish().unwrap();
        (String::from_utf8(bytes).unwrap(), done)
    }

    fn at(time_ns: u64, operation: Operation, offset_bytes: u64, length_bytes: u64) -> Io {
        Io {
            time_ns,
            operation,
            ..Io::write(offset_bytes, length_bytes)
        }
    }

    #[test]
    fn what_names_parts_of_sectors_is_widened_and_a_discard_narrowed() {
        let ios = [
            at(0, Operation::Write, 700, 400),
            at(0, Operation::Discard, 700, 2000),
            at(0, Operation::Discard, 700, 400),
        ];
        let (text, done) = exported(Form::Blkparse, &ios);
        let ranges: Vec<&str> = text
            .lines()
            .map(|line| line.rsplit_once("  ").unwrap().1)
            .collect();
        assert_eq!(ranges, ["W 1 + 2 [0]", "D 2 + 3 [0]"]);
        let expected = Exported {
            requests: 2,
            unaligned: 2,
            discards_left_out: 1,
            ..Exported::default()
        };
        assert_eq!(done, expected);
    }

    #[test]
    fn a_time_that_goes_back_is_the_latest_before_it_where_readers_want_that() {
        let ios = [5, 3, 9].map(|time_ns| at(time_ns, Operation::Write, 0, 4096));
        let (text, done) = exported(Form::MqSim, &ios);
        assert_eq!(text, "5 0 0 8 0\n5 0 0 8 0\n9 0 0 8 0\n");
        assert_eq!((done.requests, done.times_held), (3, 1));
        let (text, done) = exported(Form::Fiu, &ios);
        assert!(text.contains("\n3 0 0 0 8 W"), "{text}");
        assert_eq!(done.times_held, 0);
    }

    #[test]
    fn what_is_longer_than_the_form_can_say_becomes_several() {
        let tables = Tables::new(Capture::default());
        let mut exporter = Exporter::new(Form::OracleGeneral, &tables, Vec::new());
        exporter.push(&Io::write(0, 5 << 30)).unwrap();
        let (bytes, done) = exporter.finish().unwrap();
        assert_eq!((bytes.len(), done.requests, done.split), (48, 2, 1));
    }

    #[test]
    fn what_has_no_word_is_left_out_and_counted() {
        let ios = [
            at(7, Operation::Write, 0, 4096),
            at(1_234, Operation::Discard, 0, 4096),
            at(2_000, Operation::Read, 0, 4096),
            at(2_050, Operation::Flush, 0, 0),
        ];
        let (text, done) = exported(Form::Alibaba, &ios);
        assert_eq!(text, "0,W,0,4096,0\n0,R,0,4096,2\n");
        let expected = Exported {
            requests: 2,
            discards_left_out: 1,
            flushes_left_out: 1,
            times_cut: 1,
            ..Exported::default()
        };
        assert_eq!(done, expected);
    }
}
