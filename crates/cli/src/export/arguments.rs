//! What `anabranch export` is asked.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arguments::DriveArguments;

pub const EXAMPLE: &str = "\
Examples:
  anabranch export rocksdb.parquet --to rules,fdp -o advice      # what pcstream found, as rules
  anabranch export result.json --to fio -o advice                # the best scheme of a result, for fio
  anabranch export rocksdb.parquet --scheme hints --to rocksdb -o advice
  anabranch replay rocksdb.parquet --scheme manual:rules=advice/rules.toml
Each piece is fed back before it is written: the same writes, placed as it says, on the same drive.
What it costs beside the scheme it was made from is told, and what it cannot say.";

/// A form of advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    pub drive: DriveArguments,
    /// Print what was written, and what it is worth, as JSON
    #[arg(long)]
    pub json: bool,
    /// The directory to write to; files of the same names are replaced
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: PathBuf,
}
