//! The table of foreign formats, a file each, and of the forms a trace can be written in.

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod csv;
mod disksim;
mod etw;
mod fio;
mod fiu;
mod ftrace;
mod io_tracer;
mod lcs;
mod lost;
mod midas;
mod mqsim;
mod msr;
mod oracle_general;
mod spc;
mod systor17;
mod tencent;
mod vscsi;

pub use ftrace::MmcCommand;
pub(super) use ftrace::{MmcLine, mmc_line};

use super::form::Holds;
use super::options::Options;
use super::row::{FormRow, FormatRow, Reads};

/// The table. Formats stand in the order in which they are guessed, each with its file and the
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
                    $( Format::$format => &$file::ROW, )*
                }
            }
        }

        /// A form that a trace can be written in: every format, and both versions of fio's log.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Form {
            $( $( $(#[$told])* $form, )* )*
        }

        impl Form {
            /// Every form, in the order of the formats.
            pub const ALL: &'static [Form] = &[$( $( Form::$form, )* )*];

            /// The format in which the form is read again.
            pub fn format(self) -> Format {
                match self {
                    $( $( Form::$form => Format::$format, )* )*
                }
            }

            pub(super) fn row(self) -> &'static FormRow {
                match self {
                    $( $( Form::$form => &$file::$row, )* )*
                }
            }
        }
    };
}

formats! {
    /// Binary records of `blktrace`.
    Blktrace = blktrace {
        /// Binary records of `blktrace`, version 7, little-endian.
        Blktrace = FORM,
    }
    /// libCacheSim's `.lcs`, binary.
    Lcs = lcs {}
    /// VMware's `vscsi`, binary, version 1 or 2.
    Vscsi = vscsi {}
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
    /// Text of Windows' event traces.
    Etw = etw {}
    /// The table printed by `biosnoop`.
    Biosnoop = biosnoop {}
    /// The text printed by `blkparse`.
    Blkparse = blkparse {
        /// The text printed by `blkparse`.
        Blkparse = FORM,
    }
    /// FIU's traces at SNIA: I/O deduplication, SRCMap.
    Fiu = fiu {
        /// FIU's traces at SNIA.
        Fiu = FORM,
    }
    /// The text that MQSim and simulators derived from it read.
    MqSim = mqsim {
        /// The text that MQSim and simulators derived from it read.
        MqSim = FORM,
    }
    /// DiskSim's ASCII traces.
    DiskSim = disksim {}
    /// MSR Cambridge, CSV.
    Msr = msr {
        /// MSR Cambridge, CSV.
        Msr = FORM,
    }
    /// SYSTOR '17, CSV.
    Systor17 = systor17 {}
    /// Block events of io-tracer-linux, CSV.
    IoTracer = io_tracer {}
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
    /// The Storage Performance Council's trace format, as UMass uses it.
    Spc = spc {
        /// The Storage Performance Council's trace format.
        Spc = FORM,
    }
    /// The text of MiDAS' and DOGI's simulators.
    Midas = midas {}
    /// libCacheSim's `oracleGeneral`, binary.
    OracleGeneral = oracle_general {
        /// libCacheSim's `oracleGeneral`, binary.
        OracleGeneral = FORM,
    }
    /// A CSV of any columns, read by libCacheSim's column map.
    Csv = csv {
        /// A CSV with a heading, which [`Form::COLUMNS`] maps.
        Csv = FORM,
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

    /// The format in a few words, with its units.
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// Whether the format needs a column map to be read.
    pub fn needs_columns(self) -> bool {
        match self.row().reader {
            Reads::Lines(reader) => reader(&Options::default()).is_err(),
            Reads::Records(..) => false,
        }
    }
}

impl Form {
    /// The column map by which [`Form::Csv`] is read again ([`ColumnMap`](super::ColumnMap)).
    pub const COLUMNS: &'static str = csv::COLUMNS;

    /// The word that names the form: the format's, and for fio's log one for each version.
    pub fn name(self) -> &'static str {
        self.row().name.unwrap_or(self.format().name())
    }

    /// The form in a few words, with its units.
    pub fn about(self) -> &'static str {
        self.row().about.unwrap_or(self.format().about())
    }

    /// The requests that the form can hold; the file of each format says why.
    pub fn holds(self) -> Holds {
        self.row().holds
    }
}
