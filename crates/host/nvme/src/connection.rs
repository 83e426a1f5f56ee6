//! A connection: one queue of a host, over TCP.
//!
//! Bytes come in batches as large as the socket gives. All whole PDUs of a batch are decoded, data
//! go to and from the store at once, the translation layer is then locked a single time for all
//! writes of the batch, and their answers leave in a single write.

mod authenticating;
mod batch;
mod buffer;
mod commands;
mod delayed;
mod fabrics;
mod offline;
mod sliced;
mod transfers;

use anabranch_security::{Names, Tls};
use std::{net::SocketAddr, sync::Arc};

use socket2::{SockRef, TcpKeepalive};
use thiserror::Error;
use tokio::{
    io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
    task,
    time::{self, Duration, MissedTickBehavior},
};
use tracing::{debug, info, warn};

use crate::{
    command::Command,
    completion::{Completion, Status},
    controller::{Controller, ErrorEntry, Notice},
    options::{MOST_ADMIN_DATA, MOST_PDU_DATA},
    pdu::{Digests, Encoder, FatalError, Framing, Initialize, Pdu, Side},
    places::Place,
    target::Target,
    totals::Tally,
};
use authenticating::Authenticating;
use batch::Batch;
use buffer::Inbox;
use delayed::DelayedCompletions;
#[doc(hidden)]
pub use offline::{Offline, converse};
use sliced::SlicedCommands;
use transfers::Transfers;

/// Answers gathered before they are sent (our choice): what bounds a connection's memory.
const MOST_ANSWERS: usize = 1 << 20;
/// Bytes of long commands that are taken in before some are done (our choice).
const MOST_LONG: usize = 512 << 10;
/// Period between two checks of the host's silence.
const TICK: Duration = Duration::from_millis(500);

/// The state of a connection: which queue it carries.
#[derive(Debug, Default)]
enum Role {
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

#[derive(Debug)]
pub(crate) struct Connection {
    target: Arc<Target>,
    /// Our address, as the host reached it; the discovery log reports it.
    address: SocketAddr,
    /// Names of the host and subsystem that its TLS key is for.
    named: Option<Names>,
    role: Role,
    framing: Framing,
    encoder: Encoder,
    inbox: Inbox,
    answers: Vec<u8>,
    transfers: Transfers,
    batch: Batch,
    sliced: SlicedCommands,
    delayed: DelayedCompletions,
    tally: Tally,
    /// Bytes of memory it was last known to take, and whether anything has come since the last tick.
    memory: u64,
    busy: bool,
    /// Entries of the submission queue, where the controller is in it, and whether the host wants
    /// to know.
    entries: u16,
    head: u16,
    flow_control: bool,
    closing: bool,
    /// When the host last finished something it had begun.
    settled_ms: u64,
    notices: UnboundedSender<Notice>,
    /// The place among connections, dropped last; `None` without a network.
    place: Option<Place>,
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
    connection.place = Some(place);
    let end = if let Some(tls) = tls {
        let patience = connection.target.options.patience;
        let accepted = tokio::select! {
            biased;
            Ok(()) = &mut given_up => return connection.log_end(peer, End::GivenUp),
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
        connection.named = Some(named);
        connection
            .run_in_place(io::split(stream), &mut notices_in, given_up)
            .await
    } else {
        connection
            .run_in_place(stream.split(), &mut notices_in, given_up)
            .await
    };
    connection.log_end(peer, end.err().unwrap_or(End::Closed));
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
        let framing = Framing {
            sender: Side::Host,
            digests: Digests::default(),
            most_data: MOST_ADMIN_DATA,
        };
        Connection {
            inbox: Inbox::new(framing.longest()),
            transfers: Transfers::default(),
            batch: Batch::default(),
            sliced: SlicedCommands::default(),
            delayed: DelayedCompletions::default(),
            tally: Tally::default(),
            memory: 0,
            busy: false,
            entries: 1,
            head: 0,
            flow_control: true,
            closing: false,
            settled_ms: target.now_ms(),
            named: None,
            role: Role::Fresh,
            encoder: Encoder::default(),
            answers: Vec::new(),
            place: None,
            target,
            address,
            framing,
            notices,
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

    /// Keeps the connection's place: its host has connected, and authenticated where it must.
    fn keep_place(&self) {
        if let Some(place) = &self.place {
            place.prove();
        }
    }

    async fn run(
        &mut self,
        (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
        notices_in: &mut UnboundedReceiver<Notice>,
    ) -> Result<(), End> {
        let mut ticks = time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let more = match self.process() {
                Ok(more) => more,
                Err(error) => {
                    let pdu = self.inbox.bytes();
                    Encoder::termination(&mut self.answers, Side::Controller, error, pdu);
                    self.send(&mut writer).await?;
                    return Err(End::Fatal(error));
                }
            };
            self.send(&mut writer).await?;
            if self.closing {
                return Ok(());
            }
            if more {
                // Others first: a host that always has more does not keep a thread to itself.
                task::yield_now().await;
                continue;
            }
            tokio::select! {
                biased;
                // First, so that a host that always has more to read does not outrun its patience.
                _ = ticks.tick() => {
                    self.check_patience()?;
                    self.shrink();
                }
                notice = notices_in.recv() => {
                    self.on_notice(notice)?;
                    while self.answers.len() < MOST_ANSWERS
                        && let Ok(notice) = notices_in.try_recv()
                    {
                        self.on_notice(Some(notice))?;
                    }
                }
                read = reader.read(self.inbox.space()), if self.inbox.has_room() => match read? {
                    0 => return Err(End::Closed),
                    count => self.inbox.fill(count),
                },
                // The next slice, after everybody else who has something to do.
                () = task::yield_now(), if !self.sliced.is_empty() => {}
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

    async fn send(&mut self, writer: &mut (impl AsyncWriteExt + Unpin)) -> Result<(), End> {
        if self.answers.is_empty() {
            return Ok(());
        }
        let sent = time::timeout(
            self.target.options.patience,
            writer.write_all(&self.answers),
        );
        sent.await.map_err(|_| End::Stalled)??;
        self.answers.clear();
        // One answer may be as long as all that are gathered before it.
        self.answers.shrink_to(MOST_ANSWERS);
        Ok(())
    }

    /// Decodes and performs received PDUs, as far as there is room for answers. Returns whether more
    /// have come.
    fn process(&mut self) -> Result<bool, FatalError> {
        let target = Arc::clone(&self.target);
        // A Format waits for the batches under way; later ones see its new generation.
        let _gate = match &self.role {
            Role::Io(..) => Some(target.enter()),
            _ => None,
        };
        let mut pdus = 0;
        let outcome = loop {
            // Answers that the host does not take must not fill our memory.
            if self.answers.len() >= MOST_ANSWERS {
                break Ok(true);
            }
            // Commands that were begun come first.
            if self.sliced.bytes() >= MOST_LONG {
                break Ok(false);
            }
            match self.framing.length(self.inbox.bytes()) {
                Ok(Some(length)) if length <= self.inbox.bytes().len() => {
                    if let Err(error) = self.pdu(length) {
                        break Err(error);
                    }
                    self.inbox.take(length);
                    pdus += 1;
                }
                Ok(_) => break Ok(false),
                Err(error) => break Err(error),
            }
        };
        let sliced = outcome.is_ok() && self.slice();
        if pdus > 0 || sliced {
            self.busy = true;
            self.perform_batch();
            if !matches!(self.role, Role::Unconnected | Role::Authenticating(_)) {
                self.settled_ms = target.now_ms();
            }
        }
        self.inbox.make_room();
        self.account();
        outcome
    }

    /// Reports the connection's memory to the target.
    fn account(&mut self) {
        let bytes = self.inbox.capacity()
            + self.answers.capacity()
            + self.transfers.bytes()
            + self.batch.bytes()
            + self.sliced.bytes()
            + self.delayed.bytes();
        let before = std::mem::replace(&mut self.memory, bytes as u64);
        self.target.takes_memory(before, self.memory);
    }

    /// Frees memory that an idle connection does not need.
    fn shrink(&mut self) {
        if std::mem::take(&mut self.busy) {
            return;
        }
        self.inbox.shrink();
        self.transfers.shrink();
        self.batch.shrink();
        self.sliced.shrink();
        self.delayed.shrink();
        self.answers = Vec::new();
        self.account();
    }

    /// Refuses more commands under way than the queue has entries.
    fn check_entries(&self) -> Result<(), FatalError> {
        let under_way =
            self.batch.len() + self.delayed.len() + self.sliced.len() + self.transfers.len();
        // Event Requests are not counted: they have a limit of their own.
        if under_way > usize::from(self.entries) {
            Err(FatalError::sequence())
        } else {
            Ok(())
        }
    }

    /// Performs one PDU, which lies whole at the front of the inbox.
    fn pdu(&mut self, length: usize) -> Result<(), FatalError> {
        // The inbox is not touched while a PDU of it is read; it comes back at once.
        let inbox = std::mem::take(&mut self.inbox);
        let pdu = inbox.bytes().get(..length).unwrap_or_default();
        let result = self.framing.decode(pdu);
        let result = result.and_then(|pdu| self.perform(pdu));
        self.inbox = inbox;
        if self.inbox.longest() < self.framing.longest() {
            self.inbox.grow(self.framing.longest());
        }
        result
    }

    fn perform(&mut self, pdu: Pdu<'_>) -> Result<(), FatalError> {
        match (pdu, &self.role) {
            (Pdu::InitializeRequest(wanted), Role::Fresh) => {
                self.initialize(wanted);
                Ok(())
            }
            (Pdu::Termination(_), _) => {
                self.closing = true;
                Ok(())
            }
            (_, Role::Fresh) | (Pdu::InitializeRequest(_), _) => Err(FatalError::sequence()),
            (Pdu::Command { entry, data }, _) => {
                self.check_entries()?;
                self.head = (self.head + 1) % self.entries.max(1);
                self.command(&Command::of(&entry), data)
            }
            (Pdu::HostData { transfer, data }, _) => self.host_data(transfer, data),
            _ => Err(FatalError::sequence()),
        }
    }

    fn initialize(&mut self, wanted: Initialize) {
        let granted = Initialize {
            version: 0,
            alignment: 0,
            digests: wanted.digests,
            limit: MOST_PDU_DATA,
        };
        Encoder::initialize(&mut self.answers, Side::Controller, granted);
        self.encoder = Encoder {
            digests: wanted.digests,
            alignment: wanted.alignment,
        };
        self.framing.digests = wanted.digests;
        self.role = Role::Unconnected;
    }

    /// Answers a command.
    fn complete(&mut self, completion: Completion) {
        let head = if self.flow_control { self.head } else { 0 };
        let completion = Completion {
            queue_head: head,
            ..completion
        };
        self.encoder
            .response(&mut self.answers, &completion.to_bytes());
    }

    /// Answers a command that succeeded without a result.
    fn succeed(&mut self, identifier: u16) {
        self.complete(Completion {
            identifier,
            ..Completion::default()
        });
    }

    /// Answers a command that failed, and records it in the error log.
    fn fail(&mut self, command: &Command, status: Status) {
        self.fail_with(command, status, 0);
    }

    fn fail_with(&mut self, command: &Command, status: Status, result: u64) {
        self.tally.failed += 1;
        debug!(opcode = command.opcode, ?status, "command failed");
        let (controller, queue) = match &self.role {
            Role::Admin(controller) => (Some(controller), 0),
            Role::Io(controller, queue) => (Some(controller), *queue),
            Role::Fresh | Role::Unconnected | Role::Authenticating(_) => (None, 0),
        };
        if let Some(controller) = controller {
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
        let begun = match &self.role {
            Role::Fresh | Role::Unconnected | Role::Authenticating(_) => true,
            _ => !self.inbox.bytes().is_empty(),
        };
        let now_ms = self.target.now_ms();
        if !begun {
            self.settled_ms = now_ms;
        }
        // SlicedCommand commands hold the inbox up: the data may lie there.
        if self.sliced.bytes() >= MOST_LONG {
            self.transfers.forgive(now_ms);
        }
        let patience_ms = self.target.options.patience.as_millis() as u64;
        let stalled = self.transfers.stalled_since_ms().unwrap_or(now_ms);
        if now_ms.saturating_sub(self.settled_ms.min(stalled)) > patience_ms {
            return Err(End::Stalled);
        }
        match &self.role {
            Role::Admin(controller) if controller.is_silent(now_ms, self.target.options.idle) => {
                Err(End::Silent)
            }
            _ => Ok(()),
        }
    }

    /// Logs the cause of the connection's end.
    fn log_end(&self, peer: Option<SocketAddr>, end: End) {
        let (host, queue) = match self.role.behind() {
            Role::Admin(controller) => (controller.host_name.as_str(), 0),
            Role::Io(controller, queue) => (controller.host_name.as_str(), *queue),
            _ => ("", 0),
        };
        match end {
            End::Closed => info!(?peer, host, queue, "connection ended"),
            end => warn!(?peer, host, queue, reason = %end, "connection dropped"),
        }
    }

    /// Gives up all that the connection held.
    fn finish(mut self) {
        self.transfers.abandon(&self.target, &self.role);
        self.target.totals.add(&self.tally);
        self.target.takes_memory(self.memory, 0);
        match self.role.behind() {
            Role::Admin(controller) => {
                controller.end();
                // IMPORTANT: its number is free last: another that had it would be taken for this one.
                // A host that never authenticated holds nothing to be reset.
                if controller.is_io() && controller.is_proven() {
                    self.target.reset(controller);
                }
                self.target.controllers().remove(controller.id);
            }
            Role::Io(controller, queue) => controller.remove_queue(*queue, &self.notices),
            Role::Fresh | Role::Unconnected | Role::Authenticating(_) => {}
        }
    }
}
