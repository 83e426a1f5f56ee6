//! A host for tests: an NVMe/TCP initiator of our own.
//!
//! It shares no line with the target (`crates/nvme`): were both to read one table of offsets, a
//! mistake in the table would cancel out. It is blocking and single-threaded, with as many commands
//! outstanding as the queue holds; a [`Connection`] also sends what no host should.
//!
//! "TCP" is the NVM Express TCP Transport Specification 1.1, "Base" the Base Specification 2.2,
//! "NVM" the NVM Command Set Specification 1.1.

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
