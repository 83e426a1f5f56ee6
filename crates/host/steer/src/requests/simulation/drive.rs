//! A drive with a cache, which does what encoded commands say, fails, is reset and loses power.

use nix::libc::{EAGAIN, EINTR, EINVAL, ENODEV};

use super::SECTOR_BYTES;
use super::random::Random;
use crate::abi::NvmeCommand;
use crate::drive::Directive;

/// States of a controller, in the kernel's words.
pub const LIVE: &str = "live";
pub const RESETTING: &str = "resetting";
pub const GONE: &str = "deleting (no IO)";

/// Status fields: media errors of reads and writes, a field that is refused, a command that there is not, and two
/// that say that a path failed.
const WRITE_FAULT: i32 = 0x280;
const UNRECOVERED_READ: i32 = 0x281;
const INVALID_FIELD: i32 = 0x4002;
const INVALID_OPCODE: i32 = 0x4001;
const PATH_ERRORS: [i32; 2] = [0x370, 0x371];

/// Contents of a sector: which write it is of; 0 where it holds nothing.
pub type Version = u64;

pub struct SimulatedDrive {
    /// Versions that a sector may have after power was lost, the oldest first: the safe one, then those in the cache.
    kept: Vec<Vec<Version>>,
    pub block_shift: u8,
    pub directive: Directive,
    pub reach: &'static str,
    /// A reset disabled its streams: directives are refused.
    pub has_forgotten: bool,
    /// Whether commands fail by themselves; not in the end, when all has to come to rest.
    pub fails: bool,
    /// Whether every command is cut off although the controller lives.
    pub is_stubborn: bool,
    /// Whether it has Deallocate.
    pub deallocates: bool,
    /// Bytes that hosts wrote, as its log counts them.
    pub host_bytes: u64,
}

/// The outcome of a command: its answer, and the handle of its write, if it named one.
pub struct Done {
    pub answer: i32,
    pub handle: Option<u16>,
}

impl SimulatedDrive {
    pub fn new(sectors: usize, directive: Directive, random: &mut Random) -> SimulatedDrive {
        SimulatedDrive {
            kept: vec![vec![0]; sectors],
            block_shift: random.one_of(&[9, 12]),
            directive,
            reach: LIVE,
            has_forgotten: false,
            fails: true,
            is_stubborn: false,
            deallocates: !random.one_in(5),
            host_bytes: 0,
        }
    }

    /// Reads a sector.
    pub fn holds(&self, sector: usize) -> Version {
        self.kept[sector].last().copied().unwrap_or(0)
    }

    /// Power is lost: of what was not made safe, each sector keeps any version.
    pub fn lose_power(&mut self, random: &mut Random) {
        for kept in &mut self.kept {
            *kept = vec![random.one_of(kept)];
        }
        self.has_forgotten = self.directive == Directive::Streams;
    }

    /// The answer to a command that a reset cut off; whether the drive did it, nobody knows.
    pub fn cut_off(
        &mut self,
        command: &NvmeCommand,
        range: &[u8; 16],
        data: &mut [Version],
        random: &mut Random,
    ) -> i32 {
        if random.one_in(2) {
            self.perform(command, range, data, random);
        }
        match random.below(3) {
            0 => -EINTR,
            _ => random.one_of(&PATH_ERRORS),
        }
    }

    /// Does a command, or refuses it. `data` are the sectors that its memory holds.
    pub fn answer(
        &mut self,
        command: &NvmeCommand,
        range: &[u8; 16],
        data: &mut [Version],
        random: &mut Random,
    ) -> Done {
        let refused = |answer| Done {
            answer,
            handle: None,
        };
        match self.reach {
            LIVE if self.is_stubborn => return refused(random.one_of(&PATH_ERRORS)),
            LIVE => {}
            RESETTING => return refused(random.one_of(&[-EAGAIN, -EINVAL, 0x370])),
            _ => return refused(-ENODEV),
        }
        if self.fails && random.one_in(60) {
            return refused(self.cut_off(command, range, data, random));
        }
        let handle = placed(command, self.directive);
        if handle.is_some() && self.has_forgotten {
            return refused(INVALID_FIELD);
        }
        if command.opcode == 9 && !self.deallocates {
            return refused(INVALID_OPCODE);
        }
        if self.fails && random.one_in(150) {
            // A part of a write may be there.
            let whole = data.len() as u64;
            let part = random.below(whole + 1) as usize;
            match command.opcode {
                1 => self.write(
                    first_sector(command, self.block_shift),
                    &data[..part],
                    false,
                ),
                2 => return refused(UNRECOVERED_READ),
                _ => return refused(0x4),
            }
            return refused(WRITE_FAULT);
        }
        self.perform(command, range, data, random);
        Done { answer: 0, handle }
    }

    fn perform(
        &mut self,
        command: &NvmeCommand,
        range: &[u8; 16],
        data: &mut [Version],
        random: &mut Random,
    ) {
        const FORCE: u32 = 1 << 30;
        let first = first_sector(command, self.block_shift);
        match command.opcode {
            0 => {
                for kept in &mut self.kept {
                    kept.drain(..kept.len() - 1);
                }
            }
            1 => {
                self.host_bytes += u64::from(command.data_bytes);
                self.write(first, data, command.words[2] & FORCE != 0);
            }
            2 => {
                for (sector, read) in data.iter_mut().enumerate() {
                    *read = self.holds(first + sector);
                }
            }
            8 => {
                let blocks = (command.words[2] & 0xffff) as usize + 1;
                let sectors = (blocks << self.block_shift) / SECTOR_BYTES;
                self.host_bytes += (blocks << self.block_shift) as u64;
                self.write(first, &vec![0; sectors], false);
            }
            9 => {
                let number = |at: usize, length: usize| {
                    let bytes = &range[at..at + length];
                    bytes
                        .iter()
                        .rev()
                        .fold(0, |sum, &byte| sum << 8 | usize::from(byte))
                };
                let sectors = |blocks: usize| (blocks << self.block_shift) / SECTOR_BYTES;
                self.write(
                    sectors(number(8, 8)),
                    &vec![0; sectors(number(4, 4))],
                    false,
                );
            }
            other => panic!("opcode {other}: {random:?}"),
        }
    }

    fn write(&mut self, first: usize, data: &[Version], forced: bool) {
        for (kept, &version) in self.kept[first..][..data.len()].iter_mut().zip(data) {
            if forced {
                kept.clear();
            }
            kept.push(version);
        }
    }
}

/// The handle that a write names, if it names one.
fn placed(command: &NvmeCommand, directive: Directive) -> Option<u16> {
    let kind = command.words[2] >> 20 & 0xf;
    if command.opcode != 1 || kind == 0 {
        return None;
    }
    assert_eq!(kind, u32::from(directive.kind()));
    Some((command.words[3] >> 16) as u16)
}

/// The first sector of a command about blocks; its data are as long as its blocks.
fn first_sector(command: &NvmeCommand, block_shift: u8) -> usize {
    let block = u64::from(command.words[0]) | u64::from(command.words[1]) << 32;
    let blocks = (command.words[2] & 0xffff) + 1;
    if matches!(command.opcode, 1 | 2) {
        assert_eq!(command.data_bytes, blocks << block_shift);
    }
    ((block << block_shift) as usize) / SECTOR_BYTES
}
