//! The conduits to a drive on this host: findings ([`Findings`], asked of kernel and drive, never guessed by version),
//! and a verdict for each conduit ([`verdicts`], a pure function). Reading changes nothing. On request a write through
//! each conduit is judged by the drive's counters ([`prove`]).
//!
//! ```
//! use anabranch_doctor::{Conduit, Findings, Reach, host, verdicts};
//!
//! // This host, without a device: what its kernel offers.
//! let found = host();
//! for verdict in verdicts(&found) {
//!     println!("{}: {}", verdict.conduit.name(), verdict.words);
//! }
//! // The same host if its kernel had no ublk.
//! let without = Findings { ublk: Err("There is no ublk driver.".to_owned()), ..found };
//! let verdicts = verdicts(&without);
//! let ublk = verdicts.iter().find(|one| one.conduit == Conduit::Ublk).ok_or("a verdict")?;
//! assert_eq!(ublk.reach, Reach::No);
//! assert_eq!(ublk.words, "There is no ublk driver.");
//! # Ok::<(), &str>(())
//! ```

mod drive;
mod findings;
mod host;
mod host_collection;
mod layers;
mod lvm;
mod prove;
mod verdict;

pub use findings::{
    Device, DriveFindings, Findings, FrontFindings, Handle, Mount, Neighbour, PlacementFindings,
    Tracing, Writes,
};
pub use host::{device, host};
pub use host_collection::host_collection;
pub use layers::{disks_below, drive_behind};
pub use lvm::LvmFindings;
pub use prove::{PROOF_BYTES, Proof, prove, refuse};
pub use verdict::{Conduit, Reach, Verdict, file_hints, verdicts};
