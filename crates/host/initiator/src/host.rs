//! A host with a controller: an Admin Queue and I/O queues.

use std::net::SocketAddr;

use crate::{
    ConnectionOptions, ControllerData, Entry, NamespaceData, Queue, QueueOptions, Result, SmartLog,
    Transfer, error::protocol,
};

/// Controller Capabilities, Configuration and Status (Base §3.1.4, figure "Property Definition").
const CC: u32 = 0x14;
const CSTS: u32 = 0x1c;
/// Controller Configuration that enables: EN, 64-byte and 16-byte entries (Base §3.1.4.5: EN 0, IOSQES 19:16, IOCQES
/// 23:20).
const CC_ENABLE: u64 = 1 | 6 << 16 | 4 << 20;
/// Controller Configuration that notifies of a normal shutdown (SHN 15:14).
const CC_SHUTDOWN: u64 = CC_ENABLE | 1 << 14;

/// Options of a host: the subsystem it connects to, and how.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The subsystem's name.
    pub subsystem: String,
    /// The host's name.
    pub name: String,
    /// The host's identifier.
    pub identifier: [u8; 16],
    /// Number of I/O queues.
    pub queues: u16,
    /// Entries of each I/O queue.
    pub entries: u16,
    /// Keep-alive timeout in milliseconds; 0 for none.
    pub keep_alive_ms: u32,
    /// Options of each connection.
    pub connection: ConnectionOptions,
}

impl HostOptions {
    /// Options of the host with that number, with one queue of 128 entries.
    pub fn numbered(subsystem: &str, number: u8) -> HostOptions {
        HostOptions {
            subsystem: subsystem.to_owned(),
            name: format!(
                "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-0000000000{number:02x}"
            ),
            identifier: [0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, number],
            queues: 1,
            entries: 128,
            keep_alive_ms: 0,
            connection: ConnectionOptions::default(),
        }
    }
}

/// A connected host.
#[derive(Debug)]
pub struct Host {
    address: SocketAddr,
    options: HostOptions,
    /// Queue of Admin commands.
    pub admin: Queue,
    /// The I/O queues.
    pub queues: Vec<Queue>,
    /// The controller's Identify data.
    pub controller: ControllerData,
    /// The Identify data of namespace 1.
    pub namespace: NamespaceData,
}

impl Host {
    /// Connects, enables the controller, identifies it and its namespace, and opens the I/O queues.
    ///
    /// # Errors
    /// When the target refuses one of these steps.
    pub fn connect(address: SocketAddr, options: &HostOptions) -> Result<Host> {
        let mut admin = Host::admin(address, options)?;
        enable(&mut admin)?;
        let controller = identify(&mut admin, 0x01, 0)?;
        let namespace = identify(&mut admin, 0x00, 1)?;
        let mut host = Host {
            address,
            options: options.clone(),
            admin,
            queues: Vec::new(),
            controller: ControllerData::of(&controller),
            namespace: NamespaceData::of(&namespace),
        };
        host.open_queues()?;
        Ok(host)
    }

    /// Opens an Admin Queue only.
    ///
    /// # Errors
    /// When the target refuses the connection.
    pub fn admin(address: SocketAddr, options: &HostOptions) -> Result<Queue> {
        Queue::open(address, &queue_options(options, 0, 0xffff, 32))
    }

    /// Sets Number of Queues (feature 07h), then opens one connection for each queue.
    fn open_queues(&mut self) -> Result<()> {
        let wanted = u32::from(self.options.queues.max(1)) - 1;
        let entry = Entry::feature(true, 0x07, wanted | wanted << 16);
        let granted = self
            .admin
            .succeed("number of queues", entry, Transfer::None)?
            .result;
        if (granted as u32 & 0xffff) < wanted {
            return protocol(format!(
                "{} queues granted of {}",
                (granted & 0xffff) + 1,
                wanted + 1
            ));
        }
        for identifier in 1..=self.options.queues {
            let queue = self.open_queue(identifier)?;
            self.queues.push(queue);
        }
        Ok(())
    }

    /// Opens one I/O queue.
    ///
    /// # Errors
    /// When the target refuses the queue.
    pub fn open_queue(&self, identifier: u16) -> Result<Queue> {
        let options = queue_options(
            &self.options,
            identifier,
            self.admin.controller,
            self.options.entries,
        );
        let mut queue = Queue::open(self.address, &options)?;
        queue.in_capsule = self.controller.in_capsule_bytes;
        Ok(queue)
    }

    /// The first I/O queue.
    ///
    /// # Errors
    /// When the host has none.
    pub fn io(&mut self) -> Result<&mut Queue> {
        self.queues
            .first_mut()
            .map_or_else(|| protocol("no I/O queue"), Ok)
    }

    /// Writes logical blocks.
    ///
    /// # Errors
    /// When the write fails.
    pub fn write(&mut self, first: u64, data: &[u8], tag: crate::Tag) -> Result<()> {
        let blocks = (data.len() / self.namespace.block_bytes) as u32;
        let entry = Entry::write(first, blocks, tag);
        self.io()?
            .succeed("write", entry, Transfer::out(data))
            .map(|_| ())
    }

    /// Reads logical blocks.
    ///
    /// # Errors
    /// When the read fails.
    pub fn read(&mut self, first: u64, blocks: u32) -> Result<Vec<u8>> {
        let bytes = blocks as usize * self.namespace.block_bytes;
        let completion =
            self.io()?
                .succeed("read", Entry::read(first, blocks), Transfer::In(bytes))?;
        Ok(completion.data)
    }

    /// Flushes.
    ///
    /// # Errors
    /// When the flush fails.
    pub fn flush(&mut self) -> Result<()> {
        self.io()?
            .succeed("flush", Entry::flush(), Transfer::None)
            .map(|_| ())
    }

    /// Deallocates ranges of (first block, blocks): Dataset Management, AD in dword 11 bit 2,
    /// number of ranges, 0's based, in dword 10; a range is attributes 3:0, blocks 7:4, first 15:8 (NVM §3.2.3).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn deallocate(&mut self, ranges: &[(u64, u32)]) -> Result<()> {
        let mut data = Vec::with_capacity(ranges.len() * 16);
        for (first, blocks) in ranges {
            data.extend_from_slice(&[0; 4]);
            data.extend_from_slice(&blocks.to_le_bytes());
            data.extend_from_slice(&first.to_le_bytes());
        }
        let entry = Entry::new(0x09, 1)
            .dword(10, ranges.len() as u32 - 1)
            .dword(11, 1 << 2);
        self.io()?
            .succeed("deallocate", entry, Transfer::out(data))
            .map(|_| ())
    }

    /// Reads a log page of the controller, for the whole subsystem (namespace FFFFFFFFh).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn log(&mut self, page: u8, bytes: usize, specific: u16) -> Result<Vec<u8>> {
        let entry = Entry::log(page, u32::MAX, bytes, specific);
        let completion = self
            .admin
            .succeed("get log page", entry, Transfer::In(bytes))?;
        if completion.data.len() == bytes {
            Ok(completion.data)
        } else {
            protocol(format!(
                "log {page:#x}: {} of {bytes} bytes",
                completion.data.len()
            ))
        }
    }

    /// Reads the SMART log (02h).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn smart(&mut self) -> Result<SmartLog> {
        Ok(SmartLog::of(&self.log(0x02, 512, 0)?))
    }

    /// Resets the controller: disables and enables it, and opens its I/O queues again (Base §3.7.2).
    ///
    /// # Errors
    /// When the target refuses one of these steps.
    pub fn reset(&mut self) -> Result<()> {
        self.queues.clear();
        set_property(&mut self.admin, CC, 0)?;
        self.admin = Host::admin(self.address, &self.options)?;
        enable(&mut self.admin)?;
        self.open_queues()
    }

    /// Shuts the controller down in an orderly way, and disconnects.
    ///
    /// # Errors
    /// When the target refuses, or does not complete the shutdown.
    pub fn shut_down(mut self) -> Result<()> {
        set_property(&mut self.admin, CC, CC_SHUTDOWN)?;
        // SHST, bits 3:2: 10b says complete (Base §3.1.4.6).
        match property(&mut self.admin, CSTS)? >> 2 & 3 {
            2 => Ok(()),
            other => protocol(format!("shutdown status {other}")),
        }
    }
}

fn queue_options(
    options: &HostOptions,
    identifier: u16,
    controller: u16,
    entries: u16,
) -> QueueOptions {
    QueueOptions {
        identifier,
        entries,
        controller,
        subsystem: options.subsystem.clone(),
        host: options.name.clone(),
        host_identifier: options.identifier,
        keep_alive_ms: options.keep_alive_ms,
        connection: options.connection,
    }
}

/// Sets CC.EN and waits for CSTS.RDY.
///
/// # Errors
/// When the controller does not become ready.
pub fn enable(admin: &mut Queue) -> Result<()> {
    set_property(admin, CC, CC_ENABLE)?;
    for _ in 0..1000 {
        let status = property(admin, CSTS)?;
        if status & 1 == 1 {
            return Ok(());
        }
        if status & 2 != 0 {
            return protocol("controller fatal status");
        }
    }
    protocol("the controller does not become ready")
}

/// Sets a property (Property Set, Base §6.5): size in byte 40 (0: four bytes), offset 47:44, value 55:48.
///
/// # Errors
/// When the target refuses the command.
pub fn set_property(admin: &mut Queue, offset: u32, value: u64) -> Result<()> {
    let mut entry = Entry::fabrics(0x00);
    entry.0[44..48].copy_from_slice(&offset.to_le_bytes());
    entry.0[48..56].copy_from_slice(&value.to_le_bytes());
    admin
        .succeed("property set", entry, Transfer::None)
        .map(|_| ())
}

/// Reads a property of four bytes (Property Get, Base §6.4).
///
/// # Errors
/// When the target refuses the command.
pub fn property(admin: &mut Queue, offset: u32) -> Result<u64> {
    let mut entry = Entry::fabrics(0x04);
    entry.0[44..48].copy_from_slice(&offset.to_le_bytes());
    Ok(admin.succeed("property get", entry, Transfer::None)?.result & 0xffff_ffff)
}

fn identify(admin: &mut Queue, structure: u8, namespace: u32) -> Result<Vec<u8>> {
    let completion = admin.succeed(
        "identify",
        Entry::identify(structure, namespace),
        Transfer::In(4096),
    )?;
    match completion.data.len() {
        4096 => Ok(completion.data),
        length => protocol(format!("identify: {length} bytes")),
    }
}
