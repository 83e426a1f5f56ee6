//! `baseline`: no streams at all.

use anabranch_ssd::StreamId;

use crate::{
    assign::{Assign, Write},
    halves::Halves,
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// Sends every write to stream 0: a drive without streams, with which the others are compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Single;

impl Assign for Single {
    fn assign(&mut self, _write: &Write) -> StreamId {
        StreamId::DEFAULT
    }

    fn only_stream(&self) -> Option<StreamId> {
        Some(StreamId::DEFAULT)
    }
}

/// The entry `baseline` of the catalogue, which has no parameters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters;

impl HostScheme for Parameters {
    fn name(&self) -> &'static str {
        "baseline"
    }

    fn build(&self, _site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(Single))
    }
}
