//! The device as a SCSI drive: a logical unit of SBC-4 whose streams are the device's, and the kernel's own target (TCMU)
//! that brings it to a host.
//!
//! "SPC" is SCSI Primary Commands 5, "SBC" SCSI Block Commands 4, both of T10; "SBC-5" is named where its constrained
//! streams are meant, which Linux' `sd` uses since 6.9: a write's GROUP NUMBER is the identifier of a permanent stream.
//!
//! | module | |
//! |---|---|
//! | [`command`] | a command's bytes → a [`Command`], or the sense of what is wrong with them. Pure |
//! | [`sense`] | what a command that failed is answered with |
//! | [`unit`](mod@unit) | the logical unit: commands performed on the same drive that NVMe hosts are served |
//! | [`tcmu`] | the kernel's ring of commands, and the configuration that makes a SCSI device of it |

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

pub use command::Command;
pub use geometry::Identity;
pub use sense::Sense;
pub use unit::{Unit, UnitError};
