//! Events of Linux' block layer.
//!
//! Parses `8,0 WS 4096 () 123 + 8 be,0,4 [sh]` (requests), in old kernels `8,0 WS () 123 + 8 [sh]`, `8,0 WS 123 + 8 [sh]`
//! (bios), and `8,0 WS 123 / 456 [sh]` (splits).

use memchr::memmem;

use crate::foreign::block_event::BlockEvent;
use crate::foreign::fields::{Words, number, sector};
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Moment};

/// The moment of a request's life that an event is.
pub(super) fn moment(name: &[u8]) -> Option<Moment> {
    Some(match name {
        b"block_rq_issue" => Moment::Of(Event::Issue),
        b"block_bio_queue" => Moment::Of(Event::Queue),
        b"block_rq_complete" | b"block_bio_complete" => Moment::Of(Event::Complete),
        b"block_rq_requeue" => Moment::Requeue,
        b"block_split" => Moment::Split,
        _ => return None,
    })
}

/// The request that an event tells of. Only where it is taken its process is a context.
pub(super) fn event(
    time_ns: u64,
    moment: Moment,
    details: &[u8],
    names: &mut Names,
    is_taken: bool,
) -> Result<Found, ParseError> {
    let mut words = Words(details);
    let device = words.need("device")?;
    let letters = words.need("RWBS")?;
    // Of a request, bytes and a passthrough command's own in parentheses stand before the sector.
    let rest = words.remaining();
    if let Some(close) = memmem::find(rest, b") ").filter(|_| has_parentheses(rest)) {
        words = Words(rest.get(close + 1..).unwrap_or_default());
    }
    let first = sector(&mut words)?;
    let sign = words.need("length")?;
    let number = words.number("length")?;
    let (first, sectors) = match (moment, sign) {
        // The rest of a split begins at its second number; how long it is, the request tells.
        (Moment::Split, b"/") => (number, 0),
        (Moment::Split, _) | (_, b"/") => return Err(ParseError::Shape("an event of this kind")),
        (_, b"+") => (first, number),
        _ => return Err(ParseError::Shape("an event with sector + length")),
    };
    let event = BlockEvent {
        time_ns,
        moment,
        device,
        letters,
        sector: first,
        sectors,
        rest: words.remaining(),
    };
    event.found(names, is_taken)
}

/// Bytes of a request that a program passes to the drive (kernels before 4.17 do not print them); `None` of any other.
/// It has no sectors, and the letters name an operation of data or none (Linux `blk_rq_trace_nr_sectors`).
pub(super) fn passthrough_bytes(details: &[u8]) -> Option<Option<u64>> {
    let mut words = Words(details);
    words.next()?;
    let letters = words.next()?;
    let is_command = matches!(letters.first(), Some(b'N' | b'R' | b'W'));
    is_command.then(|| words.next().and_then(number))
}

/// Whether parentheses stand before the sector: at the beginning, or behind the bytes.
fn has_parentheses(rest: &[u8]) -> bool {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest.get(digits..)
        .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"("))
}
