//! Decisions and reports of an observer of devices in use: how far each shadow drive is, whether FDP would pay
//! here, what the screen and a monitoring system are shown. Pure: whoever watches has the devices, the
//! clock and the files.
//!
//! ```
//! use anabranch_replay::Drawn;
//! use anabranch_watch::{Answer, AnswerKind, Load, SchemeView, Track, Written};
//!
//! // What shadow drives of 1 GiB wrote, looked at sixteen times a capacity, for three capacities.
//! let capacity_bytes = 1 << 30;
//! let scheme = |name: &str, copied_percent: u64| {
//!     let mut track = Track::default();
//!     for look in 1..=48 {
//!         let host_page_bytes = look * capacity_bytes / 16;
//!         let copied_bytes = host_page_bytes * copied_percent / 100;
//!         track.advance(Written { host_page_bytes, copied_bytes }, capacity_bytes);
//!     }
//!     SchemeView::new(name.to_owned(), &[track], Drawn { sample: 1, trace: 1, unit_pages: 256 })
//! };
//!
//! let load = Load { capacities: 3.0, seconds: 60.0, endurance: None };
//! let answer = Answer::of(&[scheme("baseline+gc", 50), scheme("pcstream", 20)], load);
//! assert_eq!(answer.kind, AnswerKind::WorthIt);
//! assert_eq!(answer.best.as_deref(), Some("pcstream"));
//! assert!(answer.words.starts_with("streams pay: the flash lasts 1.25 times as long"));
//! ```

mod answer;
mod budget;
mod context_numbers;
mod labels;
mod metrics;
mod rotation;
mod scheme_view;
mod snapshot;
mod state;
mod terminal;
mod track;

pub use answer::{Answer, AnswerKind, Load};
pub use budget::{Budget, Excess, Limits};
pub use context_numbers::ContextNumbers;
pub use labels::ContextLabels;
pub use metrics::{metrics, scheme_metrics};
pub use rotation::{Keep, Segment};
pub use scheme_view::SchemeView;
pub use snapshot::{DeviceView, DriveView, Own, SCHEMA, Seen, Snapshot};
pub use state::{DeviceState, State, StateError};
pub use terminal::{line, screen};
pub use track::{Track, Written};
