//! A drive learned from outside: by a bounded series of writes and by what the drive counts of itself.
//!
//! Conclusions are drawn by small functions of (bytes sent, bytes counted) series ([`series`]); [`CalibratedDrive`]
//! turns writes and questions into NVMe commands, which a [`Link`] carries; [`calibrate`] is the order of the series,
//! and [`Findings::profile`] writes what came of them as a device profile.
//!
//! The size of a unit, seen in the drive's counters. It empties one after every 24 MiB, and copies 1 MiB each time:
//!
//! ```
//! use anabranch_calibrate::series::{Sample, bursts, period};
//!
//! const MIB: u64 = 1 << 20;
//! // The counters are looked at after each MiB.
//! let look = |sent_mib: u64| Sample {
//!     sent_bytes: sent_mib * MIB,
//!     media_bytes: (sent_mib + sent_mib.div_ceil(24)) * MIB,
//! };
//! let samples: Vec<Sample> = (0..480).map(look).collect();
//! // Where copies began, and the distance of which these places are multiples.
//! let began: Vec<u64> = bursts(&samples, 0).iter().map(|one| one.sent_bytes).collect();
//! let unit = period(&began, MIB).ok_or("no period")?;
//! assert!(unit.low <= 24.0 * MIB as f64 && 24.0 * MIB as f64 <= unit.high);
//! assert_eq!((unit.best / MIB as f64).round(), 24.0);
//! # Ok::<(), &str>(())
//! ```

mod collection;
mod drive;
mod ends;
mod error;
mod fill;
mod findings;
mod isolation;
mod link;
mod measure;
mod profile;
mod random;
pub mod series;
pub mod victims;

pub use drive::{About, CalibratedDrive, Piece, PlacementMethod};
pub use error::CalibrateError;
pub use findings::{
    Band, Discard, Findings, Handle, Isolation, Measured, ObservedCollection, UnitEnds, Victims,
};
pub use link::{DriveCommand, Link};
pub use measure::{Settings, calibrate, most_sent_bytes};
