//! Verbs and options of the command.

#[cfg(feature = "live")]
use std::time::Duration;
use std::{ffi::OsString, path::PathBuf};

#[cfg(feature = "live")]
use anabranch_compare::EnduranceOptions;
use anabranch_compare::{ComparisonOptions, DriveOptions, Format, ReplayOptions};
use anabranch_report::message;
use clap::{Args, Parser, Subcommand, ValueEnum, error::Error as WrongUse};

use crate::answer::AnswerArguments;
#[cfg(feature = "live")]
use crate::duration::duration;
use crate::export;
use crate::formats::{imported, replayed};
#[cfg(feature = "live")]
use crate::generations::GenerationArguments;
#[cfg(feature = "live")]
use crate::rate::one_rate;
use crate::say::{self, SayArguments};
use crate::table_layout::TableArguments;
#[cfg(feature = "live")]
use crate::tenants::TenantArguments;

/// What would every placement of your application's writes cost the SSD?
#[derive(Debug, Parser)]
#[command(
    version,
    long_version = crate::version::LONG.as_str(),
    about,
    max_term_width = 100,
    after_help = STATUS
)]
pub struct Arguments {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub say: SayArguments,
}

impl Arguments {
    /// Parses the arguments of this process. If they are wrong, prints the reason and ends the process.
    pub fn of_process() -> Arguments {
        let given: Vec<OsString> = std::env::args_os().collect();
        Arguments::try_parse_from(&given).unwrap_or_else(|wrong| refuse(&wrong, &given))
    }
}

/// Prints the parser's message and ends the process. The message has colours and many lines, and repeats arguments as
/// they are; if those hold control characters, a message of our own replaces it.
fn refuse(wrong: &WrongUse, given: &[OsString]) -> ! {
    let is_harmless = |word: &OsString| word.to_str().is_some_and(|word| message(word) == word);
    if !wrong.use_stderr() || given.iter().all(is_harmless) {
        wrong.exit();
    }
    say::error(&wrong.to_string());
    std::process::exit(wrong.exit_code())
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, once")]
pub enum Verb {
    /// Run a program on a fresh emulated drive and compare every scheme on its writes, live
    #[cfg(feature = "live")]
    #[command(after_help = RUN_EXAMPLE)]
    Run(RunArguments),
    /// Record what a block device is asked to do, with program contexts
    #[cfg(feature = "live")]
    #[command(after_help = RECORD_EXAMPLE)]
    Record(RecordArguments),
    /// Observe devices in use for as long as you like: would streams pay here, how much, with which contexts
    #[cfg(feature = "live")]
    #[command(after_help = crate::watch::EXAMPLE)]
    Watch(crate::watch::WatchArguments),
    /// Turn block traces of other tools into Anabranch's own
    #[command(after_help = IMPORT_EXAMPLE)]
    Import(ImportArguments),
    /// Compare schemes on recorded writes
    #[command(after_help = REPLAY_EXAMPLE)]
    Replay(ReplayArguments),
    /// Make a drive old before it is measured, and keep it in a file
    #[command(after_help = PRECONDITION_EXAMPLE)]
    Precondition(PreconditionArguments),
    /// Run the published experiments, and print each published figure beside ours
    #[command(after_help = crate::experiment::EXAMPLE)]
    Experiment(crate::experiment::ExperimentArguments),
    /// Serve a drive over NVMe/TCP, with the Streams Directive or Flexible Data Placement, or as a SCSI drive
    #[cfg(feature = "serve")]
    #[command(after_help = crate::serve::EXAMPLE)]
    Serve(crate::serve::ServeArguments),
    /// Put a scheme to work: a block device whose writes reach an FDP or multi-stream drive in its streams
    #[cfg(feature = "steer")]
    #[command(after_help = crate::steer::EXAMPLE)]
    Steer(crate::steer::SteerArguments),
    /// Watch a steered drive: its handles, its own WAF beside its models', and what went wrong
    #[cfg(feature = "steer")]
    #[command(after_help = crate::top::EXAMPLE)]
    Top(crate::top::TopArguments),
    /// Show write amplification of ordinary drives, by the counters that they report
    #[cfg(feature = "steer")]
    #[command(after_help = crate::waf::EXAMPLE)]
    Waf(crate::waf::WafArguments),
    /// Say what reaches a drive on this host: each way, what is missing, and the remedy
    #[cfg(feature = "doctor")]
    #[command(after_help = crate::doctor::EXAMPLE)]
    Doctor(crate::doctor::DoctorArguments),
    /// Learn a drive from outside, by writes and its own counters, and write its profile
    #[cfg(feature = "calibrate")]
    #[command(after_help = crate::calibrate::EXAMPLE)]
    Calibrate(crate::calibrate::CalibrateArguments),
    /// Put recorded commands to an eMMC card before a drive: contexts as streams, and each rule that is broken
    #[command(after_help = crate::emmc::EXAMPLE)]
    Emmc(crate::emmc::EmmcArguments),
    /// Compare schemes on many traces and drives, on all cores or on a Dask cluster
    #[command(after_help = crate::sweep::EXAMPLE)]
    Sweep(crate::sweep::SweepArguments),
    /// Show who wrote: each program context, its call path, bytes and lifetimes
    #[command(after_help = CONTEXTS_EXAMPLE)]
    Contexts(ContextsArguments),
    /// Show results as one page of pictures
    #[command(after_help = crate::report::REPORT_EXAMPLE)]
    Report(crate::report::ReportArguments),
    /// Show what two results differ in
    #[command(after_help = crate::diff::EXAMPLE, alias = "compare")]
    Diff(crate::diff::DiffArguments),
    /// Write what to do about it: rules, hints, FDP tables, fio jobs, each replayed to show what it keeps
    #[command(after_help = export::EXAMPLE)]
    Export(export::ExportArguments),
    /// List the schemes there are
    #[command(after_help = "Example:\n  anabranch schemes")]
    Schemes(AnswerArguments),
    /// List the device profiles there are, or show one
    #[command(after_help = "Example:\n  anabranch devices --show pcstream-emulator > mine.toml")]
    Devices(DevicesArguments),
    /// Show how far contexts, files and addresses tell how long data will live
    #[command(after_help = "Example:\n  anabranch coverage traces/*.parquet")]
    Coverage(crate::coverage::CoverageArguments),
    /// List the real applications that `run --workload` knows
    #[command(after_help = "Example:\n  anabranch workloads")]
    Workloads(AnswerArguments),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(crate::packaging::CompletionsArguments),
    /// Write manual pages
    #[command(hide = true)]
    Man(crate::packaging::ManArguments),
}

const STATUS: &str = "\
Exit status: 0 done, 1 the work failed, 2 wrong use or wrong input, 130 interrupted; `run` and `record` \
pass on the program's own. docs/scripting.md tells the form of the JSON.";

#[cfg(feature = "live")]
const RUN_EXAMPLE: &str = "\
Example, as root: what would streams save a small RocksDB?
  anabranch run --size 1GiB --unit 8MiB -t rocksdb.parquet -- \\
      db_bench --benchmarks=fillrandom,overwrite --num=500000 --db={dir}/db
The program starts where you are: {dir} in its arguments and the variable ANABRANCH_DIR name the \
drive's directory, and --chdir starts it there. Its output goes to standard error (or to --log FILE), \
the comparison to standard output. The trace stays in anabranch.parquet unless -t names another file.
anabranch ends with the program's own exit status.
A server that goes into the background is followed with --wait, or for a time:
  anabranch run --until 10m -- mysqld --daemonize --datadir={dir}/data
Or one of the applications that `anabranch workloads` lists:
  anabranch run --workload postgres-pgbench --file-system xfs";

#[cfg(feature = "live")]
const RECORD_EXAMPLE: &str = "\
Examples, as root: record /dev/nvme0n1 while a program runs, for a time, or until Ctrl-C
  anabranch record --device /dev/nvme0n1 -t day.parquet -- fio job.fio
  anabranch record --device /dev/nvme0n1 -t day.parquet --for 1h --max 100GiB
One of several programs on it: its writes, and everybody's discards
  anabranch record --device /dev/nvme0n1 --cgroup system.slice/mysql.service --for 1h";

const IMPORT_EXAMPLE: &str = "\
Examples:
  anabranch import hm_0.csv.gz -o hm_0.parquet
  anabranch import 'sda.blktrace.*' --format blktrace -o sda.parquet
  tar -xzOf 2018100101.tgz | anabranch import - --volume 1063 -o 1063.parquet
  anabranch import cache.csv --format csv --columns 'time-col=1,obj-id-col=2' -o cache.parquet
The format, and what was read, are said on standard error.";

const REPLAY_EXAMPLE: &str = "\
Examples:
  anabranch replay rocksdb.parquet
  anabranch replay rocksdb.parquet --scheme baseline,pcstream --streams 2,4,8 --unit 24MiB,96MiB
  anabranch replay rocksdb.parquet --scheme 'pcstream:samples=1000,hysteresis=0.2' --json
  anabranch replay rocksdb.parquet --scheme manual:rules=rocksdb,manual:rules=mine.toml
  anabranch replay zipfperm.u32 --device golden --scheme baseline,baseline+gc
  anabranch replay hm_0.csv.gz --format msr --fill 90%
  anabranch replay rocksdb.parquet --scheme baseline,autostream-sfr,hints,pcstream \\
      --relocation mixed,substream
  anabranch replay rocksdb.parquet --device pcstream-emulator --fill 90% --time closed
  anabranch replay rocksdb.parquet --html report.html
Comma lists multiply into a grid: one table for each drive.";

const PRECONDITION_EXAMPLE: &str = "\
Example: every scheme begins with the same full drive, overwritten at random until it is steady
  anabranch precondition --device pcstream-emulator -o aged.drive
  anabranch replay rocksdb.parquet --drive aged.drive
Nine tenths of a drive, some of it much hotter than the rest:
  anabranch precondition --device golden --fill 90% --pattern zipf -o skewed.drive";

const CONTEXTS_EXAMPLE: &str = "\
Example: the ten contexts that wrote most
  anabranch contexts rocksdb.parquet --most 10";

/// Outputs of a comparison.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Comparison")]
pub struct PublishArguments {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the result as JSON to FILE as well; - is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the result as a page of pictures to FILE as well; implies --details
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub tables: TableArguments,
}

/// Schemes, and the destination of the result.
#[derive(Debug, Clone, Args)]
pub struct ComparisonArguments {
    #[command(flatten)]
    pub options: ComparisonOptions,
    #[command(flatten)]
    pub publish: PublishArguments,
}

#[cfg(feature = "live")]
impl ComparisonArguments {
    /// The options: a page shows details.
    pub fn options(&self) -> ComparisonOptions {
        ComparisonOptions {
            details: self.options.details || self.publish.html.is_some(),
            ..self.options.clone()
        }
    }
}

#[cfg(feature = "live")]
#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub drive: DriveOptions,
    #[command(flatten)]
    pub comparison: ComparisonArguments,
    #[command(flatten)]
    pub endurance: EnduranceOptions,
    #[command(flatten)]
    pub capture: CaptureArguments,
    /// File system to put on the drive: ext4 or xfs
    #[arg(long, value_name = "NAME", default_value = "ext4")]
    pub file_system: String,
    /// Keep the trace in FILE; an older one there becomes FILE.old [default: anabranch.parquet]
    #[arg(short = 't', long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Keep no trace
    #[arg(long, conflicts_with = "trace")]
    pub no_trace: bool,
    /// Start the program in the drive's directory, instead of where you are
    #[arg(short = 'C', long)]
    pub chdir: bool,
    /// Go on until everything the program left running has ended, too: for programs that go into
    /// the background
    #[arg(long, conflicts_with = "workload")]
    pub wait: bool,
    /// Go on as with --wait, and end what still runs after TIME: `90s`, `10m`, `2h`
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "workload")]
    pub until: Option<Duration>,
    /// Directory of the drive's bytes [default: memory if three times the drive is free, else /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub backing: Option<PathBuf>,
    /// Send the program's output to FILE instead of standard error
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Run a scenario that `anabranch workloads` lists, or that of a folder of one's own, instead of
    /// a program. `--size` may then be `quick` or `full`; drive and erase unit are the scenario's
    /// unless they are given
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub workload: Option<String>,
    /// Change a parameter of the scenario, `KEY=VALUE`
    #[arg(long, value_name = "KEY=VALUE", requires = "workload")]
    pub set: Vec<String>,
    /// The program and its arguments
    #[arg(
        required_unless_present = "workload",
        trailing_var_arg = true,
        value_name = "CMD"
    )]
    pub command: Vec<OsString>,
}

/// The trace's file where none is named.
#[cfg(feature = "live")]
const TRACE: &str = "anabranch.parquet";

#[cfg(feature = "live")]
impl RunArguments {
    /// The trace's file, if it is kept.
    pub fn trace_file(&self) -> Option<PathBuf> {
        let named = || self.trace.clone().unwrap_or_else(|| TRACE.into());
        (!self.no_trace).then(named)
    }
}

#[cfg(feature = "live")]
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// The block device to watch, a disk or a partition
    #[arg(long, short_alias = 'd', value_name = "DEV")]
    pub device: PathBuf,
    /// The trace
    #[arg(
        short = 't',
        long = "trace",
        short_alias = 'o',
        alias = "output",
        value_name = "FILE",
        default_value = TRACE
    )]
    pub output: PathBuf,
    /// End after TIME, as by Ctrl-C: `90s`, `10m`, `2h`
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub lasts: Option<Duration>,
    /// End once so many bytes were written to the device
    #[arg(long, value_name = "BYTES")]
    pub max: Option<String>,
    /// Record only what this process writes, and those it starts; may be given several times
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pub pid: Vec<u32>,
    /// Record only what processes of this control group write, such as system.slice/mysql.service; may be
    /// given several times
    #[arg(long, value_name = "PATH")]
    pub cgroup: Vec<PathBuf>,
    /// Keep a sample of the device: one page of N stands for all N, as in `1/64`, for an Nth of the trace.
    /// `replay` knows by itself that it is one, and at a coarser rate tells the error
    #[arg(long, value_name = "1/N", value_parser = one_rate)]
    pub sample: Option<anabranch_trace::Rate>,
    /// Number that draws the sampled pages: another number draws others
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sample")]
    pub seed: u64,
    /// Go on in the background as soon as it records: print the number of that process and end; `kill -INT` ends it.
    /// Ends with an error where nothing can be recorded
    #[arg(long, conflicts_with = "command")]
    pub wait_ready: bool,
    /// Print what was recorded as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub endurance: EnduranceOptions,
    #[command(flatten)]
    pub capture: CaptureArguments,
    /// A program to run meanwhile; without one, record until Ctrl-C
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Options of the capture.
#[cfg(feature = "live")]
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Capture")]
pub struct CaptureArguments {
    /// Record reads as well
    #[arg(long)]
    pub reads: bool,
    /// Do not watch for write life-time hints (where the kernel cannot watch `fcntl` alone, this spares every system call a look)
    #[arg(long)]
    pub no_hints: bool,
    #[command(flatten)]
    pub generations: GenerationArguments,
    /// Kernel memory for events on their way; lost events mean that it was too small
    #[arg(long, value_name = "BYTES", default_value = "64MiB")]
    pub ring: String,
    #[command(flatten)]
    pub tenants: TenantArguments,
}

/// Events of a request's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventChoice {
    /// Queued, before merges: all that dm and md devices have
    Queue,
    /// Issued to the driver
    Issue,
    /// Completed by the driver
    Complete,
}

#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Traces, plain, gzip or zstd: files, quoted patterns, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Form of the traces
    #[arg(long, default_value = "auto", value_parser = imported())]
    pub format: Format,
    /// The trace to write
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
    /// Count malformed records and go on, instead of ending with the first
    #[arg(long)]
    pub skip_bad: bool,
    /// Renumber the pages ever written densely, volume after volume
    #[arg(long)]
    pub renumber: bool,
    /// Keep one volume of several: its number, or its name such as `hm_0` or `8,16`; `all` takes them for one
    #[arg(long, value_name = "VOLUME")]
    pub volume: Option<String>,
    /// Event of blktrace, blkparse or ftrace text that is taken as the request [default: issue]
    #[arg(long)]
    pub event: Option<EventChoice>,
    /// Columns of a CSV, and units of other forms' numbers, as in
    /// 'time-col=1,obj-id-col=2,obj-size-col=3,op-col=4,time-unit=us,id-unit=sector'
    #[arg(long, value_name = "MAP")]
    pub columns: Option<String>,
    /// Print what was read as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("profiles", |profile| profile.help(
        "Device profile: a name `anabranch devices` lists, or a TOML file [default: the drive that the trace was \
         recorded for, else demo]. One that is far larger than what fills it is scaled"
    )),
    mut_arg("size", |size| size.help("Bytes the host sees [default: the captured device's, else the profile's]"))
)]
pub struct ReplayArguments {
    /// Traces: files, or `synthetic:NAME[:size=BYTES,write=BYTES,seed=N]`, a load made by rule:
    /// fio-fms16, fio-emmc, fio-zipf, fio-passes, fio-three-streams, cachelib, kv-cache-llm, cassandra, rocksdb-ycsb,
    /// mysql-ycsb, mysql-tpcc, varmail, rocksdb+mysql, rocksdb-update, rocksdb-append, rocksdb-fill. `:held=90%,overwritten=100%`
    /// with each: other data on so much of the drive, written before
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Form of the traces [default: u32 where the name ends in .u32, else the one it looks like, native or another tool's]
    #[arg(long, value_parser = replayed())]
    pub format: Option<Format>,
    #[command(flatten)]
    pub options: ReplayOptions,
    #[command(flatten)]
    pub publish: PublishArguments,
}

impl ReplayArguments {
    /// The options: a page shows details.
    pub fn options(&self) -> ReplayOptions {
        let mut options = self.options.clone();
        options.comparison.details |= self.publish.html.is_some();
        options
    }
}

#[derive(Debug, Args)]
pub struct PreconditionArguments {
    #[command(flatten)]
    pub drive: DriveOptions,
    /// The share of the drive that is filled, and overwritten after that
    #[arg(long, value_name = "SHARE", default_value = "100%")]
    pub fill: String,
    /// Pattern of overwrites: sequential, random, or zipf, which may name its exponent (`zipf=1.1`,
    /// 0.9 without)
    #[arg(long, default_value = "random")]
    pub pattern: String,
    /// Overwriting ends once the drive is steady, and after so many drive's worths at the latest.
    /// Steady: the WAF of five windows of half a capacity stays within 10 % of their mean, and
    /// rises or falls by no more
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub capacities: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Print what came of it as JSON
    #[arg(long)]
    pub json: bool,
    /// The file to keep the drive in
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
pub struct ContextsArguments {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Rows to show, those with most bytes first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub most: usize,
    /// Streams the drive has, to show which one pcstream gives each context
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub streams: u16,
    #[command(flatten)]
    pub answer: AnswerArguments,
    /// Stop after the first GiB of writes: a first look
    #[arg(long)]
    pub quick: bool,
}

#[derive(Debug, Args)]
pub struct DevicesArguments {
    /// Print one profile's TOML: a start for one's own
    #[arg(long, value_name = "NAME")]
    pub show: Option<String>,
    #[command(flatten)]
    pub answer: AnswerArguments,
}
