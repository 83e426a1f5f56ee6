//! Arguments of `anabranch watch`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anabranch_compare::{DriveOptions, EnduranceOptions, SAMPLES};
use anabranch_trace::Rate;
use clap::Args;

use crate::{duration::duration, generations::GenerationArguments, rate::one_rate};

/// Shown below the help.
pub const EXAMPLE: &str = "\
Examples, as root: would FDP pay here, how much, with which contexts?
  anabranch watch /dev/nvme0n1
  anabranch watch /dev/nvme0n1 /dev/nvme1n1 --unit 1GiB --over-provisioning 7% -o /run/anabranch.json
What the screen tells is told as JSON with -o (a file that is always whole) and --json (a line for each moment).
Drives, partitions, LVM, dm-crypt and md are watched as they are named; of two that lie on each other name one, \
or both tell the same writes.";

/// Schemes where none are named (our choice: an ordinary drive, a drive that is sold, and one with our scheme in its
/// firmware).
const SCHEMES: &str = "baseline+gc,anabranch+fdp,anabranch";

/// The verb's arguments.
#[derive(Debug, Args)]
#[command(mut_arg("size", |size| size.hide(true)))]
pub struct WatchArguments {
    /// The block devices to watch: drives, partitions, LVM or dm-crypt volumes, md arrays
    #[arg(required = true, value_name = "DEVICE")]
    pub devices: Vec<PathBuf>,
    /// Schemes, by the names `anabranch schemes` lists
    #[arg(short = 's', long = "scheme", value_name = "SCHEME", default_value = SCHEMES)]
    pub schemes: Vec<String>,
    /// One page of N stands for all N, as in `1/64` [default: as few as leave an erase unit 256 pages, or as
    /// --memory allows]
    #[arg(long, value_name = "1/N", value_parser = one_rate)]
    pub sample: Option<Rate>,
    /// Samples whose mean is told, each of other pages; their spread is the error
    #[arg(long, value_name = "N", default_value_t = SAMPLES)]
    pub samples: u32,
    /// Seed of everything random: the victim rules that draw, the pages that are sampled
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// End after TIME, as by Ctrl-C: `90s`, `10m`, `2h`
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub lasts: Option<Duration>,
    /// Time between two snapshots
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub every: Duration,
    /// Print each snapshot as a line of JSON
    #[arg(long)]
    pub json: bool,
    /// Write each snapshot as JSON to FILE, which is always whole; - is standard output, as --json
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Answer requests for metrics, http://ADDRESS/metrics, in Prometheus' text; an address of this machine, as
    /// 127.0.0.1:9471
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
    /// Let others than this machine ask for metrics
    #[arg(long, requires = "metrics")]
    pub metrics_public: bool,
    /// Keep what is known in FILE, every five minutes, on SIGHUP and at the end, and go on with it after a restart
    #[arg(long, value_name = "FILE", help_heading = "Kept")]
    pub state: Option<PathBuf>,
    /// Keep traces of all requests in DIR, one after another; SIGHUP ends one and begins the next
    #[arg(long, value_name = "DIR", help_heading = "Kept")]
    pub traces: Option<PathBuf>,
    /// Delete traces that are older: `12h`, `7d`
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "traces", help_heading = "Kept")]
    pub keep: Option<Duration>,
    /// Delete the oldest traces of a device once they are larger than this together
    #[arg(long, value_name = "BYTES", requires = "traces", help_heading = "Kept")]
    pub max: Option<String>,
    /// Share of one processor that watching may take, as in `1%`: more, and shadow drives are sampled more
    /// coarsely
    #[arg(long, value_name = "SHARE", help_heading = "Budget")]
    pub cpu: Option<String>,
    /// Memory that watching may take, the kernel's for its probes included [default: 256MiB, or 128MiB for each
    /// device]
    #[arg(long, value_name = "BYTES", help_heading = "Budget")]
    pub memory: Option<String>,
    #[command(flatten)]
    pub drive: DriveOptions,
    #[command(flatten)]
    pub endurance: EnduranceOptions,
    /// Do not watch for write life-time hints (where the kernel cannot watch `fcntl` alone, this spares every system call a look)
    #[arg(long, help_heading = "Capture")]
    pub no_hints: bool,
    #[command(flatten, next_help_heading = "Capture")]
    pub generations: GenerationArguments,
    /// Kernel memory for events on their way, for each device; lost events mean that it was too small
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "16MiB",
        help_heading = "Capture"
    )]
    pub ring: String,
}
