//! Connections with no network between: for fuzzing, and for tests in which all that happens follows from
//! a seed.

use std::{net::SocketAddr, sync::Arc};

use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::Connection;
use crate::{controller::Notice, target::Target};

/// One connection of a target, which acts only when it is called.
#[derive(Debug)]
pub struct Offline {
    connection: Connection,
    notices: UnboundedReceiver<Notice>,
    is_open: bool,
}

impl Offline {
    /// A host connects.
    pub fn open(target: &Arc<Target>) -> Offline {
        let address = SocketAddr::from(([127, 0, 0, 1], 4420));
        let (sender, notices) = mpsc::unbounded_channel();
        Offline {
            connection: Connection::new(Arc::clone(target), address, sender),
            notices,
            is_open: true,
        }
    }

    /// Whether the target has not closed it.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Takes of bytes that have come as many as there is room for, and answers their number.
    pub fn take(&mut self, bytes: &[u8]) -> usize {
        let inbox = &mut self.connection.transport.inbox;
        let space = inbox.space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        inbox.fill(count);
        count
    }

    /// Performs one turn, as between two reads of the network: received PDUs, one slice of a long command,
    /// and notices of other connections. Returns the bytes for the host, and whether there is more to
    /// do.
    pub fn turn(&mut self) -> (Vec<u8>, bool) {
        let outcome = if self.is_open {
            self.connection.process()
        } else {
            Ok(false)
        };
        self.is_open &= outcome.is_ok() && !self.connection.session.closing;
        if let Err(error) = outcome {
            self.connection.transport.terminate(error);
        }
        while self.is_open
            && let Ok(notice) = self.notices.try_recv()
        {
            self.is_open = self.connection.on_notice(Some(notice)).is_ok();
        }
        let more =
            self.is_open && (outcome == Ok(true) || !self.connection.under_way.sliced.is_empty());
        (std::mem::take(&mut self.connection.transport.answers), more)
    }

    /// Time has passed: a host that was silent or slow for too long is dropped.
    pub fn tick(&mut self) {
        self.is_open &= self.connection.check_patience().is_ok();
        self.connection.shrink();
    }

    /// The connection ends, by whoever's will.
    pub fn close(self) {
        self.connection.finish();
    }
}

/// Collects the answers of connections to the bytes that come on each, one connection after the other and all of
/// them open to the end.
pub fn converse(target: &Arc<Target>, streams: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut open = Vec::new();
    let mut said = Vec::new();
    for stream in streams {
        let mut connection = Offline::open(target);
        let (mut rest, mut answers, mut more) = (*stream, Vec::new(), true);
        while connection.is_open() && (more || !rest.is_empty()) {
            rest = &rest[connection.take(rest)..];
            let said;
            (said, more) = connection.turn();
            answers.extend(said);
        }
        said.push(answers);
        open.push(connection);
    }
    open.into_iter().for_each(Offline::close);
    said
}
