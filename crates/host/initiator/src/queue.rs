//! A submission and completion queue pair: one connection (TCP §3.1).

use std::{net::SocketAddr, sync::Arc};

use crate::{
    Completion, Connection, ConnectionOptions, Entry, InitiatorError, Kind, Pdu, Result,
    error::protocol,
};

/// Bytes of data that every controller takes in the capsule of an Admin or Fabrics command
/// (TCP §3.3.2).
const ADMIN_IN_CAPSULE: usize = 8192;

/// Options of a queue: its number, controller, subsystem and host.
#[derive(Debug, Clone)]
pub struct QueueOptions {
    /// The queue's number; 0 is the Admin Queue.
    pub identifier: u16,
    /// Number of entries.
    pub entries: u16,
    /// The controller's identifier; FFFFh asks for a new controller.
    pub controller: u16,
    /// The subsystem's name.
    pub subsystem: String,
    /// The host's name.
    pub host: String,
    /// The host's identifier.
    pub host_identifier: [u8; 16],
    /// Keep-alive timeout in milliseconds; 0 for none.
    pub keep_alive_ms: u32,
    /// Options of the connection.
    pub connection: ConnectionOptions,
}

/// The data of a command.
#[derive(Debug, Clone, Default)]
pub enum Transfer {
    /// The command has no data.
    #[default]
    None,
    /// Data to the controller: in the capsule if they fit there.
    Out(Arc<[u8]>),
    /// Bytes that the controller sends.
    In(usize),
}

impl Transfer {
    /// A transfer of data to the controller.
    pub fn out(data: impl Into<Arc<[u8]>>) -> Transfer {
        Transfer::Out(data.into())
    }
}

#[derive(Debug)]
struct Slot {
    transfer: Transfer,
    received: Vec<u8>,
}

/// A queue of commands on a connection.
#[derive(Debug)]
pub struct Queue {
    connection: Connection,
    slots: Vec<Option<Slot>>,
    free: Vec<u16>,
    /// The most bytes of data in a command's capsule.
    pub in_capsule: usize,
    /// The controller's identifier, as Connect answered.
    pub controller: u16,
}

impl Queue {
    /// Opens a connection and a queue on it.
    ///
    /// # Errors
    /// When the target refuses the connection or the queue.
    pub fn open(address: SocketAddr, options: &QueueOptions) -> Result<Queue> {
        let connection = Connection::open(address, &options.connection)?;
        let mut queue = Queue {
            connection,
            slots: (0..options.entries).map(|_| None).collect(),
            free: (0..options.entries.saturating_sub(1)).rev().collect(),
            in_capsule: ADMIN_IN_CAPSULE,
            controller: 0,
        };
        let (entry, data) = connect(options);
        let completion = queue.run(entry, Transfer::out(data))?;
        if !completion.status.is_success() {
            return Err(InitiatorError::Command {
                what: "connect",
                status: completion.status,
            });
        }
        queue.controller = completion.result as u16;
        Ok(queue)
    }

    /// The connection that the queue uses.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Number of commands under way.
    pub fn outstanding(&self) -> usize {
        self.slots.len().saturating_sub(1 + self.free.len())
    }

    /// Appends a command; [`Queue::flush`] sends it. Returns its identifier.
    ///
    /// # Errors
    /// When the queue is full.
    pub fn submit(&mut self, mut entry: Entry, transfer: Transfer) -> Result<u16> {
        let Some(identifier) = self.free.pop() else {
            return protocol("the queue is full");
        };
        entry.0[2..4].copy_from_slice(&identifier.to_le_bytes());
        let (length, inside) = match &transfer {
            Transfer::None => (0, false),
            Transfer::In(length) => (*length, false),
            Transfer::Out(data) => (data.len(), data.len() <= self.in_capsule),
        };
        describe(&mut entry, length as u32, inside);
        let capsule: &[u8] = match &transfer {
            Transfer::Out(data) if inside => data,
            _ => &[],
        };
        self.connection
            .queue_pdu(Kind::Command, 0, &entry.0, capsule);
        let slot = Slot {
            received: Vec::new(),
            transfer,
        };
        if let Some(place) = self.slots.get_mut(usize::from(identifier)) {
            *place = Some(slot);
        }
        Ok(identifier)
    }

    /// Sends the commands that were appended.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn flush(&mut self) -> Result<()> {
        self.connection.flush()
    }

    /// Waits for the next command to complete, serving the transfers the controller asks for.
    ///
    /// # Errors
    /// When the connection breaks or the target breaks a rule.
    pub fn wait(&mut self) -> Result<Completion> {
        loop {
            let pdu = self.connection.receive()?;
            if let Some(completion) = self.serve(pdu)? {
                return Ok(completion);
            }
        }
    }

    /// Whether a whole PDU was received already, so that [`Queue::wait`] has something to read.
    pub fn has_news(&self) -> bool {
        self.connection.has_unit()
    }

    /// Runs one command. No other may be under way.
    ///
    /// # Errors
    /// When the connection breaks or the target breaks a rule.
    pub fn run(&mut self, entry: Entry, transfer: Transfer) -> Result<Completion> {
        let identifier = self.submit(entry, transfer)?;
        self.flush()?;
        let completion = self.wait()?;
        if completion.identifier == identifier {
            Ok(completion)
        } else {
            protocol(format!(
                "{identifier} was asked, {} answered",
                completion.identifier
            ))
        }
    }

    /// Runs a command that must succeed.
    ///
    /// # Errors
    /// When the connection breaks, the target breaks a rule, or the command fails.
    pub fn succeed(
        &mut self,
        what: &'static str,
        entry: Entry,
        transfer: Transfer,
    ) -> Result<Completion> {
        let completion = self.run(entry, transfer)?;
        if completion.status.is_success() {
            Ok(completion)
        } else {
            Err(InitiatorError::Command {
                what,
                status: completion.status,
            })
        }
    }

    fn serve(&mut self, pdu: Pdu) -> Result<Option<Completion>> {
        match pdu.kind {
            Kind::Response => self.complete(&pdu).map(Some),
            Kind::ReadyToTransfer => self.transfer(&pdu).map(|()| None),
            Kind::ControllerData => self.take(pdu),
            kind => protocol(format!("{kind:?} at this time")),
        }
    }

    fn slot(&mut self, identifier: u16) -> Result<&mut Slot> {
        let slot = self
            .slots
            .get_mut(usize::from(identifier))
            .and_then(Option::as_mut);
        slot.map_or_else(
            || protocol(format!("no command {identifier} is under way")),
            Ok,
        )
    }

    fn complete(&mut self, pdu: &Pdu) -> Result<Completion> {
        let completion = Completion::of(&pdu.header[8..24], Vec::new());
        self.end(completion)
    }

    fn end(&mut self, mut completion: Completion) -> Result<Completion> {
        let identifier = completion.identifier;
        completion.data = std::mem::take(&mut self.slot(identifier)?.received);
        self.slots[usize::from(identifier)] = None;
        self.free.push(identifier);
        Ok(completion)
    }

    /// Answers an R2T with H2CData (TCP §3.6.2.10, .8). R2T: CCCID 9:8, TTAG 11:10, R2TO 15:12,
    /// R2TL 19:16.
    fn transfer(&mut self, pdu: &Pdu) -> Result<()> {
        let (identifier, offset) = (pdu.number(8, 2) as u16, pdu.number(12, 4) as usize);
        let length = pdu.number(16, 4) as usize;
        let Transfer::Out(data) = self.slot(identifier)?.transfer.clone() else {
            return protocol("R2T for a command without data to transfer");
        };
        let Some(data) = data
            .get(offset..offset + length)
            .filter(|data| !data.is_empty())
        else {
            return protocol(format!(
                "R2T for {length} bytes at {offset} of {}",
                data.len()
            ));
        };
        let tag = pdu.number(10, 2) as u16;
        for (place, part) in data.chunks(self.connection.most_data).enumerate() {
            let from = place * self.connection.most_data;
            let last = from + part.len() == data.len();
            self.queue_data(identifier, tag, (offset + from) as u32, part, last);
        }
        self.flush()
    }

    /// Appends H2CData: CCCID 9:8, TTAG 11:10, DATAO 15:12, DATAL 19:16, LAST_PDU in bit 2.
    pub fn queue_data(&mut self, identifier: u16, tag: u16, offset: u32, data: &[u8], last: bool) {
        let mut fields = [0; 16];
        fields[0..2].copy_from_slice(&identifier.to_le_bytes());
        fields[2..4].copy_from_slice(&tag.to_le_bytes());
        fields[4..8].copy_from_slice(&offset.to_le_bytes());
        fields[8..12].copy_from_slice(&(data.len() as u32).to_le_bytes());
        let flags = if last { 4 } else { 0 };
        self.connection
            .queue_pdu(Kind::HostData, flags, &fields, data);
    }

    /// Takes the data of a C2HData: CCCID 9:8, DATAO 15:12, DATAL 19:16 (TCP §3.6.2.9).
    fn take(&mut self, pdu: Pdu) -> Result<Option<Completion>> {
        let (identifier, offset) = (pdu.number(8, 2) as u16, pdu.number(12, 4) as usize);
        let slot = self.slot(identifier)?;
        let Transfer::In(length) = slot.transfer else {
            return protocol("data for a command that reads none");
        };
        if pdu.number(16, 4) as usize != pdu.data.len() || offset + pdu.data.len() > length {
            return protocol(format!("{} bytes at {offset} of {length}", pdu.data.len()));
        }
        if offset != slot.received.len() {
            return protocol(format!(
                "data at {offset}, expected at {}",
                slot.received.len()
            ));
        }
        if slot.received.is_empty() {
            slot.received = pdu.data.clone()
        } else {
            slot.received.extend_from_slice(&pdu.data)
        }
        if !(pdu.is_last() && pdu.is_success()) {
            return Ok(None);
        }
        let mut entry = [0; 16];
        entry[12..14].copy_from_slice(&identifier.to_le_bytes());
        self.end(Completion::of(&entry, Vec::new())).map(Some)
    }
}

/// Describes the data in the entry's SGL descriptor, bytes 39:24 (Base §4.3.2; TCP §3.3.2): in the
/// capsule, a data block at an offset (01h); otherwise a transport data block (5Ah). Bits 7:6 of
/// the flags say that it is an SGL.
fn describe(entry: &mut Entry, length: u32, inside: bool) {
    entry.0[1] |= 0x40;
    entry.0[24..40].fill(0);
    entry.0[32..36].copy_from_slice(&length.to_le_bytes());
    entry.0[39] = if inside { 0x01 } else { 0x5a };
}

/// The Connect command and its data (Base §6.3): RECFMT 41:40, QID 43:42, SQSIZE 45:44, 0's based,
/// KATO 51:48; the data are HOSTID 15:0, CNTLID 17:16, SUBNQN 511:256, HOSTNQN 767:512.
fn connect(options: &QueueOptions) -> (Entry, Vec<u8>) {
    let mut entry = Entry::fabrics(0x01);
    entry.0[42..44].copy_from_slice(&options.identifier.to_le_bytes());
    entry.0[44..46].copy_from_slice(&options.entries.saturating_sub(1).to_le_bytes());
    if options.identifier == 0 {
        entry.0[48..52].copy_from_slice(&options.keep_alive_ms.to_le_bytes());
    }
    let mut data = vec![0; 1024];
    data[0..16].copy_from_slice(&options.host_identifier);
    data[16..18].copy_from_slice(&options.controller.to_le_bytes());
    for (at, name) in [(256, &options.subsystem), (512, &options.host)] {
        let bytes = &name.as_bytes()[..name.len().min(255)];
        data[at..at + bytes.len()].copy_from_slice(bytes);
    }
    (entry, data)
}
