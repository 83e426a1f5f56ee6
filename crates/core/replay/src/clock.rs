//! The time of a lane's device.

use anabranch_ssd::time::{Issue, Layout, Timing};
use serde::Serialize;

/// The parts of a device with simulated time, besides its configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clock {
    /// The timing of its flash.
    pub timing: Timing,
    /// The layout of its flash.
    pub layout: Layout,
    /// When requests are issued to it.
    #[serde(rename = "pace")]
    pub issue: Issue,
}
