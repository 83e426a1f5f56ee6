//! Text of Linux' trace events, as `trace_pipe`, Android's systrace, `trace-cmd report` and `perf script` print it.
//!
//! ```text
//! jbd2/sda1-8-496 [002] ..... 11484.223264: block_rq_issue: 8,0 WSM 4096 () 229376 + 8 be,0,3 [jbd2/sda1-8]
//! kworker/1:1H-34 [001] ..... 5163.991838: mmc_request_start: mmc1: start struct mmc_request[…]: cmd_opcode=25 …
//! app-4100 [003] ..... 9000.100000: nvme_setup_cmd: nvme0: disk=ng0n1, qid=4, cmdid=17, nsid=1, …
//! ```
//!
//! Before an event stand the process's name and number, the processor in brackets, flags, and the time in seconds; see
//! `line.rs`. Call stacks between events are call paths of the contexts; see `stack.rs`.
//!
//! The block layer's events (Linux `include/trace/events/block.h`): the device's numbers, which are the volume; what is
//! asked (`RWBS`); bytes (not in old kernels); a passthrough command's bytes in parentheses; offset, `+` and length in
//! sectors of 512 bytes; priority (not in old kernels); the process's name, the context. `block_rq_issue` is taken, or
//! `block_bio_queue` or `block_rq_complete` if asked for; `block_rq_requeue` and a completion with an error take an issue
//! back. Where only bios end
//! (`dm`, `md`), `block_bio_complete` is taken for a completion. Without data the sector means nothing; kernels before
//! 5.x print -1.
//!
//! NVMe commands (`nvme_setup_cmd`) are in `nvme.rs`.
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
//! A trace may tell one request by several kinds of events: of the block layer, of NVMe, of cards. For each device the
//! block layer's count where there are any, and NVMe's passthrough commands, which no other kind tells; see `layers.rs`.

use crate::foreign::fields::{MICROSECOND_NS, SECOND_NS, Words, time_ns};
use crate::foreign::form::SECTORS;
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Moment, Passed};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Io;

mod block;
mod layers;
mod line;
mod mmc;
mod nvme;
mod stack;
mod waiting;

use layers::{Below, Devices, DiskCommand, Disks};
use line::{Line, Source};
use mmc::Cards;
pub use mmc::MmcCommand;
use nvme::Commands;
use waiting::Waiting;

pub(super) const ROW: FormatRow = FormatRow {
    name: "ftrace",
    about: "text of Linux' trace events: sectors of 512 bytes, seconds",
    clock: Clock::Shared,
    uses: Uses::NOTHING.events().keys(&["id-unit"]),
    reader: Reads::Lines(|options| {
        let map = options.columns.as_ref();
        let event = options.event.unwrap_or_default();
        Ok(Box::new(Ftrace {
            event,
            volume: options.one_volume().map(str::to_owned),
            devices: Devices::default(),
            disks: Disks::new(event, map.and_then(|map| map.id_unit_bytes)),
            cards: Cards::default(),
            commands: Commands::default(),
            waiting: Waiting::default(),
        }))
    }),
};

pub(super) const FORM: FormRow = FormRow {
    about: Some("block_rq_issue of trace_pipe: sectors of 512 bytes, seconds"),
    ..FormRow::new(SECTORS.named().every(1000), |_| Box::new(FtraceWriter))
};

/// The events of other kinds than the block layer's.
const MMC_EVENT: &[u8] = b"mmc_request_start";
const NVME_SETUP: &[u8] = b"nvme_setup_cmd";
const NVME_COMPLETE: &[u8] = b"nvme_complete_rq";

/// The kinds of events that tell of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block(Moment),
    Mmc,
    NvmeSetup,
    NvmeComplete,
}

impl Kind {
    fn of(name: &[u8]) -> Option<Kind> {
        match name {
            MMC_EVENT => Some(Kind::Mmc),
            NVME_SETUP => Some(Kind::NvmeSetup),
            NVME_COMPLETE => Some(Kind::NvmeComplete),
            _ => block::moment(name).map(Kind::Block),
        }
    }
}

/// Reads lines of trace events.
#[derive(Debug)]
struct Ftrace {
    /// The event of the block layer that is taken.
    event: Event,
    /// The only volume that is wanted.
    volume: Option<String>,
    devices: Devices,
    disks: Disks,
    cards: Cards,
    commands: Commands,
    waiting: Waiting,
}

impl LineReader for Ftrace {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        match line::line(line) {
            Line::Lost(events) => Ok(Found::Lost(events)),
            Line::Note => Ok(Found::Passed(Passed::Note)),
            Line::Other => Err(ParseError::Shape(
                "an event with its time, nor of a call stack",
            )),
            Line::Stack(source, side) => {
                self.waiting.begin_stack(source, side);
                Ok(Found::Passed(Passed::Note))
            }
            Line::Frame(frame) => {
                self.waiting.add_frame(frame);
                Ok(Found::Passed(Passed::Note))
            }
            Line::Event(event) => {
                self.waiting.pass(event.source, &mut self.disks, names)?;
                self.event(&event, names)
            }
        }
    }

    fn ready(&mut self) -> Option<Found> {
        self.waiting.ready()
    }

    fn finish(&mut self, names: &mut Names) -> Result<(), ParseError> {
        self.waiting.release(true, &mut self.disks, names)
    }

    fn remarks(&self) -> Vec<String> {
        self.disks.remarks()
    }
}

impl Ftrace {
    fn event(&mut self, event: &line::Event<'_>, names: &mut Names) -> Result<Found, ParseError> {
        let Some(kind) = Kind::of(event.name) else {
            return Ok(Found::Passed(Passed::OtherEvent));
        };
        if let Kind::Block(moment) = kind {
            return self.block(moment, event, names);
        }
        // The layers below have no event that queues a request, and cards none that completes it.
        if self.event == Event::Queue || (kind == Kind::Mmc && self.event != Event::Issue) {
            let moment = match kind {
                Kind::NvmeComplete => Event::Complete,
                _ => Event::Issue,
            };
            let passed = Passed::Untaken(moment).of_device(b"", self.volume.as_deref());
            return Ok(Found::Passed(passed));
        }
        let time_ns = time_ns(event.time, SECOND_NS)?;
        let (task, details) = (command(event.source.task), event.details);
        let disks = &mut self.disks;
        let below = match kind {
            Kind::NvmeSetup => self.commands.setup(time_ns, task, details, disks, names),
            Kind::NvmeComplete => self.commands.complete(time_ns, details, disks),
            _ => self.cards.request(time_ns, task, details, disks, names),
        };
        match below? {
            Below::Passed(passed) => Ok(Found::Passed(passed)),
            Below::Command(moment, io, mut command) => {
                if kind == Kind::Mmc {
                    disks.follow(event.source, &io, &mut command, names);
                }
                self.waiting.wait(event.source, moment, io, Some(command));
                Ok(Found::Held)
            }
        }
    }

    /// An event of the block layer.
    fn block(
        &mut self,
        moment: Moment,
        event: &line::Event<'_>,
        names: &mut Names,
    ) -> Result<Found, ParseError> {
        let name = Words(event.details).next().unwrap_or_default();
        let device = self.devices.of(name)?;
        if moment == Moment::Of(Event::Complete) && device.is_other_end(event.name) {
            return Ok(Found::Passed(Passed::OtherEvent));
        }
        let wanted = self.volume.as_deref();
        if let Some(passed) = moment.useless_for(self.event) {
            return Ok(Found::Passed(passed.of_device(name, wanted)));
        }
        let is_taken = moment == Moment::Of(self.event);
        // What was issued before the trace began, or what another layer tells of, is not compared.
        if self.event == Event::Issue && !is_taken && !device.is_taken {
            return Ok(Found::Passed(match moment {
                Moment::Of(event) => Passed::Untaken(event).of_device(name, wanted),
                _ => Passed::OtherEvent,
            }));
        }
        let time_ns = time_ns(event.time, SECOND_NS)?;
        let found = match block::event(time_ns, moment, event.details, names, is_taken) {
            Ok(found) => found,
            Err(fault) if is_taken => return Err(fault),
            // Of events that are not taken, one that is not understood is passed over.
            Err(_) => return Ok(Found::Passed(Passed::OtherEvent)),
        };
        match found {
            Found::Event(moment, io) => {
                if is_taken {
                    device.is_taken = true;
                    self.pair(event.source, moment, &io, names);
                }
                self.waiting.wait(event.source, moment, io, None);
                Ok(Found::Held)
            }
            _ => {
                self.pair_passthrough(moment, event, name, names)?;
                Ok(Found::Passed(if is_taken {
                    Passed::NoData
                } else {
                    Passed::OtherEvent
                }))
            }
        }
    }

    /// Finds the command to a disk that a request of the block layer became.
    fn pair(&mut self, source: Source<'_>, moment: Moment, io: &Io, names: &Names) {
        let evidence = |own: &Io, command: &DiskCommand| command.evidence(own, io);
        if let Some((command, evidence)) = self.waiting.pair(source, moment, evidence) {
            self.disks
                .is_device(command.disk, io.tenant, evidence, names);
        }
        if moment == Moment::Of(Event::Issue) {
            self.disks.remember(source, io);
        }
    }

    /// Finds the command that a program passed to a drive, by the request without sectors that the block layer makes of
    /// it.
    fn pair_passthrough(
        &mut self,
        moment: Moment,
        event: &line::Event<'_>,
        device: &[u8],
        names: &mut Names,
    ) -> Result<(), ParseError> {
        let Some(request_bytes) = block::passthrough_bytes(event.details) else {
            return Ok(());
        };
        let evidence = |_: &Io, command: &DiskCommand| command.passthrough_evidence(request_bytes);
        let Some((command, mut evidence)) = self.waiting.pair(event.source, moment, evidence)
        else {
            return Ok(());
        };
        // Where completions are taken, an issue does not show that the block layer tells those.
        evidence.names_device &= moment == Moment::Of(self.event);
        command.is_passthrough = true;
        self.commands.pass_through(command);
        let volume = names.device_text(device)?;
        self.disks.is_device(command.disk, volume, evidence, names);
        Ok(())
    }
}

/// The time of a line in ftrace's form, and what stands behind it.
pub(super) fn timed(line: &[u8]) -> Option<(&[u8], &[u8])> {
    line::header(line).map(|(_, time, rest)| (time, rest))
}

/// The command to a card that a line tells of.
pub(in crate::foreign) enum MmcLine<'a> {
    /// A command to the card of a host.
    Command(&'a [u8], MmcCommand),
    /// Events that are missing here, or some.
    Lost(Option<u64>),
    /// Something else.
    Other,
}

/// Understands a line of a trace with `mmc_request_start`.
pub(in crate::foreign) fn mmc_line(line: &[u8]) -> Result<MmcLine<'_>, ParseError> {
    match line::line(line) {
        Line::Lost(events) => Ok(MmcLine::Lost(events)),
        Line::Note | Line::Stack(..) | Line::Frame(_) => Ok(MmcLine::Other),
        Line::Other => Err(ParseError::Shape(
            "an event with its time, nor of a call stack",
        )),
        Line::Event(event) if event.name == MMC_EVENT => {
            let (host, command) = mmc::command(event.details)?;
            Ok(MmcLine::Command(host, command))
        }
        Line::Event(_) => Ok(MmcLine::Other),
    }
}

/// The process's name in `name-number`, in perf's `name number`, and in `name process/thread`.
fn command(task: &[u8]) -> &[u8] {
    // Of systrace the group's number stands behind, in parentheses.
    let task = match task.iter().rposition(|byte| *byte == b'(') {
        Some(at) if task.ends_with(b")") => task.get(..at).unwrap_or(task).trim_ascii_end(),
        _ => task,
    };
    let without_number = |task: &[u8]| {
        let digits = task.iter().rev().take_while(|byte| byte.is_ascii_digit());
        task.len() - digits.count()
    };
    let mut name = task.get(..without_number(task)).unwrap_or_default();
    if let Some(process) = name
        .strip_suffix(b"/")
        .filter(|rest| rest.last().is_some_and(u8::is_ascii_digit))
    {
        name = process.get(..without_number(process)).unwrap_or_default();
    }
    let name = name.trim_ascii_end();
    name.strip_suffix(b"-").unwrap_or(name)
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
    fn a_command_ends_before_its_number() {
        for (task, expected) in [
            ("kworker/1:1H-34", "kworker/1:1H"),
            ("a b   12", "a b"),
            ("a b   12/13", "a b"),
            ("jbd2/sda1-8-496", "jbd2/sda1-8"),
            ("a-12 (  12)", "a"),
            ("a-12 (-----)", "a"),
            ("<...>-7", "<...>"),
        ] {
            assert_eq!(command(task.as_bytes()), expected.as_bytes(), "{task}");
        }
    }
}
