//! Arguments of `anabranch waf`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;

use crate::{duration::duration, table_layout::TableArguments};

/// Shown below the help.
pub const EXAMPLE: &str = "\
Examples, the first three as root:
  anabranch waf /dev/nvme0n1
  anabranch waf /dev/nvme0n1 /dev/nvme1n1 --every 10s
  anabranch waf /dev/nvme0n1 --metrics 127.0.0.1:9472
A SATA drive, by smartctl; and files of one drive, joined by commas:
  smartctl -x -j /dev/sda > sda.json; anabranch waf sda.json
  anabranch waf smart-log.json,ocp-smart-add-log.json
In the time since an earlier reading:
  anabranch waf /dev/nvme0n1 -o monday.json; anabranch waf /dev/nvme0n1 --since monday.json
It only reads logs. docs/waf.md has the table of drives, and what their counters do not tell.";

/// The verb's arguments.
#[derive(Debug, Args)]
pub struct WafArguments {
    /// Drives: NVMe namespaces, or files with the JSON of `nvme` or `smartctl`, those of one drive joined by commas
    #[arg(required = true, value_name = "DEVICE")]
    pub drives: Vec<String>,
    /// Read again each TIME, `10s` or `1h`: figures of the time between are shown as well
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub every: Option<Duration>,
    /// End after TIME, as by Ctrl-C: `90s`, `10m`, `2h`
    #[arg(long = "for", value_name = "TIME", value_parser = duration, requires = "every")]
    pub lasts: Option<Duration>,
    /// Show the figures since an earlier reading as well, which -o wrote to FILE
    #[arg(long, value_name = "FILE")]
    pub since: Option<PathBuf>,
    /// Print as JSON; with --every a line for each reading
    #[arg(long)]
    pub json: bool,
    /// Write the last reading as JSON to FILE as well, which is always whole; - is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Answer requests for metrics, http://ADDRESS/metrics, in Prometheus' text; an address of this machine, as
    /// 127.0.0.1:9472. Drives are read each minute, or as --every says
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
    /// Let others than this machine ask for metrics
    #[arg(long, requires = "metrics")]
    pub metrics_public: bool,
    #[command(flatten)]
    pub tables: TableArguments,
}

impl WafArguments {
    /// The files that are named, devices among them.
    pub fn inputs(&self) -> impl Iterator<Item = PathBuf> {
        let named = self.drives.iter().flat_map(|words| parts(words));
        named.chain(self.since.clone())
    }
}

/// The files of one drive. A comma may also belong to the name of a file that is there.
pub fn parts(words: &str) -> Vec<PathBuf> {
    let whole = PathBuf::from(words);
    if whole.exists() {
        vec![whole]
    } else {
        words.split(',').map(PathBuf::from).collect()
    }
}
