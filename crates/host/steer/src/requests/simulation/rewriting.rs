//! A host that collects, in a world of its own: its commands meet those of the block device in any order.

use std::sync::Arc;
use std::time::Duration;

use super::drive::Version;
use super::server::host_half;
use super::{NOTHING, SECTOR_BYTES, World};
use crate::abi::NvmeCommand;
use crate::retry::PAUSE_NS;
use crate::rewrites::{Rewrites, SLOT_PAGES, SLOTS};
use crate::shared::Shared;
use crate::split::PAGE_BYTES;

/// The largest command of the drive.
const MOST_BYTES: u32 = 4 * PAGE_BYTES as u32;
/// The distance between the memory of two slots.
const SLOT_BYTES: u64 = 1 << 32;

/// A command of a slot that the drive has.
pub struct Rewrite {
    slot: usize,
    index: usize,
    command: NvmeCommand,
}

/// A host that collects, and its commands.
pub struct Rewriting {
    rewrites: Rewrites,
    /// The contents of each slot's memory, sector by sector.
    memory: Vec<Vec<Version>>,
    under_way: Vec<Rewrite>,
    /// When which command is issued again.
    paused: Vec<(u64, usize, usize)>,
}

impl Rewriting {
    /// One with nothing under way.
    pub fn new(shared: &Arc<Shared>) -> Rewriting {
        let sectors = SLOT_PAGES * PAGE_BYTES as usize / SECTOR_BYTES;
        Rewriting {
            rewrites: Rewrites::new(Arc::clone(shared), MOST_BYTES),
            memory: vec![vec![NOTHING; sectors]; SLOTS],
            under_way: Vec::new(),
            paused: Vec::new(),
        }
    }

    fn issue(&mut self, slot: usize, index: usize) {
        let command = self.rewrites.issue(slot, index, slot as u64 * SLOT_BYTES);
        self.under_way.push(Rewrite {
            slot,
            index,
            command: command.expect("a command"),
        });
    }

    fn place(&mut self, one: &Rewrite) -> &mut [Version] {
        let offset = (one.command.address - one.slot as u64 * SLOT_BYTES) as usize;
        let first = offset / SECTOR_BYTES;
        let sectors = one.command.data_bytes as usize / SECTOR_BYTES;
        &mut self.memory[one.slot][first..first + sectors]
    }
}

impl World {
    /// The first block of a command of the host that collects, if one is under way.
    pub fn rewritten_block(&mut self) -> Option<u64> {
        let under_way = &self.rewriting.as_ref()?.under_way;
        let any = under_way.get(self.random.below(under_way.len().max(1) as u64) as usize)?;
        Some(any.command.words[0].into())
    }

    /// Whether commands of the host that collects are under way.
    pub fn is_rewriting(&self) -> bool {
        let is_idle = |rewriting: &Rewriting| rewriting.rewrites.is_idle();
        !self.rewriting.as_ref().is_none_or(is_idle)
    }

    /// The host that collects looks what is next, gives up, has a command issued again or done; or a request that it held is
    /// looked at again. Answers whether there is such a host.
    pub fn rewrite_on(&mut self) -> bool {
        let Some(rewriting) = &mut self.rewriting else {
            return false;
        };
        let now_ms = self.now_ms;
        let due = rewriting
            .paused
            .iter()
            .position(|&(at_ms, ..)| at_ms <= now_ms);
        if let Some(due) = due {
            let (_, slot, index) = rewriting.paused.swap_remove(due);
            rewriting.issue(slot, index);
            return true;
        }
        let held = self.waiting.iter().filter(|(_, waiting)| waiting.is_held);
        let held: Vec<u16> = held.map(|(&tag, _)| tag).collect();
        if !held.is_empty() && self.random.one_in(3) {
            let tag = self.random.one_of(&held);
            let step = self.server.again(tag);
            self.begun(tag, step);
            return true;
        }
        if self.random.one_in(1000) {
            let mut placer = self.shared.placer.lock().unwrap();
            placer.give_up_collecting(host_half());
            drop(placer);
            self.count("hosts that left the collecting to the drive");
            return true;
        }
        if rewriting.under_way.is_empty() || self.random.one_in(3) {
            let mut issued = Vec::new();
            rewriting.rewrites.advance(&mut issued);
            for (slot, index) in issued {
                rewriting.issue(slot, index);
            }
            return true;
        }
        let any = self.random.below(rewriting.under_way.len() as u64) as usize;
        let one = rewriting.under_way.swap_remove(any);
        let data = rewriting.place(&one);
        let done = self
            .drive
            .answer(&one.command, &[0; 16], data, &mut self.random);
        if let (1, 0) = (one.command.opcode, done.answer)
            && !self.drive.has_forgotten
        {
            let stream = self.stream_of(&one);
            let named = self.shared.target.handles[stream];
            assert_eq!(done.handle.unwrap_or(0), named);
        }
        self.hear_of_rewrites(vec![(one, done.answer)]);
        true
    }

    /// The stream of the handle that a rewrite names.
    fn stream_of(&self, one: &Rewrite) -> usize {
        let handle = (one.command.words[3] >> 16) as u16;
        let mut handles = self.shared.target.handles.iter();
        handles
            .position(|named| *named == handle)
            .expect("a handle")
    }

    /// All commands of the host that collects are cut off: the drive did them, or did not.
    pub fn cut_off_rewrites(&mut self) -> Vec<(Rewrite, i32)> {
        let Some(rewriting) = &mut self.rewriting else {
            return Vec::new();
        };
        let mut cut = Vec::new();
        for one in std::mem::take(&mut rewriting.under_way) {
            let data = rewriting.place(&one);
            let answer = self
                .drive
                .cut_off(&one.command, &[0; 16], data, &mut self.random);
            cut.push((one, answer));
        }
        cut
    }

    /// The host that collects hears what the drive has answered.
    pub fn hear_of_rewrites(&mut self, answers: Vec<(Rewrite, i32)>) {
        let now = self.began + Duration::from_millis(self.now_ms);
        for (one, answer) in answers {
            let stream = self.stream_of(&one);
            let Some(rewriting) = &mut self.rewriting else {
                return;
            };
            let is_asked_again = rewriting
                .rewrites
                .answered(one.slot, one.index, answer, || now);
            let counted = &self.counted;
            if is_asked_again {
                counted.repeated_commands.add(1);
                let at_ms = self.now_ms + u64::from(PAUSE_NS) / 1_000_000;
                rewriting.paused.push((at_ms, one.slot, one.index));
            } else if answer != 0 {
                counted.failed_rewrites.add(1);
            } else if one.command.opcode == 1 {
                counted.rewritten_bytes[stream].add(one.command.data_bytes.into());
                self.count("survivors rewritten");
            }
        }
    }
}
