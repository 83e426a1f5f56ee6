//! Writes with a stream identifier.

use anabranch_ssd::{
    PageRange,
    relocate::Relocate,
    streams::{AtClose, Scope, StreamTable},
};

use super::{StreamDevice, status};
use crate::completion::Status;

/// Writes to an identifier's stream, opening it if it is not. What a stream that had to be closed
/// for it left half-written, the new one fills up ([`AtClose::Keep`]).
#[inline]
pub(super) fn write(
    driven: (&mut StreamDevice, &mut dyn Relocate),
    table: &mut StreamTable,
    (scope, identifier): (Scope, u16),
    pages: PageRange,
) -> Result<(), Status> {
    let written = table.write(driven, AtClose::Keep, (scope, identifier), pages);
    written.map_err(|error| status(&error))
}
