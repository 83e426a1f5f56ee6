//! The foreign formats there are, and the forms a trace can be written in: one table.

use super::error::ColumnsError;
use super::form::Holds;
use super::found::LineReader;
use super::options::Options;
use super::records::RecordReader;
use super::writer::FormWriter;

/// What there is to know of a format. It stands in the format's own file, which says its units and
/// codes, and where they are from.
pub(super) struct FormatRow {
    /// The word that names it.
    pub(super) name: &'static str,
    /// What it is, in a few words with its units.
    pub(super) about: &'static str,
    /// What its times count from.
    pub(super) clock: Clock,
    /// Who reads it.
    pub(super) reader: Reads,
}

/// How a format is read.
pub(super) enum Reads {
    /// Line by line. It is guessed where the reader understands the first lines.
    Lines(fn(&Options) -> Result<Box<dyn LineReader>, ColumnsError>),
    /// Record by record, and what the beginning of one looks like.
    Records(fn(&Options) -> Box<dyn RecordReader>, fn(&[u8]) -> bool),
}

/// What there is to know of a form.
pub(super) struct FormRow {
    /// The word that names it, where that is not the format's.
    pub(super) name: Option<&'static str>,
    /// What it is, where the format's words do not say it.
    pub(super) about: Option<&'static str>,
    /// What it can hold.
    pub(super) holds: Holds,
    /// Who writes it, told when the trace began in seconds since 1970; 0 where that is not known.
    pub(super) writer: fn(u64) -> Box<dyn FormWriter>,
}

impl FormRow {
    /// A form with the format's words.
    pub(super) const fn new(holds: Holds, writer: fn(u64) -> Box<dyn FormWriter>) -> FormRow {
        FormRow {
            name: None,
            about: None,
            holds,
            writer,
        }
    }
}

/// The table. Formats stand in the order in which they are guessed, each with its file here and the
/// forms it is written in.
macro_rules! formats {
    ($(
        $(#[$about:meta])* $format:ident = $file:ident {
            $( $(#[$told:meta])* $form:ident = $row:ident, )*
        }
    )*) => {
        /// A foreign format of a trace. Each has a file of its own, which says its units and codes, and
        /// where they are from.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Format {
            $( $(#[$about])* $format, )*
        }

        impl Format {
            /// Every format, in the order in which they are guessed.
            pub const ALL: &'static [Format] = &[$( Format::$format, )*];

            pub(super) fn row(self) -> &'static FormatRow {
                match self {
                    $( Format::$format => &super::$file::ROW, )*
                }
            }
        }

        /// What a trace can be written as: every format, and of fio's log both versions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Form {
            $( $( $(#[$told])* $form, )* )*
        }

        impl Form {
            /// Every form, in the order of the formats.
            pub const ALL: &'static [Form] = &[$( $( Form::$form, )* )*];

            /// The format whose reader reads it.
            pub fn format(self) -> Format {
                match self {
                    $( $( Form::$form => Format::$format, )* )*
                }
            }

            pub(super) fn row(self) -> &'static FormRow {
                match self {
                    $( $( Form::$form => &super::$file::$row, )* )*
                }
            }
        }
    };
}

formats! {
    /// What `blktrace` writes, binary.
    Blktrace = blktrace {
        /// What `blktrace` writes, version 7, little-endian.
        Blktrace = FORM,
    }
    /// fio's I/O log, version 2 or 3.
    FioIolog = fio {
        /// fio's I/O log, version 2.
        FioIologV2 = SECOND,
        /// fio's I/O log, version 3.
        FioIologV3 = THIRD,
    }
    /// Text of Linux' `block_rq_issue` and `mmc_request_start` events.
    Ftrace = ftrace {
        /// Text of `block_rq_issue` events.
        Ftrace = FORM,
    }
    /// The text `blkparse` prints.
    Blkparse = blkparse {
        /// The text `blkparse` prints.
        Blkparse = FORM,
    }
    /// FIU's traces at SNIA: I/O deduplication, SRCMap.
    Fiu = fiu {
        /// FIU's traces at SNIA.
        Fiu = FORM,
    }
    /// What MQSim and its kin read.
    MqSim = mqsim {
        /// What MQSim and its kin read.
        MqSim = FORM,
    }
    /// MSR Cambridge, CSV.
    Msr = msr {
        /// MSR Cambridge, CSV.
        Msr = FORM,
    }
    /// Alibaba's block traces of 2020, CSV.
    Alibaba = alibaba {
        /// Alibaba's block traces of 2020, CSV.
        Alibaba = FORM,
    }
    /// Tencent's Cloud Block Storage, CSV.
    Tencent = tencent {
        /// Tencent's Cloud Block Storage, CSV.
        Tencent = FORM,
    }
    /// The Storage Performance Council's trace format, as of UMass.
    Spc = spc {
        /// The Storage Performance Council's trace format.
        Spc = FORM,
    }
    /// libCacheSim's `oracleGeneral`, binary.
    OracleGeneral = oracle_general {
        /// libCacheSim's `oracleGeneral`, binary.
        OracleGeneral = FORM,
    }
    /// A CSV of any columns, with libCacheSim's column map.
    Csv = csv {
        /// A CSV with a heading, which [`Form::COLUMNS`] maps.
        Csv = FORM,
    }
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
    /// The word that names the format.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The format of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Format> {
        let mut all = Format::ALL.iter().copied();
        all.find(|one| one.name() == name)
    }

    /// What the format is, in a few words with its units.
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// Whether its columns must be said before it can be read.
    pub fn needs_columns(self) -> bool {
        match self.row().reader {
            Reads::Lines(reader) => reader(&Options::default()).is_err(),
            Reads::Records(..) => false,
        }
    }
}

impl Form {
    /// The column map by which [`Form::Csv`] is read again ([`ColumnMap`](super::ColumnMap)).
    pub const COLUMNS: &'static str = super::csv::COLUMNS;

    /// The word that names the form: the format's, but fio's log is told by its version.
    pub fn name(self) -> &'static str {
        self.row().name.unwrap_or(self.format().name())
    }

    /// What the form is, in a few words with its units.
    pub fn about(self) -> &'static str {
        self.row().about.unwrap_or(self.format().about())
    }

    /// What it can hold; the file of each format says why.
    pub fn holds(self) -> Holds {
        self.row().holds
    }
}
