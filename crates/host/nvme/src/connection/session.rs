//! The host of a connection, and how far it has come: from its first PDU to a queue of its own.

use std::{net::SocketAddr, sync::Arc};

use anabranch_security::Names;
use anabranch_ssd::streams::{Scope, StreamHost};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{info, warn};

use super::{End, authenticating::Authenticating};
use crate::{
    command::Command,
    completion::Status,
    controller::{Controller, Notice},
    options::Options,
    places::Place,
    target::Target,
};

/// The queue that the connection carries.
#[derive(Debug, Default)]
pub(super) enum Role {
    /// The host has sent nothing yet.
    #[default]
    Fresh,
    /// PDUs are exchanged, and a Connect is awaited.
    Unconnected,
    /// The host must authenticate; then the role behind this is the connection's.
    Authenticating(Box<Authenticating>),
    /// The admin queue of a controller.
    Admin(Arc<Controller>),
    /// An I/O queue, by its number.
    Io(Arc<Controller>, u16),
}

impl Role {
    /// The controller and the number of its queue, once the host may use it.
    #[inline]
    pub(super) fn connected(&self) -> Option<(&Arc<Controller>, u16)> {
        match self {
            Role::Admin(controller) => Some((controller, 0)),
            Role::Io(controller, queue) => Some((controller, *queue)),
            Role::Fresh | Role::Unconnected | Role::Authenticating(_) => None,
        }
    }

    /// The controller that commands are for.
    #[inline]
    pub(super) fn controller(&self) -> Result<&Arc<Controller>, Status> {
        match self {
            Role::Admin(controller) | Role::Io(controller, _) => Ok(controller),
            Role::Fresh | Role::Unconnected => Err(Status::COMMAND_SEQUENCE),
            Role::Authenticating(_) => Err(Status::AUTHENTICATION_REQUIRED),
        }
    }

    /// The host, as the key of streams.
    #[inline]
    pub(super) fn host_key(&self) -> StreamHost {
        let connected = self.connected();
        connected.map_or(StreamHost::Anonymous(0), |(controller, _)| {
            controller.host_key()
        })
    }

    /// The names of host and queue, for the log.
    pub(super) fn names(&self) -> (&str, u16) {
        let connected = self.connected();
        connected.map_or(("", 0), |(controller, queue)| {
            (&controller.host_name, queue)
        })
    }
}

/// A host's session: its queue, its names, and what it still has to prove.
#[derive(Debug)]
pub(super) struct HostSession {
    pub(super) role: Role,
    /// Our address, as the host reached it; the discovery log reports it.
    pub(super) address: SocketAddr,
    /// Names of the host and subsystem that its TLS key is for.
    pub(super) named: Option<Names>,
    /// Notices of elsewhere reach the connection by it.
    pub(super) notices: UnboundedSender<Notice>,
    /// The connection ends when its answers are sent.
    pub(super) closing: bool,
    /// When the host last finished something it had begun.
    settled_ms: u64,
    /// The place among connections, dropped last; `None` without a network.
    pub(super) place: Option<Place>,
}

impl HostSession {
    pub(super) fn new(
        address: SocketAddr,
        notices: UnboundedSender<Notice>,
        now_ms: u64,
    ) -> HostSession {
        HostSession {
            role: Role::Fresh,
            address,
            named: None,
            notices,
            closing: false,
            settled_ms: now_ms,
            place: None,
        }
    }

    /// Keeps the connection's place: its host has connected, and authenticated where it must.
    pub(super) fn keep_place(&self) {
        if let Some(place) = &self.place {
            place.prove();
        }
    }

    /// The host at a command's namespace, as the key of streams.
    #[inline]
    pub(super) fn scope(&self, command: &Command) -> Scope {
        Scope {
            namespace: command.namespace,
            host: self.role.host_key(),
        }
    }

    /// Records that a host which has connected finished something. A handshake has but one period of patience.
    #[inline]
    pub(super) fn settle(&mut self, now_ms: u64) {
        if self.role.connected().is_some() {
            self.settled_ms = now_ms;
        }
    }

    /// Fails when the host has been silent, or has left something unfinished, for too long. `stalled_ms`: since when
    /// the data that were asked for have not moved.
    pub(super) fn check_patience(
        &self,
        (now_ms, stalled_ms): (u64, u64),
        options: &Options,
    ) -> Result<(), End> {
        let patience_ms = options.patience.as_millis() as u64;
        if now_ms.saturating_sub(self.settled_ms.min(stalled_ms)) > patience_ms {
            return Err(End::Stalled);
        }
        match &self.role {
            Role::Admin(controller) if controller.is_silent(now_ms, options.idle) => {
                Err(End::Silent)
            }
            _ => Ok(()),
        }
    }

    /// Logs the cause of the connection's end.
    pub(super) fn log_end(&self, peer: Option<SocketAddr>, end: End) {
        let (host, queue) = self.role.behind().names();
        match end {
            End::Closed => info!(?peer, host, queue, "connection ended"),
            end => warn!(?peer, host, queue, reason = %end, "connection dropped"),
        }
    }

    /// Gives up the controller, or its queue.
    pub(super) fn end(&self, target: &Target) {
        match self.role.behind() {
            Role::Admin(controller) => {
                controller.end();
                // IMPORTANT: its number is free last: another that had it would be taken for this one.
                // A host that never authenticated holds nothing to be reset.
                if controller.is_io() && controller.is_proven() {
                    target.reset(controller);
                }
                target.controllers().remove(controller.id);
            }
            Role::Io(controller, queue) => controller.remove_queue(*queue, &self.notices),
            Role::Fresh | Role::Unconnected | Role::Authenticating(_) => {}
        }
    }
}
