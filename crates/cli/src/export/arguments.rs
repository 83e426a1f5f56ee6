//! What `anabranch export` is asked.

use std::path::PathBuf;

use anabranch_compare::DriveOptions;
use anabranch_trace::foreign::Form;
use clap::{Args, ValueEnum, builder::PossibleValue};

pub const EXAMPLE: &str = "\
Examples:
  anabranch export rocksdb.parquet --to rules,fdp -o advice      # what pcstream found, as rules
  anabranch export result.json --to fio -o advice                # the best scheme of a result, for fio
  anabranch export rocksdb.parquet --scheme hints --to rocksdb -o advice
  anabranch replay rocksdb.parquet --scheme manual:rules=advice/rules.toml
  anabranch export rocksdb.parquet --to msr -o rocksdb.csv.gz    # the trace itself, for other tools
Each piece is fed back before it is written: the same writes, placed as it says, on the same drive.
What it costs beside the scheme it was made from is told, and what it cannot say.";

/// What is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Rules by file name and thread: for people, and for the scheme `manual`
    Rules,
    /// The same as life-time hints, for `fcntl(F_SET_RW_HINT)`
    Hints,
    /// Placement identifiers by program context
    Fdp,
    /// fio jobs that replay the trace with its placement, and a `dp_scheme` of address ranges
    Fio,
    /// What RocksDB writes, what lives how long, and how to keep it apart
    Rocksdb,
    /// The same of Cassandra
    Cassandra,
    /// The trace itself, in another's form
    Trace(Form),
}

impl ValueEnum for Target {
    fn value_variants<'a>() -> &'a [Target] {
        use Form::{
            Alibaba, Blkparse, Blktrace, Csv, FioIologV2, FioIologV3, Fiu, Ftrace, MqSim, Msr,
            OracleGeneral, Spc, Tencent,
        };
        const ALL: [Target; 19] = [
            Target::Rules,
            Target::Hints,
            Target::Fdp,
            Target::Fio,
            Target::Rocksdb,
            Target::Cassandra,
            Target::Trace(Blkparse),
            Target::Trace(Blktrace),
            Target::Trace(Ftrace),
            Target::Trace(FioIologV2),
            Target::Trace(FioIologV3),
            Target::Trace(Fiu),
            Target::Trace(Msr),
            Target::Trace(Alibaba),
            Target::Trace(Tencent),
            Target::Trace(MqSim),
            Target::Trace(Spc),
            Target::Trace(OracleGeneral),
            Target::Trace(Csv),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Target::Rules => (
                "rules",
                "Rules by file name and thread: for people, and for the scheme `manual`",
            ),
            Target::Hints => (
                "hints",
                "The same as life-time hints, for `fcntl(F_SET_RW_HINT)`",
            ),
            Target::Fdp => ("fdp", "Placement identifiers by program context"),
            Target::Fio => (
                "fio",
                "fio jobs that replay the trace with its placement, and a `dp_scheme` of address ranges",
            ),
            Target::Rocksdb => (
                "rocksdb",
                "What RocksDB writes, what lives how long, and how to keep it apart",
            ),
            Target::Cassandra => ("cassandra", "The same of Cassandra"),
            Target::Trace(form) => (form.name(), form.about()),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// A trace, a result of `run` or `replay`, or a lifetime profile
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,
    /// What to write
    #[arg(
        long = "to",
        value_name = "TARGET",
        value_delimiter = ',',
        required = true
    )]
    pub targets: Vec<Target>,
    /// The scheme whose placement is exported [default: pcstream; of a result, its best]
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,
    /// The trace of a result, where it lies elsewhere now
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// What earlier runs learned of contexts (`replay --profile`)
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    #[command(flatten)]
    pub drive: DriveOptions,
    /// Print what was written, and what it is worth, as JSON
    #[arg(long)]
    pub json: bool,
    /// The directory to write advice to, files of the same names being replaced; of a trace the file,
    /// packed if its name ends with .gz or .zst
    #[arg(short = 'o', long = "output", value_name = "DIR|FILE")]
    pub output: PathBuf,
}

impl ExportArguments {
    /// Whether one file is written, and not a directory of advice.
    pub fn is_one_file(&self) -> bool {
        let is_trace = |target: &Target| matches!(target, Target::Trace(_));
        self.targets.iter().any(is_trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_trace_can_be_named() {
        for form in Form::ALL {
            assert!(
                Target::value_variants().contains(&Target::Trace(form)),
                "{form:?}"
            );
        }
    }
}
