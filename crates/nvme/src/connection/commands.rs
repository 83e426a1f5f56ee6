//! Commands of a connection: where their data are, and who performs them.

use super::{
    Connection, Role,
    transfers::{Pending, Sink, is_same},
    work::Change,
};
use crate::{
    admin,
    command::{Command, Descriptor, admin::ASYNC_EVENT_REQUEST, fabrics, nvm},
    completion::{Completion, Status},
    drive::{Hint, Mode, NAMESPACE, covered, touched},
    io::{self, Extent},
    options::{MOST_ADMIN_DATA, MOST_DATA},
    pdu::{Data, FatalError, Transfer},
};

/// Bits of an opcode that say which way data go (§3.3.3.1).
const TO_CONTROLLER: u8 = 1;
const TO_HOST: u8 = 2;

/// What a command answers.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It is done; dwords 0 and 1 of the completion.
    Done(u64),
    /// It is done, with data.
    Data(Vec<u8>, u64),
    /// It will be answered when something happens.
    Later,
}

impl Connection {
    /// Performs a command, or asks for its data first.
    pub(super) fn command(&mut self, command: &Command, data: Data<'_>) -> Result<(), FatalError> {
        let performed = match (&self.role, command.opcode) {
            (_, fabrics::OPCODE) => self.small(command, data),
            (Role::Io(..), nvm::WRITE | nvm::COMPARE) => self.large(command, data),
            (Role::Io(..), nvm::READ) if self.target.clock.is_some() => {
                self.read_later(command).map(|()| None)
            }
            (Role::Io(..), nvm::READ) => self.read(command).map(|()| None),
            (Role::Io(..) | Role::Admin(_), _) => self.small(command, data),
            (Role::Fresh | Role::Unconnected, _) => Err(Status::COMMAND_SEQUENCE),
        };
        match performed {
            Ok(None) => Ok(()),
            Ok(Some((length, sink))) => self.ask(command, length, sink),
            Err(status) => {
                self.fail(command, status);
                Ok(())
            }
        }
    }

    /// The data of a command that came in its capsule; `None` if they are to be asked for.
    fn capsule<'a>(command: &Command, data: Data<'a>) -> Result<Option<&'a [u8]>, Status> {
        match command.data {
            Descriptor::InCapsule { offset, length } => {
                let begin = usize::try_from(offset).map_err(|_| Status::SGL_OFFSET)?;
                let end = begin.checked_add(length as usize);
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
    fn large(&mut self, command: &Command, data: Data<'_>) -> Result<Option<(u32, Sink)>, Status> {
        let Extent { at, length } = io::extent(&self.target, command)?;
        if length > u64::from(MOST_DATA) {
            return Err(Status::INVALID_FIELD);
        }
        if u64::from(command.data.length()?) != length {
            return Err(Status::SGL_LENGTH);
        }
        let mut sink = match command.opcode {
            nvm::WRITE => Sink::Write {
                at,
                hint: self.hint(command)?,
                part: Vec::new(),
            },
            _ => Sink::Compare { at, differ: false },
        };
        let Some(bytes) = Connection::capsule(command, data)? else {
            return Ok(Some((length as u32, sink)));
        };
        match &mut sink {
            Sink::Compare { differ, .. } => *differ = !is_same(&self.target, at, bytes)?,
            _ => {
                let written = self.target.store.write(at, bytes);
                written.map_err(|_| Status::INTERNAL)?;
            }
        }
        self.took(command, sink, length);
        Ok(None)
    }

    /// A command's data have all come, one way or the other.
    pub(super) fn transferred(&mut self, pending: Pending) {
        let Pending {
            command,
            sink,
            length,
            status,
            ..
        } = pending;
        if !status.is_success() {
            if let (Sink::Write { at, hint, .. }, Role::Io(controller, _)) = (&sink, &self.role) {
                let host = controller.host_key();
                self.target.wrote_part(host, *hint, *at, length.into());
            }
            return self.fail(&command, status);
        }
        match sink {
            Sink::Collect(bytes) => self.execute(&command, &bytes),
            sink => self.took(&command, sink, length.into()),
        }
    }

    /// The data of a write are in the store, or those of a comparison were compared.
    fn took(&mut self, command: &Command, sink: Sink, length: u64) {
        match sink {
            Sink::Write { at, hint, .. } => {
                self.tally.writes += 1;
                self.tally.written_bytes += length;
                let pages = touched(at, length, self.target.page_bytes);
                self.work.change(command, pages, Change::Write(hint));
            }
            Sink::Compare { differ: true, .. } => self.fail(command, Status::COMPARE_FAILURE),
            _ => {
                self.tally.reads += 1;
                self.succeed(command.identifier);
            }
        }
    }

    /// Where a write wants to go.
    fn hint(&self, command: &Command) -> Result<Hint, Status> {
        if self.target.is_read_only() {
            return Err(Status::WRITE_PROTECTED);
        }
        match (command.directive(), self.target.mode) {
            ((0, _), _) => Ok(Hint::None),
            ((1, identifier), Mode::Streams) => {
                let Role::Io(controller, _) = &self.role else {
                    return Err(Status::INVALID_FIELD);
                };
                match self.target.is_streaming(controller.host_key()) {
                    true => Ok(Hint::Stream(identifier)),
                    false => Err(Status::INVALID_FIELD),
                }
            }
            ((2, identifier), Mode::Fdp) => Ok(Hint::Placement(identifier)),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Read: data go from the store to the answers.
    pub(super) fn read(&mut self, command: &Command) -> Result<(), Status> {
        let Extent { at, length } = io::extent(&self.target, command)?;
        if length > u64::from(MOST_DATA) {
            return Err(Status::INVALID_FIELD);
        }
        if u64::from(command.data.length()?) != length {
            return Err(Status::SGL_LENGTH);
        }
        let begin = self.answers.len();
        let mut read = Ok(());
        let store = &self.target.store;
        // Without flow control a success needs no completion (TCP §3.6.2.9, SUCCESS).
        let success = !self.flow_control;
        let transfer = Transfer {
            command: command.identifier,
            tag: 0,
            offset: 0,
            length: length as u32,
            last: true,
        };
        self.encoder
            .controller_data(&mut self.answers, transfer, success, |slot| {
                read = store.read(at, slot);
            });
        if read.is_err() {
            self.answers.truncate(begin);
            return Err(Status::INTERNAL);
        }
        self.tally.reads += 1;
        self.tally.read_bytes += length;
        if !success {
            self.succeed(command.identifier);
        }
        Ok(())
    }

    /// All other commands: what data they bring is short, and kept until it is all there.
    fn small(&mut self, command: &Command, data: Data<'_>) -> Result<Option<(u32, Sink)>, Status> {
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
        match Connection::capsule(command, data)? {
            Some(bytes) => {
                self.execute(command, bytes);
                Ok(None)
            }
            None => Ok(Some((length, Sink::Collect(Vec::new())))),
        }
    }

    /// Performs a command whose data are there.
    fn execute(&mut self, command: &Command, data: &[u8]) {
        if command.opcode == fabrics::OPCODE {
            return self.fabrics(command, data);
        }
        let result = match &self.role {
            Role::Admin(controller) => {
                controller.seen(self.target.now_ms());
                let admin = admin::Request {
                    target: &self.target,
                    controller,
                    address: self.address,
                    command,
                    data,
                };
                match command.opcode {
                    crate::command::admin::ABORT => {
                        let identifier = (command.dword(10) >> 16) as u16;
                        let aborted = controller.abort_event_request(identifier);
                        Ok(Answer::Done(u64::from(!aborted)))
                    }
                    _ if !controller.is_enabled() => Err(Status::COMMAND_SEQUENCE),
                    ASYNC_EVENT_REQUEST => controller
                        .request_event(command.identifier)
                        .map(|()| Answer::Later),
                    _ => admin.perform(),
                }
            }
            Role::Io(..) => self.io(command, data),
            Role::Fresh | Role::Unconnected => Err(Status::COMMAND_SEQUENCE),
        };
        self.answer(command, result);
    }

    pub(super) fn answer(&mut self, command: &Command, result: Result<Answer, Status>) {
        match result {
            Ok(Answer::Done(result)) => self.complete(Completion {
                result,
                identifier: command.identifier,
                ..Completion::default()
            }),
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
        let transfer = Transfer {
            command: command.identifier,
            tag: 0,
            offset: 0,
            length,
            last: true,
        };
        if length > 0 {
            self.encoder
                .controller_data(&mut self.answers, transfer, false, |slot| {
                    let kept = slot.len().min(bytes.len());
                    slot[..kept].copy_from_slice(&bytes[..kept]);
                });
        }
        self.complete(Completion {
            result,
            identifier: command.identifier,
            ..Completion::default()
        });
    }

    /// I/O commands besides Read, Write and Compare.
    fn io(&mut self, command: &Command, data: &[u8]) -> Result<Answer, Status> {
        match command.opcode {
            nvm::FLUSH => {
                if ![NAMESPACE, crate::command::ALL_NAMESPACES].contains(&command.namespace) {
                    return Err(Status::INVALID_NAMESPACE);
                }
                self.work.end(command, true);
                Ok(Answer::Later)
            }
            nvm::WRITE_ZEROES => self.write_zeroes(command),
            nvm::DATASET_MANAGEMENT => self.deallocate(command, data),
            nvm::VERIFY => {
                self.tally.reads += 1;
                io::verify(&self.target, command)
            }
            nvm::IO_MANAGEMENT_RECEIVE => io::management_receive(&self.target, command),
            nvm::IO_MANAGEMENT_SEND => io::management_send(&self.target, command, data),
            opcode if opcode & (TO_CONTROLLER | TO_HOST) == TO_CONTROLLER | TO_HOST => {
                Err(Status::INVALID_OPCODE)
            }
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    /// Zeroes count as written pages, as data would; with DEAC they are deallocated.
    fn write_zeroes(&mut self, command: &Command) -> Result<Answer, Status> {
        let hint = self.hint(command)?;
        let Extent { at, length } = io::extent(&self.target, command)?;
        let zeroed = self.target.store.zero(at, length);
        zeroed.map_err(|_| Status::INTERNAL)?;
        let page_bytes = self.target.page_bytes;
        let (pages, change) = match command.dword(12) >> 25 & 1 {
            0 => (touched(at, length, page_bytes), Change::Write(hint)),
            _ => (covered(at, length, page_bytes), Change::Discard),
        };
        self.work.change(command, pages, change);
        Ok(Answer::Later)
    }

    /// Dataset Management: deallocates, and takes all other advice without following it.
    fn deallocate(&mut self, command: &Command, data: &[u8]) -> Result<Answer, Status> {
        let extents = io::ranges(&self.target, command, data)?;
        if command.dword(11) & io::DEALLOCATE == 0 {
            return Ok(Answer::Done(0));
        }
        if self.target.is_read_only() {
            return Err(Status::WRITE_PROTECTED);
        }
        for Extent { at, length } in extents {
            let zeroed = self.target.store.zero(at, length);
            zeroed.map_err(|_| Status::INTERNAL)?;
            let pages = covered(at, length, self.target.page_bytes);
            self.work.one_of_many(command, pages, Change::Discard);
        }
        self.work.end(command, false);
        Ok(Answer::Later)
    }
}
