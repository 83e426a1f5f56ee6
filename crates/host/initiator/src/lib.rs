//! A host for tests: an NVMe/TCP initiator of our own.
//!
//! It shares no line with the target (`crates/host/nvme`): were both to read one table of offsets, a
//! mistake in the table would cancel out. It is blocking and single-threaded, with as many commands
//! outstanding as the queue holds; a [`Connection`] also sends what no host should.
//!
//! "TCP" is the NVM Express TCP Transport Specification 1.1, "Base" the Base Specification 2.2,
//! "NVM" the NVM Command Set Specification 1.1.
//!
//! A command is built field by field, and a completion is read from the bytes that a target sent. A [`Host`] that connects
//! to a served drive is shown on the first page of `anabranch-nvme`.
//!
//! ```
//! use anabranch_initiator::{Completion, Entry, Tag};
//!
//! // Eight blocks from block 100 on, for stream 3.
//! let write = Entry::write(100, 8, Tag::Stream(3));
//! assert_eq!(write.0[0], 0x01);
//! assert_eq!(write.0[40..48], 100_u64.to_le_bytes());
//! // The number of blocks is 0's based; directive type 1 is Streams.
//! assert_eq!(write.0[48..52], (7_u32 | 1 << 20).to_le_bytes());
//!
//! // Command 5 has failed: LBA Out of Range, and there is no use in trying again.
//! let mut entry = [0; 16];
//! entry[12] = 5;
//! entry[14..].copy_from_slice(&(0x80_u16 << 1 | 1 << 15).to_le_bytes());
//! let completion = Completion::of(&entry, Vec::new());
//! assert_eq!(completion.identifier, 5);
//! assert_eq!(completion.status.to_string(), "status 0x080");
//! assert!(!completion.status.is_success() && completion.status.final_);
//! ```

mod admin;
mod entry;
mod error;
mod fdp;
mod host;
mod namespaces;
mod pdu;
mod queue;
mod streams;

pub use admin::{ControllerData, NamespaceData, SmartLog};
pub use entry::{Completion, Entry, Status, Tag};
pub use error::{InitiatorError, Result};
pub use fdp::{FdpConfiguration, FdpEvent, FdpStatistics, HandleStatus};
pub use host::{Host, HostOptions, enable, property, set_property};
pub use namespaces::NewNamespace;
pub use pdu::{Connection, ConnectionOptions, Kind, Pdu};
pub use queue::{Queue, QueueOptions, Transfer};
pub use streams::StreamParameters;

/// A little-endian number at a fixed offset; bytes beyond the end read as zero.
pub(crate) fn number(bytes: &[u8], at: usize, length: usize) -> u128 {
    let field = bytes.get(at..at + length).unwrap_or_default();
    let places = field.iter().enumerate();
    places.fold(0, |sum, (place, &byte)| {
        sum | u128::from(byte) << (8 * place)
    })
}
