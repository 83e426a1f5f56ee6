//! What a form can hold of a request.

use crate::io::Operation;

/// What a form can hold of a request. What it cannot hold is left out or rounded, and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holds {
    /// Operations it has a word for.
    pub operations: &'static [Operation],
    /// Nanoseconds of its unit of time; what is finer is cut off.
    pub time_unit_ns: u64,
    /// Bytes of its unit of offsets.
    pub offset_unit_bytes: u64,
    /// Bytes of its unit of lengths; divides that of offsets.
    pub length_unit_bytes: u64,
    /// The longest request; longer ones become several. A multiple of both units.
    pub most_length_bytes: u64,
    /// Whether it tells volumes apart.
    pub volumes: bool,
    /// Whether it names processes: all that is told of a context.
    pub names: bool,
}

/// Of a length in 32 bits the largest that is a whole number of any unit (4,096 bytes). Our choice.
pub(super) const MOST_32_BIT_BYTES: u64 = (1 << 32) - 4096;

pub(super) const READ_WRITE: &[Operation] = &[Operation::Read, Operation::Write];
pub(super) const WITH_DISCARD: &[Operation] =
    &[Operation::Read, Operation::Write, Operation::Discard];

/// All operations on volumes, in bytes and nanoseconds.
pub(super) const BYTES: Holds = Holds {
    operations: &Operation::ALL,
    time_unit_ns: 1,
    offset_unit_bytes: 1,
    length_unit_bytes: 1,
    most_length_bytes: u64::MAX,
    volumes: true,
    names: false,
};

/// The same in sectors.
pub(super) const SECTORS: Holds = Holds {
    offset_unit_bytes: 512,
    length_unit_bytes: 512,
    most_length_bytes: u64::MAX - 511,
    ..BYTES
};

impl Holds {
    /// It names processes.
    pub(super) const fn named(self) -> Holds {
        Holds {
            names: true,
            ..self
        }
    }

    /// It has words for these operations alone.
    pub(super) const fn only(self, operations: &'static [Operation]) -> Holds {
        Holds { operations, ..self }
    }

    /// Its unit of time.
    pub(super) const fn every(self, time_unit_ns: u64) -> Holds {
        Holds {
            time_unit_ns,
            ..self
        }
    }

    /// Its longest request.
    pub(super) const fn up_to(self, most_length_bytes: u64) -> Holds {
        Holds {
            most_length_bytes,
            ..self
        }
    }
}
