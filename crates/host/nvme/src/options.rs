//! Options of a target.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anabranch_security::Keys;

/// Limits and names of a target. All counts that a host may drive up have their bound here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The subsystem's name (NQN).
    pub subsystem: String,
    /// Names of the hosts that may connect; any may where none is named.
    pub allowed_hosts: Vec<String>,
    /// Secrets that hosts must have.
    pub keys: Arc<Keys>,
    /// Controllers there may be at a time: one for each connected host.
    pub most_controllers: u16,
    /// I/O queues of a controller.
    pub most_queues: u16,
    /// Entries that a queue has at most; it holds one command less.
    pub queue_entries: u16,
    /// Bytes of data an I/O command's capsule may carry.
    pub in_capsule_bytes: u32,
    /// Whether stream identifiers mean the same to all hosts.
    pub shared_streams: bool,
    /// Address of the drive that discovery reports, where it is not the one at which hosts reach
    /// discovery: behind address translation.
    pub advertised: Option<SocketAddr>,
    /// Longest time that a host may leave something unfinished: a handshake, a PDU, data asked for, or an
    /// answer not taken.
    pub patience: Duration,
    /// Longest silence of a host without a keep-alive timeout at a discovery controller, or at one
    /// that it has not enabled or has shut down.
    pub idle: Duration,
}

impl Options {
    /// Entries of an admin queue at most (ASQSZ of the discovery log).
    pub(crate) fn admin_entries(&self) -> u16 {
        self.queue_entries
            .clamp(LEAST_ADMIN_ENTRIES, MOST_QUEUE_ENTRIES)
    }

    /// The defaults (our choice), for a subsystem of that name.
    pub fn new(subsystem: &str) -> Options {
        Options {
            subsystem: subsystem.to_owned(),
            allowed_hosts: Vec::new(),
            keys: Arc::default(),
            most_controllers: 64,
            most_queues: 32,
            queue_entries: 128,
            in_capsule_bytes: 16 << 10,
            shared_streams: false,
            advertised: None,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(120),
        }
    }
}

/// The well-known name of the discovery subsystem (§4.7).
pub const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Entries of an admin queue at least (§5.1.12.3.1, ASQSZ).
pub const LEAST_ADMIN_ENTRIES: u16 = 32;
/// Entries of a queue at most (CAP.MQES).
pub const MOST_QUEUE_ENTRIES: u16 = 1024;
/// Most bytes of data of one command: MDTS, as a power of two of 4 KiB pages.
pub const MOST_DATA_SHIFT: u8 = 8;
/// Most bytes of data of one command.
pub const MOST_DATA: u32 = 4096 << MOST_DATA_SHIFT;
/// Ranges of a Dataset Management command that are processed (DMRL), as many as the field can say.
pub const MOST_RANGES: u8 = u8::MAX;
/// Bytes of them that are processed, of one range as of all (DMRSL, DMSL; our choice).
pub const MOST_DEALLOCATED: u64 = 64 << 30;
/// Most bytes of blocks given up that are worked on at once (our choice): their pages cost little each.
pub const DISCARDED_AT_ONCE: u64 = 16 << 20;
/// Most bytes of zeroes that are written at once (our choice): the translation layer writes their pages.
pub const ZEROED_AT_ONCE: u64 = 4 << 20;
/// Bytes that a Write Zeroes should not exceed (WZSL), as a power of two of 4 KiB pages: 32 MiB (our
/// choice; as much as blocks of 512 bytes can ask for).
pub const MOST_ZEROED_SHIFT: u8 = 13;
/// Most bytes of data in one PDU of the host's (MAXH2CDATA; our choice).
pub const MOST_PDU_DATA: u32 = 128 << 10;
/// Most bytes of data that an admin command brings: what its capsule may carry (TCP §3.3.2.1).
pub const MOST_ADMIN_DATA: u32 = 8192;
/// Asynchronous Event Requests under way at a controller (AERL + 1; our choice).
pub const MOST_EVENT_REQUESTS: usize = 4;
/// Entries of the error log (ELPE + 1; our choice).
pub const ERROR_ENTRIES: usize = 64;
