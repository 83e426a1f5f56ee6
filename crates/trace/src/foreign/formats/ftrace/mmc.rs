//! Commands of `mmc_request_start`.

use std::collections::HashMap;

use crate::foreign::fault::Fault;
use crate::foreign::fields::{SECTOR_BYTES, bytes, hexadecimal, number};
use crate::foreign::found::{Found, Passed, request};
use crate::foreign::names::Names;
use crate::io::Operation;

/// Bytes of the registers that a switch (`cmd_opcode` 6) may set: JESD84-B51, 7.4.
const FLUSH_CACHE: u64 = 32;
const PARTITION_CONFIG: u64 = 179;

/// The bits of `PARTITION_CONFIG` that choose the partition; 0 is the user's (JESD84-B51, 7.4.69).
const PARTITION_ACCESS: u64 = 7;

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
    /// The argument.
    pub argument: u64,
    /// The argument of the SET_BLOCK_COUNT (CMD23) that comes with it.
    pub set_block_count: Option<u64>,
    /// Blocks of data.
    pub blocks: Option<u64>,
    /// Bytes of a block.
    pub block_bytes: Option<u64>,
    /// The sector of the data, where the kernel tells it.
    pub sector: Option<u64>,
}

/// The card's host and the command, of `mmc1: start struct mmc_request[…]: cmd_opcode=25 …`.
pub(in crate::foreign) fn command(details: &[u8]) -> Result<(&[u8], MmcCommand), Fault> {
    let end = details.iter().position(|byte| *byte == b':');
    let host = end.and_then(|end| details.get(..end));
    let host = host.ok_or(Fault::Missing("host"))?;
    Ok((host, MmcCommand::read(details)?))
}

impl Cards {
    /// The request that a command makes.
    pub(super) fn request(
        &mut self,
        time_ns: u64,
        task: &[u8],
        details: &[u8],
        names: &mut Names,
    ) -> Result<Found, Fault> {
        let (host, command) = command(details)?;
        let card = self.card(host)?;
        let Some((operation, offset_bytes, length_bytes)) = card.perform(&command)? else {
            return Ok(Found::Passed(Passed::NoData));
        };
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.tenant = card.volume(host, names)?;
        io.context = names.context(task)?;
        Ok(Found::Io(io))
    }

    fn card(&mut self, host: &[u8]) -> Result<&mut Card, Fault> {
        if !self.0.contains_key(host) && self.0.len() >= MOST_CARDS {
            return Err(Fault::TooManyNames {
                what: "card",
                most_bytes: MOST_CARDS,
            });
        }
        Ok(self.0.entry(host.to_vec()).or_default())
    }
}

impl MmcCommand {
    fn read(details: &[u8]) -> Result<MmcCommand, Fault> {
        let mut command = MmcCommand::default();
        let [
            mut opcode,
            mut argument,
            mut count,
            mut count_opcode,
            mut flags,
        ] = [None; 5];
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
                b"blocks" => &mut command.blocks,
                b"block_size" => &mut command.block_bytes,
                b"blk_addr" => &mut command.sector,
                _ => continue,
            };
            let value = value.get(1..).unwrap_or_default();
            let parsed = number(value).or_else(|| hexadecimal(value));
            *field = Some(parsed.ok_or(Fault::NotANumber("command"))?);
        }
        command.opcode = opcode.ok_or(Fault::Missing("cmd_opcode"))?;
        command.argument = argument.ok_or(Fault::Missing("cmd_arg"))?;
        command.set_block_count = count.filter(|_| count_opcode == Some(SET_BLOCK_COUNT));
        // A request that the host's queue engine takes has data and no command: the engine sends the task's.
        if command.opcode == 0 && command.blocks.is_some_and(|blocks| blocks > 0) {
            command.opcode = match flags.unwrap_or(0) {
                flags if flags & DATA_WRITE != 0 => EXECUTE_WRITE_TASK,
                flags if flags & DATA_READ != 0 => EXECUTE_READ_TASK,
                _ => 0,
            };
        }
        Ok(command)
    }

    /// First byte and bytes of its data.
    ///
    /// # Errors
    /// When its length is not told, or they do not fit 64 bits.
    pub fn range(&self) -> Result<(u64, u64), Fault> {
        // A program that passes commands to the card leaves the sector 0 (MMC_IOC_CMD).
        let told = self.sector.filter(|sector| *sector != 0);
        let blocks = self.blocks.ok_or(Fault::Missing("blocks"))?;
        let block_bytes = self.block_bytes.ok_or(Fault::Missing("block_size"))?;
        let offset_bytes = bytes(told.unwrap_or(self.argument), SECTOR_BYTES, "address")?;
        Ok((offset_bytes, bytes(blocks, block_bytes, "length")?))
    }
}

impl Card {
    /// The request a command makes, if it makes one.
    fn perform(&mut self, command: &MmcCommand) -> Result<Option<(Operation, u64, u64)>, Fault> {
        let data = |operation| {
            let (offset_bytes, length_bytes) = command.range()?;
            Ok(Some((operation, offset_bytes, length_bytes)))
        };
        match command.opcode {
            17 | 18 | 46 => return data(Operation::Read),
            24 | 25 | 47 => return data(Operation::Write),
            32 | 35 => self.erase_first = Some(command.argument),
            33 | 36 => self.erase_last = Some(command.argument),
            38 => return self.erase(),
            6 => return Ok(self.switch(command.argument)),
            _ => {}
        }
        Ok(None)
    }

    fn erase(&mut self) -> Result<Option<(Operation, u64, u64)>, Fault> {
        // A trace may begin between the commands of an erase.
        let (Some(first), Some(last)) = (self.erase_first.take(), self.erase_last.take()) else {
            return Ok(None);
        };
        let sectors = last.checked_sub(first).and_then(|less| less.checked_add(1));
        let sectors = sectors.ok_or(Fault::Shape("an erase whose end is behind its start"))?;
        let offset_bytes = bytes(first, SECTOR_BYTES, "address")?;
        let length_bytes = bytes(sectors, SECTOR_BYTES, "length")?;
        Ok(Some((Operation::Discard, offset_bytes, length_bytes)))
    }

    /// A switch sets the register's byte `argument >> 16` to `argument >> 8` (JESD84-B51, 6.6.1).
    fn switch(&mut self, argument: u64) -> Option<(Operation, u64, u64)> {
        let (index, value) = (argument >> 16 & 0xff, argument >> 8 & 0xff);
        match index {
            FLUSH_CACHE if value & 1 == 1 => return Some((Operation::Flush, 0, 0)),
            PARTITION_CONFIG => self.partition = value & PARTITION_ACCESS,
            _ => {}
        }
        None
    }

    fn volume(&self, host: &[u8], names: &mut Names) -> Result<u32, Fault> {
        let text = String::from_utf8_lossy(host);
        match self.partition {
            0 => names.volume(host, || text.into_owned()),
            other => {
                let name = format!("{text}:{other}");
                names.volume(name.as_bytes(), || name.clone())
            }
        }
    }
}
