//! Commands to NVMe drives: `nvme_setup_cmd`, and `nvme_complete_rq` where one failed.
//!
//! ```text
//! nvme0: disk=ng0n1, qid=4, cmdid=17, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=2048, len=7, ctrl=0x20, dsmgmt=65536, …)
//! nvme0: disk=ng0n1, qid=4, cmdid=17, res=0x0, retries=0, flags=0x2, status=0x0
//! ```
//!
//! - `slba` and `len` count logical blocks, `len` is one less than their number (NVM Command Set 1.0, 3.2.6, CDW12 NLB).
//!   A block's bytes are not told. An event of the block layer may show them (`layers.rs`); else 512 are taken, and
//!   said, unless a column map's `id-unit` names them.
//! - `ctrl` is CDW12's upper half; its bits 7:4 are the directive type, 2 is data placement (NVM Express Base 2.0, 8.7;
//!   TP4146). Then the upper half of `dsmgmt` (CDW13) is the directive specific value, which names the placement. It
//!   becomes a context of its own of the process.
//! - `disk` is the namespace's block device, of passthrough commands to its character device, too. The name of the
//!   latter, `ng0n1`, is taken for passthrough.
//! - Ranges of deallocations (`nvme_cmd_dsm`) are not told; commands of the admin queue are passed over.
//! - A command that failed is taken back: the driver sends it again, or nobody does.
//!
//! trace-cmd and perf print raw fields instead, `[FAILED TO PARSE] disk=nvme0n1 … opcode=1 … cid=17 … cdw10=ARRAY[00, 08,
//! …]`: the same command, from CDW10 on.
//!
//! Source: Linux `drivers/nvme/host/trace.h` and `trace.c`, `nvme_trace_read_write`.

use std::collections::HashMap;

use memchr::memmem;

use super::layers::{Below, DiskCommand, Disks, Pairing};
use crate::foreign::fields::{bytes, hexadecimal, hexadecimal_digits, number};
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Moment, Passed, request};
use crate::io::{Io, Operation};

/// Commands in flight that are remembered. Our choice: 64 queues of 1,024 commands.
const MOST_COMMANDS: usize = 1 << 16;

/// The mark before the fields of an event that trace-cmd and perf cannot print as the kernel does, since its text form
/// calls functions of the kernel (libtraceevent, `tep_print_event`); the command's bytes among them, and how many of
/// them are read: CDW10 to CDW13.
const FAILED: &[u8] = b"[FAILED TO PARSE]";
const ARRAY: &[u8] = b"cdw10=ARRAY[";
const COMMAND_BYTES: usize = 16;

/// The type of a directive that places data, and that of streams before it (NVM Express Base 2.0, figure "Directive
/// Types").
const DATA_PLACEMENT: u64 = 2;
const STREAMS: u64 = 1;

/// The commands in flight of all drives.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// By disk, queue and number.
    in_flight: HashMap<(usize, u64, u64), InFlight>,
}

/// A command in flight.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    io: Io,
    start: u64,
    blocks: u64,
    is_passthrough: bool,
}

/// The fields of an event.
struct Command<'a> {
    disk: &'a [u8],
    /// The controller's number, where it is a field.
    controller: Option<u64>,
    queue: u64,
    number: u64,
    namespace: u64,
    status: u64,
    name: &'a [u8],
    fields: Fields<'a>,
}

/// A command's own fields.
enum Fields<'a> {
    /// Behind its name in parentheses.
    Text(&'a [u8]),
    /// The command's bytes from CDW10 on, as trace-cmd and perf print them.
    Bytes([u8; COMMAND_BYTES]),
}

impl Commands {
    /// The request that a command makes.
    pub(super) fn setup(
        &mut self,
        time_ns: u64,
        task: &[u8],
        details: &[u8],
        disks: &mut Disks,
        names: &mut Names,
    ) -> Result<Below, ParseError> {
        let command = Command::read(details)?;
        let operation = match command.name {
            b"nvme_cmd_write" | b"nvme_cmd_zone_append" | b"nvme_cmd_write_zeroes" => {
                Operation::Write
            }
            b"nvme_cmd_read" => Operation::Read,
            b"nvme_cmd_flush" => Operation::Flush,
            b"nvme_cmd_dsm" => return Ok(Below::Passed(Passed::NoData)),
            _ => return Ok(Below::Passed(Passed::OtherEvent)),
        };
        let disk = disks.place(&command.volume(details))?;
        let (mut start, mut blocks) = (0, 0);
        if operation != Operation::Flush {
            let more = command.field("len")?.checked_add(1);
            blocks = more.ok_or(ParseError::NotANumber("length"))?;
            start = command.field("slba")?;
            // Here the error names this line; with the size that later events may show there is none left.
            bytes(start, disks.block_bytes(disk), "slba")?;
            bytes(blocks, disks.block_bytes(disk), "length")?;
        }
        let mut io = request(time_ns, operation, 0, 0);
        io.context = match command.placement() {
            Some(placement) if operation == Operation::Write => names.placed(task, placement)?,
            _ => names.context(task)?,
        };
        let in_flight = InFlight {
            io,
            start,
            blocks,
            is_passthrough: command.disk.starts_with(b"ng"),
        };
        let key = (disk, command.queue, command.number);
        if self.in_flight.len() < MOST_COMMANDS || self.in_flight.contains_key(&key) {
            self.in_flight.insert(key, in_flight);
        }
        let moment = Moment::Of(Event::Issue);
        Ok(in_flight.event(moment, time_ns, key))
    }

    /// The end of a command: of one that failed, its issue is taken back.
    pub(super) fn complete(
        &mut self,
        time_ns: u64,
        details: &[u8],
        disks: &mut Disks,
    ) -> Result<Below, ParseError> {
        let command = Command::read(details)?;
        if command.queue == 0 {
            // The admin queue's commands are not taken.
            return Ok(Below::Passed(Passed::OtherEvent));
        }
        let disk = disks.place(&command.volume(details))?;
        let key = (disk, command.queue, command.number);
        let Some(in_flight) = self.in_flight.remove(&key) else {
            return Ok(Below::Passed(Passed::OtherEvent));
        };
        let moment = if command.status == 0 {
            Moment::Of(Event::Complete)
        } else {
            Moment::Requeue
        };
        Ok(in_flight.event(moment, time_ns, key))
    }

    /// Notes that a command in flight was passed to the drive by a program.
    pub(super) fn pass_through(&mut self, command: &DiskCommand) {
        let (queue, number) = command.tag;
        let key = (command.disk, queue, number);
        if let Some(in_flight) = self.in_flight.get_mut(&key) {
            in_flight.is_passthrough = true;
        }
    }
}

impl InFlight {
    fn event(self, moment: Moment, time_ns: u64, key: (usize, u64, u64)) -> Below {
        let (disk, queue, number) = key;
        let command = DiskCommand {
            disk,
            start: self.start,
            length: self.blocks,
            counts_blocks: true,
            tag: (queue, number),
            is_passthrough: self.is_passthrough,
            state: Pairing::Open,
        };
        Below::Command(moment, Io { time_ns, ..self.io }, command)
    }
}

impl<'a> Command<'a> {
    fn read(details: &'a [u8]) -> Result<Command<'a>, ParseError> {
        if let Some(fields) = details.trim_ascii_start().strip_prefix(FAILED) {
            return Command::read_fields(fields);
        }
        let open = details.iter().position(|byte| *byte == b'(');
        let (head, command) = details.split_at(open.unwrap_or(details.len()));
        let command = command.strip_prefix(b"(").unwrap_or(command);
        let command = command.strip_suffix(b")").unwrap_or(command);
        let number = |key| value(head, key).and_then(either);
        Ok(Command {
            disk: value(head, "disk").unwrap_or_default(),
            controller: None,
            queue: number("qid").ok_or(ParseError::Missing("queue (qid)"))?,
            number: number("cmdid").ok_or(ParseError::Missing("command (cmdid)"))?,
            namespace: number("nsid").unwrap_or(1),
            status: number("status").unwrap_or(0),
            name: { command.split(|byte| *byte == b' ') }
                .next()
                .unwrap_or_default(),
            fields: Fields::Text(command),
        })
    }

    /// Reads the raw fields of an event, whose text form needs functions of the kernel.
    fn read_fields(fields: &'a [u8]) -> Result<Command<'a>, ParseError> {
        let number = |key| value(fields, key).and_then(either);
        let queue = number("qid").ok_or(ParseError::Missing("queue (qid)"))?;
        let name: &[u8] = match (queue, number("opcode")) {
            (0, _) => b"",
            (_, Some(0x00)) => b"nvme_cmd_flush",
            (_, Some(0x01)) => b"nvme_cmd_write",
            (_, Some(0x02)) => b"nvme_cmd_read",
            (_, Some(0x08)) => b"nvme_cmd_write_zeroes",
            (_, Some(0x09)) => b"nvme_cmd_dsm",
            (_, Some(0x7d)) => b"nvme_cmd_zone_append",
            _ => b"",
        };
        let bytes = memmem::find(fields, ARRAY).and_then(|at| fields.get(at + ARRAY.len()..));
        let mut all = [0; COMMAND_BYTES];
        let mut words = bytes
            .unwrap_or_default()
            .split(|byte| matches!(byte, b',' | b']'));
        for byte in &mut all {
            let word = words.next().unwrap_or_default().trim_ascii();
            let number = hexadecimal_digits(word).and_then(|number| u8::try_from(number).ok());
            // A completion has none of them.
            if bytes.is_some() {
                *byte = number.ok_or(ParseError::NotANumber("command (cdw10)"))?;
            }
        }
        Ok(Command {
            disk: value(fields, "disk").unwrap_or_default(),
            controller: number("ctrl_id"),
            queue,
            number: number("cid").ok_or(ParseError::Missing("command (cid)"))?,
            namespace: number("nsid").unwrap_or(1),
            status: number("status").unwrap_or(0),
            name,
            fields: Fields::Bytes(all),
        })
    }

    fn field(&self, key: &'static str) -> Result<u64, ParseError> {
        match &self.fields {
            Fields::Text(command) => {
                let found = value(command, key).ok_or(ParseError::Missing(key))?;
                either(found).ok_or(ParseError::NotANumber(key))
            }
            // Places in the command, from CDW10 on (Linux `nvme_trace_read_write`).
            Fields::Bytes(bytes) => {
                let range = match key {
                    "slba" => 0..8,
                    "len" => 8..10,
                    "ctrl" => 10..12,
                    _ => 12..16,
                };
                let bytes = bytes.get(range).unwrap_or_default().iter().rev();
                Ok(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
        }
    }

    /// The directive specific value of a directive that places data.
    fn placement(&self) -> Option<u16> {
        let control = self.field("ctrl").ok()?;
        let places = matches!(control >> 4 & 0xf, DATA_PLACEMENT | STREAMS);
        let management = self.field("dsmgmt").ok()?;
        places.then_some((management >> 16 & 0xffff) as u16)
    }

    /// The namespace's name. Old kernels name only the controller before the fields.
    fn volume(&self, details: &[u8]) -> Vec<u8> {
        if let Some(rest) = self.disk.strip_prefix(b"ng") {
            return [b"nvme", rest].concat();
        }
        if !self.disk.is_empty() {
            return self.disk.to_vec();
        }
        let number = self.namespace.to_string();
        if let Some(controller) = self.controller {
            return format!("nvme{controller}n{number}").into_bytes();
        }
        let controller = details.split(|byte| *byte == b':').next();
        [controller.unwrap_or_default(), b"n", number.as_bytes()].concat()
    }
}

/// The value of `key=value` up to a comma.
fn value<'a>(fields: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let words = fields.split(|byte| matches!(byte, b' ' | b','));
    { words }.find_map(|word| word.strip_prefix(key.as_bytes())?.strip_prefix(b"="))
}

fn either(text: &[u8]) -> Option<u64> {
    number(text).or_else(|| hexadecimal(text))
}
