//! A connection: one queue of a host, over TCP.
//!
//! Bytes come in batches as large as the socket gives. All whole PDUs of a batch are decoded, data
//! go to and from the store at once, the translation layer is then locked a single time for all
//! writes of the batch, and their answers leave in a single write.

mod account;
mod authenticating;
mod batch;
mod buffer;
mod commands;
mod delayed;
mod fabrics;
mod offline;
mod queue;
mod session;
mod sliced;
mod transfers;
mod transport;
mod under_way;

use anabranch_security::Tls;
use std::{net::SocketAddr, sync::Arc};

use socket2::{SockRef, TcpKeepalive};
use thiserror::Error;
use tokio::{
    io::{self, AsyncRead, AsyncReadExt, AsyncWrite},
    net::TcpStream,
    sync::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
    task,
    time::{self, Duration, MissedTickBehavior},
};
use tracing::{debug, warn};

use crate::{
    command::Command,
    completion::{Completion, Status},
    controller::{ErrorEntry, Notice},
    pdu::{FatalError, Pdu},
    places::Place,
    target::Target,
};
use account::Account;
use batch::Outcome;
#[doc(hidden)]
pub use offline::{Offline, converse};
use queue::SubmissionQueue;
use session::{HostSession, Role};
use transport::Transport;
use under_way::UnderWay;

/// Period between two checks of the host's silence.
const TICK: Duration = Duration::from_millis(500);

/// One queue of a host, from its first byte to its end.
#[derive(Debug)]
pub(crate) struct Connection {
    target: Arc<Target>,
    transport: Transport,
    queue: SubmissionQueue,
    under_way: UnderWay,
    account: Account,
    /// Dropped last, with the place among connections.
    session: HostSession,
}

/// Cause of a connection's end.
#[derive(Debug, Error)]
enum End {
    /// The connection was closed in order.
    #[error("the host closed it, or its controller is no more")]
    Closed,
    /// The host was too slow.
    #[error("the host neither ended in time what it had begun nor took what it had asked for")]
    Stalled,
    /// The host has gone.
    #[error("the host was silent for longer than its keep-alive timeout")]
    Silent,
    /// The host had proven nothing yet, and newcomers were too many.
    #[error("the host had not connected or authenticated yet, and its place went to a later one")]
    GivenUp,
    /// The host broke the protocol, and got a termination request.
    #[error("the host broke the protocol: {0}")]
    Fatal(FatalError),
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Closed
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve(
    mut stream: TcpStream,
    target: Arc<Target>,
    tls: Option<Arc<Tls>>,
    (place, mut given_up): (Place, oneshot::Receiver<()>),
) {
    let Ok(address) = stream.local_addr() else {
        return;
    };
    // Answers are written whole: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    // TCP's own keep-alive finds a host that has vanished, for hosts without one of NVMe's.
    let _ = SockRef::from(&stream).set_tcp_keepalive(&keep_alive());
    let (notices, mut notices_in) = mpsc::unbounded_channel();
    let peer = stream.peer_addr().ok();
    let mut connection = Connection::new(target, address, notices);
    connection.session.place = Some(place);
    let end = if let Some(tls) = tls {
        let patience = connection.target.options.patience;
        let accepted = tokio::select! {
            biased;
            Ok(()) = &mut given_up => return connection.session.log_end(peer, End::GivenUp),
            accepted = time::timeout(patience, tls.accept(stream)) => accepted,
        };
        let (stream, named) = match accepted {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(reason)) => return warn!(?peer, %reason, "host refused"),
            Err(_) => {
                return warn!(
                    ?peer,
                    reason = "its TLS handshake takes too long",
                    "host refused"
                );
            }
        };
        connection.session.named = Some(named);
        connection
            .run_in_place(io::split(stream), &mut notices_in, given_up)
            .await
    } else {
        connection
            .run_in_place(stream.split(), &mut notices_in, given_up)
            .await
    };
    connection
        .session
        .log_end(peer, end.err().unwrap_or(End::Closed));
    connection.finish();
}

/// Six probes, ten seconds apart, after a minute of silence (our choice).
fn keep_alive() -> TcpKeepalive {
    TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(10))
        .with_retries(6)
}

impl Connection {
    fn new(
        target: Arc<Target>,
        address: SocketAddr,
        notices: UnboundedSender<Notice>,
    ) -> Connection {
        Connection {
            session: HostSession::new(address, notices, target.now_ms()),
            transport: Transport::default(),
            queue: SubmissionQueue::default(),
            under_way: UnderWay::default(),
            account: Account::default(),
            target,
        }
    }

    /// Runs the connection until it ends or loses its place. Once the host has proven itself, the sender of `given_up`
    /// is gone, and only the end is awaited.
    async fn run_in_place(
        &mut self,
        stream: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
        notices_in: &mut UnboundedReceiver<Notice>,
        given_up: oneshot::Receiver<()>,
    ) -> Result<(), End> {
        tokio::select! {
            biased;
            Ok(()) = given_up => Err(End::GivenUp),
            end = self.run(stream, notices_in) => end,
        }
    }

    async fn run(
        &mut self,
        (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
        notices_in: &mut UnboundedReceiver<Notice>,
    ) -> Result<(), End> {
        let patience = self.target.options.patience;
        let mut ticks = time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let more = match self.process() {
                Ok(more) => more,
                Err(error) => {
                    self.transport.terminate(error);
                    self.transport.send(&mut writer, patience).await?;
                    return Err(End::Fatal(error));
                }
            };
            self.transport.send(&mut writer, patience).await?;
            if self.session.closing {
                return Ok(());
            }
            if more {
                // Others first: a host that always has more does not keep a thread to itself.
                task::yield_now().await;
                continue;
            }
            let inbox = &mut self.transport.inbox;
            tokio::select! {
                biased;
                // First, so that a host that always has more to read does not outrun its patience.
                _ = ticks.tick() => {
                    self.check_patience()?;
                    self.shrink();
                }
                notice = notices_in.recv() => {
                    self.on_notice(notice)?;
                    while !self.transport.is_full()
                        && let Ok(notice) = notices_in.try_recv()
                    {
                        self.on_notice(Some(notice))?;
                    }
                }
                read = reader.read(inbox.space()), if inbox.has_room() => match read? {
                    0 => return Err(End::Closed),
                    count => self.transport.inbox.fill(count),
                },
                // The next slice, after everybody else who has something to do.
                () = task::yield_now(), if !self.under_way.sliced.is_empty() => {}
            }
        }
    }

    /// Handles a notice from elsewhere.
    fn on_notice(&mut self, notice: Option<Notice>) -> Result<(), End> {
        match notice {
            Some(Notice::Complete(completion)) => self.complete(completion),
            Some(Notice::Due(tag)) => self.due(tag),
            Some(Notice::Gone) | None => return Err(End::Closed),
        }
        Ok(())
    }

    /// Decodes and performs received PDUs, as far as there is room for answers. Returns whether more
    /// have come.
    fn process(&mut self) -> Result<bool, FatalError> {
        let target = Arc::clone(&self.target);
        // A Format waits for the batches under way; later ones see its new generation.
        let _gate = match &self.session.role {
            Role::Io(..) => Some(target.gates.enter()),
            _ => None,
        };
        let mut pdus = 0;
        let outcome = loop {
            if self.transport.is_full() {
                break Ok(true);
            }
            // Commands that were begun come first.
            if self.under_way.is_full() {
                break Ok(false);
            }
            match self.transport.whole() {
                Ok(Some(length)) => {
                    if let Err(error) = self.pdu(length) {
                        break Err(error);
                    }
                    pdus += 1;
                }
                Ok(None) => break Ok(false),
                Err(error) => break Err(error),
            }
        };
        let sliced = outcome.is_ok() && self.slice();
        if pdus > 0 || sliced {
            self.account.busy = true;
            self.perform_batch();
            self.session.settle(target.now_ms());
        }
        self.transport.inbox.make_room();
        self.report_memory();
        outcome
    }

    /// Performs one slice of a long command. Returns whether there was one.
    fn slice(&mut self) -> bool {
        let UnderWay { sliced, batch, .. } = &mut self.under_way;
        if sliced.is_empty() {
            return false;
        }
        let counted = (batch, &mut self.account.tally);
        let host = self.session.role.host_key();
        let performed = sliced.slice(&self.target, host, counted);
        if let Some(Err((command, status))) = performed {
            self.fail(&command, status);
        }
        performed.is_some()
    }

    /// Ends a batch: performs its changes on the translation layer, and answers its commands.
    fn perform_batch(&mut self) {
        let Role::Io(controller, _) = &self.session.role else {
            return;
        };
        let host = controller.host_key();
        controller.seen(self.target.now_ms());
        self.account.settle(&self.target);
        self.target.report_losses();
        if self.under_way.batch.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.under_way.batch);
        batch.perform(&self.target, host, &self.session.notices);
        for (command, outcome) in batch.outcomes() {
            match outcome {
                Outcome::Continued => {}
                Outcome::Succeeded => self.succeed(command, 0),
                Outcome::Delayed(tag) => self.under_way.delayed.answer_later(tag, command),
                Outcome::Failed(status) => self.fail(command, status),
                Outcome::SliceFailed(status) => {
                    self.under_way.sliced.give_up();
                    self.fail(command, status);
                }
            }
        }
        batch.clear();
        self.under_way.batch = batch;
    }

    /// Reports the connection's memory to the target.
    fn report_memory(&mut self) {
        let bytes = self.transport.bytes() + self.under_way.bytes();
        self.account.takes_memory(&self.target, bytes);
    }

    /// Frees memory that an idle connection does not need.
    fn shrink(&mut self) {
        if self.account.was_idle() {
            self.transport.shrink();
            self.under_way.shrink();
            self.report_memory();
        }
    }

    /// Performs one PDU, which lies whole at the front of the inbox.
    fn pdu(&mut self, length: usize) -> Result<(), FatalError> {
        // The inbox is not touched while a PDU of it is read; it comes back at once.
        let mut inbox = std::mem::take(&mut self.transport.inbox);
        let pdu = inbox.bytes().get(..length).unwrap_or_default();
        let pdu = self.transport.framing.decode(pdu);
        let result = pdu.and_then(|pdu| self.perform(pdu));
        // A PDU at fault stays: the termination request repeats its beginning.
        if result.is_ok() {
            inbox.take(length);
        }
        if inbox.longest() < self.transport.framing.longest() {
            inbox.grow(self.transport.framing.longest());
        }
        self.transport.inbox = inbox;
        result
    }

    fn perform(&mut self, pdu: Pdu<'_>) -> Result<(), FatalError> {
        match (pdu, &self.session.role) {
            (Pdu::InitializeRequest(wanted), Role::Fresh) => {
                self.transport.initialize(wanted);
                self.session.role = Role::Unconnected;
                Ok(())
            }
            (Pdu::Termination(_), _) => {
                self.session.closing = true;
                Ok(())
            }
            (_, Role::Fresh) | (Pdu::InitializeRequest(_), _) => Err(FatalError::sequence()),
            (Pdu::Command { entry, data }, _) => {
                self.queue.bound(self.under_way.len())?;
                self.queue.advance();
                self.command(&Command::of(&entry), data)
            }
            (Pdu::HostData { transfer, data }, _) => self.host_data(transfer, data),
            _ => Err(FatalError::sequence()),
        }
    }

    /// Answers a command.
    fn complete(&mut self, completion: Completion) {
        self.transport.respond(&Completion {
            queue_head: self.queue.head(),
            ..completion
        });
    }

    /// Answers a command that succeeded.
    fn succeed(&mut self, command: &Command, result: u64) {
        self.complete(Completion {
            result,
            identifier: command.identifier,
            ..Completion::default()
        });
    }

    /// Answers a command that failed, and records it in the error log.
    fn fail(&mut self, command: &Command, status: Status) {
        self.fail_with(command, status, 0);
    }

    fn fail_with(&mut self, command: &Command, status: Status, result: u64) {
        self.account.tally.failed += 1;
        debug!(opcode = command.opcode, ?status, "command failed");
        if let Some((controller, queue)) = self.session.role.connected() {
            controller.record_error(ErrorEntry {
                count: 0,
                queue,
                identifier: command.identifier,
                status,
                block: if queue > 0 { command.first_block() } else { 0 },
                namespace: command.namespace,
                opcode: command.opcode,
            });
        }
        self.complete(Completion {
            result,
            identifier: command.identifier,
            status,
            ..Completion::default()
        });
    }

    /// Ends the connection when the host has been silent, or has left a handshake, a PDU or data asked for unfinished,
    /// for too long. Other PDUs renew none of these times.
    fn check_patience(&mut self) -> Result<(), End> {
        let now_ms = self.target.now_ms();
        if self.transport.inbox.bytes().is_empty() {
            self.session.settle(now_ms);
        }
        // Sliced commands hold the inbox up: the data may lie there.
        if self.under_way.is_full() {
            self.under_way.transfers.forgive(now_ms);
        }
        let stalled_ms = self.under_way.transfers.stalled_since_ms();
        let times_ms = (now_ms, stalled_ms.unwrap_or(now_ms));
        self.session.check_patience(times_ms, &self.target.options)
    }

    /// Gives up all that the connection held.
    fn finish(mut self) {
        let transfers = &mut self.under_way.transfers;
        transfers.abandon(&self.target, &self.session.role);
        self.account.settle(&self.target);
        self.account.takes_memory(&self.target, 0);
        self.session.end(&self.target);
    }
}
