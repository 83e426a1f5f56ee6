//! A connection: one queue of a host, over TCP.
//!
//! Bytes come in batches as large as the socket gives. All whole PDUs of a batch are decoded, data
//! go to and from the store at once, the translation layer is then locked a single time for all
//! writes of the batch, and their answers leave in a single write.

mod buffer;
mod commands;
mod fabrics;
mod guarded;
mod long;
mod offline;
mod parked;
mod transfers;
mod work;

use std::{net::SocketAddr, sync::Arc};

use socket2::{SockRef, TcpKeepalive};
use thiserror::Error;
use tokio::{
    io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
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
    security::{Names, Tls},
    target::Target,
    totals::Tally,
};
use buffer::Inbox;
use guarded::Guarded;
use long::LongWork;
#[doc(hidden)]
pub use offline::{Offline, converse};
use parked::Parked;
use transfers::Transfers;
use work::Work;

/// Answers gathered before they are sent (our choice): what bounds a connection's memory.
const MOST_ANSWERS: usize = 1 << 20;
/// Bytes of long commands that are taken in before some are done (our choice).
const MOST_LONG: usize = 512 << 10;
/// How often it is checked whether the host is silent.
const TICK: Duration = Duration::from_millis(500);

/// The state of a connection: which queue it carries.
#[derive(Debug, Default)]
enum Role {
    /// The host has sent nothing yet.
    #[default]
    Fresh,
    /// PDUs are exchanged, and a Connect is awaited.
    Unconnected,
    /// It becomes what it is behind this when the host has authenticated.
    Guarded(Box<Guarded>),
    /// The admin queue of a controller.
    Admin(Arc<Controller>),
    /// An I/O queue, by its number.
    Io(Arc<Controller>, u16),
}

#[derive(Debug)]
pub(crate) struct Connection {
    target: Arc<Target>,
    /// Where the host reached us: what the discovery log tells.
    address: SocketAddr,
    /// Whose key of TLS it came with, and for which subsystem.
    named: Option<Names>,
    role: Role,
    framing: Framing,
    encoder: Encoder,
    inbox: Inbox,
    answers: Vec<u8>,
    transfers: Transfers,
    work: Work,
    long: LongWork,
    parked: Parked,
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
}

/// Why a connection ended.
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
    /// The host made no sense, and was told so.
    #[error("the host broke the protocol: {0}")]
    Fatal(FatalError),
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Closed
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve(mut stream: TcpStream, target: Arc<Target>, tls: Option<Arc<Tls>>) {
    let Ok(address) = stream.local_addr() else {
        return;
    };
    // Answers are written whole: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    // A host that has gone without a word is noticed, be it one that keeps nothing alive itself.
    let _ = SockRef::from(&stream).set_tcp_keepalive(&keep_alive());
    let (notices, mut told) = mpsc::unbounded_channel();
    let peer = stream.peer_addr().ok();
    let mut connection = Connection::new(target, address, notices);
    let end = if let Some(tls) = tls {
        let patience = connection.target.options.patience;
        let accepted = time::timeout(patience, tls.accept(stream)).await;
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
        connection.run(io::split(stream), &mut told).await
    } else {
        connection.run(stream.split(), &mut told).await
    };
    connection.tell(peer, end.err().unwrap_or(End::Closed));
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
            work: Work::default(),
            long: LongWork::default(),
            parked: Parked::default(),
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
            target,
            address,
            framing,
            notices,
        }
    }

    async fn run(
        &mut self,
        (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
        told: &mut UnboundedReceiver<Notice>,
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
                notice = told.recv() => {
                    self.hear(notice)?;
                    while self.answers.len() < MOST_ANSWERS
                        && let Ok(notice) = told.try_recv()
                    {
                        self.hear(Some(notice))?;
                    }
                }
                read = reader.read(self.inbox.space()), if self.inbox.has_room() => match read? {
                    0 => return Err(End::Closed),
                    count => self.inbox.fill(count),
                },
                _ = ticks.tick() => {
                    self.check_patience()?;
                    self.rest();
                }
                // The next slice, after everybody else who has something to do.
                () = task::yield_now(), if !self.long.is_empty() => {}
            }
        }
    }

    /// Something happened elsewhere.
    fn hear(&mut self, notice: Option<Notice>) -> Result<(), End> {
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

    /// Decodes and performs what has come, as far as there is room for answers. Answers whether
    /// more has come.
    fn process(&mut self) -> Result<bool, FatalError> {
        let target = Arc::clone(&self.target);
        // A Format waits for what is under way, and what comes after it knows of it.
        let _gate = match &self.role {
            Role::Io(..) => Some(target.enter()),
            _ => None,
        };
        let mut pdus = 0;
        let outcome = loop {
            if self.answers.len() >= MOST_ANSWERS {
                break Ok(true);
            }
            // What is begun comes first.
            if self.long.bytes() >= MOST_LONG {
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
            self.perform_work();
            if !matches!(self.role, Role::Unconnected | Role::Guarded(_)) {
                self.settled_ms = target.now_ms();
            }
        }
        self.inbox.make_room();
        self.account();
        outcome
    }

    /// Tells the target how much memory the connection takes.
    fn account(&mut self) {
        let bytes = self.inbox.capacity()
            + self.answers.capacity()
            + self.transfers.bytes()
            + self.work.bytes()
            + self.long.bytes()
            + self.parked.bytes();
        let before = std::mem::replace(&mut self.memory, bytes as u64);
        self.target.takes_memory(before, self.memory);
    }

    /// Gives back what memory a connection without work does not need.
    fn rest(&mut self) {
        if std::mem::take(&mut self.busy) {
            return;
        }
        self.inbox.rest();
        self.transfers.rest();
        self.work.rest();
        self.long.rest();
        self.parked.rest();
        self.answers = Vec::new();
        self.account();
    }

    /// No more commands may be under way than the queue has entries.
    fn check_entries(&self) -> Result<(), FatalError> {
        let under_way =
            self.work.len() + self.parked.len() + self.long.len() + self.transfers.len();
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

    /// Answers a command that succeeded without more to say.
    fn succeed(&mut self, identifier: u16) {
        self.complete(Completion {
            identifier,
            ..Completion::default()
        });
    }

    /// Answers a command that failed, and notes it.
    fn fail(&mut self, command: &Command, status: Status) {
        self.fail_with(command, status, 0);
    }

    fn fail_with(&mut self, command: &Command, status: Status, result: u64) {
        self.tally.failed += 1;
        debug!(opcode = command.opcode, ?status, "command failed");
        let (controller, queue) = match &self.role {
            Role::Admin(controller) => (Some(controller), 0),
            Role::Io(controller, queue) => (Some(controller), *queue),
            Role::Fresh | Role::Unconnected | Role::Guarded(_) => (None, 0),
        };
        if let Some(controller) = controller {
            controller.note_error(ErrorEntry {
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

    /// Whether the host has kept us waiting too long, for the end of something it had begun or at
    /// all.
    fn check_patience(&mut self) -> Result<(), End> {
        let begun = match &self.role {
            Role::Fresh | Role::Unconnected | Role::Guarded(_) => true,
            _ => !self.inbox.bytes().is_empty() || !self.transfers.is_empty(),
        };
        let now_ms = self.target.now_ms();
        if !begun {
            self.settled_ms = now_ms;
        }
        let patience_ms = self.target.options.patience.as_millis() as u64;
        if now_ms.saturating_sub(self.settled_ms) > patience_ms {
            return Err(End::Stalled);
        }
        match &self.role {
            Role::Admin(controller) if controller.is_silent(now_ms, self.target.options.idle) => {
                Err(End::Silent)
            }
            _ => Ok(()),
        }
    }

    /// Why it ended, for whoever asks why a host was dropped.
    fn tell(&self, peer: Option<SocketAddr>, end: End) {
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

    /// The connection has ended: what it held is given up.
    fn finish(mut self) {
        self.transfers.abandon(&self.target, &self.role);
        self.target.totals.add(&self.tally);
        self.target.takes_memory(self.memory, 0);
        match self.role.behind() {
            Role::Admin(controller) => {
                controller.end();
                // IMPORTANT: its number is free last: another that had it would be taken for this one.
                if controller.is_io() {
                    self.target.reset(controller);
                }
                self.target.controllers().remove(controller.id);
            }
            Role::Io(controller, queue) => controller.remove_queue(*queue, &self.notices),
            Role::Fresh | Role::Unconnected | Role::Guarded(_) => {}
        }
    }
}
