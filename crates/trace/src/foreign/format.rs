//! The foreign formats there are.

/// A foreign format of a trace. Each has a file of its own, which says its units and codes, and
/// where they are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The text `blkparse` prints.
    Blkparse,
    /// What `blktrace` writes, binary.
    Blktrace,
    /// fio's I/O log, version 2 or 3.
    FioIolog,
    /// MSR Cambridge, CSV.
    Msr,
    /// Alibaba's block traces of 2020, CSV.
    Alibaba,
    /// Tencent's Cloud Block Storage, CSV.
    Tencent,
    /// What MQSim and its kin read.
    MqSim,
    /// The Storage Performance Council's trace format, as of UMass.
    Spc,
    /// FIU's traces at SNIA: I/O deduplication, SRCMap.
    Fiu,
    /// libCacheSim's `oracleGeneral`, binary.
    OracleGeneral,
    /// A CSV of any columns, with libCacheSim's column map.
    Csv,
    /// Text of Linux' `block_rq_issue` and `mmc_request_start` events.
    Ftrace,
}

/// What a format's clock counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// A moment of the file's own: files do not tell which of them is earlier.
    Own,
    /// The same moment for all files of one capture.
    Shared,
    /// 1970-01-01 UTC.
    Unix,
    /// 1601-01-01 UTC.
    Windows,
}

/// Seconds from 1601-01-01 to 1970-01-01 (Microsoft's `FILETIME`, RFC 3339 arithmetic).
pub(super) const WINDOWS_TO_UNIX_S: u64 = 11_644_473_600;

impl Clock {
    /// Whether requests of several files can be put in one order.
    pub(super) fn orders_files(self) -> bool {
        self != Clock::Own
    }

    /// Seconds since 1970-01-01 UTC of a time on this clock, if it tells.
    pub(super) fn unix_s(self, time_ns: u64) -> Option<u64> {
        let seconds = time_ns / super::fields::SECOND_NS;
        match self {
            Clock::Own | Clock::Shared => None,
            Clock::Unix => Some(seconds),
            Clock::Windows => seconds.checked_sub(WINDOWS_TO_UNIX_S),
        }
    }
}

impl Format {
    /// Every format, in the order in which they are guessed.
    pub const ALL: [Format; 12] = [
        Format::Blktrace,
        Format::FioIolog,
        Format::Ftrace,
        Format::Blkparse,
        Format::Fiu,
        Format::MqSim,
        Format::Msr,
        Format::Alibaba,
        Format::Tencent,
        Format::Spc,
        Format::OracleGeneral,
        Format::Csv,
    ];

    /// The word that names the format.
    pub fn name(self) -> &'static str {
        match self {
            Format::Blkparse => "blkparse",
            Format::Blktrace => "blktrace",
            Format::FioIolog => "fio",
            Format::Msr => "msr",
            Format::Alibaba => "alibaba",
            Format::Tencent => "tencent",
            Format::MqSim => "mqsim",
            Format::Spc => "spc",
            Format::Fiu => "fiu",
            Format::OracleGeneral => "oracle-general",
            Format::Csv => "csv",
            Format::Ftrace => "ftrace",
        }
    }

    /// The format of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|one| one.name() == name)
    }

    /// What the format is, in a few words with its units.
    pub fn about(self) -> &'static str {
        match self {
            Format::Blkparse => "text of blkparse: sectors of 512 bytes, seconds",
            Format::Blktrace => "binary of blktrace: sectors of 512 bytes, nanoseconds",
            Format::FioIolog => "fio's I/O log, version 2 or 3: bytes, microseconds",
            Format::Msr => "MSR Cambridge: bytes, 100 nanoseconds since 1601",
            Format::Alibaba => "Alibaba block traces: bytes, microseconds since 1970",
            Format::Tencent => "Tencent CBS: sectors of 512 bytes, seconds, 0 read, 1 write",
            Format::MqSim => "MQSim: sectors of 512 bytes, nanoseconds, 0 write, 1 read",
            Format::Spc => "SPC: blocks of 512 bytes, lengths in bytes, seconds",
            Format::Fiu => "FIU at SNIA: sectors of 512 bytes, nanoseconds",
            Format::OracleGeneral => "binary of libCacheSim: objects, seconds",
            Format::Csv => "a CSV by its column map",
            Format::Ftrace => "text of Linux' trace events: sectors of 512 bytes, seconds",
        }
    }

    pub(super) fn clock(self) -> Clock {
        match self {
            Format::Blktrace | Format::Ftrace => Clock::Shared,
            Format::Msr => Clock::Windows,
            Format::Alibaba | Format::Tencent => Clock::Unix,
            Format::Blkparse
            | Format::FioIolog
            | Format::MqSim
            | Format::Spc
            | Format::Fiu
            | Format::OracleGeneral
            | Format::Csv => Clock::Own,
        }
    }
}
