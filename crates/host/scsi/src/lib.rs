//! The device as a SCSI drive: a logical unit of SBC-4 whose streams are the device's, and the kernel's own target (TCMU)
//! that brings it to a host.
//!
//! "SPC" is SCSI Primary Commands 5, "SBC" SCSI Block Commands 4, both of T10; "SBC-5" is named where its constrained
//! streams are meant, which Linux' `sd` uses since 6.9: a write's GROUP NUMBER is the identifier of a permanent stream.
//!
//! | module | |
//! |---|---|
//! | [`command`] | a command's bytes → a [`ScsiCommand`], or the sense of what is wrong with them. Pure |
//! | [`sense`] | what a command that failed is answered with |
//! | [`unit`](mod@unit) | the logical unit: commands performed on the same drive that NVMe hosts are served |
//! | [`tcmu`] | the kernel's ring of commands, and the configuration that makes a SCSI device of it |
//!
//! A unit needs no kernel: whoever has a command's bytes has it performed.
//!
//! ```
//! use anabranch_nvme::{Options, Target, Totals, drive::{ServedDrive, Watch}, store::Store};
//! use anabranch_scsi::{Sense, Unit};
//! use anabranch_ssd::{Config, Device, relocate::RelocationKind};
//!
//! // 32 MiB in units of 512 KiB, with eight streams, and blocks of 4 KiB.
//! let config = Config { host_streams: 8, internal_streams: 1, ..Config::new(8192, 128, 88) };
//! let relocation = RelocationKind::Gc.build(&config);
//! let device = Device::watched(config, &*relocation, Watch::default())?;
//! let drive = ServedDrive::streams(device, Box::new(relocation), false).whole(4096)?;
//! let options = Options::new("nqn.2014-08.org.example:drive");
//! let target = Target::new(options, drive, Store::memory(32 << 20), Totals::default(), None)?;
//! let unit = Unit::new(&target, "example")?;
//!
//! // WRITE(10) of one block at address 9, with GROUP NUMBER 2; READ(10) of it.
//! let write = [0x2a, 0, 0, 0, 0, 9, 2, 0, 1, 0];
//! let read = [0x28, 0, 0, 0, 0, 9, 0, 0, 1, 0];
//! assert_eq!(unit.execute(&write, &[7; 4096]), Ok(vec![]));
//! assert_eq!(unit.execute(&read, &[]), Ok(vec![7; 4096]));
//! assert_eq!(target.drive().stream_counters()[2].host_pages, 1);
//! // An operation code that SCSI drives do not have.
//! assert_eq!(unit.execute(&[0xff; 10], &[]), Err(Sense::OPERATION_CODE));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
pub mod command;
mod geometry;
mod inquiry;
mod mode;
mod operations;
mod report;
pub mod sense;
pub mod tcmu;
pub mod unit;

pub use command::ScsiCommand;
pub use geometry::Identity;
pub use sense::Sense;
pub use unit::{Unit, UnitError};
