//! Options of a comparison, for every caller: as options of the command (feature `clap`), as keys
//! of a TOML file, as keyword arguments of Python's. What goes together is decided by
//! [`ReplayOptions::validate`] and nowhere else.

use std::{num::NonZeroUsize, path::PathBuf};

use anabranch_ssd::{relocate::RelocationKind, victims::VictimRule, wear::Levelling};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    discards::Discards,
    error::{CompareError, Result},
    sampling::{Sampling, check_count, untimed},
    texts::{number, parsed_list, text, text_list},
};

/// The schemes compared unless others are named: an ordinary drive; host halves on a drive that is sold; schemes in
/// a drive's firmware; and the bound, where the future can be known.
pub const DEFAULT_SCHEMES: &str = "baseline+gc,anabranch+fdp,manual+fdp,hints+fdp,autostream-sfr+fdp,pcstream+fdp,pcstream,anabranch,oracle";

/// The most requests under way, unless an option says otherwise (our choice, a common depth of NVMe benchmarks).
const QUEUE_DEPTH: u32 = 32;

/// The drive options that a saved drive (`--drive`) can take; the others are fixed by it.
const OF_AGED: [&str; 5] = [
    "device",
    "victim",
    "streams",
    "internal_streams",
    "levelling",
];

/// Parses a number of threads, or of other things of which there must be one.
///
/// # Errors
/// When it is no whole number from 1 on.
pub fn from_one(text: &str) -> Result<NonZeroUsize, String> {
    let wrong = |_| format!("{text:?} is no whole number from 1 on");
    text.parse().map_err(wrong)
}

/// The drives of a comparison. Lists multiply into a grid.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Drive"))]
#[serde(default, deny_unknown_fields)]
pub struct DriveOptions {
    /// Device profile: a name `anabranch devices` lists, or a TOML file [default: demo]
    #[serde(rename = "device", deserialize_with = "text_list")]
    #[cfg_attr(
        feature = "clap",
        arg(
            short = 'd',
            long = "device",
            value_name = "PROFILE",
            value_delimiter = ','
        )
    )]
    pub profiles: Vec<String>,
    /// Bytes the host sees [default: the profile's]
    #[serde(deserialize_with = "text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES"))]
    pub size: Option<String>,
    /// Spare flash, as a share of those bytes: `7%` or `0.07`
    #[serde(deserialize_with = "text_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SHARE", value_delimiter = ',')
    )]
    pub over_provisioning: Vec<String>,
    /// Bytes of an erase unit [default: the profile's; smaller where they would be too few]
    #[serde(deserialize_with = "text_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BYTES", value_delimiter = ',')
    )]
    pub unit: Vec<String>,
    /// Victims of garbage collection: greedy, cost-benefit, cost-benefit-root, fifo, random, N-choices,
    /// greedy-per-chip, or scheme: the scheme names them, where it has a rule of its own
    #[serde(deserialize_with = "parsed_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RULE", value_delimiter = ',')
    )]
    pub victim: Vec<VictimRule>,
    /// Streams the host may name, the default one included
    #[serde(deserialize_with = "parsed_list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_delimiter = ','))]
    pub streams: Vec<u16>,
    /// Streams only garbage collection writes
    #[serde(deserialize_with = "parsed_list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_delimiter = ','))]
    pub internal_streams: Vec<u16>,
    /// Spread of erases over units: none, dynamic or static
    #[serde(deserialize_with = "parsed_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RULE", value_delimiter = ',')
    )]
    pub levelling: Vec<Levelling>,
    /// Erases a unit is rated for, to reckon how much the host can write before they are used up
    #[serde(deserialize_with = "number")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub rated_erases: Option<u32>,
    /// Faults to inject: `program=N` (one failure in N pages), `erase=N` (one in N erases),
    /// `factory=N` (units bad from the beginning), `worn` (units fail at their rated erases)
    #[serde(deserialize_with = "text_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "FAULT", value_delimiter = ',')
    )]
    pub fault: Vec<String>,
}

impl DriveOptions {
    /// The options that are given, by their keys in a file.
    fn given(&self) -> Map<String, Value> {
        let mut given = match serde_json::to_value(self) {
            Ok(Value::Object(all)) => all,
            _ => Map::new(),
        };
        given.retain(|_, value| !value.is_null() && value != &Value::Array(Vec::new()));
        given
    }

    /// Number of drives that the lists multiply to.
    pub fn drives(&self) -> u128 {
        let lists = [
            self.profiles.len(),
            self.over_provisioning.len(),
            self.unit.len(),
            self.victim.len(),
            self.streams.len(),
            self.internal_streams.len(),
            self.levelling.len(),
        ];
        let lists = lists.iter().map(|list| (*list).max(1) as u128);
        lists.fold(1, u128::saturating_mul)
    }

    /// Refuses options that a saved drive (`--drive`) cannot take.
    ///
    /// # Errors
    /// When such an option is given.
    pub fn check_aged(&self) -> Result {
        let given = self.given();
        let wrong = given.keys().find(|key| !OF_AGED.contains(&key.as_str()));
        match wrong {
            Some(key) => Err(CompareError::wrong_use(format!(
                "--drive begins with a drive as it is, and --{} is of one that is made: leave one out",
                key.replace('_', "-")
            ))),
            None if self.profiles.len() > 1 => {
                Err(CompareError::wrong_use("--drive goes with one --device"))
            }
            None => Ok(()),
        }
    }
}

/// Schemes, and options of their run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Comparison"))]
#[serde(default, deny_unknown_fields)]
pub struct ComparisonOptions {
    /// Schemes, by the names `anabranch schemes` lists, or `all`
    #[serde(deserialize_with = "text_list")]
    #[cfg_attr(
        feature = "clap",
        arg(short = 's', long = "scheme", value_name = "SCHEME", default_value = DEFAULT_SCHEMES)
    )]
    pub schemes: Vec<String>,
    /// Give each scheme's host half each of these device halves: mixed, gc, per-stream, substream,
    /// substream-shared, substream-ranked, substream-ranked-shared, age-chain, age, forget, fdp
    #[serde(deserialize_with = "parsed_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NAME", value_delimiter = ',')
    )]
    pub relocation: Vec<RelocationKind>,
    /// Lifetimes of program contexts, kept from run to run: read if FILE is there, written at the
    /// end. Contexts it knows have their streams from their first write
    #[serde(rename = "profile", alias = "lifetimes")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", alias = "profile"))]
    pub lifetimes: Option<PathBuf>,
    /// Keep in the result what a page shows beyond the figures: maps of the drives, lifetimes,
    /// contexts. Costs 8 bytes of memory a page of the drive for each scheme
    #[cfg_attr(feature = "clap", arg(long))]
    pub details: bool,
    /// Sample the drive: one page of N stands for all N, for an Nth of memory and time, as in `1/64`. `replay`
    /// alone takes `auto` as well: the coarsest rate whose error bars stay below 2 % of the WAF
    #[serde(deserialize_with = "number")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "1/N"))]
    pub sample: Option<Sampling>,
    /// Samples whose mean is told, each of other pages; their spread is the error bar [default: 4]
    #[serde(deserialize_with = "number")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub samples: Option<u32>,
    /// Seed of everything random: the victim rules that draw, the pages that are sampled
    #[cfg_attr(feature = "clap", arg(long, default_value_t = 0))]
    pub seed: u64,
    /// Threads to replay on [default: one for each core]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", value_parser = from_one)
    )]
    pub threads: Option<NonZeroUsize>,
}

impl ComparisonOptions {
    /// Whether no other schemes are named, so that all that an answer needs is compared.
    pub(crate) fn is_default(&self) -> bool {
        self.schemes == [DEFAULT_SCHEMES] && self.relocation.is_empty()
    }
}

impl Default for ComparisonOptions {
    fn default() -> ComparisonOptions {
        ComparisonOptions {
            schemes: vec![DEFAULT_SCHEMES.to_owned()],
            relocation: Vec::new(),
            lifetimes: None,
            details: false,
            sample: None,
            samples: None,
            seed: 0,
            threads: None,
        }
    }
}

/// When requests are issued to a drive that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum IssueKind {
    /// As fast as the drive answers, `--queue-depth` at a time: throughput
    Closed,
    /// When the trace says: latency
    Open,
}

/// Simulated time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Time"))]
#[serde(default, deny_unknown_fields)]
pub struct TimeOptions {
    /// Simulate the time that requests take on the drive's flash
    #[cfg_attr(feature = "clap", arg(long = "time", value_name = "ISSUE"))]
    pub issue: Option<IssueKind>,
    /// Requests under way at most [default: 32]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub queue_depth: Option<u32>,
    /// With `--time open`: stretch the trace's times by this; 0.5 is twice as fast [default: 1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FACTOR"))]
    pub time_scale: Option<f64>,
    /// With `--time open`: collect garbage once the drive has been idle for so many milliseconds
    #[serde(rename = "collect_after_idle_ms")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MS"))]
    pub collect_after_idle: Option<u64>,
}

impl TimeOptions {
    /// The most requests under way: the option's value, or the default.
    pub fn queue_depth(&self) -> u32 {
        self.queue_depth.unwrap_or(QUEUE_DEPTH)
    }

    /// The factor that times between requests are multiplied by.
    pub fn time_scale(&self) -> f64 {
        self.time_scale.unwrap_or(1.0)
    }

    fn validate(&self) -> Result {
        let of_open = [
            ("--time-scale", self.time_scale.is_some()),
            ("--collect-after-idle", self.collect_after_idle.is_some()),
        ];
        if let Some((option, _)) = of_open.into_iter().find(|(_, given)| *given)
            && self.issue != Some(IssueKind::Open)
        {
            return Err(CompareError::wrong_use(format!(
                "{option} is of requests that come when the trace says: it goes with --time open"
            )));
        }
        if self.queue_depth.is_some() && self.issue.is_none() {
            return Err(CompareError::wrong_use(
                "--queue-depth is of a drive that takes time: it goes with --time",
            ));
        }
        if self.queue_depth == Some(0) {
            return Err(CompareError::wrong_use(
                "--queue-depth 0: at least one request is under way",
            ));
        }
        if self
            .time_scale
            .is_some_and(|scale| !(scale > 0.0 && scale.is_finite()))
        {
            return Err(CompareError::wrong_use(format!(
                "--time-scale {}: give a factor above 0, as 0.5",
                self.time_scale()
            )));
        }
        Ok(())
    }
}

/// The endurance of a drive, and what is asked of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Endurance"))]
#[serde(default, deny_unknown_fields)]
pub struct EnduranceOptions {
    /// Bytes that the host may write by the drive's data sheet (its TBW), as in `7000TB`: years are reckoned with it
    #[serde(deserialize_with = "text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES"))]
    pub tbw: Option<String>,
    /// Bytes that the host writes a day [default: as measured by the trace's clock, or since the start]
    #[serde(deserialize_with = "text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES"))]
    pub writes_per_day: Option<String>,
    /// Years that the drive is to stand: tells the drive writes a day (DWPD) for them
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub years: Option<f64>,
    /// Price of the drive: tells that of a year
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub price: Option<f64>,
}

/// A replay.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct ReplayOptions {
    /// The drives.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub drive: DriveOptions,
    /// The schemes.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub comparison: ComparisonOptions,
    /// Renumber the addresses densely and size the drive so that the pages ever written fill
    /// this share of it: `0.9` or `90%` [default: 90% for a trace that does not tell its device's
    /// size, unless --size is given, or a --device that it fills]
    #[serde(deserialize_with = "text_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SHARE", value_delimiter = ',')
    )]
    pub fill: Vec<String>,
    /// With `--fill`: count the pages that ever held data at one time, not all that ever did, and
    /// hand out page numbers anew, the lowest free one, so that the drive really is so full
    #[cfg_attr(feature = "clap", arg(long))]
    pub pack: bool,
    /// When discards reach the drive: `now`, as the trace makes them; `daily`, as `fstrim.timer` can; `every=BYTES`
    /// written; or `never` [default: now]
    #[serde(deserialize_with = "number")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHEN"))]
    pub discards: Option<Discards>,
    /// The same as `--discards never`: a host without TRIM
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_discards: bool,
    /// Begin with the drive in FILE (`anabranch precondition`), as it is but for its streams,
    /// victims and levelling; `--device` then only tells its timing
    #[cfg_attr(feature = "clap", arg(long = "drive", value_name = "FILE"))]
    pub drive_file: Option<PathBuf>,
    /// Stop after the first GiB of writes: a first look
    #[cfg_attr(feature = "clap", arg(long))]
    pub quick: bool,
    // Last: their headings stand over all options that follow.
    /// Their time.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub time: TimeOptions,
    /// The drive's endurance.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub endurance: EnduranceOptions,
}

/// Options with different names on the command line and in a file: the command's name, the part of the file, and the
/// key in it.
const CALLED: [(&str, &str, &str); 4] = [
    ("drive", "", "drive_file"),
    ("time", "time", "issue"),
    ("collect-after-idle", "time", "collect_after_idle_ms"),
    ("scheme", "comparison", "schemes"),
];

impl ReplayOptions {
    /// The options made from names as on the command line (`no-discards`), each with its value as in a file.
    ///
    /// # Errors
    /// When there is no such option, or a value is of the wrong kind.
    pub fn named(options: impl IntoIterator<Item = (String, Value)>) -> Result<ReplayOptions> {
        let mut all = Map::new();
        for (name, value) in options {
            let (part, key) = ReplayOptions::place(&name)
                .ok_or_else(|| CompareError::wrong_use(format!("replay has no option --{name}")))?;
            match part {
                "" => drop(all.insert(key, value)),
                part => {
                    let keys = all.entry(part).or_insert_with(|| Map::new().into());
                    keys[key] = value;
                }
            }
        }
        serde_json::from_value(all.into()).map_err(CompareError::usage)
    }

    /// Whether there is an option of that name.
    pub fn has(name: &str) -> bool {
        ReplayOptions::place(name).is_some()
    }

    /// The part that an option is in, and its key there.
    fn place(name: &str) -> Option<(&'static str, String)> {
        if let Some((_, part, key)) = CALLED.iter().find(|(called, _, _)| *called == name) {
            return Some((part, (*key).to_owned()));
        }
        let key = name.replace('-', "_");
        if CALLED.iter().any(|(_, _, known)| *known == key) {
            return None;
        }
        let all = serde_json::to_value(ReplayOptions::default()).ok()?;
        let is_there = |part: &&str| all[*part].get(&key).is_some();
        let part = ["drive", "comparison", "time", "endurance"]
            .into_iter()
            .find(is_there);
        let alone = all.get(&key).filter(|value| !value.is_object());
        part.or(alone.map(|_| "")).map(|part| (part, key))
    }

    /// When discards reach the drive.
    pub fn discards(&self) -> Discards {
        if self.no_discards {
            Discards::Never
        } else {
            self.discards.unwrap_or_default()
        }
    }

    /// Refuses options that a sampled drive does not support.
    fn validate_sampling(&self) -> Result {
        let comparison = &self.comparison;
        check_count(comparison.samples)?;
        if comparison.sample.is_none() {
            return match comparison.samples {
                None => Ok(()),
                Some(_) => Err(CompareError::wrong_use(
                    "--samples says how many samples tell the error: it goes with --sample, as in --sample 1/64",
                )),
            };
        }
        if self.time.issue.is_some() {
            return Err(untimed());
        }
        if self.drive_file.is_some() {
            return Err(CompareError::wrong_use(
                "--drive begins with a drive as it is, all its pages, and --sample leaves most out: leave one out",
            ));
        }
        Ok(())
    }

    /// Refuses options that do not go together, for a number of traces.
    ///
    /// # Errors
    /// Wrong use when options contradict each other; the message names them, and says what to do.
    pub fn validate(&self, traces: usize) -> Result {
        if self.drive_file.is_some() {
            self.drive.check_aged()?;
            if !self.fill.is_empty() {
                return Err(CompareError::wrong_use(
                    "--drive begins with a drive as it is, and --fill makes one of the trace's size: \
                     leave one out",
                ));
            }
        }
        if !self.fill.is_empty() && self.drive.size.is_some() {
            return Err(CompareError::wrong_use(
                "--fill makes the drive as large as the trace fills it, and --size says how large it \
                 is: leave one out",
            ));
        }
        if self.pack && self.fill.is_empty() {
            return Err(CompareError::wrong_use(
                "--pack hands out page numbers for a drive that is to be full: it goes with --fill, \
                 as in --fill 90% --pack",
            ));
        }
        if self.no_discards && self.discards.is_some_and(|when| when != Discards::Never) {
            return Err(CompareError::wrong_use(
                "--no-discards is --discards never, and --discards says otherwise: leave one out",
            ));
        }
        self.validate_sampling()?;
        let several = traces > 1 || self.fill.len() > 1 || self.drive.drives() > 1;
        if several && self.comparison.lifetimes.is_some() {
            return Err(CompareError::wrong_use(
                "--lifetimes is of one trace on one drive: leave out what multiplies them",
            ));
        }
        self.time.validate()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(options: Value) -> Result<ReplayOptions> {
        match options {
            Value::Object(options) => ReplayOptions::named(options),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn options_are_found_by_the_names_of_the_command_line() {
        let found = named(json!({
            "unit": "24MiB", "fill": 0.9, "no-discards": true, "time": "closed", "queue-depth": 4,
            "collect-after-idle": 5, "scheme": ["baseline"], "drive": "aged.drive", "seed": 3,
        }));
        let found = found.unwrap();
        assert_eq!(found.drive.unit, ["24MiB"]);
        assert_eq!(found.fill, ["0.9"]);
        assert!(found.no_discards && !found.pack);
        assert_eq!(found.time.issue, Some(IssueKind::Closed));
        assert_eq!(found.time.queue_depth, Some(4));
        assert_eq!(found.time.collect_after_idle, Some(5));
        assert_eq!(found.comparison.schemes, ["baseline"]);
        assert_eq!(found.comparison.seed, 3);
        assert_eq!(found.drive_file, Some("aged.drive".into()));
        for unknown in ["units", "schemes", "comparison", "json", "drive-file"] {
            assert!(!ReplayOptions::has(unknown), "{unknown}");
            assert!(named(json!({ unknown: 1 })).is_err(), "{unknown}");
        }
    }
}
