//! What an observer of devices in use decides and tells: how far each shadow drive is, whether FDP would pay
//! here, what the screen and a monitoring system are shown. Pure: whoever watches has the devices, the
//! clock and the files.

mod answer;
mod budget;
mod labels;
mod metrics;
mod rotation;
mod scheme_view;
mod snapshot;
mod state;
mod terminal;
mod track;

pub use answer::{Answer, Kind};
pub use budget::{Budget, Excess, Limits};
pub use labels::ContextLabels;
pub use metrics::metrics;
pub use rotation::{Keep, Segment};
pub use scheme_view::SchemeView;
pub use snapshot::{DeviceView, DriveView, Own, SCHEMA, Seen, Snapshot};
pub use state::{DeviceState, State, StateError};
pub use terminal::{line, screen};
pub use track::{Track, Written};
