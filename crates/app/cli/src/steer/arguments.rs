//! Arguments of `anabranch steer`.

use std::{net::SocketAddr, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration};

use anabranch_compare::{EnduranceOptions, share};
use clap::{Args, ValueEnum};

use super::{hints::HintArguments, paired};
use crate::{duration::duration, generations::GenerationArguments, tenants::TenantArguments};

/// Shown below the help.
pub const EXAMPLE: &str = "\
Examples: a block device in front of an FDP drive, and a file system on it
  anabranch steer --device /dev/disk/by-id/nvme-MODEL_SERIAL_1
  block=/dev/disk/by-id/anabranch-MODEL_SERIAL_1
  mkfs.ext4 $block && mount $block /mnt
The second link is udev's; without its rule the block device is /dev/ublkb0. Addresses are the \
drive's own: what is on the drive is on the block device, and stays when it is gone. Unmount, then \
Ctrl-C ends it. After a crash of the command, the same command goes on with the same block device; \
programs wait meanwhile.
Where the file system hands life-time hints on (`anabranch doctor`), each file's hint instead:
  anabranch steer --mount /srv/db --scheme manual:rules=mine.toml --restore";

/// Whether a model of the drive is fed with the same writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shadow {
    /// Up to 64 GiB the whole drive, in some 20 bytes for each page of 4 KiB; four samples of a larger one, in some 100 MiB
    Auto,
    /// The whole drive
    On,
    /// No
    Off,
}

/// The place of what a file system marks as its metadata or journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Metadata {
    /// To the last handle, if there are three or more
    Apart,
    /// As the scheme says: an open unit less on drives of few units, and what a replay promises
    Scheme,
}

/// Collector of units that are mostly dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Collect {
    /// The drive, by its own rule
    Drive,
    /// The host: it writes what lives there anew, where the whole scheme says
    Host,
}

/// Numbers as `0-3,7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handles(pub Vec<u16>);

impl FromStr for Handles {
    type Err = String;

    fn from_str(text: &str) -> Result<Handles, String> {
        let number = |text: &str| text.trim().parse::<u16>().map_err(|_| wrong(text));
        let mut handles = Vec::new();
        for part in text.split(',') {
            let range: RangeInclusive<u16> = match part.split_once('-') {
                Some((first, last)) => number(first)?..=number(last)?,
                None => number(part)?..=number(part)?,
            };
            if range.is_empty() {
                return Err(wrong(part));
            }
            for handle in range {
                if handles.contains(&handle) {
                    return Err(format!("{handle} is named twice"));
                }
                handles.push(handle);
            }
        }
        Ok(Handles(handles))
    }
}

fn wrong(text: &str) -> String {
    format!("`{text}` is neither a number nor a range such as 0-7")
}

/// Spare flash of a drive whose spare nobody told, as a share of its size (our choice).
pub const SPARE: f64 = 0.07;

/// A share of the drive's size, as `--over-provisioning` takes it.
fn spare(text: &str) -> Result<f64, String> {
    share(text).map_err(|error| error.to_string())
}

/// The shortest period of a comparison (our choice): the drive's log is read each second.
const LEAST_PERIOD: Duration = Duration::from_secs(4);

/// The length of a compared period.
fn period(text: &str) -> Result<Duration, String> {
    let period = duration(text)?;
    if period < LEAST_PERIOD {
        return Err(format!(
            "a period is of {} s at least",
            LEAST_PERIOD.as_secs()
        ));
    }
    Ok(period)
}

/// Pairs of periods.
fn pairs(text: &str) -> Result<usize, String> {
    let range = paired::FEWEST..=paired::MOST;
    let pairs = text.parse().ok().filter(|pairs| range.contains(pairs));
    pairs.ok_or_else(|| {
        format!(
            "{text} is no number of pairs from {}, the fewest that tell a difference from chance, to {}",
            paired::FEWEST,
            paired::MOST
        )
    })
}

/// The verb's arguments.
#[derive(Debug, Args)]
pub struct SteerArguments {
    /// The drive: an NVMe namespace with Flexible Data Placement or the Streams Directive
    #[arg(long, value_name = "PATH", required_unless_present = "mount")]
    pub device: Option<PathBuf>,
    #[command(flatten)]
    pub hints: HintArguments,
    /// The scheme whose host half chooses each write's stream (`anabranch schemes`)
    #[arg(long, value_name = "SCHEME", default_value = "anabranch")]
    pub scheme: String,
    /// The drive's handles that the streams go to, in order; of three or more, the last is for
    /// metadata and journals, unless `--metadata` says otherwise [default: all of FDP's; stream identifiers 0-7]
    #[arg(long, value_name = "LIST")]
    pub handles: Option<Handles>,
    /// Place of what the file system marks as its metadata or journal [default: apart; with `--collect host` scheme]
    #[arg(long)]
    pub metadata: Option<Metadata>,
    /// Collector of units that are mostly dead: by `host`, the whole scheme is at work on an FDP drive as sold. Writes of the
    /// host rise by what it writes anew, which a warranty counts; `--spare` has to be told
    #[arg(long, value_name = "WHO", default_value = "drive", requires = "device")]
    pub collect: Collect,
    /// Queues of the block device, a thread each [default: processors, 4 at most]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub queues: Option<u16>,
    /// Requests under way in each queue
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: u16,
    /// Copy data even where the kernel can lend a request's memory
    #[arg(long)]
    pub copy: bool,
    /// Steer a drive that holds something: it is the same on the block device
    #[arg(long)]
    pub yes: bool,
    /// Go on with the block device of a dead server although the drive was written meanwhile, or nothing tells that it was
    /// not: what the block device's page cache and journal hold goes over that
    #[arg(long, requires = "device", conflicts_with = "give_up")]
    pub take_over: bool,
    /// End the block device that `--device` names (/dev/ublkb0) and whose server is dead, when the drive will not come
    /// back: programs that wait for it have I/O errors
    #[arg(long, requires = "device")]
    pub give_up: bool,
    /// Do not watch who writes, which costs instructions: for schemes that go by addresses and age
    #[arg(long, conflicts_with = "tenant")]
    pub unwatched: bool,
    #[command(flatten)]
    pub tenants: TenantArguments,
    #[command(flatten)]
    pub generations: GenerationArguments,
    /// Feed a model of the drive with the same writes, in the scheme's streams and in one
    #[arg(long, default_value = "auto")]
    pub shadow: Shadow,
    /// Models of the drive: taken from FILE at the start if it is there, and kept in it at a clean end
    #[arg(long, value_name = "FILE")]
    pub models: Option<PathBuf>,
    /// Compare by the drive's own log: periods of this length, as 1d, in which the scheme places, beside as many in which
    /// all goes to the first handle, in an order that is drawn; then steer on
    #[arg(long, value_name = "TIME", value_parser = period, requires = "device")]
    pub compare_every: Option<Duration>,
    /// Pairs of such periods
    #[arg(long, value_name = "COUNT", value_parser = pairs, default_value = "8", requires = "compare_every")]
    pub compare_pairs: usize,
    /// The measured pairs: taken from FILE at the start if it is there, and kept in it as soon as each is measured
    #[arg(long, value_name = "FILE", requires = "compare_every")]
    pub compare_file: Option<PathBuf>,
    /// Spare flash that the drive is taken to have, by the scheme and by that model, as a share of its size: drives do
    /// not tell theirs; as `--over-provisioning` of `replay`, 7% or 0.07 [default: 7%, our choice]
    #[arg(long, value_name = "SHARE", value_parser = spare)]
    pub spare: Option<f64>,
    /// Lifetimes of contexts: read at the start if the file is there; what is learned joins it every minute and at
    /// the end
    #[arg(long, value_name = "FILE", alias = "profile")]
    pub lifetimes: Option<PathBuf>,
    /// When the command or a queue of it has been silent for so long, a process beside it kills it: the
    /// block device then waits for the next server
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(5..))]
    pub watchdog: u64,
    /// Answer requests for metrics, http://ADDRESS/metrics, in Prometheus' text, and for the report so far, /report,
    /// which `anabranch top` draws (serial number and tenants are in it); an address of this machine
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
    /// Write the counters to FILE, as JSON
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the counters as a page of pictures to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the counters as JSON
    #[arg(long)]
    pub json: bool,
    // Last: its heading stands over all options that follow.
    #[command(flatten)]
    pub endurance: EnduranceOptions,
}

#[cfg(test)]
impl SteerArguments {
    /// The arguments of a command line, whose first word is the command's.
    pub fn of(words: impl IntoIterator<Item = impl Into<std::ffi::OsString> + Clone>) -> Self {
        #[derive(clap::Parser)]
        struct SteerCommandLine {
            #[command(flatten)]
            steer: SteerArguments,
        }
        <SteerCommandLine as clap::Parser>::parse_from(words).steer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_is_given_as_a_replays_over_provisioning_is() {
        assert_eq!((spare("7%"), spare("0.07")), (Ok(0.07), Ok(0.07)));
        assert_eq!(spare("12.5 %"), Ok(0.125));
        assert!(spare("7").unwrap_err().contains("7%"));
        assert!(spare("-1%").is_err() && spare("nan").is_err());
    }

    #[test]
    fn a_comparison_takes_times_and_enough_pairs() {
        assert_eq!(period("1d"), Ok(Duration::from_secs(86_400)));
        assert!(period("1s").unwrap_err().contains("4 s at least"));
        assert!(period("soon").unwrap_err().contains("90s"));
        assert_eq!((pairs("6"), pairs("64")), (Ok(6), Ok(64)));
        for wrong in ["5", "65", "-1", "many", ""] {
            assert!(pairs(wrong).unwrap_err().contains("from 6"), "{wrong}");
        }
    }

    #[test]
    fn handles_are_numbers_and_ranges_each_once() {
        let read = |text: &str| text.parse::<Handles>().map(|handles| handles.0);
        assert_eq!(read("0-3,7"), Ok(vec![0, 1, 2, 3, 7]));
        assert_eq!(read("5"), Ok(vec![5]));
        assert!(read("3-1").unwrap_err().contains("3-1"));
        assert!(read("0-2,1").unwrap_err().contains("twice"));
        assert!(read("").is_err() && read("a").is_err() && read("0-70000").is_err());
    }
}
