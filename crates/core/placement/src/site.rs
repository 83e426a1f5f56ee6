//! The surroundings of a scheme: all that it is built from beside its parameters.

use std::sync::Arc;

use anabranch_ssd::Config;

use crate::{future::Future, geometry::HostGeometry, halves::DeviceHalf};

/// The drive that a scheme is built for, and all that it is told of it.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The drive as the scheme is shown it: of a sampled drive, the whole one.
    pub drive: &'a Config,
    /// The half that places the copies.
    pub copies: DeviceHalf,
    /// Deaths of pages that are still to come; `None` on a drive in use.
    pub future: Option<&'a Arc<Future>>,
}

impl<'a> Site<'a> {
    /// A drive whose future nobody knows.
    pub fn new(drive: &'a Config, copies: DeviceHalf) -> Site<'a> {
        Site {
            drive,
            copies,
            future: None,
        }
    }

    /// The drive's properties that every scheme may know.
    pub fn geometry(&self) -> HostGeometry {
        HostGeometry::of(self.drive)
    }

    /// The same drive, where it is known when pages will die, if it is.
    pub fn foreseen(self, future: Option<&'a Arc<Future>>) -> Site<'a> {
        Site { future, ..self }
    }
}
