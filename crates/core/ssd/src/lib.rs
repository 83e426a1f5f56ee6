//! A solid-state drive, emulated: a page-mapped, multi-streamed flash translation layer (FTL) with garbage collection,
//! Flexible Data Placement, wear, faults and simulated time.
//!
//! Pure, seeded and deterministic: no unsafe, and no I/O and no threads but while a saved device is made again. It is the
//! same with any number of threads, of which there are at most as many as cores (on Linux the standard library reads the
//! limits of the process's group for that). The same calls give the same counts everywhere. A device holds no data; it
//! knows where each page lies and counts what keeping it there costs.
//!
//! ```
//! use anabranch_ssd::{Config, Device, PageRange, StreamId};
//!
//! // 1 GiB in reclaim units of 8 MiB, a sixteenth more flash than that, two streams.
//! let config = Config {
//!     host_streams: 2,
//!     ..Config::new(262_144, 2048, 128 + 8)
//! };
//! // `()` is the simplest relocation: copied pages stay in their stream.
//! let mut device = Device::new(config, &())?;
//! let (hot, cold) = (StreamId(1), StreamId(0));
//! // The drive is filled; then its first 32 MiB are written again and again.
//! device.write(&mut (), PageRange::new(0, 8192), hot)?;
//! device.write(&mut (), PageRange::new(8192, 262_144 - 8192), cold)?;
//! for _ in 0..100 {
//!     device.write(&mut (), PageRange::new(0, 8192), hot)?;
//! }
//! // Units of the hot stream died whole, so nothing had to be copied.
//! assert_eq!(device.counters().waf(), Some(1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! More to run is in `examples/`: two streams against one (`streams`), a device with simulated time (`latency`), an FDP
//! device (`fdp`), and a relocation of one's own (`relocation`).
//!
//! # Where things are
//!
//! [`Device`] is the translation layer; [`Config`] says what it is made of, and a [`profile`] says the same in the words of
//! a data sheet. Who calls it decides three things: each write's [`StreamId`], where copied pages go ([`relocate`]), and
//! which unit is collected next ([`victims`]).
//!
//! | module | what it adds |
//! |---|---|
//! | [`relocate`] | where garbage collection puts the pages it copies |
//! | [`victims`] | which closed unit garbage collection empties next |
//! | [`streams`] | many stream identifiers of a host on a drive that has few streams: Streams Directive, SCSI, eMMC |
//! | [`fdp`] | Flexible Data Placement: reclaim groups, reclaim unit handles, events, statistics |
//! | [`time`] | how long requests take on channels, dies and a write buffer |
//! | [`wear`] | wear levelling, faults, and how long the drive lasts |
//! | [`state`] | a device written to a file, to go on from or to begin aged with |
//! | [`profile`] | drives described in TOML, ten of them shipped |
//!
//! # Words
//!
//! A *reclaim unit*, here mostly *unit*, is what is erased as a whole: an erase block, a superblock (also called a band) of
//! one block of each die. A *stream* is the number that a write carries; each stream fills units of its own.
//! *Write amplification* (WAF) is pages programmed over pages that the host wrote.

mod config;
mod counters;
mod device;
mod error;
pub mod fdp;
mod observe;
mod page_map;
pub mod profile;
mod random;
pub mod relocate;
pub mod state;
pub mod streams;
pub mod table;
pub mod time;
mod types;
mod units;
mod victim_rule;
pub mod victims;
pub mod wear;

pub use config::{Config, RESERVED_UNITS};
pub use counters::{Counters, StreamCounters};
pub use device::{Device, Emptying};
pub use error::{ConfigError, DeviceError, Inconsistency, ProfileError, UnitPlace, UnknownName};
pub use observe::{Observe, Origin};
pub use page_map::Keeps;
pub use types::{PageRange, StreamId};
