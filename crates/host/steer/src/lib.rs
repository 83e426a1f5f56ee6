//! A block device on which file systems live, and whose every write arrives at an FDP or
//! multi-stream drive in the stream that a scheme chose.
//!
//! The kernel's ublk driver hands the block device's requests to this process; each is cut by
//! stream and goes on to the drive as NVMe commands with a directive. Nothing is stored here, so
//! there is nothing to lose: addresses are the drive's own, and a request is acknowledged when the
//! drive has acknowledged all of it.
//!
//! Beside it, for file systems that hand hints on: each file's life-time hint, set as it is opened
//! ([`FileHints`]). Then no data passes through this process at all.
//!
//! Cutting a request, with a scheme that gives each context a stream. It needs no block device; a [`Server`] does.
//!
//! ```
//! use anabranch_placement::{Assign, Write};
//! use anabranch_ssd::{PageRange, StreamId};
//! use anabranch_steer::{KnownWriters, PAGE_BYTES, Placer, Writer, split};
//! use anabranch_trace::{ContextId, FileId, WriteHint};
//!
//! struct ByContext;
//! impl Assign for ByContext {
//!     fn assign(&mut self, write: &Write) -> StreamId {
//!         StreamId(write.context.0 as u16)
//!     }
//! }
//!
//! // Context 1 wrote pages 10 and 11, and context 2 wrote page 12.
//! let writers = KnownWriters::default();
//! let by = |context| Writer { context: ContextId(context), file: FileId(0), hint: WriteHint::NotSet, tenant: 0 };
//! writers.record(10..12, by(1));
//! writers.record(12..13, by(2));
//! // The kernel merged them into one request of three pages.
//! let (mut runs, mut pieces) = (Vec::new(), Vec::new());
//! let mut placer = Placer::new(Box::new(ByContext), None);
//! placer.place(PageRange::new(10, 3), false, &writers, &mut runs);
//! split(10 * PAGE_BYTES, 3 * 4096, &runs, &mut pieces);
//! let sent: Vec<_> = pieces.iter().map(|piece| (piece.length_bytes, piece.stream.0)).collect();
//! assert_eq!(sent, [(8192, 1), (4096, 2)]);
//! ```

mod abi;
mod collecting;
mod command;
mod control;
mod counters;
mod drive;
mod error;
mod file_handle;
mod file_hints;
mod guard;
mod hints_left;
mod ledger;
mod link;
mod memory;
mod opened;
mod page_locks;
mod placer;
mod queue;
mod requests;
mod retry;
mod rewrite_queue;
mod rewrites;
mod ring;
mod server;
mod shared;
mod split;
mod stack;
mod surroundings;
mod take_over;
mod unit_ends;
mod waiting;
mod writers;

pub use collecting::Collecting;
pub use control::features;
pub use counters::{Count, Counters};
pub use drive::{Abilities, Directive, Shape, SteeredDrive, hold};
pub use error::SteerError;
pub use file_handle::hint;
pub use file_hints::{FileHints, HintCounts, hint_of};
pub use guard::{BEAT, Guard};
pub use hints_left::{HintsLeft, Restored};
pub use opened::{Opened, open_files};
pub use placer::{Placer, Witness};
pub use server::{Pulse, Server, ServerOptions, require};
pub use split::{PAGE_BYTES, Piece, Run, split};
pub use stack::{kernel_name, layers, slaves};
pub use surroundings::{own_mounts, stay_in_memory};
pub use waiting::{Front, behind, front, give_up};
pub use writers::{KnownWriters, NoWriters, Writer, Writers};

/// Bits of [`features`] by which the kernel's ublk is judged.
pub mod feature {
    pub use crate::abi::feature::{AUTO_BUFFER, IOCTL_ENCODE, RECOVERY_REISSUE, USER_RECOVERY};
}
