//! An NVMe namespace as a host sees it, by its character device: commands one at a time (passthrough), its placement
//! handles, the configuration of Flexible Data Placement that is in force, the users of each handle, what it counts of
//! writes, and what it holds at its beginning.
//!
//! ```no_run
//! use anabranch_nvme_host::Namespace;
//!
//! let namespace = Namespace::open("/dev/ng0n1".as_ref())?;
//! for handle in namespace.handles()? {
//!     println!("{handle:?}");
//! }
//! # Ok::<(), anabranch_nvme_host::NamespaceError>(())
//! ```

mod command;
mod configuration;
pub mod contents;
mod error;
mod identify;
mod log;
mod namespace;
mod neighbours;
pub mod placement;
pub mod usage;
pub mod written;

pub use command::{Queue, opcode};
pub use configuration::Configuration;
pub use error::NamespaceError;
pub use identify::{byte, text};
pub use log::{Log, counts};
pub use namespace::{Namespace, Passthrough};
pub use neighbours::{Neighbour, neighbours};
pub use placement::PlacementHandle;
pub use usage::Usage;
pub use written::Written;
