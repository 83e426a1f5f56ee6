//! Commands of `mmc_request_start`.

use std::collections::HashMap;

use super::layers::{Below, DiskCommand, Disks, Pairing};
use crate::foreign::fields::{SECTOR_BYTES, bytes, hexadecimal, number};
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Moment, Passed, request};
use crate::io::Operation;

/// Bytes of the registers that a switch (`cmd_opcode` 6) may set: JESD84-B51, 7.4.
const FLUSH_CACHE: u64 = 32;
const PARTITION_CONFIG: u64 = 179;

/// The bits of `PARTITION_CONFIG` that choose the partition; 0 is the user's (JESD84-B51, 7.4.69).
const PARTITION_ACCESS: u64 = 7;

/// The argument of CMD0 that lets a device begin to boot, which resets nothing (JESD84-B51, 6.3.2).
const BOOT_INITIATION: u64 = 0xffff_fffa;

/// The argument of ERASE (CMD38) that marks what a secure trim's second step erases.
const SECURE_TRIM_MARK: u64 = 0x8000_0001;

/// Cards whose state is kept. Our choice; a machine has a few.
const MOST_CARDS: usize = 1024;

/// The state of each card, by the name of its host.
#[derive(Debug, Default)]
pub(super) struct Cards(HashMap<Vec<u8>, Card>);

#[derive(Debug, Default)]
struct Card {
    erase_first: Option<u64>,
    erase_last: Option<u64>,
    partition: u64,
    /// First sectors of queued tasks (CMD45), by task.
    tasks: [Option<u64>; 32],
    /// The task of the last CMD44, whose address CMD45 tells.
    queued: Option<usize>,
}

/// The task in an argument of CMD44, CMD46 or CMD47: bits 20:16.
fn task_of(argument: u64) -> usize {
    (argument >> 16 & 31) as usize
}

/// The kinds of data of a request (Linux `include/linux/mmc/core.h`, `MMC_DATA_WRITE`, `MMC_DATA_READ`).
const DATA_WRITE: u64 = 1 << 8;
const DATA_READ: u64 = 1 << 9;

/// Commands that perform queued tasks.
const EXECUTE_READ_TASK: u64 = 46;
const EXECUTE_WRITE_TASK: u64 = 47;

/// SET_BLOCK_COUNT, which may come with a transfer.
const SET_BLOCK_COUNT: u64 = 23;

/// A command that a card is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MmcCommand {
    /// The number: 25 is WRITE_MULTIPLE_BLOCK.
    pub opcode: u64,
    /// The 32 bits after the number: for a transfer, its first block.
    pub argument: u64,
    /// The argument of the SET_BLOCK_COUNT (CMD23) that comes with it.
    pub set_block_count: Option<u64>,
    /// Bytes of data; 0 of a command that is no read or write.
    pub length_bytes: u64,
    /// The sector of the data, where the kernel tells it. It does not where a program passes commands through.
    pub sector: Option<u64>,
}

/// The card's host and the command, of `mmc1: start struct mmc_request[…]: cmd_opcode=25 …`.
pub(in crate::foreign) fn command(details: &[u8]) -> Result<(&[u8], MmcCommand), ParseError> {
    let end = details.iter().position(|byte| *byte == b':');
    let host = end.and_then(|end| details.get(..end));
    let host = host.ok_or(ParseError::Missing("host"))?;
    Ok((host, MmcCommand::read(details)?))
}

impl Cards {
    /// The request that a command makes.
    pub(super) fn request(
        &mut self,
        time_ns: u64,
        task: &[u8],
        details: &[u8],
        disks: &mut Disks,
        names: &mut Names,
    ) -> Result<Below, ParseError> {
        let (host, command) = command(details)?;
        let card = self.card(host)?;
        let Some((operation, offset_bytes, length_bytes)) = card.perform(&command)? else {
            return Ok(Below::Passed(Passed::NoData));
        };
        let mut io = request(time_ns, operation, 0, 0);
        io.context = names.context(task)?;
        let command = DiskCommand {
            disk: disks.place(&card.volume(host))?,
            start: offset_bytes,
            length: length_bytes,
            counts_blocks: false,
            tag: (0, 0),
            is_passthrough: false,
            state: Pairing::Open,
        };
        Ok(Below::Command(Moment::Of(Event::Issue), io, command))
    }

    fn card(&mut self, host: &[u8]) -> Result<&mut Card, ParseError> {
        if !self.0.contains_key(host) && self.0.len() >= MOST_CARDS {
            return Err(ParseError::TooManyNames {
                what: "card",
                most_bytes: MOST_CARDS,
            });
        }
        Ok(self.0.entry(host.to_vec()).or_default())
    }
}

impl MmcCommand {
    fn read(details: &[u8]) -> Result<MmcCommand, ParseError> {
        let mut command = MmcCommand::default();
        let [
            mut opcode,
            mut argument,
            mut count,
            mut count_opcode,
            mut flags,
            mut blocks,
            mut block_bytes,
        ] = [None; 7];
        for word in details.split(|byte| *byte == b' ') {
            let Some(equals) = word.iter().position(|byte| *byte == b'=') else {
                continue;
            };
            let (key, value) = word.split_at(equals);
            let field = match key {
                b"cmd_opcode" => &mut opcode,
                b"cmd_arg" => &mut argument,
                b"sbc_opcode" => &mut count_opcode,
                b"sbc_arg" => &mut count,
                b"data_flags" => &mut flags,
                b"blocks" => &mut blocks,
                b"block_size" => &mut block_bytes,
                b"blk_addr" => &mut command.sector,
                _ => continue,
            };
            let value = value.get(1..).unwrap_or_default();
            let parsed = number(value).or_else(|| hexadecimal(value));
            *field = Some(parsed.ok_or(ParseError::NotANumber("command"))?);
        }
        command.opcode = opcode.ok_or(ParseError::Missing("cmd_opcode"))?;
        command.argument = argument.ok_or(ParseError::Missing("cmd_arg"))?;
        command.set_block_count = count.filter(|_| count_opcode == Some(SET_BLOCK_COUNT));
        // A request that the host's queue engine takes has data and no command: the engine sends the task's.
        let is_queued = command.opcode == 0 && blocks.is_some_and(|blocks| blocks > 0);
        if is_queued {
            command.opcode = match flags.unwrap_or(0) {
                flags if flags & DATA_WRITE != 0 => EXECUTE_WRITE_TASK,
                flags if flags & DATA_READ != 0 => EXECUTE_READ_TASK,
                _ => return Err(ParseError::Missing("data_flags")),
            };
        }
        // A program that passes commands to the card leaves the sector 0 (MMC_IOC_CMD).
        command.sector = command.sector.filter(|sector| is_queued || *sector != 0);
        if command.is_transfer() {
            let blocks = blocks.ok_or(ParseError::Missing("blocks"))?;
            let block_bytes = block_bytes.ok_or(ParseError::Missing("block_size"))?;
            command.length_bytes = bytes(blocks, block_bytes, "length")?;
        }
        Ok(command)
    }

    /// Whether it reads or writes data of the card.
    pub fn is_transfer(&self) -> bool {
        matches!(self.opcode, 17 | 18 | 24 | 25 | 46 | 47)
    }
}

impl Card {
    /// The request a command makes, if it makes one.
    fn perform(
        &mut self,
        command: &MmcCommand,
    ) -> Result<Option<(Operation, u64, u64)>, ParseError> {
        match command.opcode {
            0 if command.argument != BOOT_INITIATION => *self = Card::default(),
            17 | 18 | 46 => return self.transfer(command, Operation::Read).map(Some),
            24 | 25 | 47 => return self.transfer(command, Operation::Write).map(Some),
            32 | 35 => self.erase_first = Some(command.argument),
            33 | 36 => self.erase_last = Some(command.argument),
            38 => return self.erase(command.argument),
            44 => {
                let task = task_of(command.argument);
                self.queued = Some(task);
                self.tasks[task] = None;
            }
            45 => {
                if let Some(task) = self.queued.take() {
                    self.tasks[task] = Some(command.argument);
                }
            }
            6 => return Ok(self.switch(command.argument)),
            _ => {}
        }
        Ok(None)
    }

    /// A read or write. The argument of a command that performs a queued task has the task's number and no address.
    fn transfer(
        &mut self,
        command: &MmcCommand,
        operation: Operation,
    ) -> Result<(Operation, u64, u64), ParseError> {
        let address = match command.opcode {
            EXECUTE_READ_TASK | EXECUTE_WRITE_TASK => self.tasks[task_of(command.argument)].take(),
            _ => Some(command.argument),
        };
        let sector = command.sector.or(address);
        let sector = sector.ok_or(ParseError::Missing("address of the task (CMD45)"))?;
        let offset_bytes = bytes(sector, SECTOR_BYTES, "address")?;
        Ok((operation, offset_bytes, command.length_bytes))
    }

    fn erase(&mut self, argument: u64) -> Result<Option<(Operation, u64, u64)>, ParseError> {
        // A trace may begin between the commands of an erase.
        let (Some(first), Some(last)) = (self.erase_first.take(), self.erase_last.take()) else {
            return Ok(None);
        };
        // The second step names the same sectors (Linux, mmc_blk_issue_secdiscard_rq).
        if argument == SECURE_TRIM_MARK {
            return Ok(None);
        }
        let sectors = last.checked_sub(first).and_then(|less| less.checked_add(1));
        let sectors = sectors.ok_or(ParseError::Shape("an erase whose end is behind its start"))?;
        let offset_bytes = bytes(first, SECTOR_BYTES, "address")?;
        let length_bytes = bytes(sectors, SECTOR_BYTES, "length")?;
        Ok(Some((Operation::Discard, offset_bytes, length_bytes)))
    }

    /// A switch changes the register's byte 23:16 by 15:8, as bits 25:24 say: 1 sets bits, 2 clears them, 3 writes the
    /// byte (JESD84-B51, 6.6.1).
    fn switch(&mut self, argument: u64) -> Option<(Operation, u64, u64)> {
        let (index, value) = (argument >> 16 & 0xff, argument >> 8 & 0xff);
        let changed = |old: u64| match argument >> 24 & 3 {
            1 => Some(old | value),
            2 => Some(old & !value),
            3 => Some(value),
            _ => None,
        };
        match index {
            FLUSH_CACHE if changed(0).is_some_and(|value| value & 1 == 1) => {
                return Some((Operation::Flush, 0, 0));
            }
            PARTITION_CONFIG => {
                if let Some(value) = changed(self.partition) {
                    self.partition = value & PARTITION_ACCESS;
                }
            }
            _ => {}
        }
        None
    }

    fn volume(&self, host: &[u8]) -> Vec<u8> {
        match self.partition {
            0 => host.to_vec(),
            other => [host, b":", other.to_string().as_bytes()].concat(),
        }
    }
}
