//! What a trace can be written as.

use super::format::Format;
use crate::io::Operation;

/// What a trace can be written as: every format, and of fio's log both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The text `blkparse` prints.
    Blkparse,
    /// What `blktrace` writes, version 7, little-endian.
    Blktrace,
    /// Text of `block_rq_issue` events.
    Ftrace,
    /// fio's I/O log, version 2.
    FioIologV2,
    /// fio's I/O log, version 3.
    FioIologV3,
    /// FIU's traces at SNIA.
    Fiu,
    /// MSR Cambridge, CSV.
    Msr,
    /// Alibaba's block traces of 2020, CSV.
    Alibaba,
    /// Tencent's Cloud Block Storage, CSV.
    Tencent,
    /// What MQSim and its kin read.
    MqSim,
    /// The Storage Performance Council's trace format.
    Spc,
    /// libCacheSim's `oracleGeneral`, binary.
    OracleGeneral,
    /// A CSV with a heading, which [`Form::COLUMNS`] maps.
    Csv,
}

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
const MOST_32_BIT_BYTES: u64 = (1 << 32) - 4096;

const READ_WRITE: &[Operation] = &[Operation::Read, Operation::Write];
const WITH_DISCARD: &[Operation] = &[Operation::Read, Operation::Write, Operation::Discard];

impl Form {
    /// Every form, in the order of the formats' table in docs/traces.md.
    pub const ALL: [Form; 13] = [
        Form::Blkparse,
        Form::Blktrace,
        Form::Ftrace,
        Form::FioIologV2,
        Form::FioIologV3,
        Form::Fiu,
        Form::Msr,
        Form::Alibaba,
        Form::Tencent,
        Form::MqSim,
        Form::Spc,
        Form::OracleGeneral,
        Form::Csv,
    ];

    /// The column map by which [`Form::Csv`] is read again ([`ColumnMap`](super::ColumnMap)).
    pub const COLUMNS: &'static str = super::csv::COLUMNS;

    /// The word that names the form: the format's, but fio's log is told by its version.
    pub fn name(self) -> &'static str {
        match self {
            Form::FioIologV2 => "fio-iolog-v2",
            Form::FioIologV3 => "fio-iolog-v3",
            other => other.format().name(),
        }
    }

    /// The format whose reader reads it.
    pub fn format(self) -> Format {
        match self {
            Form::Blkparse => Format::Blkparse,
            Form::Blktrace => Format::Blktrace,
            Form::Ftrace => Format::Ftrace,
            Form::FioIologV2 | Form::FioIologV3 => Format::FioIolog,
            Form::Fiu => Format::Fiu,
            Form::Msr => Format::Msr,
            Form::Alibaba => Format::Alibaba,
            Form::Tencent => Format::Tencent,
            Form::MqSim => Format::MqSim,
            Form::Spc => Format::Spc,
            Form::OracleGeneral => Format::OracleGeneral,
            Form::Csv => Format::Csv,
        }
    }

    /// What the form is, in a few words with its units.
    pub fn about(self) -> &'static str {
        match self {
            Form::Ftrace => "block_rq_issue of trace_pipe: sectors of 512 bytes, seconds",
            Form::FioIologV2 => "fio's I/O log, version 2: bytes, microseconds by `wait`",
            Form::FioIologV3 => "fio's I/O log, version 3: bytes, microseconds",
            Form::OracleGeneral => "binary of libCacheSim: writes of 4 KiB objects, seconds",
            Form::Csv => "a CSV with a heading: bytes, nanoseconds",
            other => other.format().about(),
        }
    }

    /// What it can hold; the file of each format says why.
    pub fn holds(self) -> Holds {
        const SECOND_NS: u64 = 1_000_000_000;
        match self {
            Form::Blkparse => SECTORS.named(),
            Form::Blktrace => SECTORS.named().up_to(MOST_32_BIT_BYTES),
            Form::Ftrace => SECTORS.named().every(1000),
            Form::FioIologV2 | Form::FioIologV3 => BYTES.every(1000),
            Form::Fiu => SECTORS.named().only(READ_WRITE),
            Form::Msr => BYTES.every(100).only(READ_WRITE),
            Form::Alibaba => BYTES.every(1000).only(READ_WRITE),
            Form::Tencent => SECTORS.every(SECOND_NS).only(READ_WRITE),
            Form::MqSim => SECTORS.only(READ_WRITE),
            Form::Spc => Holds {
                length_unit_bytes: 1,
                ..SECTORS.only(READ_WRITE)
            },
            Form::OracleGeneral => Holds {
                offset_unit_bytes: 4096,
                volumes: false,
                ..BYTES.every(SECOND_NS).only(&[Operation::Write])
            }
            .up_to(MOST_32_BIT_BYTES),
            Form::Csv => BYTES.only(WITH_DISCARD),
        }
    }
}

/// All operations on volumes, in bytes and nanoseconds.
const BYTES: Holds = Holds {
    operations: &Operation::ALL,
    time_unit_ns: 1,
    offset_unit_bytes: 1,
    length_unit_bytes: 1,
    most_length_bytes: u64::MAX,
    volumes: true,
    names: false,
};

/// The same in sectors.
const SECTORS: Holds = Holds {
    offset_unit_bytes: 512,
    length_unit_bytes: 512,
    most_length_bytes: u64::MAX - 511,
    ..BYTES
};

impl Holds {
    fn named(self) -> Holds {
        Holds {
            names: true,
            ..self
        }
    }

    fn only(self, operations: &'static [Operation]) -> Holds {
        Holds { operations, ..self }
    }

    fn every(self, time_unit_ns: u64) -> Holds {
        Holds {
            time_unit_ns,
            ..self
        }
    }

    fn up_to(self, most_length_bytes: u64) -> Holds {
        Holds {
            most_length_bytes,
            ..self
        }
    }
}
