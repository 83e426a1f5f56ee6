//! Every published scheme that places writes in the streams of an SSD, one file each, and one table of them all. A
//! scheme sees writes and invalidations and answers with a stream; it touches no device, file or kernel.
//!
//! [`SchemeSpec`] reads a scheme's name as a person writes it and makes a [`Policy`] of it: the host's
//! half, an [`Assign`], with the device half, a [`RelocationKind`](anabranch_ssd::relocate::RelocationKind)
//! or the scheme's own ([`Whole`]). Whoever drives a device has the policy beside it:
//!
//! ```
//! use anabranch_placement::{SchemeSpec, Write};
//! use anabranch_ssd::{Config, Device, PageRange};
//! use anabranch_trace::Io;
//!
//! let spec: SchemeSpec = "sepbit".parse()?;
//! // 256 MiB in units of 1 MiB, with six streams of the host and some of garbage collection's own.
//! let config = spec.drive(&Config { host_streams: 6, internal_streams: 6, ..Config::new(65_536, 256, 288) });
//! let mut policy = spec.policy(&config, None)?;
//! let mut device = Device::new(config, policy.relocation())?;
//! for step in 0..400_000_u64 {
//!     let pages = PageRange::new((step * 7919 % 65_536) as u32, 1);
//!     let write = Write::of(&Io::write(0, 4096), pages, device.clock_pages());
//!     policy.place(&write, |relocation, part, stream| {
//!         device.write(relocation, part.pages, stream)
//!     })?;
//! }
//! println!("{}: WAF {:?}", spec.name(), device.counters().waf());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A new scheme is one file in `schemes/` that gives a [`HostScheme`], and one row of [`SCHEMES`].

mod assign;
mod by_page;
mod chunks;
mod collection;
mod error;
mod file_classes;
mod file_rules;
mod future;
mod geometry;
mod halves;
mod known_lifetimes;
mod last_victims;
mod last_writes;
mod leaders;
mod parameter;
mod policy;
mod rules;
mod scheme;
mod schemes;
mod settings;
mod site;
mod size;
mod spec;
mod tenants;

pub use assign::{Assign, ContextName, Names, Write};
pub use collection::{Boundaries, Choice, Collection};
pub use error::{DidYouMean, SchemeError};
pub use file_classes::{FileClasses, UUID_BYTES, begins_with_uuid};
pub use file_rules::FileRules;
pub use future::Future;
pub use geometry::HostGeometry;
pub use halves::{DeviceHalf, Halves, Whole};
pub use known_lifetimes::{KnownLifetime, KnownLifetimes, LifetimesError};
pub use leaders::{Leader, LeaderReason, SettingCost};
pub use parameter::{OneOf, Parameter, Period, Value};
pub use policy::Policy;
pub use rules::{ReadText, RuleUse, Rules};
pub use scheme::{HostScheme, Preset, Setting, Unfit};
pub use schemes::{SCHEMES, Scheme};
pub use site::Site;
pub use size::{Bytes, NotASize};
pub use spec::SchemeSpec;
