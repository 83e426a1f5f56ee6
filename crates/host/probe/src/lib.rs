//! Captures what a block device is asked to do, together with the program context that caused it:
//! kernel events -> [`anabranch_trace::Io`], a context table and a file table. The only room that
//! knows libbpf. No change to the data path; nothing is left behind when the process ends.
//!
//! ```no_run
//! use std::time::Duration;
//! use anabranch_probe::{ProbeOptions, Probe};
//!
//! let mut probe = Probe::attach(&ProbeOptions::new("/dev/loop0"))?;
//! probe.poll(Duration::from_millis(100), &mut |io| assert!(io.length_bytes > 0))?;
//! let captured = probe.finish(&mut || true);
//! # Ok::<(), anabranch_probe::ProbeError>(())
//! ```
//!
//! License: the kernel side, all of `src/bpf`, is GPL-2.0, as the kernel demands of programs that
//! use its tracing helpers. It is compiled into this crate as data and runs in the kernel. The
//! Rust sources are Apache-2.0 OR MIT like the rest of the project.

mod address_space;
mod assembler;
mod bounded;
mod build_id;
mod capture_filter;
mod context_table;
mod device_number;
mod error;
mod event;
mod file_table;
mod handover;
mod heap;
mod image;
mod inspector;
mod kernel_side;
mod known_writers;
mod page_writer;
mod probe;
mod program_files;
mod reply;
mod return_address;
mod sampling;
mod shared;
mod shared_words;
mod skipped;
mod support;
mod symbols;
mod tenants;
mod unwinding;
mod window;
mod writer;

pub use capture_filter::{CaptureFilter, LeftOut};
pub use context_table::FoldLimits;
pub use error::ProbeError;
pub use handover::{Handover, HandoverCounts, HandoverOptions};
pub use heap::{give_back_freed_memory, private_bytes, share_one_heap};
pub use inspector::inspect_if_asked;
pub use page_writer::PageWriter;
pub use probe::{Captured, Probe, ProbeOptions};
pub use sampling::Untold;
pub use support::{Support, check};
pub use symbols::{symbolise, unnamed};
pub use tenants::{TenantGroup, control_groups};
