//! The device as an NVMe drive on the network: NVMe over TCP, with the Streams Directive or with
//! Flexible Data Placement.
//!
//! Section numbers without a document's name are those of the NVM Express Base Specification 2.2;
//! "TCP" is the NVM Express TCP Transport Specification 1.1, "NVM" the NVM Command Set
//! Specification 1.1.
//!
//! A drive in memory is served on the loopback interface, and a host writes to it in two streams:
//!
//! ```
//! use std::sync::Arc;
//! use anabranch_initiator::{Host, HostOptions, Tag};
//! use anabranch_nvme::{Options, Server, Target, Totals, drive::{ServedDrive, Watch}, store::Store};
//! use anabranch_ssd::{Config, Device, relocate::RelocationKind};
//!
//! const NAME: &str = "nqn.2014-08.org.example:drive";
//! // 32 MiB in units of 512 KiB, with eight streams.
//! let config = Config { host_streams: 8, internal_streams: 1, ..Config::new(8192, 128, 88) };
//! let relocation = RelocationKind::Gc.build(&config);
//! let device = Device::watched(config, &*relocation, Watch::default())?;
//! // One namespace, in blocks of 4 KiB.
//! let drive = ServedDrive::streams(device, Box::new(relocation), false).whole(4096)?;
//! let target = Target::new(Options::new(NAME), drive, Store::memory(32 << 20), Totals::default(), None)?;
//! let server = Server::start(Arc::clone(&target), "127.0.0.1:0".parse()?)?;
//!
//! let mut host = Host::connect(server.address(), &HostOptions::numbered(NAME, 1))?;
//! host.enable_streams(true)?;
//! host.write(0, &[1; 4096], Tag::Stream(7))?;
//! host.write(1, &[2; 3 * 4096], Tag::None)?;
//! assert_eq!(host.read(0, 1)?, [1; 4096]);
//! // The first stream that a host names is the drive's stream 1.
//! let pages = |stream: usize| target.drive().stream_counters()[stream].host_pages;
//! assert_eq!((pages(0), pages(1)), (3, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admin;
mod checkpoint;
mod clock;
pub mod command;
pub mod completion;
pub mod connect;
mod connection;
mod controller;
pub mod drive;
mod enabled;
mod extent;
mod facts;
mod gates;
mod gauges;
mod health;
mod incidents;
mod io;
mod local;
mod manage;
mod metrics;
pub mod namespace;
pub mod options;
pub mod pdu;
mod places;
mod saved_state;
mod server;
pub mod store;
mod target;
mod time;
mod totals;

pub use anabranch_security::wire;
pub use checkpoint::{Checkpoint, CheckpointError, Files, Found, Header, Input, Output};
#[doc(hidden)]
pub use connection::{Offline, converse};
pub use local::Local;
pub use metrics::More;
pub use options::Options;
pub use server::{Server, ServerError};
pub use target::{BadName, StopError, Target};
pub use totals::{Tally, Totals};
