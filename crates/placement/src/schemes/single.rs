//! `baseline`: no streams at all.

use anabranch_ssd::StreamId;

use crate::{
    assign::{Assign, Write},
    geometry::HostGeometry,
    scheme::{Host, HostScheme, Unfit},
};

/// Sends every write to stream 0: a drive without streams, what everything is measured against.
#[derive(Debug, Clone, Copy, Default)]
pub struct Single;

impl Assign for Single {
    fn assign(&mut self, _write: &Write) -> StreamId {
        StreamId::DEFAULT
    }
}

/// `baseline` in the catalogue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters;

impl HostScheme for Parameters {
    fn name(&self) -> &'static str {
        "baseline"
    }

    fn build(&self, _geometry: &HostGeometry) -> Result<Host, Unfit> {
        Ok(Host::alone(Single))
    }
}
