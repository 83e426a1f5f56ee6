//! One connection's protocol data units (TCP §3.6.2), as sent and received by a host.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use crate::{InitiatorError, Result, error::protocol, number};

/// Bytes of the receive buffer, so that many responses are read at once.
const RECEIVE_BYTES: usize = 1 << 18;

/// The type of a protocol data unit (TCP figure "PDU Types").
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    InitializeRequest = 0x00,
    InitializeResponse = 0x01,
    HostTermination = 0x02,
    ControllerTermination = 0x03,
    Command = 0x04,
    Response = 0x05,
    HostData = 0x06,
    ControllerData = 0x07,
    ReadyToTransfer = 0x09,
}

impl Kind {
    /// The type for a code that a controller may send, and the length of its header.
    fn of_controller(code: u8) -> Option<(Kind, usize)> {
        Some(match code {
            0x01 => (Kind::InitializeResponse, 128),
            0x03 => (Kind::ControllerTermination, 24),
            0x05 => (Kind::Response, 24),
            0x07 => (Kind::ControllerData, 24),
            0x09 => (Kind::ReadyToTransfer, 24),
            _ => return None,
        })
    }
}

/// Options of a connection as the host opens it.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionOptions {
    /// Whether the host wants digests: of headers, of data.
    pub digests: (bool, bool),
    /// Alignment of data the host wants, in dwords, 0's based (HPDA).
    pub alignment: u8,
    /// Transfers the controller may ask for at a time and command, 0's based (MAXR2T).
    pub most_transfers: u32,
    /// The longest wait for any answer.
    pub patience: Duration,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            digests: (false, false),
            alignment: 0,
            most_transfers: 0,
            patience: Duration::from_secs(20),
        }
    }
}

/// A received protocol data unit: header without digest, and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// Its type.
    pub kind: Kind,
    /// FLAGS of the common header (TCP, 3.6.1).
    pub flags: u8,
    /// Header of the PDU's kind, behind the common one.
    pub header: Vec<u8>,
    /// Data of the PDU, without padding and digests.
    pub data: Vec<u8>,
}

impl Pdu {
    /// A little-endian number in the header.
    pub fn number(&self, at: usize, length: usize) -> u64 {
        number(&self.header, at, length) as u64
    }

    /// Whether the flag LAST_PDU, bit 2, is set.
    pub fn is_last(&self) -> bool {
        self.flags & 4 != 0
    }

    /// Whether the flag SUCCESS, bit 3, is set.
    pub fn is_success(&self) -> bool {
        self.flags & 8 != 0
    }
}

/// A connection: PDUs are appended to a buffer and sent by [`Connection::flush`].
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// The digests that both ends agreed on: of headers, of data.
    pub digests: (bool, bool),
    /// Alignment of data that the controller wants, in bytes.
    pub alignment: usize,
    /// The most data bytes of a PDU to the controller (MAXH2CDATA).
    pub most_data: usize,
}

impl Connection {
    /// Opens a connection and sends nothing on it.
    ///
    /// # Errors
    /// When the connection cannot be opened.
    pub fn raw(address: SocketAddr, patience: Duration) -> Result<Connection> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Connection {
            stream,
            out: Vec::new(),
            buffer: vec![0; RECEIVE_BYTES],
            begin: 0,
            end: 0,
            digests: (false, false),
            alignment: 4,
            most_data: 4096,
        })
    }

    /// Opens a connection and exchanges ICReq and ICResp (TCP §3.6.2.2, .3).
    ///
    /// # Errors
    /// When the connection cannot be opened, or the target's answer is not the one expected.
    pub fn open(address: SocketAddr, options: &ConnectionOptions) -> Result<Connection> {
        let mut connection = Connection::raw(address, options.patience)?;
        connection.queue(&initialize_request(options));
        connection.flush()?;
        let pdu = connection.receive()?;
        if pdu.kind != Kind::InitializeResponse || pdu.number(8, 2) != 0 {
            return protocol(format!("no initialize response: {pdu:?}"));
        }
        let granted = pdu.number(11, 1);
        connection.digests = (granted & 1 != 0, granted & 2 != 0);
        if connection.digests.0 && !options.digests.0 || connection.digests.1 && !options.digests.1
        {
            return protocol("a digest was granted that was not asked for");
        }
        connection.alignment = (pdu.number(10, 1) as usize + 1) * 4;
        connection.most_data = pdu.number(12, 4) as usize;
        if connection.most_data < 4096 {
            return protocol("MAXH2CDATA below 4096 (TCP §3.6.2.3)");
        }
        Ok(connection)
    }

    /// Appends bytes to the buffer as they are.
    pub fn queue(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends a PDU to the buffer: type, flags, the header from byte 8 on, and data.
    pub fn queue_pdu(&mut self, kind: Kind, flags: u8, fields: &[u8], data: &[u8]) {
        let header = 8 + fields.len();
        let digested = header + if self.digests.0 { 4 } else { 0 };
        let at = if data.is_empty() {
            0
        } else {
            digested.next_multiple_of(self.alignment)
        };
        let data_digest = self.digests.1 && !data.is_empty();
        let length = digested.max(at + data.len()) + if data_digest { 4 } else { 0 };
        let begin = self.out.len();
        let flags = flags | u8::from(self.digests.0) | u8::from(data_digest) << 1;
        self.out
            .extend_from_slice(&[kind as u8, flags, header as u8, at as u8]);
        self.out.extend_from_slice(&(length as u32).to_le_bytes());
        self.out.extend_from_slice(fields);
        if self.digests.0 {
            let digest = crc32c::crc32c(&self.out[begin..]);
            self.out.extend_from_slice(&digest.to_le_bytes());
        }
        if !data.is_empty() {
            self.out.resize(begin + at, 0);
            self.out.extend_from_slice(data);
        }
        if data_digest {
            self.out
                .extend_from_slice(&crc32c::crc32c(data).to_le_bytes());
        }
    }

    /// The bytes that wait to be sent, so that a test can damage them.
    pub fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Sends the bytes of the buffer.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn flush(&mut self) -> Result<()> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        Ok(sent?)
    }

    /// Whether a whole PDU lies in the buffer: the next `receive` does not wait.
    pub fn has_unit(&self) -> bool {
        let length = number(&self.buffer[self.begin..self.end], 4, 4) as usize;
        self.end - self.begin >= 8 && self.end - self.begin >= length
    }

    /// Receives the next PDU, and verifies its digests.
    ///
    /// # Errors
    /// When the connection breaks, the target ends it, or the PDU breaks a rule of the transport.
    pub fn receive(&mut self) -> Result<Pdu> {
        self.fill(8)?;
        let common = &self.buffer[self.begin..self.begin + 8];
        let (code, flags, header, at) = (
            common[0],
            common[1],
            usize::from(common[2]),
            usize::from(common[3]),
        );
        let length = number(common, 4, 4) as usize;
        let Some((kind, expected)) = Kind::of_controller(code) else {
            return protocol(format!("a controller sends no PDU of type {code:#x}"));
        };
        if header != expected || length < header || length > (1 << 24) {
            return protocol(format!(
                "{kind:?}: header of {header}, PDU of {length} bytes"
            ));
        }
        self.fill(length)?;
        let pdu = &self.buffer[self.begin..self.begin + length];
        let plain = matches!(kind, Kind::InitializeResponse | Kind::ControllerTermination);
        let digests = if plain { (false, false) } else { self.digests };
        let pdu = parse(pdu, kind, flags, at, digests)?;
        self.begin += length;
        if kind == Kind::ControllerTermination {
            let (status, information) = (pdu.number(8, 2) as u16, pdu.number(10, 4) as u32);
            return Err(InitiatorError::Terminated {
                status,
                information,
            });
        }
        Ok(pdu)
    }

    /// Waits until `bytes` bytes were received.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        if self.end - self.begin >= bytes {
            return Ok(());
        }
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        while self.end < bytes {
            match self.stream.read(&mut self.buffer[self.end..])? {
                0 => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
                read => self.end += read,
            }
        }
        Ok(())
    }

    /// Ends the connection at once, in both directions.
    pub fn cut(&self) {
        // A connection that is gone already is as cut as can be.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The bytes of ICReq: PFV 9:8, HPDA 10, DGST 11, MAXR2T 15:12, 128 bytes (TCP §3.6.2.2).
fn initialize_request(options: &ConnectionOptions) -> [u8; 128] {
    let mut pdu = [0; 128];
    pdu[2] = 128;
    pdu[4] = 128;
    pdu[10] = options.alignment;
    pdu[11] = u8::from(options.digests.0) | u8::from(options.digests.1) << 1;
    pdu[12..16].copy_from_slice(&options.most_transfers.to_le_bytes());
    pdu
}

fn parse(pdu: &[u8], kind: Kind, flags: u8, at: usize, digests: (bool, bool)) -> Result<Pdu> {
    let length = usize::from(pdu[2]);
    let header = &pdu[..length];
    let digested = length + if digests.0 { 4 } else { 0 };
    if pdu.len() < digested || (flags & 1 != 0) != digests.0 {
        return protocol(format!("{kind:?}: header digest flag {flags:#x}"));
    }
    if digests.0 && number(pdu, length, 4) as u32 != crc32c::crc32c(header) {
        return protocol(format!("{kind:?}: wrong header digest"));
    }
    let mut data: &[u8] = &[];
    if kind == Kind::ControllerData {
        let end = pdu.len() - if digests.1 { 4 } else { 0 };
        if at < digested || at > end || (flags & 2 != 0) != digests.1 {
            return protocol(format!("data at {at} of {end}, flags {flags:#x}"));
        }
        data = &pdu[at..end];
        if digests.1 && number(pdu, end, 4) as u32 != crc32c::crc32c(data) {
            return protocol("wrong data digest");
        }
    }
    Ok(Pdu {
        kind,
        flags,
        header: header.to_vec(),
        data: data.to_vec(),
    })
}
