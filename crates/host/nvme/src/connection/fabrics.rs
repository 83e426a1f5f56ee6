//! Fabrics commands: Connect, properties, disconnect (§6).

use std::sync::Arc;

use tracing::{info, warn};

use super::{
    Connection,
    queue::SubmissionQueue,
    session::{HostSession, Role},
};
use crate::{
    command::{Command, fabrics},
    completion::{Answer, Completion, Status},
    connect::{ANY_CONTROLLER, ConnectCommand, ConnectData, HOST_NAME_AT, SUBSYSTEM_AT},
    controller::{CAPABILITIES_OFFSET, Change, Controller, Purpose},
    options::{DISCOVERY, MOST_PDU_DATA},
    target::Target,
    wire::u64_at,
};

/// A Connect that is refused: why, and the parameter at fault.
pub(super) struct Refusal {
    status: Status,
    result: u64,
    words: Option<String>,
}

impl Refusal {
    /// The reason in words, for the log.
    fn reason(&self) -> &str {
        if let Some(words) = &self.words {
            return words;
        }
        match self.status {
            Status::CONNECT_HOST => "its name is not among those allowed",
            Status::CONNECT_BUSY => "no controller is left for it",
            Status::CONNECT_FORMAT => "its Connect has an unknown record format",
            Status::COMMAND_SEQUENCE => "its controller is not enabled yet",
            _ => "a parameter of its Connect is invalid",
        }
    }

    fn of(status: Status) -> Refusal {
        Refusal {
            status,
            result: 0,
            words: None,
        }
    }

    /// The host may not connect, for a reason of its own.
    pub(super) fn host(words: &dyn std::fmt::Display) -> Refusal {
        Refusal {
            words: Some(words.to_string()),
            ..Refusal::of(Status::CONNECT_HOST)
        }
    }

    /// A parameter in the command, by its offset.
    fn command(offset: u16) -> Refusal {
        Refusal {
            status: Status::CONNECT_PARAMETERS,
            result: Completion::at_fault(false, offset),
            words: None,
        }
    }

    /// A parameter in the data, by its offset.
    fn data(offset: u16) -> Refusal {
        Refusal {
            status: Status::CONNECT_PARAMETERS,
            result: Completion::at_fault(true, offset),
            words: None,
        }
    }
}

/// Offsets of Connect's queue number and size in the command, and of the controller in its data.
const QUEUE_AT: u16 = 42;
const SIZE_AT: u16 = 44;
const CONTROLLER_AT: u16 = 16;

impl Connection {
    /// Performs a Fabrics command.
    pub(super) fn fabrics(&mut self, command: &Command, data: &[u8]) {
        if let Role::Admin(controller) = &self.session.role {
            controller.seen(self.target.now_ms());
        }
        let result = match (command.fabrics_type(), &self.session.role) {
            (fabrics::CONNECT, Role::Unconnected) => return self.connect(command, data),
            (fabrics::CONNECT, _) => Err(Status::COMMAND_SEQUENCE),
            (fabrics::PROPERTY_GET, Role::Admin(controller)) => {
                property_get(&self.target, controller, command)
            }
            (fabrics::PROPERTY_SET, Role::Admin(controller)) => {
                property_set(&self.target, controller, command)
            }
            (fabrics::DISCONNECT, Role::Io(..)) => {
                self.session.closing = true;
                Ok(Answer::Done(0))
            }
            (
                kind @ (fabrics::AUTHENTICATION_SEND | fabrics::AUTHENTICATION_RECEIVE),
                Role::Authenticating(_),
            ) => self.session.authenticate(&self.target, kind, command, data),
            (_, Role::Authenticating(_)) => Err(Status::AUTHENTICATION_REQUIRED),
            (_, Role::Unconnected | Role::Fresh) => Err(Status::COMMAND_SEQUENCE),
            _ => Err(Status::INVALID_OPCODE),
        };
        self.answer(command, result);
    }

    /// Performs a Connect, and answers it.
    fn connect(&mut self, command: &Command, data: &[u8]) {
        let connect = ConnectCommand::of(command);
        let id = match self.session.connect(&self.target, &connect, data) {
            Ok(id) => id,
            Err(refusal) => return self.refuse(command, data, &refusal),
        };
        if connect.queue > 0 {
            self.transport.framing.most_data = MOST_PDU_DATA;
        }
        self.queue = SubmissionQueue::of(&connect);
        self.transport.respond(&Completion {
            result: u64::from(id) | self.session.role.required(),
            queue_head: self.queue.head_of_connect(),
            identifier: command.identifier,
            ..Completion::default()
        });
    }

    /// Refuses a Connect, and records which host it was of and why.
    fn refuse(&mut self, command: &Command, data: &[u8], refusal: &Refusal) {
        let who = ConnectData::of(data).ok();
        warn!(
            host = who.as_ref().map(|who| who.host_name.as_str()),
            subsystem = who.as_ref().map(|who| who.subsystem.as_str()),
            queue = ConnectCommand::of(command).queue,
            reason = refusal.reason(),
            "host refused"
        );
        self.fail_with(command, refusal.status, refusal.result);
    }
}

impl HostSession {
    /// Gives the host the queue that its Connect asks for, and answers its controller's identifier.
    fn connect(
        &mut self,
        target: &Target,
        connect: &ConnectCommand,
        data: &[u8],
    ) -> Result<u16, Refusal> {
        if connect.format != 0 {
            return Err(Refusal::of(Status::CONNECT_FORMAT));
        }
        let who = ConnectData::of(data).map_err(Refusal::data)?;
        // SQSIZE is 0's based; of the admin queue, the discovery log says how much (§6.3).
        let most = match connect.queue {
            0 => target.options.admin_entries(),
            _ => target.options.queue_entries,
        };
        if connect.size == 0 || connect.size >= most {
            return Err(Refusal::command(SIZE_AT));
        }
        let purpose = match &who.subsystem {
            name if name == DISCOVERY => Purpose::Discovery,
            name if *name == target.options.subsystem => Purpose::Io,
            _ => return Err(Refusal::data(SUBSYSTEM_AT)),
        };
        if !target.admits(&who.host_name) {
            return Err(Refusal::of(Status::CONNECT_HOST));
        }
        let exchange = self.exchange(&target.options.keys, purpose, &who)?;
        let controller = match connect.queue {
            0 => self.connect_admin(target, (purpose, &who), connect, exchange.is_some())?,
            // Discovery controllers have no I/O queues (§3.1.3.3).
            _ if purpose == Purpose::Discovery => return Err(Refusal::command(QUEUE_AT)),
            queue => self.connect_io(target, queue, &who, exchange.is_some())?,
        };
        match exchange {
            Some(exchange) => self.guard(exchange),
            None => self.keep_place(),
        }
        info!(
            host = controller.host_name,
            controller = controller.id,
            queue = connect.queue,
            "connected"
        );
        Ok(controller.id)
    }

    fn connect_admin(
        &mut self,
        target: &Target,
        (purpose, who): (Purpose, &ConnectData),
        connect: &ConnectCommand,
        must_authenticate: bool,
    ) -> Result<Arc<Controller>, Refusal> {
        // Controllers are dynamic: a host asks for any.
        if who.controller != ANY_CONTROLLER {
            return Err(Refusal::data(CONTROLLER_AT));
        }
        let host = (who.host, who.host_name.clone());
        let times = (connect.keep_alive_ms, target.now_ms());
        let created =
            target
                .controllers()
                .create((purpose, !must_authenticate), host, times, &self.notices);
        let controller = created.ok_or(Refusal::of(Status::CONNECT_BUSY))?;
        if controller.is_io() {
            target.attach_offered(&controller);
            let was_reset = target.incidents.was_reset();
            controller.state().follows_reset = was_reset;
        }
        self.role = Role::Admin(Arc::clone(&controller));
        Ok(controller)
    }

    /// Connects an I/O queue. If the host must authenticate first, the queue's number is taken afterwards.
    fn connect_io(
        &mut self,
        target: &Target,
        queue: u16,
        who: &ConnectData,
        must_authenticate: bool,
    ) -> Result<Arc<Controller>, Refusal> {
        let controller = target.controllers().get(who.controller);
        let controller = controller
            .filter(|found| found.is_io())
            .ok_or(Refusal::data(CONTROLLER_AT))?;
        if controller.host_name != who.host_name {
            return Err(Refusal::data(HOST_NAME_AT));
        }
        // The host identifier is the admin queue's, whatever is said here; Linux' target asks no more.
        if !controller.is_serving() {
            return Err(Refusal::of(Status::COMMAND_SEQUENCE));
        }
        let fits = queue <= target.options.most_queues;
        if !fits || !must_authenticate && !controller.add_queue(queue, &self.notices) {
            return Err(Refusal::command(QUEUE_AT));
        }
        self.role = Role::Io(Arc::clone(&controller), queue);
        Ok(controller)
    }
}

/// Reads a property of a controller.
fn property_get(
    target: &Target,
    controller: &Controller,
    command: &Command,
) -> Result<Answer, Status> {
    let wide = match command.dword(10) & 7 {
        0 => false,
        1 => true,
        _ => return Err(Status::INVALID_FIELD),
    };
    let offset = command.dword(11);
    let entries = target.options.queue_entries;
    let value = controller.property(offset, wide, entries);
    // Half of a property that is wide.
    let value = match (value, offset, wide) {
        (Err(_), CAPABILITIES_OFFSET, false) => {
            controller.property(CAPABILITIES_OFFSET, true, entries)? & u64::from(u32::MAX)
        }
        (value, ..) => value?,
    };
    Ok(Answer::Done(value))
}

/// Writes a property of a controller, and does what follows from that.
fn property_set(
    target: &Target,
    controller: &Controller,
    command: &Command,
) -> Result<Answer, Status> {
    if command.dword(10) & 7 != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let value = u64_at(&command.entry, 48);
    match controller.set_property(command.dword(11), value)? {
        Change::Reset if controller.is_io() => {
            controller.end_queues();
            target.reset(controller);
        }
        // What was written is safe before the host hears that the shutdown is complete (§3.6.2).
        Change::ShutDown if controller.is_io() => {
            let flushed = tokio::task::block_in_place(|| target.store.flush());
            controller.shut_down(flushed.is_ok());
        }
        Change::ShutDown => controller.shut_down(true),
        // Every controller ends, this one when it has answered (§3.7.1.2): a controller level reset of
        // each, after which hosts connect anew. What was written is kept.
        Change::SubsystemReset => {
            target.incidents.reset();
            let controllers = target.controllers();
            controllers
                .iter()
                .filter(|one| one.is_io())
                .for_each(|one| one.end());
        }
        Change::Reset | Change::None => {}
    }
    Ok(Answer::Done(0))
}
