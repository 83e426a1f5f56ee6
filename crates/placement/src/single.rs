//! `baseline`: no streams at all.

use anabranch_ssd::StreamId;

use crate::{
    Assign, Write,
    scheme::{Host, HostGeometry, HostScheme, Unfit},
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
pub struct SingleScheme;

impl HostScheme for SingleScheme {
    fn name(&self) -> &'static str {
        "baseline"
    }

    fn build(&self, _geometry: &HostGeometry) -> Result<Host, Unfit> {
        Ok(Host::alone(Single))
    }
}
