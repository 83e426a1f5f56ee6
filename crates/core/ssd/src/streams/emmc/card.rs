//! A device that understands eMMC's commands.

use std::{collections::BTreeMap, mem};

use serde::Serialize;
use thiserror::Error;

use super::{Activation, Capabilities, ContextConf, EmmcContexts, Extent, Rule};
use crate::{
    device::Device, error::DeviceError, relocate::Relocate, streams::AtClose, types::StreamId,
};

/// Bytes of a sector, which addresses of commands count (devices above 2 GB).
const SECTOR_BYTES: u64 = 512;

/// Bytes of the register that SWITCH (CMD6) may set: `FLUSH_CACHE`, the first `CONTEXT_CONF`, `PARTITION_CONFIG`.
const FLUSH_CACHE: u8 = 32;
const CONTEXT_CONF: u8 = 37;
const PARTITION_CONFIG: u8 = 179;

/// The bits of `PARTITION_CONFIG` that choose the partition; 0 is the user's.
const PARTITION_ACCESS: u8 = 7;

/// The argument of CMD0 that lets a device begin to boot, which resets nothing.
const BOOT_INITIATION: u32 = 0xffff_fffa;

/// The arguments of ERASE (CMD38): the bit of secure ones, and the first step of a secure trim, which only marks.
const SECURE: u32 = 1 << 31;
const SECURE_TRIM_MARK: u32 = SECURE | 1;

/// A command: its number, its argument, and what comes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EmmcCommand {
    /// The number: 25 is WRITE_MULTIPLE_BLOCK.
    pub opcode: u8,
    /// Argument of the command, 32 bits (JESD84-B51, 6.10).
    pub argument: u32,
    /// The argument of the SET_BLOCK_COUNT (CMD23) that a driver sends with it, where it does.
    pub set_block_count: Option<u32>,
    /// Bytes of data.
    pub length_bytes: u64,
    /// The sector of the data, where it is told apart from the argument.
    pub sector: Option<u64>,
}

/// Reason for refusing a command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// It breaks a rule.
    #[error(transparent)]
    Rule(#[from] Rule),
    /// The device does not take it: it has become read-only.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Counts of a context's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ContextCounts {
    /// Times it was opened.
    pub opened: u64,
    /// Times it was closed, resets included.
    pub closed: u64,
    /// Writes performed.
    pub writes: u64,
    /// Bytes of them.
    pub written_bytes: u64,
    /// Reads performed.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Commands that broke a rule.
    pub refused: u64,
}

/// Counts of erased bytes, by the argument of ERASE (CMD38).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct EraseCounts {
    /// By an erase (0), in whole erase groups.
    pub erases: u64,
    /// By a trim (1), in blocks.
    pub trims: u64,
    /// By a discard (3), whose data the card may still return.
    pub discards: u64,
    /// Secure erases, and secure trims where they are carried out (bit 31).
    pub secure: u64,
    /// First steps of secure trims (0x80000001), which mark and erase nothing yet.
    pub secure_marks: u64,
    /// Those with arguments that eMMC does not have (SD cards' 2), performed as erases.
    pub others: u64,
    /// Bytes of all but the marks.
    pub bytes: u64,
}

/// A queued task, from its parameters to its execution.
#[derive(Debug, Clone, Copy, Default)]
struct Task {
    /// The argument of CMD44.
    parameters: u32,
    /// That of CMD45: the first sector.
    address: Option<u32>,
}

/// An eMMC device: commands go through the rules of contexts to the translation layer.
#[derive(Debug)]
pub struct EmmcCard {
    device: Device,
    contexts: EmmcContexts,
    /// `CONTEXT_CONF` as it was written, by context.
    registers: [u8; 16],
    partition: u8,
    block_count: Option<u32>,
    /// Queued tasks, by number.
    tasks: [Task; 32],
    /// The task of the last CMD44, whose address CMD45 tells.
    queued: Option<usize>,
    erase_first: Option<u32>,
    erase_last: Option<u32>,
    counts: [ContextCounts; 16],
    erased: EraseCounts,
    flushes: u64,
    elsewhere: u64,
    broken: BTreeMap<Rule, u64>,
}

/// The task in an argument of CMD44, CMD46 or CMD47: bits 20:16.
fn task_of(argument: u32) -> usize {
    (argument >> 16 & 31) as usize
}

/// The context in an argument of CMD23 or CMD44: bits 28:25.
fn context_of(argument: u32) -> u16 {
    (argument >> 25 & 15) as u16
}

impl EmmcCard {
    /// A card made of a device.
    pub fn new(device: Device) -> EmmcCard {
        let capabilities = Capabilities::of(device.config());
        EmmcCard {
            device,
            contexts: EmmcContexts::new(capabilities),
            registers: [0; 16],
            partition: 0,
            block_count: None,
            tasks: [Task::default(); 32],
            queued: None,
            erase_first: None,
            erase_last: None,
            counts: [ContextCounts::default(); 16],
            erased: EraseCounts::default(),
            flushes: 0,
            elsewhere: 0,
            broken: BTreeMap::new(),
        }
    }

    /// Device behind the card's commands.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Counts of each context's use; 0 is none.
    pub fn counts(&self) -> &[ContextCounts] {
        &self.counts
    }

    /// Counts of erased bytes.
    pub fn erased(&self) -> EraseCounts {
        self.erased
    }

    /// Flushes of the cache.
    pub fn flushes(&self) -> u64 {
        self.flushes
    }

    /// Reads, writes and erases of boot and replay-protected partitions, which are passed over.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Number of violations of each rule.
    pub fn broken(&self) -> &BTreeMap<Rule, u64> {
        &self.broken
    }

    /// Performs a command. Those that have to do neither with data nor with contexts do nothing.
    ///
    /// # Errors
    /// The rule that it breaks; nothing was changed then but what the command takes up: a block count, a queued task,
    /// the ends of an erase. Or the device's refusal, before which the rules took the command as performed.
    pub fn perform(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        command: &EmmcCommand,
    ) -> Result<(), Refused> {
        let (context, done) = match command.opcode {
            0 if command.argument != BOOT_INITIATION => (0, self.reset()),
            6 => self.switch(command.argument),
            23 => {
                self.block_count = Some(command.argument);
                (0, Ok(()))
            }
            32 | 35 => {
                self.erase_first = Some(command.argument);
                (0, Ok(()))
            }
            33 | 36 => {
                self.erase_last = Some(command.argument);
                (0, Ok(()))
            }
            38 => (0, self.erase(command.argument)),
            44 => {
                let task = task_of(command.argument);
                self.queued = Some(task);
                self.tasks[task] = Task {
                    parameters: command.argument,
                    address: None,
                };
                (0, Ok(()))
            }
            45 => {
                if let Some(task) = self.queued.take() {
                    self.tasks[task].address = Some(command.argument);
                }
                (0, Ok(()))
            }
            17 | 18 | 24 | 25 | 46 | 47 => self.transfer(relocation, command),
            _ => (0, Ok(())),
        };
        if let Err(Refused::Rule(rule)) = &done {
            self.counts[usize::from(context)].refused += 1;
            *self.broken.entry(*rule).or_default() += 1;
        }
        done
    }

    /// CMD0: contexts are closed (`CONTEXT_CONF` is of the kind R/W/E_P), and what was told for later commands is gone.
    fn reset(&mut self) -> Result<(), Refused> {
        for context in 1..16 {
            if self.contexts.activation(context) != Activation::Closed {
                self.counts[usize::from(context)].closed += 1;
            }
        }
        self.registers = [0; 16];
        self.partition = 0;
        self.block_count = None;
        self.tasks = [Task::default(); 32];
        self.queued = None;
        self.erase_first = None;
        self.erase_last = None;
        for stream in self.contexts.power_cycle() {
            AtClose::default().apply(&mut self.device, stream)?;
        }
        Ok(())
    }

    /// CMD6: bits 25:24 say how the byte 23:16 of the register is changed by 15:8.
    fn switch(&mut self, argument: u32) -> (u16, Result<(), Refused>) {
        let [_, value, index, access] = argument.to_le_bytes();
        let changed = |old: u8| match access & 3 {
            1 => Some(old | value),
            2 => Some(old & !value),
            3 => Some(value),
            _ => None,
        };
        let context = index.wrapping_sub(CONTEXT_CONF).wrapping_add(1);
        match index {
            FLUSH_CACHE if changed(0).is_some_and(|value| value & 1 == 1) => self.flushes += 1,
            PARTITION_CONFIG => {
                if let Some(value) = changed(self.partition) {
                    self.partition = value & PARTITION_ACCESS;
                }
            }
            _ if (1..16).contains(&context) => {
                if let Some(value) = changed(self.registers[usize::from(context)]) {
                    return (context.into(), self.configure(context, value));
                }
            }
            _ => {}
        }
        (0, Ok(()))
    }

    fn configure(&mut self, context: u8, value: u8) -> Result<(), Refused> {
        let conf = ContextConf::of_byte(value)?;
        let was_open = self.contexts.activation(context.into()) != Activation::Closed;
        let closed = self.contexts.configure(context.into(), conf)?;
        self.registers[usize::from(context)] = value;
        let counts = &mut self.counts[usize::from(context)];
        match conf.activation {
            Activation::Closed => counts.closed += u64::from(was_open),
            _ => counts.opened += 1,
        }
        if let Some(stream) = closed {
            AtClose::default().apply(&mut self.device, stream)?;
        }
        Ok(())
    }

    /// Reads and writes. The context is CMD23's for multiple blocks, and CMD44's for queued tasks.
    fn transfer(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        command: &EmmcCommand,
    ) -> (u16, Result<(), Refused>) {
        let before = self.block_count.take();
        let (told, address) = match command.opcode {
            18 | 25 => {
                let count = command.set_block_count.or(before);
                (count.unwrap_or(0), Some(command.argument))
            }
            46 | 47 => {
                let task = mem::take(&mut self.tasks[task_of(command.argument)]);
                (task.parameters, task.address)
            }
            _ => (0, Some(command.argument)),
        };
        if self.partition != 0 {
            self.elsewhere += 1;
            return (0, Ok(()));
        }
        if command.opcode <= 25 && told & 1 << 30 != 0 {
            return (0, Err(Rule::Packed.into()));
        }
        let context = context_of(told);
        let Some(sector) = command.sector.or(address.map(u64::from)) else {
            return (context, Err(Rule::TaskAddress.into()));
        };
        let extent = Extent {
            offset_bytes: sector.saturating_mul(SECTOR_BYTES),
            length_bytes: command.length_bytes,
        };
        let done = match command.opcode {
            17 | 18 | 46 => self.read(context, extent),
            _ => self.write(relocation, context, extent),
        };
        (context, done)
    }

    fn write(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        context: u16,
        extent: Extent,
    ) -> Result<(), Refused> {
        let (pages, stream) = self.contexts.write(context, extent)?;
        self.device.write(relocation, pages, stream)?;
        let counts = &mut self.counts[usize::from(context)];
        counts.writes += 1;
        counts.written_bytes += extent.length_bytes;
        Ok(())
    }

    fn read(&mut self, context: u16, extent: Extent) -> Result<(), Refused> {
        self.contexts.read(context, extent)?;
        let counts = &mut self.counts[usize::from(context)];
        counts.reads += 1;
        counts.read_bytes += extent.length_bytes;
        Ok(())
    }

    /// CMD38, of the sectors that CMD35 and CMD36 told (SD cards: CMD32 and CMD33).
    fn erase(&mut self, argument: u32) -> Result<(), Refused> {
        let (Some(first), Some(last)) = (self.erase_first.take(), self.erase_last.take()) else {
            return Ok(());
        };
        if self.partition != 0 {
            self.elsewhere += 1;
            return Ok(());
        }
        // The second step names the same sectors (Linux, mmc_blk_issue_secdiscard_rq).
        if argument == SECURE_TRIM_MARK {
            self.erased.secure_marks += 1;
            return Ok(());
        }
        let sectors = u64::from(last)
            .checked_sub(first.into())
            .ok_or(Rule::Address)?
            + 1;
        let extent = Extent {
            offset_bytes: u64::from(first) * SECTOR_BYTES,
            length_bytes: sectors * SECTOR_BYTES,
        };
        self.device.discard(self.contexts.erase(extent)?)?;
        let counter = match argument {
            0 => &mut self.erased.erases,
            1 => &mut self.erased.trims,
            3 => &mut self.erased.discards,
            secure if secure & SECURE != 0 => &mut self.erased.secure,
            _ => &mut self.erased.others,
        };
        *counter += 1;
        self.erased.bytes += extent.length_bytes;
        Ok(())
    }

    /// The drive's stream of an open context, by which the device's counters are found; context 0 has the default one.
    pub fn stream(&self, context: u16) -> Option<StreamId> {
        self.contexts.stream(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_and_contexts_are_read_from_their_bits_alone() {
        for number in 0..32 {
            let others = !(31 << 16);
            assert_eq!(task_of(number << 16), number as usize);
            assert_eq!(task_of(number << 16 | others), number as usize);
        }
        for number in 0..16 {
            let others = !(15 << 25);
            assert_eq!(context_of(number << 25), number as u16);
            assert_eq!(context_of(number << 25 | others), number as u16);
        }
    }
}
