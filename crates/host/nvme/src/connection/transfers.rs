//! Data that the controller asked the host for.

use std::{collections::VecDeque, sync::Arc};

use anabranch_ssd::streams::{Scope, StreamHost};

use super::{session::Role, transport::Transport};
use crate::{
    command::Command,
    completion::Status,
    drive::Hint,
    extent::Extent,
    namespace::Namespace,
    pdu::{Data, FatalError, FatalStatus, Transfer},
    store::Store,
    target::Target,
};

/// Most bytes of memory that data asked for may take on a connection (our choice: those of 32
/// of the longest admin commands, or the beginnings of 64 blocks). Who would exceed it is asked later.
const MOST_ASKED: usize = 256 << 10;

/// Bytes of the longest logical block there is.
const MOST_BLOCK: usize = 4096;

/// Destination of the data as they come.
#[derive(Debug)]
pub(super) enum Sink {
    /// The data are written to the store, from this byte on.
    Write {
        /// The first byte.
        at: u64,
        /// Placement hint for the translation layer.
        hint: Hint,
        /// The beginning of a logical block whose end has not come: a block is written whole or not
        /// at all, also when the host vanishes (NVM §2.1.4.2, AWUPF).
        part: Vec<u8>,
        /// One past the last page that was reported to the translation layer ([`Target::put`]).
        reported: u32,
    },
    /// The data are compared with what the store holds from this byte on.
    Compare {
        /// The first byte.
        at: u64,
        /// A difference was found.
        differ: bool,
    },
    /// The data are kept until all of them have come.
    Collect(Vec<u8>),
}

/// Data that a command is to bring: how many bytes, what becomes of them, and the namespace, if they
/// are one's.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) length: u32,
    pub(super) sink: Sink,
    pub(super) namespace: Option<Arc<Namespace>>,
}

/// A command whose data are under way.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) command: Command,
    pub(super) sink: Sink,
    pub(super) length: u32,
    pub(super) received: u32,
    /// The namespace that the data are of, and its Formats when the command came.
    pub(super) namespace: Option<Arc<Namespace>>,
    pub(super) format: u64,
    /// The first failure. The rest of the data is taken and thrown away.
    pub(super) status: Status,
    /// The time at which the data were asked for, or came last.
    moved_ms: u64,
}

/// The transfers of a connection; a tag is an index.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    slots: Vec<Option<Pending>>,
    vacant: Vec<u16>,
    under_way: usize,
    /// Bytes of memory that the data of those under way may take.
    asked_bytes: usize,
    /// Transfers that were not asked for yet.
    waiting: VecDeque<Pending>,
}

impl Transfers {
    pub(super) fn is_empty(&self) -> bool {
        self.under_way == 0 && self.waiting.is_empty()
    }

    /// Commands whose data are under way, or will be asked for.
    pub(super) fn len(&self) -> usize {
        self.under_way + self.waiting.len()
    }

    /// The time at which the data that have kept us waiting longest moved last.
    pub(super) fn stalled_since_ms(&self) -> Option<u64> {
        let under_way = self.slots.iter().flatten();
        under_way.map(|pending| pending.moved_ms).min()
    }

    /// Counts the wait for data anew: it was ours, not the host's.
    pub(super) fn forgive(&mut self, now_ms: u64) {
        let under_way = self.slots.iter_mut().flatten();
        under_way.for_each(|pending| pending.moved_ms = now_ms);
    }

    /// Bytes of memory that they take, or may take.
    pub(super) fn bytes(&self) -> usize {
        let slots = self.slots.capacity() + self.waiting.capacity();
        slots * size_of::<Pending>() + self.asked_bytes
    }

    /// Frees the memory of transfers that are done.
    pub(super) fn shrink(&mut self) {
        if self.is_empty() {
            *self = Transfers::default();
        }
    }

    /// Takes the transfer to ask for next, if there is memory for it.
    fn next(&mut self) -> Option<Pending> {
        // One may always be under way, however much memory it needs: else it would never be asked for.
        let need = self.waiting.front()?.need();
        let fits = self.under_way == 0 || self.asked_bytes + need <= MOST_ASKED;
        if fits { self.waiting.pop_front() } else { None }
    }

    /// Begins one, and answers its tag.
    fn begin(&mut self, pending: Pending) -> u16 {
        self.under_way += 1;
        self.asked_bytes += pending.need();
        if let Some(tag) = self.vacant.pop() {
            if let Some(slot) = self.slots.get_mut(usize::from(tag)) {
                *slot = Some(pending);
            }
            return tag;
        }
        self.slots.push(Some(pending));
        (self.slots.len() - 1) as u16
    }

    fn get_mut(&mut self, tag: u16) -> Option<&mut Pending> {
        self.slots.get_mut(usize::from(tag))?.as_mut()
    }

    fn end(&mut self, tag: u16) -> Option<Pending> {
        let pending = self.slots.get_mut(usize::from(tag))?.take()?;
        self.vacant.push(tag);
        self.under_way -= 1;
        self.asked_bytes -= pending.need();
        Some(pending)
    }

    /// Reports writes that came in part to the translation layer: the connection has ended.
    pub(super) fn abandon(&mut self, target: &Target, role: &Role) {
        let Role::Io(controller, _) = role else {
            return;
        };
        for pending in self.slots.drain(..).flatten() {
            // A Format or deletion discarded these pages; reporting them would map them again.
            if pending.was_erased() {
                continue;
            }
            if let Sink::Write { at, hint, part, .. } = pending.sink {
                let length = u64::from(pending.received).saturating_sub(part.len() as u64);
                let scope = Scope {
                    namespace: pending.command.namespace,
                    host: controller.host_key(),
                };
                target.wrote_part(scope, hint, at, length);
            }
        }
    }

    /// Takes on a command whose data are to be asked for.
    pub(super) fn want(&mut self, command: &Command, wanted: Wanted) {
        self.waiting.push_back(Pending {
            command: *command,
            sink: wanted.sink,
            length: wanted.length,
            received: 0,
            format: wanted.namespace.as_ref().map_or(0, |one| one.formats()),
            namespace: wanted.namespace,
            status: Status::SUCCESS,
            moved_ms: 0,
        });
    }

    /// Asks for the data of those commands that there is memory for.
    pub(super) fn ask(&mut self, now_ms: u64, transport: &mut Transport) {
        while let Some(mut pending) = self.next() {
            pending.moved_ms = now_ms;
            let (command, length) = (pending.command.identifier, pending.length);
            transport.ask(Transfer {
                command,
                tag: self.begin(pending),
                offset: 0,
                length,
                last: false,
            });
        }
    }

    /// Takes data that have come. Returns their command when all of them have.
    pub(super) fn take(
        &mut self,
        target: &Target,
        role: &Role,
        transfer: Transfer,
        data: Data<'_>,
    ) -> Result<Option<Pending>, FatalError> {
        let pending = self.get_mut(transfer.tag);
        let pending = pending.ok_or(FatalError::header(10))?;
        if pending.command.identifier != transfer.command {
            return Err(FatalError::header(8));
        }
        let end = u64::from(transfer.offset) + u64::from(transfer.length);
        if transfer.offset != pending.received || end > pending.length.into() {
            return Err(FatalError::new(FatalStatus::OutOfRange, 12));
        }
        if transfer.last != (end == u64::from(pending.length)) {
            return Err(FatalError::header(1));
        }
        if let Some(namespace) = &pending.namespace
            && pending.format != namespace.formats()
        {
            pending.status = namespace.refusal();
        } else if let Some(namespace) = &pending.namespace
            && let Role::Io(controller, _) = role
            && !controller.has(namespace.id())
        {
            // The namespace was detached while its data were under way.
            pending.status = Status::INVALID_FIELD;
        }
        if data.damaged && pending.status.is_success() {
            pending.status = Status::TRANSIENT_TRANSPORT;
        }
        if pending.status.is_success() {
            let taken = pending.take(target, role.host_key(), transfer.offset, data.bytes);
            pending.status = taken.err().unwrap_or_default();
        }
        pending.received = end as u32;
        pending.moved_ms = target.now_ms();
        if transfer.last {
            Ok(self.end(transfer.tag))
        } else {
            Ok(None)
        }
    }
}

impl Pending {
    /// Whether a Format has erased what was written.
    pub(super) fn was_erased(&self) -> bool {
        let namespace = self.namespace.as_ref();
        namespace.is_some_and(|namespace| namespace.has_erased_since(self.format))
    }

    /// Bytes of memory that its data may take: all that are collected, or the beginning of a block.
    fn need(&self) -> usize {
        match self.sink {
            Sink::Write { .. } => MOST_BLOCK,
            Sink::Compare { .. } => 0,
            Sink::Collect(_) => self.length as usize,
        }
    }

    fn take(
        &mut self,
        target: &Target,
        host: StreamHost,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), Status> {
        match &mut self.sink {
            Sink::Write {
                at,
                hint,
                part,
                reported,
            } => {
                let at = *at + u64::from(offset);
                let scope = Scope {
                    namespace: self.command.namespace,
                    host,
                };
                let mut put = |at, bytes: &[u8]| {
                    let length = bytes.len() as u64;
                    let write = |store: &Store| store.write(at, bytes);
                    target.put((scope, *hint), Extent { at, length }, reported, write)
                };
                let block_bytes = self
                    .namespace
                    .as_ref()
                    .map_or(4096, |one| one.block_bytes());
                write_blocks(block_bytes as usize, (at, bytes), part, &mut put)
            }
            Sink::Compare { at, differ } => {
                *differ |= !is_same(target, *at + u64::from(offset), bytes)?;
                Ok(())
            }
            Sink::Collect(collected) => {
                collected.reserve_exact(self.length as usize - collected.len());
                collected.extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

/// Writes the blocks that are whole, of which `part` is the beginning; `bytes` lie at `at`. What is
/// left over becomes the next part. PDUs mostly end where blocks do, and then nothing is copied.
fn write_blocks(
    block_bytes: usize,
    (at, bytes): (u64, &[u8]),
    part: &mut Vec<u8>,
    put: &mut impl FnMut(u64, &[u8]) -> Result<(), Status>,
) -> Result<(), Status> {
    let (mut at, mut bytes) = (at, bytes);
    if !part.is_empty() {
        let begin = at.saturating_sub(part.len() as u64);
        let wanted = block_bytes.saturating_sub(part.len()).min(bytes.len());
        part.reserve_exact(block_bytes.saturating_sub(part.len()));
        let (head, rest) = bytes.split_at(wanted);
        part.extend_from_slice(head);
        (at, bytes) = (at + wanted as u64, rest);
        if part.len() < block_bytes {
            return Ok(());
        }
        put(begin, part)?;
        part.clear();
    }
    let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % block_bytes);
    put(at, whole)?;
    if !rest.is_empty() {
        part.reserve_exact(block_bytes);
    }
    part.extend_from_slice(rest);
    Ok(())
}

/// Whether the store holds these bytes from `at` on.
pub(super) fn is_same(target: &Target, at: u64, bytes: &[u8]) -> Result<bool, Status> {
    const PIECE: usize = 4096;
    let mut held = [0; PIECE];
    let mut at = at;
    for piece in bytes.chunks(PIECE) {
        let held = held.get_mut(..piece.len()).unwrap_or_default();
        target.store.read(at, held).map_err(|_| Status::INTERNAL)?;
        if held != piece {
            return Ok(false);
        }
        at += piece.len() as u64;
    }
    Ok(true)
}
