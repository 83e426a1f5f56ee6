//! Records of binary files.

use super::error::ImportError;
use super::input::Input;
use super::names::Names;
use super::parse_error::ParseError;
use super::record_outcome::Found;

/// The reader of one binary format.
pub(super) trait RecordReader: Send {
    /// Takes the next record off the input and parses it; `None` when there are no more. After a
    /// fault the input stands behind the record, or where the next one may begin.
    fn record(
        &mut self,
        input: &mut Input,
        names: &mut Names,
    ) -> Result<Option<Record>, ImportError>;

    /// An assumption of the reader, if it is worth knowing.
    fn remark(&self) -> Option<&'static str> {
        None
    }
}

/// A record taken off the input.
#[derive(Debug)]
pub(super) enum Record {
    /// A record that was understood.
    Found(Found),
    /// A record that was not understood, and its beginning.
    Bad(ParseError, Vec<u8>),
}

/// Bytes of a bad record that are shown.
const SHOWN_BYTES: usize = 48;

/// A record that is not understood, with its first bytes.
pub(super) fn bad(fault: ParseError, bytes: &[u8]) -> Record {
    Record::Bad(fault, bytes.get(..SHOWN_BYTES).unwrap_or(bytes).to_vec())
}

/// A field of a record in the byte order of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) big_endian: bool,
}

impl Layout<'_> {
    pub(super) fn u16(self, at: usize) -> u16 {
        let field = self.field::<2>(at);
        if self.big_endian {
            u16::from_be_bytes(field)
        } else {
            u16::from_le_bytes(field)
        }
    }

    pub(super) fn u32(self, at: usize) -> u32 {
        let field = self.field::<4>(at);
        if self.big_endian {
            u32::from_be_bytes(field)
        } else {
            u32::from_le_bytes(field)
        }
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        let field = self.field::<8>(at);
        if self.big_endian {
            u64::from_be_bytes(field)
        } else {
            u64::from_le_bytes(field)
        }
    }

    /// The bytes of a field; zeroes beyond the end of the record.
    fn field<const BYTES: usize>(self, at: usize) -> [u8; BYTES] {
        let field = self.bytes.get(at..at + BYTES);
        field
            .and_then(|field| field.try_into().ok())
            .unwrap_or([0; BYTES])
    }
}
