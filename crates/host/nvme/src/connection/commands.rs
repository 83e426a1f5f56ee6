//! Commands of a connection: where their data are, and who performs them.

use std::convert::Infallible;

use super::{
    Connection,
    batch::Change,
    delayed::Rest,
    session::Role,
    sliced::Doing,
    transfers::{Pending, Sink, Wanted, is_same},
};
use crate::{
    admin,
    command::{ALL_NAMESPACES, Command, Descriptor, admin::ASYNC_EVENT_REQUEST, fabrics, nvm},
    completion::{Answer, Status},
    drive::{Hint, Mode},
    extent::Extent,
    io,
    options::{MOST_ADMIN_DATA, MOST_DATA},
    pdu::{Data, FatalError, Transfer},
    store::Store,
};

/// Bit of an opcode that says that data go to the controller (§3.3.3.1).
const TO_CONTROLLER: u8 = 1;

impl Connection {
    /// Performs a command, or asks for its data first.
    pub(super) fn command(&mut self, command: &Command, data: Data<'_>) -> Result<(), FatalError> {
        let checked = self.check(command);
        let performed = match (&self.session.role, command.opcode) {
            _ if checked.is_err() => checked.map(|()| None),
            (_, fabrics::OPCODE) => self.small(command, data),
            (Role::Io(..), nvm::WRITE | nvm::COMPARE) => self.large(command, data),
            (Role::Io(..), nvm::READ) if self.target.clock.is_some() => {
                self.read_later(command).map(|()| None)
            }
            (Role::Io(..), nvm::READ) => self.read(command).map(|()| None),
            (Role::Io(..) | Role::Admin(_), _) => self.small(command, data),
            (Role::Fresh | Role::Unconnected, _) => Err(Status::COMMAND_SEQUENCE),
            (Role::Authenticating(_), _) => Err(Status::AUTHENTICATION_REQUIRED),
        };
        match performed {
            Ok(None) => Ok(()),
            Ok(Some(wanted)) => self.ask(command, wanted),
            Err(status) => {
                self.fail(command, status);
                Ok(())
            }
        }
    }

    /// Checks rules for every command: no fused operations, which no controller need have; its data are
    /// described by an SGL, and metadata, if any, by an address (§4.1.1: FUSE, and PSDT 01b, the only
    /// one over fabrics); and it is one that there is.
    fn check(&self, command: &Command) -> Result<(), Status> {
        const ONE_SGL: u8 = 1 << 6;
        if command.flags & 0xc3 != ONE_SGL {
            return Err(Status::INVALID_FIELD);
        }
        let (mode, opcode) = (self.target.facts.mode, command.opcode);
        let known = match &self.session.role {
            _ if opcode == fabrics::OPCODE => true,
            Role::Admin(controller) => admin::has_opcode(controller.is_io(), mode, opcode),
            Role::Io(..) => admin::has_io_opcode(mode, opcode),
            Role::Fresh | Role::Unconnected | Role::Authenticating(_) => true,
        };
        match &self.session.role {
            _ if !known => Err(Status::INVALID_OPCODE),
            // After a shutdown nothing is served but by a reset (§3.6.2).
            Role::Io(controller, _) if opcode != fabrics::OPCODE && !controller.is_serving() => {
                Err(Status::COMMAND_SEQUENCE)
            }
            _ => Ok(()),
        }
    }

    /// The data of a command that came in its capsule; `None` if they are to be asked for.
    fn capsule<'a>(&self, command: &Command, data: Data<'a>) -> Result<Option<&'a [u8]>, Status> {
        // What a capsule may carry: of I/O commands, IOCCSZ less the entry; of all others, 8 KiB.
        let most = match &self.session.role {
            Role::Io(..) => self.target.options.in_capsule_bytes,
            _ => MOST_ADMIN_DATA,
        };
        match command.data {
            Descriptor::InCapsule { offset, length } => {
                let begin = usize::try_from(offset).map_err(|_| Status::SGL_OFFSET)?;
                let end = begin.checked_add(length as usize);
                let end = end.filter(|&end| end <= most as usize);
                let bytes = end.and_then(|end| data.bytes.get(begin..end));
                if data.damaged {
                    return Err(Status::TRANSIENT_TRANSPORT);
                }
                bytes.map(Some).ok_or(Status::SGL_OFFSET)
            }
            Descriptor::Transport { .. } => Ok(None),
            Descriptor::Unknown { .. } => Err(Status::SGL_TYPE),
        }
    }

    /// Write and Compare: data that are not kept.
    fn large(&mut self, command: &Command, data: Data<'_>) -> Result<Option<Wanted>, Status> {
        let (namespace, Extent { at, length }) =
            io::transfer(self.session.role.controller()?, command)?;
        if u64::from(command.data.length()?) != length {
            return Err(Status::SGL_LENGTH);
        }
        let mut sink = match command.opcode {
            nvm::WRITE => Sink::Write {
                at,
                hint: self.hint(command)?,
                part: Vec::new(),
                reported: 0,
            },
            _ => Sink::Compare { at, differ: false },
        };
        let Some(bytes) = self.capsule(command, data)? else {
            return Ok(Some(Wanted {
                length: length as u32,
                sink,
                namespace: Some(namespace),
            }));
        };
        match &mut sink {
            Sink::Compare { differ, .. } => *differ = !is_same(&self.target, at, bytes)?,
            Sink::Write { hint, reported, .. } => {
                let extent = Extent { at, length };
                let write = |store: &Store| store.write(at, bytes);
                let put = self.target.put(
                    (self.session.scope(command), *hint),
                    extent,
                    reported,
                    write,
                );
                if let Err(status) = put {
                    self.wrote_part(command, &sink, length);
                    return Err(status);
                }
            }
            Sink::Collect(_) => {}
        }
        self.took(command, sink, length);
        Ok(None)
    }

    /// Asks for a command's data, now or when there is memory for them.
    fn ask(&mut self, command: &Command, wanted: Wanted) -> Result<(), FatalError> {
        let transfers = &mut self.under_way.transfers;
        self.queue.bound(transfers.len() + 1)?;
        transfers.want(command, wanted);
        transfers.ask(self.target.now_ms(), &mut self.transport);
        Ok(())
    }

    /// Takes data that have come.
    pub(super) fn host_data(
        &mut self,
        transfer: Transfer,
        data: Data<'_>,
    ) -> Result<(), FatalError> {
        let transfers = &mut self.under_way.transfers;
        let whole = transfers.take(&self.target, &self.session.role, transfer, data)?;
        if let Some(pending) = whole {
            self.transferred(pending);
            let transfers = &mut self.under_way.transfers;
            transfers.ask(self.target.now_ms(), &mut self.transport);
        }
        Ok(())
    }

    /// A command's data have all come, one way or the other.
    fn transferred(&mut self, pending: Pending) {
        let was_erased = pending.was_erased();
        let Pending {
            command,
            sink,
            length,
            status,
            ..
        } = pending;
        if !status.is_success() {
            // What a Format has erased is not there in part.
            if !was_erased {
                self.wrote_part(&command, &sink, length.into());
            }
            return self.fail(&command, status);
        }
        match sink {
            Sink::Collect(bytes) => self.execute(&command, &bytes),
            sink => self.took(&command, sink, length.into()),
        }
    }

    /// The data of a write that failed may be in the store in part.
    fn wrote_part(&self, command: &Command, sink: &Sink, length: u64) {
        if let Sink::Write { at, hint, .. } = sink {
            let scope = self.session.scope(command);
            self.target.wrote_part(scope, *hint, *at, length);
        }
    }

    /// The data of a write are in the store, or those of a comparison were compared.
    fn took(&mut self, command: &Command, sink: Sink, length: u64) {
        match sink {
            Sink::Write { at, hint, .. } => {
                self.account.tally.writes += 1;
                self.account.tally.written_bytes += length;
                let pages = self.target.facts.touched(at, length);
                self.under_way
                    .batch
                    .change(command, pages, Change::Write(hint));
            }
            Sink::Compare { differ: true, .. } => self.fail(command, Status::COMPARE_FAILURE),
            _ => {
                self.account.tally.reads += 1;
                self.succeed(command, 0);
            }
        }
    }

    /// Reads the placement hint of a write.
    fn hint(&self, command: &Command) -> Result<Hint, Status> {
        if self.target.incidents.is_read_only() {
            return Err(Status::WRITE_PROTECTED);
        }
        match (command.directive(), self.target.facts.mode) {
            ((0, _), _) => Ok(Hint::None),
            ((1, identifier), Mode::Streams) => {
                let scope = self.session.scope(command);
                if self.target.enabled.is_streaming(scope) {
                    Ok(Hint::Stream(identifier))
                } else {
                    Err(Status::INVALID_FIELD)
                }
            }
            ((2, identifier), Mode::Fdp) if self.target.enabled.places() => {
                Ok(Hint::Placement(identifier))
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Read: data go from the store to the answers.
    fn read(&mut self, command: &Command) -> Result<(), Status> {
        let (_, Extent { at, length }) = io::transfer(self.session.role.controller()?, command)?;
        let Descriptor::Transport { length: room } = command.data else {
            // Data in a capsule go one way (TCP §3.3.2).
            return Err(Status::SGL_TYPE);
        };
        if u64::from(room) != length {
            return Err(Status::SGL_LENGTH);
        }
        // Without flow control a success needs no completion (TCP §3.6.2.9, SUCCESS).
        let success = !self.queue.has_flow_control();
        let store = &self.target.store;
        let answer = (command.identifier, length as u32);
        let read = self
            .transport
            .data(answer, success, |slot| store.read(at, slot));
        read.map_err(|_| Status::INTERNAL)?;
        self.account.tally.reads += 1;
        self.account.tally.read_bytes += length;
        if !success {
            self.succeed(command, 0);
        }
        Ok(())
    }

    /// Delays a read until the flash has delivered its pages.
    fn read_later(&mut self, command: &Command) -> Result<(), Status> {
        let (_, Extent { at, length }) = io::transfer(self.session.role.controller()?, command)?;
        let pages = self.target.facts.touched(at, length);
        if let Some(clock) = &self.target.clock {
            self.under_way.delayed.read_later(
                (&self.target, clock),
                &self.session.notices,
                (command, pages),
            );
        }
        Ok(())
    }

    /// Completes a command whose time has come.
    pub(super) fn due(&mut self, tag: u64) {
        match self.under_way.delayed.due(tag) {
            Some(Rest::Answer(command)) => self.succeed(&command, 0),
            Some(Rest::Read(command)) => {
                if let Err(status) = self.read(&command) {
                    self.fail(&command, status);
                }
            }
            None => {}
        }
    }

    /// All other commands: what data they bring is short, and kept until it is all there.
    fn small(&mut self, command: &Command, data: Data<'_>) -> Result<Option<Wanted>, Status> {
        let direction = match command.opcode {
            fabrics::OPCODE => command.fabrics_type(),
            opcode => opcode,
        };
        if direction & TO_CONTROLLER == 0 {
            self.execute(command, &[]);
            return Ok(None);
        }
        let length = match command.data {
            // Commands without data may leave the descriptor empty.
            Descriptor::Unknown { kind: 0 } => 0,
            descriptor => descriptor.length()?,
        };
        if length > MOST_ADMIN_DATA {
            return Err(Status::INVALID_FIELD);
        }
        if length == 0 {
            self.execute(command, &[]);
            return Ok(None);
        }
        match self.capsule(command, data)? {
            Some(bytes) => {
                self.execute(command, bytes);
                Ok(None)
            }
            None => Ok(Some(Wanted {
                length,
                sink: Sink::Collect(Vec::new()),
                namespace: None,
            })),
        }
    }

    /// Performs a command whose data are there.
    fn execute(&mut self, command: &Command, data: &[u8]) {
        if command.opcode == fabrics::OPCODE {
            return self.fabrics(command, data);
        }
        let result = match &self.session.role {
            Role::Admin(controller) => {
                controller.seen(self.target.now_ms());
                let admin = admin::Request {
                    target: &self.target,
                    controller,
                    address: self.session.address,
                    command,
                    data,
                };
                match command.opcode {
                    _ if !controller.is_ready() => Err(Status::COMMAND_SEQUENCE),
                    crate::command::admin::ABORT => {
                        // SQID and CID (§5.1.1). What waits is event requests, of queue 0 alone.
                        let (queue, identifier) =
                            (command.dword(10) as u16, (command.dword(10) >> 16) as u16);
                        let aborted = queue == 0 && controller.abort_event_request(identifier);
                        Ok(Answer::Done(u64::from(!aborted)))
                    }
                    ASYNC_EVENT_REQUEST => controller
                        .request_event(command.identifier)
                        .map(|()| Answer::Later),
                    _ => admin.perform(),
                }
            }
            Role::Io(..) => self.io(command, data),
            Role::Fresh | Role::Unconnected => Err(Status::COMMAND_SEQUENCE),
            Role::Authenticating(_) => Err(Status::AUTHENTICATION_REQUIRED),
        };
        self.answer(command, result);
    }

    pub(super) fn answer(&mut self, command: &Command, result: Result<Answer, Status>) {
        match result {
            Ok(Answer::Done(result)) => self.succeed(command, result),
            Ok(Answer::Data(bytes, result)) => self.answer_data(command, &bytes, result),
            Ok(Answer::Later) => {}
            Err(status) => self.fail(command, status),
        }
    }

    /// As many bytes as the host has room for; what it asked for beyond them is zero.
    fn answer_data(&mut self, command: &Command, bytes: &[u8], result: u64) {
        let length = match command.data {
            Descriptor::Transport { length } if length <= MOST_DATA => length,
            Descriptor::Transport { .. } => return self.fail(command, Status::INVALID_FIELD),
            _ => return self.fail(command, Status::SGL_TYPE),
        };
        if length > 0 {
            let answer = (command.identifier, length);
            let Ok(()) = self.transport.data::<Infallible>(answer, false, |slot| {
                let kept = slot.len().min(bytes.len());
                slot[..kept].copy_from_slice(&bytes[..kept]);
                Ok(())
            });
        }
        self.succeed(command, result);
    }

    /// I/O commands besides Read, Write and Compare.
    fn io(&mut self, command: &Command, data: &[u8]) -> Result<Answer, Status> {
        match command.opcode {
            nvm::FLUSH => {
                if command.namespace != ALL_NAMESPACES {
                    self.session
                        .role
                        .controller()?
                        .namespace(command.namespace)?;
                }
                self.under_way.batch.end(command, true);
                Ok(Answer::Later)
            }
            nvm::WRITE_ZEROES => self.write_zeroes(command),
            nvm::DATASET_MANAGEMENT => self.deallocate(command, data),
            nvm::VERIFY => {
                let (namespace, blocks) = io::extent(self.session.role.controller()?, command)?;
                self.account.tally.reads += 1;
                self.account.tally.read_bytes += blocks.length;
                self.under_way
                    .sliced
                    .begin(command, Doing::Verify, (namespace, vec![blocks]));
                Ok(Answer::Later)
            }
            nvm::IO_MANAGEMENT_RECEIVE => {
                io::management_receive(&self.target, self.session.role.controller()?, command)
            }
            nvm::IO_MANAGEMENT_SEND => {
                io::management_send(&self.target, self.session.role.controller()?, command, data)
            }
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    /// Zeroes count as written pages, as data would; with DEAC they are deallocated.
    fn write_zeroes(&mut self, command: &Command) -> Result<Answer, Status> {
        let hint = self.hint(command)?;
        let (namespace, blocks) = io::extent(self.session.role.controller()?, command)?;
        let doing = match command.dword(12) >> 25 & 1 {
            0 => Doing::Zero(hint),
            _ => Doing::Discard,
        };
        self.under_way
            .sliced
            .begin(command, doing, (namespace, vec![blocks]));
        Ok(Answer::Later)
    }

    /// Dataset Management: deallocates, and takes all other advice without following it.
    fn deallocate(&mut self, command: &Command, data: &[u8]) -> Result<Answer, Status> {
        let ranges = io::ranges(self.session.role.controller()?, command, data)?;
        if command.dword(11) & io::DEALLOCATE == 0 {
            return Ok(Answer::Done(0));
        }
        if self.target.incidents.is_read_only() {
            return Err(Status::WRITE_PROTECTED);
        }
        self.under_way.sliced.begin(command, Doing::Discard, ranges);
        Ok(Answer::Later)
    }
}
