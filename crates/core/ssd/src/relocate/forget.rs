//! Copies lose their stream.

use super::{Destination, Relocate, Victim};
use crate::types::StreamId;

/// Copies join the default stream: the multi-stream eMMC, which keeps a stream's number only
/// until garbage collection.
#[derive(Debug)]
pub(super) struct Forget;

impl Relocate for Forget {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Stream(StreamId::DEFAULT)
    }
}
