//! The letters that say what a Linux block request does.
//!
//! Source: Linux `kernel/trace/blktrace.c`, `blk_fill_rwbs`, and blktrace's `blkparse_fmt.c`,
//! `fill_rwbs`:
//! - an `F` in front: flush the device's cache before the request;
//! - then what it is: `R` read, `W` write, `D` discard (`DE` a secure one), `F` flush, `N` none of
//!   these, `ZA` a zone append, any other `Z` a command to a zone (Linux 6.18 and later; `N` before);
//! - then how: `F` force unit access, `A` read ahead, `S` synchronous, `M` metadata, `B` barrier,
//!   `U` atomic.
//!
//! A request that carries data is a read, write or discard of it, and a flush before it is no
//! record of its own. One that carries none is a flush if it has an `F`. `N` with data is Write
//! Zeroes: passthrough commands are shown without sectors (`blk_rq_trace_nr_sectors`). It is taken
//! as a write, as blktrace's binary form has it; whether the device may unmap it is not told.

use super::parse_error::ParseError;
use crate::io::Operation;

/// The operation of a request, `has_data` if it has a length. `None` where the letters name no
/// request for data.
pub(super) fn operation(letters: &[u8], has_data: bool) -> Result<Option<Operation>, ParseError> {
    let (flushes, what) = match letters {
        [b'F', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let operation = match what.first() {
        Some(b'R') => Some(Operation::Read),
        Some(b'W' | b'N') => Some(Operation::Write),
        // A zone append; `ZRA` is a reset of all zones.
        Some(b'Z') if what.get(1) == Some(&b'A') => Some(Operation::Write),
        Some(b'D') => Some(Operation::Discard),
        Some(b'F' | b'S' | b'M') | None if flushes => None,
        Some(b'Z') => None,
        _ => {
            return Err(ParseError::Operation(
                "made of the letters R, W, D, F, N, Z",
            ));
        }
    };
    Ok(match operation {
        Some(_) if has_data => operation,
        _ if flushes && !has_data => Some(Operation::Flush),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_before_a_write_is_no_request_of_its_own() {
        assert_eq!(operation(b"FWFSM", true), Ok(Some(Operation::Write)));
        assert_eq!(operation(b"FWS", false), Ok(Some(Operation::Flush)));
        for flush in ["FF", "FN", "F", "FS"] {
            let found = operation(flush.as_bytes(), false);
            assert_eq!(found, Ok(Some(Operation::Flush)), "{flush}");
        }
    }

    #[test]
    fn requests_without_data_are_told_from_those_that_are_not_understood() {
        assert_eq!(operation(b"RA", true), Ok(Some(Operation::Read)));
        assert_eq!(operation(b"DS", true), Ok(Some(Operation::Discard)));
        assert_eq!(operation(b"NS", true), Ok(Some(Operation::Write)));
        assert_eq!(operation(b"N", false), Ok(None));
        assert_eq!(operation(b"ZAS", true), Ok(Some(Operation::Write)));
        for command in ["ZR", "ZRA", "ZF", "ZO", "ZC"] {
            assert_eq!(operation(command.as_bytes(), true), Ok(None), "{command}");
        }
        for bad in ["", "X", "8"] {
            assert!(operation(bad.as_bytes(), true).is_err(), "{bad}");
        }
    }
}
