//! What reaches a drive on this host: what is found ([`Found`], asked of kernel and drive, never guessed by version),
//! and a verdict for each conduit ([`verdicts`], a pure function). Reading changes nothing. On request a write through
//! each conduit is judged by the drive's counters ([`prove`]).

mod drive;
mod found;
mod host;
mod prove;
mod verdict;

pub use found::{Device, Drive, Found, Mount, Placement, Tracing};
pub use host::{device, host};
pub use prove::{PROOF_BYTES, Proof, prove, refuse};
pub use verdict::{Conduit, Reach, Verdict, file_hints, verdicts};
