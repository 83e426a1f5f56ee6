//! The device: a page-mapped, multi-streamed flash translation layer.
//!
//! Pure, seeded, deterministic; no I/O, no unsafe. It knows a stream's number, never why.

mod config;
mod counters;
mod device;
mod error;
mod fdp;
mod life;
mod observe;
mod profile;
mod random;
mod relocate;
mod state;
mod stream_table;
mod time;
mod types;
mod units;
mod victims;
mod wear;

pub use config::{Config, RESERVED_UNITS};
pub use counters::{Counters, StreamCounters};
pub use device::Device;
pub use error::{ConfigError, DeviceError};
pub use fdp::{
    AtReset, EVENTS_KEPT, EventDetail, EventLocation, FdpConfiguration, FdpDevice, FdpError,
    FdpEvent, FdpEventKind, FdpEventKinds, FdpEvents, FdpOptions, FdpStatistics, HandleType,
    HandleUsage, PlacementIdentifier, UnitStatus,
};
pub use life::WearReport;
pub use observe::{Observe, Origin};
pub use profile::{Collection, FdpSection, Geometry, Profile, Streams};
pub use relocate::{
    Destination, Erased, Pool, Relocate, RelocationKind, Substream, Survivor, Trigger, Victim,
};
pub use state::{SavedDrive, StateError};
pub use stream_table::{
    Activation, Allocation, AtClose, ContextError, EmmcContexts, Host, Resolution, Scope,
    ScsiStreams, StreamCost, StreamCosts, StreamError, StreamParameters, StreamTable,
};
pub use time::{
    Drive, Flash, FlashWork, Interval, IntervalLatency, Latencies, LatencySummary, Layout, Request,
    TimeReport, TimedDevice, Timing, TimingError, Work,
};
pub use types::{PageRange, StreamId};
pub use victims::{ClosedUnit, ClosedUnits, VictimRule};
pub use wear::{Faults, Levelling, Wear};
