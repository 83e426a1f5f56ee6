//! The device as an NVMe drive on the network: NVMe over TCP, with the Streams Directive or with
//! Flexible Data Placement.
//!
//! Section numbers without a document's name are those of the NVM Express Base Specification 2.2;
//! "TCP" is the NVM Express TCP Transport Specification 1.1, "NVM" the NVM Command Set
//! Specification 1.1.

pub mod command;
pub mod completion;
pub mod connect;
pub mod pdu;
pub mod wire;
