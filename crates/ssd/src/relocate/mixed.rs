//! Copies go back to the stream they came from.

use super::{Destination, Relocate, Victim};

/// Copied pages share the open unit of their stream's new writes, as in the legacy drives that
/// the papers compare with (PCStream draft §4: Baseline, AutoStream, PCStream\*).
#[derive(Debug)]
pub(super) struct Mixed;

impl Relocate for Mixed {
    fn destination(&mut self, victim: &Victim) -> Destination {
        Destination::Stream(victim.stream)
    }
}
