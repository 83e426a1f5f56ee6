//! A request as the block layer's events print it, in blkparse's and in ftrace's text alike.

use super::fields::{SECTOR_BYTES, bracketed, bytes, is_error};
use super::names::Names;
use super::options::Event;
use super::parse_error::ParseError;
use super::record_outcome::{Found, Moment, Passed, request};
use super::rwbs;

/// The words of an event.
pub(super) struct BlockEvent<'a> {
    pub(super) time_ns: u64,
    pub(super) moment: Moment,
    pub(super) device: &'a [u8],
    /// RWBS.
    pub(super) letters: &'a [u8],
    pub(super) sector: u64,
    pub(super) sectors: u64,
    /// Text behind the length: a name or an error in brackets.
    pub(super) rest: &'a [u8],
}

impl BlockEvent<'_> {
    /// The request that the event tells of. Only where it is taken its process is a context.
    pub(super) fn found(self, names: &mut Names, is_taken: bool) -> Result<Found, ParseError> {
        let has_data = self.sectors > 0 || self.moment == Moment::Split;
        let Some(operation) = rwbs::operation(self.letters, has_data)? else {
            return Ok(Found::Passed(Passed::NoData));
        };
        // Without data the sector may be -1: it means nothing.
        let sector = if has_data { self.sector } else { 0 };
        let offset_bytes = bytes(sector, SECTOR_BYTES, "sector")?;
        let length_bytes = bytes(self.sectors, SECTOR_BYTES, "length")?;
        let mut io = request(self.time_ns, operation, offset_bytes, length_bytes);
        io.tenant = names.device_text(self.device)?;
        let bracketed = bracketed(self.rest);
        let moment = match self.moment {
            Moment::Of(Event::Complete) if is_error(bracketed) => Moment::Failed,
            Moment::Of(Event::Complete) => self.moment,
            moment => {
                if is_taken {
                    io.context = names.context(bracketed)?;
                }
                moment
            }
        };
        Ok(Found::Event(moment, io))
    }
}
