//! The record every source yields and every consumer eats.

use std::fmt;

/// A kind of request to a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Read `length_bytes` from `offset_bytes`.
    Read = 0,
    /// Write `length_bytes` at `offset_bytes`.
    Write = 1,
    /// The bytes are no longer needed (TRIM, UNMAP, Deallocate; also Write Zeroes that may unmap).
    Discard = 2,
    /// Make everything written before durable. Offset and length are 0.
    Flush = 3,
}

impl Operation {
    /// Every operation, in the order of its code in a trace file.
    pub const ALL: [Operation; 4] = [
        Operation::Read,
        Operation::Write,
        Operation::Discard,
        Operation::Flush,
    ];

    /// The word that stands for the operation in a trace file.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "discard",
            Operation::Flush => "flush",
        }
    }

    /// The operation of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Index of a program context in the trace's context table. 0 is "not known".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ContextId(pub u32);

impl ContextId {
    /// The context of a write that could not be attributed.
    pub const UNKNOWN: ContextId = ContextId(0);
}

/// Index of a file in the trace's file table. 0 is "no file, or not known".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A write life-time hint, with the kernel's own values
/// (Linux `include/uapi/linux/fcntl.h`, `RWH_WRITE_LIFE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum WriteHint {
    /// No hint was ever set.
    #[default]
    NotSet = 0,
    /// The application said that it has no hint.
    None = 1,
    /// The data dies soon.
    Short = 2,
    /// The data dies later than with `Short`.
    Medium = 3,
    /// The data dies later than with `Medium`.
    Long = 4,
    /// The data dies later than with `Long`.
    Extreme = 5,
}

impl WriteHint {
    /// Every hint, in the order of the kernel's numbers.
    pub const ALL: [WriteHint; 6] = [
        WriteHint::NotSet,
        WriteHint::None,
        WriteHint::Short,
        WriteHint::Medium,
        WriteHint::Long,
        WriteHint::Extreme,
    ];

    /// The hint with the kernel's number, if there is one.
    pub fn from_number(number: u64) -> Option<WriteHint> {
        WriteHint::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The hint's name as `F_SET_RW_HINT` documents it, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            WriteHint::NotSet => "not-set",
            WriteHint::None => "none",
            WriteHint::Short => "short",
            WriteHint::Medium => "medium",
            WriteHint::Long => "long",
            WriteHint::Extreme => "extreme",
        }
    }

    /// The hint of that name, if there is one.
    pub fn from_name(name: &str) -> Option<WriteHint> {
        WriteHint::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// One request to a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Nanoseconds since the capture began.
    pub time_ns: u64,
    /// The operation that was asked for.
    pub operation: Operation,
    /// First byte, from the start of the device; 0 for a flush.
    pub offset_bytes: u64,
    /// Number of bytes; 0 only for a flush.
    pub length_bytes: u64,
    /// The writer: an index into the trace's context table.
    pub context: ContextId,
    /// The file it belongs to: an index into the trace's file table.
    pub file: FileId,
    /// The life-time hint the application asked for on that file.
    pub hint: WriteHint,
    /// Whether the kernel granted the hint (a refused `F_SET_RW_HINT` leaves this false).
    pub hint_granted: bool,
    /// The number of the program, where several share a drive; 0 otherwise. In imported traces the
    /// volume.
    pub tenant: u32,
}

impl Io {
    /// A write known by its address only, as in an address-only trace.
    pub fn write(offset_bytes: u64, length_bytes: u64) -> Io {
        Io {
            time_ns: 0,
            operation: Operation::Write,
            offset_bytes,
            length_bytes,
            context: ContextId::UNKNOWN,
            file: FileId(0),
            hint: WriteHint::NotSet,
            hint_granted: false,
            tenant: 0,
        }
    }
}
