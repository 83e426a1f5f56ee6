//! A drive learned from outside: by a bounded series of writes and by what the drive counts of itself.
//!
//! What is concluded is decided by small functions of (bytes sent, bytes counted) series ([`series`]); [`Drive`]
//! turns writes and questions into NVMe commands, which a [`Link`] carries; [`calibrate`] is the order of the series,
//! and [`Findings::profile`] writes what came of them as a device profile.

mod drive;
mod error;
mod fill;
mod findings;
mod isolation;
mod link;
mod measure;
mod profile;
mod random;
pub mod series;

pub use drive::{About, Drive, Piece, Placement};
pub use error::CalibrateError;
pub use findings::{Band, Discard, Findings, Handle, Isolation, Measured};
pub use link::{Command, Link};
pub use measure::{calibrate, most_sent_bytes};
