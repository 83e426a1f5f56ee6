//! Arguments of `anabranch serve`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anabranch_compare::DriveOptions;
use anabranch_security::{DhGroup, Hash};
use anabranch_ssd::relocate::RelocationKind;
use anabranch_trace::Rate;
use clap::{Args, ValueEnum};

use super::namespaces::NamespaceList;
use crate::rate::one_rate;

/// Shown below the help.
pub const EXAMPLE: &str = "\
Examples: an FDP drive in memory; one with the Streams Directive whose data and age stay
  anabranch serve --device fdp-8ruh --size 4GiB --unit 16MiB
  anabranch serve --device pm963 --size 16GiB --data pm963.img
and, on a machine whose kernel has nvme-tcp:
  nvme connect -t tcp -a 127.0.0.1 -s 4420 -n nqn.2026-01.local.anabranch:fdp-8ruh
A SCSI drive with streams, /dev/sdX of this machine:
  anabranch serve --device pm963 --size 16GiB --scsi drive1
Ctrl-C stops it: connections end, data and state are written, counters are printed.";

/// Directives the drive has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServeMode {
    /// Flexible Data Placement
    Fdp,
    /// The Streams Directive
    Streams,
    /// None: `--scheme` decides for hosts that say nothing
    Plain,
}

/// Whether time is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// Requests take as long as on the profile's flash
    On,
    /// As fast as this machine can
    Off,
}

/// The verb's arguments.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Directives by which hosts place their writes [default: fdp where the profile has it, else streams; with --scsi, streams]
    #[arg(long)]
    pub mode: Option<ServeMode>,
    /// With `--mode plain`: the scheme that assigns streams in the host's place
    #[arg(long, value_name = "SCHEME", default_value = "baseline")]
    pub scheme: String,
    /// With `--mode streams`: where copies go; see `replay --help` for the names
    #[arg(long, value_name = "NAME", default_value = "mixed")]
    pub relocation: RelocationKind,
    /// With `--mode streams`: identifiers mean the same to all hosts
    #[arg(long)]
    pub shared_streams: bool,
    /// Begin with the drive in FILE (`anabranch precondition`) unless there is a state already
    #[arg(long = "drive", value_name = "FILE")]
    pub drive_file: Option<PathBuf>,
    /// The contents: a file, made sparse if it is not there, or `memory`
    #[arg(long, value_name = "FILE", default_value = "memory")]
    pub data: PathBuf,
    /// File of the drive's state [default: beside the data, with `.state`]
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Seconds after which the state is written again, if it has changed
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: u64,
    /// Impose the simulated time of requests on hosts
    #[arg(long, default_value = "off")]
    pub time: Time,
    /// Seed of everything random: the victim rules that draw
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// A SCSI drive of this machine in place of an NVMe one on the network, by the kernel's target (TCMU): its name
    /// there, letters, digits, - and _. Needs root
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = [
            "listen", "advertise", "nqn", "allow_host", "allow_any_host", "host_secret", "tls_key", "shared_streams",
            "namespaces", "max_hosts", "max_queues", "queue_entries", "dhchap_hash", "dhchap_group",
        ]
    )]
    pub scsi: Option<String>,
    /// Address to listen at
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:4420",
        help_heading = "Network"
    )]
    pub listen: SocketAddr,
    /// Answer requests for metrics, http://ADDRESS/metrics, in Prometheus' text
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub metrics: Option<SocketAddr>,
    /// Address of the drive that discovery reports, behind address translation [default: where the host
    /// reached it]
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub advertise: Option<SocketAddr>,
    /// The drive's name [default: nqn.2026-01.local.anabranch:PROFILE]
    #[arg(long, value_name = "NQN", help_heading = "Network")]
    pub nqn: Option<String>,
    /// A host that may connect, and no other but those named; repeat for more
    #[arg(long, value_name = "NQN", help_heading = "Network")]
    pub allow_host: Vec<String>,
    /// Let any host connect, though the address can be reached from elsewhere
    #[arg(long, conflicts_with = "allow_host", help_heading = "Network")]
    pub allow_any_host: bool,
    /// Hosts that may connect, and must authenticate by DH-HMAC-CHAP: a file of lines `NQN SECRET`, secrets as
    /// `nvme gen-dhchap-key` makes them
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "allow_any_host",
        help_heading = "Network"
    )]
    pub host_secret: Option<PathBuf>,
    /// Encrypt by TLS 1.3, and let in hosts alone that have a key: a file of lines `NQN KEY`, keys as
    /// `nvme gen-tls-key` makes them
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "allow_any_host",
        help_heading = "Network"
    )]
    pub tls_key: Option<PathBuf>,
    /// The drive's own secret, by which hosts that ask can tell that it is the right one: a file of that secret
    #[arg(
        long,
        value_name = "FILE",
        requires = "host_secret",
        help_heading = "Network"
    )]
    pub controller_secret: Option<PathBuf>,
    /// The hash that hosts authenticate by: sha256, sha384 or sha512
    #[arg(
        long,
        value_name = "HASH",
        default_value = "sha256",
        help_heading = "Network"
    )]
    pub dhchap_hash: Hash,
    /// The Diffie-Hellman group of it: ffdhe2048, 3072, 4096, 6144, 8192, or null
    #[arg(
        long,
        value_name = "GROUP",
        default_value = "ffdhe2048",
        help_heading = "Network"
    )]
    pub dhchap_group: DhGroup,
    /// Let anyone read the metrics, though their address can be reached from elsewhere
    #[arg(long, requires = "metrics", help_heading = "Network")]
    pub allow_any_reader: bool,
    /// Hosts connected at a time
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Network",
        value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub max_hosts: u16,
    /// I/O queues of a host
    #[arg(long, value_name = "N", default_value_t = 32, help_heading = "Network",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub max_queues: u16,
    /// Entries of a queue
    #[arg(long, value_name = "N", default_value_t = 128, help_heading = "Network",
        value_parser = clap::value_parser!(u16).range(2..=1024))]
    pub queue_entries: u16,
    /// Namespaces of a drive that is new, by their sizes, `rest` being what is left: 2GiB,rest. With FDP
    /// each may list its handles: 2GiB:0-3,rest:4-7. `none` leaves them to hosts [default: one, of all]
    #[arg(long, value_name = "LIST")]
    pub namespaces: Option<NamespaceList>,
    /// Bytes of a logical block, 512 or 4096, until a host formats its namespace
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = block)]
    pub block_bytes: u32,
    /// Schemes that have what hosts write, each on a shadow drive of its own: at the end their WAF is reported beside the
    /// drive's
    #[arg(
        long,
        value_name = "SCHEME",
        conflicts_with = "drive_file",
        help_heading = "Shadow drives"
    )]
    pub shadow: Vec<String>,
    /// One page of N stands for all N on shadow drives, as in `1/64` [default: 1/1]
    #[arg(
        long,
        value_name = "1/N",
        value_parser = one_rate,
        requires = "shadow",
        help_heading = "Shadow drives"
    )]
    pub sample: Option<Rate>,
    /// Samples whose mean is reported, each of other pages; their spread is the error [default: 4]
    #[arg(
        long,
        value_name = "N",
        requires = "sample",
        help_heading = "Shadow drives"
    )]
    pub samples: Option<u32>,
    /// Print the counters as JSON at the end
    #[arg(long)]
    pub json: bool,
    /// Write them as JSON to FILE as well
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub drive: DriveOptions,
}

impl ServeArguments {
    /// The file that contents lie in, unless they lie in memory.
    pub fn data_file(&self) -> Option<&Path> {
        let data = self.data.as_path();
        (data != Path::new("memory")).then_some(data)
    }

    /// The file that the drive's state is kept in, if it is kept.
    pub fn state_file(&self) -> Option<PathBuf> {
        let beside = |data: &Path| {
            let mut name = data.to_owned().into_os_string();
            name.push(".state");
            name.into()
        };
        self.state.clone().or_else(|| self.data_file().map(beside))
    }
}

fn block(text: &str) -> Result<u32, String> {
    match text {
        "512" => Ok(512),
        "4096" => Ok(4096),
        _ => Err("blocks have 512 or 4096 bytes".to_owned()),
    }
}
