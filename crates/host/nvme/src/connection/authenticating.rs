//! A queue whose host has not authenticated yet: AUTH_Send and AUTH_Receive (§6.1, §6.2).

use anabranch_security::{Exchange, Keys};
use tracing::{info, warn};

use super::{
    fabrics::Refusal,
    session::{HostSession, Role},
};
use crate::{
    command::{Command, fabrics},
    completion::{Answer, Status},
    connect::ConnectData,
    controller::Purpose,
    target::Target,
    wire::{u8_at, u32_at},
};

/// Security Protocol of AUTH_Send and AUTH_Receive, and its two specific bytes (§6.1, §6.2).
const SECURITY_PROTOCOL: u8 = 0xe9;
const SPECIFIC: u8 = 1;
/// AUTHREQ of Connect's answer: authentication is required (§6.3, ATR).
const REQUIRED: u64 = 1 << 17;

/// A queue behind an authentication.
#[derive(Debug)]
pub(super) struct Authenticating {
    exchange: Exchange,
    role: Role,
}

impl Role {
    /// The role that the connection has, or will have once its host has authenticated.
    pub(super) fn behind(&self) -> &Role {
        match self {
            Role::Authenticating(authenticating) => &authenticating.role,
            role => role,
        }
    }

    /// Bits of Connect's answer beside the controller: whether the host must authenticate.
    pub(super) fn required(&self) -> u64 {
        match self {
            Role::Authenticating(_) => REQUIRED,
            _ => 0,
        }
    }
}

impl HostSession {
    /// The authentication that a host must pass before it may use what it connects to. Discovery reports where the
    /// drive is, to hosts that are named.
    pub(super) fn exchange(
        &self,
        keys: &Keys,
        purpose: Purpose,
        who: &ConnectData,
    ) -> Result<Option<Exchange>, Refusal> {
        if let Some(named) = &self.named
            && (named.host != who.host_name || named.subsystem != who.subsystem)
        {
            return Err(Refusal::host(
                &"its TLS key is another host's, or is for another subsystem",
            ));
        }
        let exchange = keys.exchange(&who.host_name, &who.subsystem);
        let exchange = exchange.map_err(|why| Refusal::host(&why))?;
        Ok(exchange.filter(|_| purpose == Purpose::Io))
    }

    /// The queue that was connected is one only when the host has authenticated.
    pub(super) fn guard(&mut self, exchange: Exchange) {
        let role = std::mem::take(&mut self.role);
        self.role = Role::Authenticating(Box::new(Authenticating { exchange, role }));
    }

    /// AUTH_Send brings a message of the host, AUTH_Receive takes one of ours.
    pub(super) fn authenticate(
        &mut self,
        target: &Target,
        kind: u8,
        command: &Command,
        data: &[u8],
    ) -> Result<Answer, Status> {
        let Role::Authenticating(authenticating) = &mut self.role else {
            return Err(Status::COMMAND_SEQUENCE);
        };
        let entry = &command.entry;
        let protocol = (u8_at(entry, 43), u8_at(entry, 42), u8_at(entry, 41));
        if protocol != (SECURITY_PROTOCOL, SPECIFIC, SPECIFIC) {
            return Err(Status::INVALID_FIELD);
        }
        let length = u32_at(entry, 44) as usize;
        let answer = if kind == fabrics::AUTHENTICATION_SEND {
            if length != data.len() {
                return Err(Status::INVALID_FIELD);
            }
            authenticating.exchange.take(data);
            Answer::Done(0)
        } else {
            let given = authenticating
                .exchange
                .give()
                .ok_or(Status::COMMAND_SEQUENCE)?;
            // A host with less room loses the message, and fails by it.
            if length < given.len() {
                return Err(Status::INVALID_FIELD);
            }
            Answer::Data(given, 0)
        };
        self.conclude(target);
        Ok(answer)
    }

    /// Takes the controller's place among hosts, or the number of an I/O queue, if nobody has it.
    fn takes_place(&self, target: &Target, role: &Role) -> bool {
        match role {
            Role::Admin(controller) => target.controllers().prove(controller),
            Role::Io(controller, queue) => controller.add_queue(*queue, &self.notices),
            _ => true,
        }
    }

    /// Admits a host that has authenticated. One that has failed is dropped when the answer is sent.
    fn conclude(&mut self, target: &Target) {
        let Role::Authenticating(authenticating) = &mut self.role else {
            return;
        };
        let Some(outcome) = authenticating.exchange.outcome() else {
            return;
        };
        let role = std::mem::take(&mut authenticating.role);
        let (host, queue) = role.names();
        let refused = match outcome {
            Ok(()) if self.takes_place(target, &role) => {
                info!(host, queue, "authenticated");
                self.role = role;
                self.keep_place();
                return;
            }
            Ok(()) if queue == 0 => "no controller is left for it".to_owned(),
            Ok(()) => "it has that queue already, or its controller has ended".to_owned(),
            Err(why) => format!("it did not authenticate: {why}"),
        };
        warn!(host, queue, reason = refused, "host refused");
        if let Role::Authenticating(authenticating) = &mut self.role {
            authenticating.role = role;
        }
        self.closing = true;
    }
}
