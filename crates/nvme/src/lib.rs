//! The device as an NVMe drive on the network: NVMe over TCP, with the Streams Directive or with
//! Flexible Data Placement.
//!
//! Section numbers without a document's name are those of the NVM Express Base Specification 2.2;
//! "TCP" is the NVM Express TCP Transport Specification 1.1, "NVM" the NVM Command Set
//! Specification 1.1.

mod admin;
mod checkpoint;
mod clock;
pub mod command;
pub mod completion;
pub mod connect;
mod connection;
mod controller;
pub mod drive;
mod extent;
mod health;
mod io;
mod local;
mod manage;
mod metrics;
pub mod namespace;
pub mod options;
pub mod pdu;
pub mod security;
mod server;
pub mod store;
mod target;
mod time;
mod totals;
pub mod wire;

pub use checkpoint::{Checkpoint, CheckpointError, Files, Found, Header, Input, Output};
#[doc(hidden)]
pub use connection::{Offline, converse};
pub use local::Local;
pub use options::Options;
pub use server::{Server, ServerError};
pub use target::{BadName, StopError, Target};
pub use totals::{Tally, Totals};
