//! A host's end of a connection: commands under way, and units as they travel.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use anabranch_initiator::{Completion, Entry, Tag};
use anabranch_nvme::{Offline, Target};

pub const SUBSYSTEM: &str = "nqn.2014-08.org.example:simulated";

/// A range of logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    pub first: u64,
    pub count: u32,
}

/// Meaning of a command to the model.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Connect,
    Enable,
    Reset,
    Read(Blocks),
    /// Data of a number, where they want to go, and whether they are forced to the medium.
    Write(Blocks, u64, Tag, bool),
    Zero(Blocks, Tag),
    Discard(Vec<Blocks>),
    Compare(Blocks, u64),
    Verify(Blocks),
    Flush,
    /// The Streams Directive of a namespace, on or off.
    Streams(u32, bool),
    ReleaseStream(u32, u16),
    AllocateStreams(u32, u16),
    Statistics,
    /// Of a namespace.
    Format(u32),
    /// A namespace is deleted, made again, and attached to these controllers.
    Delete(u32),
    Create(u32),
    Attach(u32, Vec<u16>),
    /// Something that cannot be.
    Nonsense,
}

/// A command under way.
#[derive(Debug, Clone)]
pub struct Command {
    /// Its number in the whole run.
    pub number: u64,
    pub what: What,
    pub begun: u64,
    /// Calls of the disk that had failed when it began.
    pub failures: u64,
    /// Data on their way out, and those that have come in.
    pub data: Arc<[u8]>,
    pub received: Vec<u8>,
}

/// Request of the target that the host has not answered yet: data are wanted, from where on and how
/// many.
#[derive(Debug)]
pub struct Wanted {
    pub identifier: u16,
    tag: [u8; 2],
    offset: usize,
    end: usize,
}

#[derive(Debug)]
pub struct Link {
    pub target: Offline,
    /// Bytes on their way to the target.
    pub out: VecDeque<u8>,
    pub commands: BTreeMap<u16, Command>,
    pub wanted: VecDeque<Wanted>,
    last_identifier: u16,
    pub in_capsule: usize,
}

/// Answers of a target.
#[derive(Debug)]
pub enum Said {
    Nothing,
    Completed(Command, Completion),
    Ended,
}

impl Link {
    pub fn open(target: &Arc<Target>) -> Link {
        let mut hello = vec![0; 128];
        (hello[2], hello[4]) = (128, 128);
        Link {
            target: Offline::open(target),
            out: hello.into(),
            commands: BTreeMap::new(),
            wanted: VecDeque::new(),
            last_identifier: 0,
            in_capsule: 8192,
        }
    }

    /// Sends a command; `inside` says whether data that fit travel in its capsule.
    pub fn send(&mut self, mut entry: Entry, command: Command, room: u32, inside: bool) {
        self.last_identifier = self.last_identifier.wrapping_add(1);
        let identifier = self.last_identifier;
        entry.0[2..4].copy_from_slice(&identifier.to_le_bytes());
        let data = Arc::clone(&command.data);
        let inside = inside && !data.is_empty() && data.len() <= self.in_capsule;
        let length = room.max(data.len() as u32);
        entry.0[1] |= 0x40;
        entry.0[32..36].copy_from_slice(&length.to_le_bytes());
        entry.0[39] = if inside { 0x01 } else { 0x5a };
        self.unit(4, 0, &entry.0, if inside { &data } else { &[] });
        self.commands.insert(identifier, command);
    }

    /// A unit: its type, flags, header from byte 8 on, and data right behind it.
    pub fn unit(&mut self, kind: u8, flags: u8, fields: &[u8], data: &[u8]) {
        let header = 8 + fields.len() as u8;
        let offset = if data.is_empty() { 0 } else { header };
        let length = usize::from(header) + data.len();
        self.out.extend([kind, flags, header, offset]);
        self.out.extend((length as u32).to_le_bytes());
        self.out.extend(fields);
        self.out.extend(data);
    }

    /// Sends a part of the data that were wanted first, `most` bytes of them; lies about where they
    /// belong if asked to.
    pub fn answer(&mut self, most: usize, lie: bool) {
        let Some(wanted) = self.wanted.front_mut() else {
            return;
        };
        let Some(command) = self.commands.get(&wanted.identifier) else {
            self.wanted.pop_front();
            return;
        };
        let (from, to) = (wanted.offset, wanted.end.min(wanted.offset + most));
        let data = Arc::clone(&command.data);
        let mut fields = [0; 16];
        fields[..2].copy_from_slice(&wanted.identifier.to_le_bytes());
        fields[2..4].copy_from_slice(&wanted.tag);
        let told = if lie { from + 512 } else { from };
        fields[4..8].copy_from_slice(&(told as u32).to_le_bytes());
        fields[8..12].copy_from_slice(&((to - from) as u32).to_le_bytes());
        wanted.offset = to;
        let last = to == wanted.end;
        if last {
            self.wanted.pop_front();
        }
        self.unit(6, if last { 4 } else { 0 }, &fields, &data[from..to]);
    }

    /// Hears the units that a target said, of which there are whole ones alone.
    pub fn receive(&mut self, said: &[u8]) -> Result<Vec<Said>, String> {
        let mut heard = Vec::new();
        let mut rest = said;
        while !rest.is_empty() {
            let header = rest.get(..8).ok_or("half a header")?;
            let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
            let (unit, later) = rest.split_at_checked(length).ok_or("half a unit")?;
            heard.push(self.one(unit)?);
            rest = later;
        }
        Ok(heard)
    }

    fn one(&mut self, unit: &[u8]) -> Result<Said, String> {
        let number = |at: usize, bytes: usize| {
            let field = unit[at..at + bytes].iter().rev();
            field.fold(0, |sum, &byte| sum << 8 | usize::from(byte))
        };
        match unit[0] {
            0x01 => Ok(Said::Nothing),
            0x03 => Ok(Said::Ended),
            0x05 => {
                let completion = Completion::of(&unit[8..24], Vec::new());
                let command = self.commands.remove(&completion.identifier);
                let command = command.ok_or("an answer to nothing")?;
                self.wanted
                    .retain(|one| one.identifier != completion.identifier);
                Ok(Said::Completed(command, completion))
            }
            0x07 => {
                let command = self.commands.get_mut(&(number(8, 2) as u16));
                let command = command.ok_or("data of nothing")?;
                if number(12, 4) != command.received.len() {
                    return Err("data at another place".to_owned());
                }
                command.received.extend(&unit[number(3, 1)..]);
                Ok(Said::Nothing)
            }
            0x09 => {
                self.wanted.push_back(Wanted {
                    identifier: number(8, 2) as u16,
                    tag: [unit[10], unit[11]],
                    offset: number(12, 4),
                    end: number(12, 4) + number(16, 4),
                });
                Ok(Said::Nothing)
            }
            kind => Err(format!("a unit of type {kind}")),
        }
    }
}

/// Connect: to a queue of a controller, as one of the hosts.
pub fn connect(queue: u16, controller: u16, host: u8, keep_alive_ms: u32) -> (Entry, Vec<u8>) {
    let mut entry = Entry::fabrics(0x01);
    entry.0[42..44].copy_from_slice(&queue.to_le_bytes());
    entry.0[44] = 31;
    entry.0[48..52].copy_from_slice(&keep_alive_ms.to_le_bytes());
    let mut data = vec![0; 1024];
    data[0] = host;
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + SUBSYSTEM.len()].copy_from_slice(SUBSYSTEM.as_bytes());
    let name = format!("nqn.2014-08.org.example:host{host}");
    data[512..512 + name.len()].copy_from_slice(name.as_bytes());
    (entry, data)
}

/// Property Set of CC.
pub fn configure(enabled: bool) -> Entry {
    let mut entry = Entry::fabrics(0x00);
    entry.0[44] = 0x14;
    let value = 0x0046_0000 | u32::from(enabled);
    entry.0[48..52].copy_from_slice(&value.to_le_bytes());
    entry
}
