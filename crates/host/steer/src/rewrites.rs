//! Survivors under way: read, and written anew to the same addresses with the handle that the model chose. What each needs
//! next is decided here; its effects are its caller's: commands go to the drive.
//!
//! ```text
//! advance:   survivors that were read:  those unchanged since are marked and written; the others stay for another time
//!            a slot is free, it is time: the next survivors are read
//! answered:  a read:                    what could not be read is left to the drive for good
//!            a write:                   its pages are unmarked, whatever the answer: both copies are the same data
//! ```

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use anabranch_ssd::relocate::Relocate;

use crate::abi::NvmeCommand;
use crate::collecting::Collecting;
use crate::command::Command;
use crate::page_locks::{PageLocks, Version};
use crate::retry::is_cut_off;
use crate::shared::Shared;
use crate::split::PAGE_BYTES;

/// Survivors that are read and written together, at most: as many as a model names at a time.
pub const SLOT_PAGES: usize = 64;
/// Survivors' slots: as many as the model has under way.
pub const SLOTS: usize = 8;
/// Pages of the largest command (our choice): a foreground write that meets a rewrite waits for no more than that.
const MOST_PAGES: usize = 32;

#[derive(Debug, Clone, Copy)]
struct Survivor {
    page: u32,
    /// Its version when it was read; nothing where a command was in flight then.
    read: Option<Version>,
}

/// Survivors under way together.
#[derive(Debug, Default)]
struct Slot {
    survivors: Vec<Survivor>,
    /// The name of the read; 0 where the slot is free.
    tag: u64,
    is_writing: bool,
    /// The commands, and the survivors of each.
    commands: Vec<(Command, Range<usize>)>,
    pending: usize,
    lives_since: Option<Instant>,
    /// The names of its rewrites.
    rewrites: Vec<u64>,
}

/// All survivors under way on a drive.
pub struct Rewrites {
    shared: Arc<Shared>,
    slots: Vec<Slot>,
    /// Slots that are read or were, in the order in which the model has them.
    order: VecDeque<usize>,
    /// Names of reads and rewrites that have ended, and pages that cannot be read, which the model is to hear of.
    ended: Vec<u64>,
    unreadable: Vec<u32>,
    most_pages: usize,
}

impl Rewrites {
    /// None under way, to a drive whose largest command has so many bytes.
    pub fn new(shared: Arc<Shared>, most_bytes: u32) -> Rewrites {
        let most_pages = (u64::from(most_bytes) / PAGE_BYTES) as usize;
        Rewrites {
            shared,
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            order: VecDeque::new(),
            ended: Vec::new(),
            unreadable: Vec::new(),
            most_pages: most_pages.clamp(1, MOST_PAGES),
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.slots.iter().all(|slot| slot.pending == 0)
    }

    /// Decides what is to be read and written now: appends slot and index of each command. Answers whether there is more to
    /// decide at once.
    pub fn advance(&mut self, issued: &mut Vec<(usize, usize)>) -> bool {
        let shared = Arc::clone(&self.shared);
        let Some(locks) = &shared.locks else {
            return false;
        };
        let placer = shared.placer.lock();
        let mut placer = placer.unwrap_or_else(PoisonError::into_inner);
        let is_idle = locks.is_idle();
        let heard = placer.collect(|collecting, relocation| {
            collecting.ended(&std::mem::take(&mut self.ended));
            for page in self.unreadable.drain(..) {
                collecting.cannot_read(page);
            }
            while self.rewrite_next(locks, collecting, relocation) {
                self.send(issued);
            }
            let has_slots = self.read_on(locks, issued, || {
                collecting.next_survivors(relocation, is_idle)
            });
            has_slots && collecting.is_seeking(is_idle)
        });
        if heard.is_none() {
            self.forget();
        }
        heard.unwrap_or(false)
    }

    /// The model is gone: what was read is not written any more. Commands under way end by themselves.
    fn forget(&mut self) {
        self.ended.clear();
        self.order.clear();
        for slot in &mut self.slots {
            if slot.pending == 0 {
                slot.tag = 0;
            }
        }
    }

    /// The front slot's survivors move on in the model, those that are as they were read. Answers whether they were read.
    fn rewrite_next(
        &mut self,
        locks: &PageLocks,
        collecting: &mut Collecting,
        relocation: &mut dyn Relocate,
    ) -> bool {
        let most_pages = self.most_pages;
        let Some(slot) = self
            .order
            .front()
            .and_then(|&slot| self.slots.get_mut(slot))
        else {
            return false;
        };
        let Slot {
            survivors,
            commands,
            rewrites,
            ..
        } = slot;
        // At most 64: a search among them is short.
        let place_of = |page: u32| survivors.iter().position(|one| one.page == page);
        let may = |&page: &u32| {
            let read = place_of(page).and_then(|place| survivors[place].read);
            read.is_some() && locks.version(page) == read
        };
        collecting.rewrite_next(relocation, may, |stream, pages, tag| {
            rewrites.push(tag);
            for &page in pages {
                let Some(place) = place_of(page) else {
                    continue;
                };
                locks.mark(page);
                append(commands, most_pages, (page, place), |first, count| {
                    Command::Write {
                        start_bytes: first,
                        length_bytes: count,
                        offset_bytes: (place * PAGE_BYTES as usize) as u32,
                        stream,
                        placed: true,
                        forced: false,
                    }
                });
            }
        })
    }

    /// The front slot has all its rewrites: they are sent, or it is free.
    fn send(&mut self, issued: &mut Vec<(usize, usize)>) {
        let Some(number) = self.order.pop_front() else {
            return;
        };
        let locks = self.shared.locks.as_ref();
        let slot = &mut self.slots[number];
        slot.is_writing = true;
        slot.pending = slot.commands.len();
        slot.lives_since = None;
        issued.extend((0..slot.commands.len()).map(|index| (number, index)));
        if let Some(locks) = locks {
            for (command, _) in &slot.commands {
                if let Command::Write { stream, .. } = command {
                    locks.begin_write(stream.index());
                }
            }
        }
        if slot.pending == 0 {
            self.ended.append(&mut slot.rewrites);
            slot.tag = 0;
        }
    }

    /// Reads what the model names next, while there are slots. Answers whether there are some left.
    fn read_on(
        &mut self,
        locks: &PageLocks,
        issued: &mut Vec<(usize, usize)>,
        mut next: impl FnMut() -> Option<(u64, Vec<u32>)>,
    ) -> bool {
        while let Some(number) = self.slots.iter().position(|slot| slot.tag == 0) {
            let Some((tag, pages)) = next() else {
                return true;
            };
            let slot = &mut self.slots[number];
            slot.tag = tag;
            slot.is_writing = false;
            slot.lives_since = None;
            slot.commands.clear();
            slot.rewrites.clear();
            slot.survivors.clear();
            for (place, &page) in pages.iter().enumerate() {
                let read = locks.version(page);
                slot.survivors.push(Survivor { page, read });
                append(
                    &mut slot.commands,
                    self.most_pages,
                    (page, place),
                    |first, count| Command::Read {
                        start_bytes: first,
                        length_bytes: count,
                        offset_bytes: (place * PAGE_BYTES as usize) as u32,
                    },
                );
            }
            slot.pending = slot.commands.len();
            issued.extend((0..slot.commands.len()).map(|index| (number, index)));
            self.order.push_back(number);
        }
        false
    }

    /// A command as the drive takes it; `data` is where the slot's pages begin. To be sent: it is counted in the ledger.
    pub fn issue(&self, slot: usize, index: usize, data: u64) -> Option<NvmeCommand> {
        let (command, _) = self.slots.get(slot)?.commands.get(index)?;
        // IMPORTANT: before it is sent, as a write of the foreground.
        self.shared.ledger.add_sent(command.written_bytes());
        Some(self.shared.target.encode(command, data, 0))
    }

    /// The drive has done a command, or has not. Answers whether it goes to the drive again, after a pause. `now` is asked for
    /// where time matters.
    pub fn answered(
        &mut self,
        number: usize,
        index: usize,
        answer: i32,
        now: impl FnOnce() -> Instant,
    ) -> bool {
        let Some(slot) = self.slots.get_mut(number) else {
            return false;
        };
        let Some((command, survivors)) = slot.commands.get(index) else {
            return false;
        };
        let shared = &self.shared;
        let lives_since = &mut slot.lives_since;
        let has_ended = shared.has_ended.load(Ordering::Relaxed);
        // IMPORTANT: a retry is safe, since the pages stay marked until it has ended. At the end nobody waits for it.
        if is_cut_off(answer)
            && !has_ended
            && shared.controllers.are_asked_again(lives_since, now())
        {
            shared.counters.repeated_commands.add(1);
            return true;
        }
        let (is_done, survivors) = (answer == 0, survivors.clone());
        match *command {
            Command::Write {
                stream,
                length_bytes,
                ..
            } => {
                if let Some(locks) = &shared.locks {
                    locks.end_write(stream.index());
                    let pages = slot.survivors.get(survivors).unwrap_or_default();
                    pages.iter().for_each(|one| locks.unmark(one.page));
                }
                let rewritten = shared.counters.rewritten_bytes.get(stream.index());
                match rewritten {
                    Some(rewritten) if is_done => rewritten.add(length_bytes.into()),
                    _ => shared.counters.failed_rewrites.add(1),
                }
            }
            _ if is_done => {}
            _ => {
                // What cannot be read stays where it is. Nobody has asked for it, so nobody is told but the counter.
                shared.counters.failed_rewrites.add(1);
                let unread = slot.survivors.get(survivors).unwrap_or_default();
                self.unreadable.extend(unread.iter().map(|one| one.page));
            }
        }
        slot.pending -= 1;
        if slot.pending > 0 {
            return false;
        }
        if slot.is_writing {
            self.ended.append(&mut slot.rewrites);
            slot.tag = 0;
        } else {
            slot.commands.clear();
            self.ended.push(slot.tag);
        }
        false
    }
}

/// Adds a page to the last command, where it is the next on the drive and in memory, or begins another.
fn append(
    commands: &mut Vec<(Command, Range<usize>)>,
    most_pages: usize,
    (page, place): (u32, usize),
    begin: impl FnOnce(u64, u32) -> Command,
) {
    let (start, bytes) = (u64::from(page) * PAGE_BYTES, PAGE_BYTES as u32);
    let new = begin(start, bytes);
    if let Some((last, survivors)) = commands.last_mut()
        && survivors.end == place
        && survivors.len() < most_pages
        && last.takes(&new)
    {
        survivors.end += 1;
        return;
    }
    commands.push((new, place..place + 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_are_one_command_where_they_adjoin_on_the_drive_and_in_memory() {
        let read = |pages: &[(u32, usize)]| {
            let mut commands = Vec::new();
            for &(page, place) in pages {
                append(
                    &mut commands,
                    3,
                    (page, place),
                    |start_bytes, length_bytes| Command::Read {
                        start_bytes,
                        length_bytes,
                        offset_bytes: place as u32 * 4096,
                    },
                );
            }
            let pages = |(command, survivors): (Command, Range<usize>)| match command {
                Command::Read {
                    start_bytes,
                    length_bytes,
                    offset_bytes,
                } => {
                    assert_eq!(u64::from(offset_bytes), survivors.start as u64 * PAGE_BYTES);
                    assert_eq!(u64::from(length_bytes), survivors.len() as u64 * PAGE_BYTES);
                    (start_bytes / PAGE_BYTES, survivors.len())
                }
                other => panic!("{other:?}"),
            };
            commands.into_iter().map(pages).collect::<Vec<_>>()
        };
        assert_eq!(read(&[(7, 0), (8, 1), (20, 2)]), [(7, 2), (20, 1)]);
        // In between another survivor lies in memory that stays where it is.
        assert_eq!(read(&[(7, 0), (8, 2)]), [(7, 1), (8, 1)]);
        // No more than three at a time.
        let five: Vec<_> = (0..5).map(|at| (at as u32, at)).collect();
        assert_eq!(read(&five), [(0, 3), (3, 2)]);
    }
}
