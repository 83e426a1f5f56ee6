//! The parts of a request that a form can hold.

use crate::io::Operation;

/// The parts of a request that a form can hold. Other parts are left out or rounded, and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holds {
    /// Operations the form has a word for.
    pub operations: &'static [Operation],
    /// Its unit of time, in nanoseconds; what is finer is cut off.
    pub time_unit_ns: u64,
    /// Its unit of offsets, in bytes.
    pub offset_unit_bytes: u64,
    /// Its unit of lengths, in bytes; it divides that of offsets.
    pub length_unit_bytes: u64,
    /// The longest request; longer ones are split. A multiple of both units.
    pub most_length_bytes: u64,
    /// Whether the form tells volumes apart.
    pub volumes: bool,
    /// Whether the form names processes, the only thing it can tell of a context.
    pub names: bool,
    /// Whether the form's readers want times that never go back; a time that does becomes the latest before it.
    pub in_order: bool,
}

/// The largest 32-bit length that is a whole number of any unit (up to 4,096 bytes). Our choice.
pub(super) const MOST_32_BIT_BYTES: u64 = (1 << 32) - 4096;

pub(super) const READ_WRITE: &[Operation] = &[Operation::Read, Operation::Write];
pub(super) const WITH_DISCARD: &[Operation] =
    &[Operation::Read, Operation::Write, Operation::Discard];

/// A form that holds all operations on volumes, in bytes and nanoseconds.
pub(super) const BYTES: Holds = Holds {
    operations: &Operation::ALL,
    time_unit_ns: 1,
    offset_unit_bytes: 1,
    length_unit_bytes: 1,
    most_length_bytes: u64::MAX,
    volumes: true,
    names: false,
    in_order: false,
};

/// A form that holds all operations on volumes, in sectors and nanoseconds.
pub(super) const SECTORS: Holds = Holds {
    offset_unit_bytes: 512,
    length_unit_bytes: 512,
    most_length_bytes: u64::MAX - 511,
    ..BYTES
};

impl Holds {
    /// The same form with names of processes.
    pub(super) const fn named(self) -> Holds {
        Holds {
            names: true,
            ..self
        }
    }

    /// The same form with times that never go back.
    pub(super) const fn ordered(self) -> Holds {
        Holds {
            in_order: true,
            ..self
        }
    }

    /// The same form with these operations only.
    pub(super) const fn only(self, operations: &'static [Operation]) -> Holds {
        Holds { operations, ..self }
    }

    /// The same form with another unit of time.
    pub(super) const fn every(self, time_unit_ns: u64) -> Holds {
        Holds {
            time_unit_ns,
            ..self
        }
    }

    /// The same form with a bound on a request's length.
    pub(super) const fn up_to(self, most_length_bytes: u64) -> Holds {
        Holds {
            most_length_bytes,
            ..self
        }
    }
}
