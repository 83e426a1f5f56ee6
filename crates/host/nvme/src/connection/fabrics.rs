//! Fabrics commands: Connect, properties, disconnect (§6).

use std::sync::{Arc, atomic::Ordering};

use tracing::{info, warn};

use super::{Connection, Role};
use crate::{
    command::{Command, fabrics},
    completion::{Answer, Completion, Status},
    connect::{ANY_CONTROLLER, ConnectCommand, ConnectData, HOST_NAME_AT, SUBSYSTEM_AT},
    controller::{CAPABILITIES_OFFSET, Change, Controller, Purpose},
    options::{DISCOVERY, MOST_PDU_DATA},
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
        if let Role::Admin(controller) = &self.role {
            controller.seen(self.target.now_ms());
        }
        let result = match (command.fabrics_type(), &self.role) {
            (fabrics::CONNECT, Role::Unconnected) => {
                return match self.connect(command, data) {
                    Ok(id) => self.connected(command, id),
                    Err(refusal) => self.refuse(command, data, &refusal),
                };
            }
            (fabrics::CONNECT, _) => Err(Status::COMMAND_SEQUENCE),
            (fabrics::PROPERTY_GET, Role::Admin(controller)) => {
                self.property_get(&controller.clone(), command)
            }
            (fabrics::PROPERTY_SET, Role::Admin(controller)) => {
                self.property_set(&controller.clone(), command)
            }
            (fabrics::DISCONNECT, Role::Io(..)) => {
                self.closing = true;
                Ok(Answer::Done(0))
            }
            (
                kind @ (fabrics::AUTHENTICATION_SEND | fabrics::AUTHENTICATION_RECEIVE),
                Role::Authenticating(_),
            ) => self.authenticate(kind, command, data),
            (_, Role::Authenticating(_)) => Err(Status::AUTHENTICATION_REQUIRED),
            (_, Role::Unconnected | Role::Fresh) => Err(Status::COMMAND_SEQUENCE),
            _ => Err(Status::INVALID_OPCODE),
        };
        self.answer(command, result);
    }

    /// Answers a Connect. Where the host wants no flow control of the submission queue, and gets
    /// none, the head pointer is FFFFh in this answer, and reserved in all others (§6.3, CATTR).
    fn connected(&mut self, command: &Command, id: u16) {
        let head = if self.flow_control { self.head } else { 0xffff };
        let completion = Completion {
            result: u64::from(id) | self.role.required(),
            queue_head: head,
            identifier: command.identifier,
            ..Completion::default()
        };
        self.encoder
            .response(&mut self.answers, &completion.to_bytes());
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

    fn connect(&mut self, command: &Command, data: &[u8]) -> Result<u16, Refusal> {
        let connect = ConnectCommand::of(command);
        if connect.format != 0 {
            return Err(Refusal::of(Status::CONNECT_FORMAT));
        }
        let who = ConnectData::of(data).map_err(Refusal::data)?;
        // SQSIZE is 0's based; of the admin queue, the discovery log says how much (§6.3).
        let most = match connect.queue {
            0 => self.target.options.admin_entries(),
            _ => self.target.options.queue_entries,
        };
        if connect.size == 0 || connect.size >= most {
            return Err(Refusal::command(SIZE_AT));
        }
        let purpose = match &who.subsystem {
            name if name == DISCOVERY => Purpose::Discovery,
            name if *name == self.target.options.subsystem => Purpose::Io,
            _ => return Err(Refusal::data(SUBSYSTEM_AT)),
        };
        if !self.target.admits(&who.host_name) {
            return Err(Refusal::of(Status::CONNECT_HOST));
        }
        let exchange = self.exchange(purpose, &who)?;
        let controller = match connect.queue {
            0 => self.connect_admin(purpose, &who, &connect, exchange.is_some())?,
            // Discovery controllers have no I/O queues (§3.1.3.3).
            _ if purpose == Purpose::Discovery => return Err(Refusal::command(QUEUE_AT)),
            queue => self.connect_io(queue, &who, exchange.is_some())?,
        };
        self.entries = connect.size.saturating_add(1);
        self.flow_control = !connect.no_flow_control;
        self.head = 1 % self.entries;
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
        purpose: Purpose,
        who: &ConnectData,
        connect: &ConnectCommand,
        must_authenticate: bool,
    ) -> Result<Arc<Controller>, Refusal> {
        // Controllers are dynamic: a host asks for any.
        if who.controller != ANY_CONTROLLER {
            return Err(Refusal::data(CONTROLLER_AT));
        }
        let host = (who.host, who.host_name.clone());
        let times = (connect.keep_alive_ms, self.target.now_ms());
        let created = self.target.controllers().create(
            (purpose, !must_authenticate),
            host,
            times,
            &self.notices,
        );
        let controller = created.ok_or(Refusal::of(Status::CONNECT_BUSY))?;
        if controller.is_io() {
            self.target.attach_offered(&controller);
            let was_reset = self.target.was_reset.load(Ordering::Relaxed);
            controller.state().follows_reset = was_reset;
        }
        self.role = Role::Admin(Arc::clone(&controller));
        Ok(controller)
    }

    /// Connects an I/O queue. If the host must authenticate first, the queue's number is taken afterwards.
    fn connect_io(
        &mut self,
        queue: u16,
        who: &ConnectData,
        must_authenticate: bool,
    ) -> Result<Arc<Controller>, Refusal> {
        let controller = self.target.controllers().get(who.controller);
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
        let fits = queue <= self.target.options.most_queues;
        if !fits || !must_authenticate && !controller.add_queue(queue, &self.notices) {
            return Err(Refusal::command(QUEUE_AT));
        }
        self.framing.most_data = MOST_PDU_DATA;
        self.role = Role::Io(Arc::clone(&controller), queue);
        Ok(controller)
    }

    fn property_get(&self, controller: &Controller, command: &Command) -> Result<Answer, Status> {
        let wide = match command.dword(10) & 7 {
            0 => false,
            1 => true,
            _ => return Err(Status::INVALID_FIELD),
        };
        let offset = command.dword(11);
        let entries = self.target.options.queue_entries;
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

    fn property_set(&self, controller: &Controller, command: &Command) -> Result<Answer, Status> {
        if command.dword(10) & 7 != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let value = u64_at(&command.entry, 48);
        match controller.set_property(command.dword(11), value)? {
            Change::Reset if controller.is_io() => {
                controller.end_queues();
                self.target.reset(controller);
            }
            // What was written is safe before the host hears that the shutdown is complete (§3.6.2).
            Change::ShutDown if controller.is_io() => {
                let flushed = tokio::task::block_in_place(|| self.target.store.flush());
                controller.shut_down(flushed.is_ok());
            }
            Change::ShutDown => controller.shut_down(true),
            // Every controller ends, this one when it has answered (§3.7.1.2): a controller level reset of
            // each, after which hosts connect anew. What was written is kept.
            Change::SubsystemReset => {
                self.target.was_reset.store(true, Ordering::Relaxed);
                let controllers = self.target.controllers();
                controllers
                    .iter()
                    .filter(|one| one.is_io())
                    .for_each(|one| one.end());
            }
            Change::Reset | Change::None => {}
        }
        Ok(Answer::Done(0))
    }
}
