//! The result of a comparison, from which tables, JSON and pages are made.

use std::collections::BTreeMap;

use anabranch_placement::RuleUse;
use anabranch_ssd::{Config, time::TimeReport, victims::VictimRule, wear::WearReport};
use anabranch_trace::{Io, Operation, WriteHint};
use serde::{Deserialize, Serialize};

use crate::{
    collected::CollectedBytes,
    details::{Details, SchemeDetails},
    endurance::Endurance,
    lane::Lane,
    sampled::{SampledDrive, SampledWaf},
    steady::{Band, Steady, verdict},
    verdict::{DriveKind, ORDINARY, OtherVictims, Verdict},
    ways::OtherWays,
};

/// Version of the result's form. Fields are added; the number rises where one changes its meaning or its name. 2: figures
/// are against an ordinary drive, `baseline+gc`, over the last capacity of writes (1: against `baseline`, over the whole
/// run). 3: bytes in whole pages are called `host_page_bytes` (before: `host_bytes`, as what hosts asked for is elsewhere).
pub const SCHEMA: u32 = 3;

/// The result of a run or a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of the form: [`SCHEMA`].
    pub schema: u32,
    /// Everything that decided the result, resolved: command, options, scheme parameters.
    pub config: BTreeMap<String, serde_json::Value>,
    /// Seed of everything random.
    pub seed: u64,
    /// The requests that the schemes were fed with.
    pub source: Source,
    /// The drive every scheme had.
    pub device: Drive,
    /// Sampling of the drive, if it was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledDrive>,
    /// Whether every scheme's WAF had settled.
    pub steady: bool,
    /// The reason why not, as a sentence; empty when it had settled.
    pub steady_reason: String,
    /// The schemes, in the order asked for.
    pub schemes: Vec<SchemeResult>,
    /// The figures of a drive that is sold with other victims of garbage collection, where they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_victims: Option<OtherVictims>,
    /// The figures of an ordinary drive that is changed in other ways than by streams, where they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_ways: Option<OtherWays>,
    /// The known endurance of the drive, and its use; absent where none is known or nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<Endurance>,
    /// The same requests on a drive that they fill, where this one was not: then the verdict is of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled: Option<Box<Comparison>>,
    /// The answer in sentences; results of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The writers and the lifetimes of their data, where details were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// Bytes of whole pages for each that was asked for, from which on they are worth a word (our choice).
pub const WIDENED: f64 = 1.05;

/// The requests of a trace or a live run, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Source {
    /// Number of requests of all operations.
    pub records: u64,
    /// Bytes asked to be written, before they are widened to pages.
    pub write_bytes: u64,
    /// Bytes written in whole pages: what the schemes' WAF is measured against.
    pub host_page_bytes: u64,
    /// Bytes asked to be discarded, most of which a file system never wrote.
    pub discarded_bytes: u64,
    /// Bytes asked to be read.
    pub read_bytes: u64,
    /// Flushes that the host asked for.
    pub flushes: u64,
    /// Events the kernel could not hand over: anything but 0 makes host bytes a lower bound, and
    /// copies too low (for lost writes) or too high (for lost discards).
    pub lost_events: u64,
    /// Bytes written to files the application had given a write life-time hint.
    #[serde(default)]
    pub hinted_bytes: u64,
    /// The part of `hinted_bytes` whose hint the kernel had refused.
    #[serde(default)]
    pub refused_hint_bytes: u64,
    /// Host bytes over the drive's logical bytes.
    pub capacities_written: f64,
    /// Time of the first request, in nanoseconds since the capture began.
    #[serde(default)]
    pub first_ns: u64,
    /// Time of the latest request; that of the first where the trace has no clock.
    #[serde(default)]
    pub last_ns: u64,
}

impl Source {
    /// Time from the first request to the latest, in nanoseconds; 0 where the trace has no clock.
    pub fn lasted_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// The same time in seconds.
    pub fn lasted_s(&self) -> f64 {
        self.lasted_ns() as f64 / 1e9
    }

    /// Bytes of whole pages for each byte that writes asked for, 1 or more. A sampled drive tells nothing of it, since its
    /// pages are larger than those of the drive it stands for: 1.
    pub fn page_rounding(&self, is_sampled: bool) -> f64 {
        if is_sampled {
            return 1.0;
        }
        (self.host_page_bytes as f64 / self.write_bytes.max(1) as f64).max(1.0)
    }

    /// Counts one request.
    #[inline]
    pub fn count(&mut self, io: &Io) {
        if self.records == 0 {
            self.first_ns = io.time_ns;
        }
        self.last_ns = self.last_ns.max(io.time_ns);
        self.records += 1;
        match io.operation {
            Operation::Write => self.count_write(io),
            Operation::Discard => self.discarded_bytes += io.length_bytes,
            Operation::Read => self.read_bytes += io.length_bytes,
            Operation::Flush => self.flushes += 1,
        }
    }

    #[inline]
    fn count_write(&mut self, io: &Io) {
        self.write_bytes += io.length_bytes;
        if io.hint > WriteHint::None {
            self.hinted_bytes += io.length_bytes;
            if !io.hint_granted {
                self.refused_hint_bytes += io.length_bytes;
            }
        }
    }
}

/// The drive of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// The profile it was made from.
    pub profile: String,
    /// Bytes the host sees.
    pub logical_bytes: u64,
    /// Bytes of flash, open and reserved units included: the same for every scheme.
    pub physical_bytes: u64,
    /// Bytes of an erase unit.
    pub unit_bytes: u64,
    /// Bytes of a page of the mapping.
    pub page_bytes: u32,
    /// Erase units.
    pub physical_units: u32,
    /// The rule by which garbage collection chooses the closed unit to empty next.
    #[serde(default)]
    pub victim_rule: VictimRule,
    /// Streams the host may name.
    pub host_streams: u16,
    /// Streams only garbage collection writes.
    pub internal_streams: u16,
    /// The drive that it stands for, where it is scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<WholeDrive>,
}

/// The drive that a scaled one stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeDrive {
    /// Bytes the host sees.
    pub logical_bytes: u64,
    /// Bytes of an erase unit.
    pub unit_bytes: u64,
}

impl Drive {
    /// The drive of a resolved configuration.
    pub fn new(profile: &str, config: &Config) -> Drive {
        Drive {
            profile: profile.to_owned(),
            logical_bytes: config.logical_bytes(),
            physical_bytes: config.physical_bytes(),
            unit_bytes: config.unit_bytes(),
            page_bytes: config.page_bytes,
            physical_units: config.physical_units,
            victim_rule: config.victim_rule,
            host_streams: config.host_streams,
            internal_streams: config.internal_streams,
            scaled: None,
        }
    }

    /// The scale of the drive in a sentence; empty where it is not scaled.
    pub fn scale(&self) -> String {
        let Some(whole) = self.scaled else {
            return String::new();
        };
        let times = whole.logical_bytes as f64 / self.logical_bytes.max(1) as f64;
        format!(
            "The drive is {} at 1/{times:.0} of its size: an erase unit of {} stands for one of {}.",
            self.profile,
            rounded(self.unit_bytes),
            rounded(whole.unit_bytes)
        )
    }
}

/// Bytes in the binary unit that suits them, to three digits.
pub(crate) fn rounded(bytes: u64) -> String {
    let units = [
        (50, "PiB"),
        (40, "TiB"),
        (30, "GiB"),
        (20, "MiB"),
        (10, "KiB"),
    ];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    let (shift, name) = unit.unwrap_or((0, "bytes"));
    let number = bytes as f64 / (1_u64 << shift) as f64;
    let digits = if number < 10.0 { 1 } else { 0 };
    format!("{number:.digits$} {name}")
}

/// The result of one scheme.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchemeResult {
    /// The scheme's full name.
    pub name: String,
    /// Whether the scheme knows the future, which no drive can, and so bounds what others can reach.
    #[serde(default)]
    pub is_bound: bool,
    /// Placement of the copies of garbage collection: a relocation's name (`mixed` is the way of an ordinary drive), or
    /// `own` where the scheme itself does. Absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_half: Option<String>,
    /// Whether the scheme goes by the application's life-time hints.
    #[serde(default)]
    pub goes_by_hints: bool,
    /// The scheme's parameters, resolved.
    pub parameters: BTreeMap<String, String>,
    /// Streams that hold or held data, host and internal.
    pub streams_used: u32,
    /// Bytes that the host wrote, in whole pages.
    pub host_page_bytes: u64,
    /// Bytes programmed into the flash: the host's and the copies.
    pub media_bytes: u64,
    /// Bytes garbage collection copied; where the host collects, with its rewrites.
    pub copied_bytes: u64,
    /// The host's rewrites and the drive's own copies, where the host collects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected: Option<CollectedBytes>,
    /// Bytes of all erase units that were erased.
    pub erased_bytes: u64,
    /// Erase units erased.
    pub erased_units: u64,
    /// Erase units closed before they were full, because streams held all the room.
    pub sealed_units: u64,
    /// Copied bytes that joined another stream than the one meant for them, because it had no room.
    #[serde(default)]
    pub redirected_bytes: u64,
    /// Copied bytes that wear levelling moved.
    #[serde(default)]
    pub levelled_bytes: u64,
    /// Program operations that failed.
    #[serde(default)]
    pub failed_programs: u64,
    /// Erases that failed, after which the unit was retired.
    #[serde(default)]
    pub failed_erases: u64,
    /// Erase units taken out of service, those bad from the factory included.
    #[serde(default)]
    pub retired_units: u64,
    /// Whether the drive ended read-only, its spare units used up; `host_page_bytes` is then what the
    /// host had written by that time.
    #[serde(default)]
    pub read_only: bool,
    /// Mapped bytes the host discarded.
    pub discarded_bytes: u64,
    /// Bytes that held data at the end.
    pub mapped_bytes: u64,
    /// The most bytes that ever held data.
    #[serde(default)]
    pub peak_mapped_bytes: u64,
    /// Write amplification of the whole run; null before the first write.
    pub waf: Option<f64>,
    /// The WAF of each sample and its error, where the drive is sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledWaf>,
    /// Write amplification of the last window, one capacity of host writes.
    pub waf_window: Option<f64>,
    /// Write amplification of the second half of the host's writes.
    pub waf_second_half: Option<f64>,
    /// WAF of the ordinary drive over that of this scheme, over the last capacity of writes: how many times as long the
    /// flash lasts. Null where `baseline+gc` was not compared.
    pub lifetime_vs_ordinary: Option<f64>,
    /// Shares of the copies between the ordinary drive and each bound compared that this scheme saves, over the whole
    /// run: 1 is as good as the bound, 0 as `baseline+gc`. Empty where `baseline+gc` or bounds are missing.
    #[serde(default)]
    pub gap_closed: BTreeMap<String, f64>,
    /// Whether the WAF had settled.
    pub steady: bool,
    /// The reason why not, as a sentence; empty when it had settled.
    #[serde(default)]
    pub steady_reason: String,
    /// The lowest and the highest WAF of the windows that were judged, if they agree.
    #[serde(default)]
    pub steady_band: Option<Band>,
    /// Memory the host half of the scheme held at the end; where the host collects, with its model and its rehearsal.
    pub memory_bytes: u64,
    /// The use made of its rules, for a scheme that goes by rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleUse>,
    /// Wear of the units, and the bytes that the host can write before their rated erases are
    /// used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearReport>,
    /// Times and latencies, where time was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeReport>,
    /// The scheme's streams.
    pub streams: Vec<StreamResult>,
    /// Host and media bytes over the run.
    pub series: Vec<Point>,
    /// The state of its drive during the run, where details were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<SchemeDetails>,
}

/// The result of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    /// The stream's number.
    pub id: u16,
    /// Whether only garbage collection writes it.
    pub internal: bool,
    /// Bytes that the host wrote to it, in whole pages.
    pub host_page_bytes: u64,
    /// Bytes garbage collection copied into it.
    pub copied_bytes: u64,
    /// Bytes programmed for it, written and copied.
    pub media_bytes: u64,
    /// Bytes erased in its units.
    pub erased_bytes: u64,
}

/// One point of a scheme's curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Bytes the host had written.
    pub host_page_bytes: u64,
    /// Bytes that had been programmed into the flash.
    pub media_bytes: u64,
}

impl SchemeResult {
    /// The result of a lane that is done.
    pub fn new(name: &str, parameters: BTreeMap<String, String>, lane: &Lane) -> SchemeResult {
        let config = lane.engine().config();
        let now = lane.counters();
        let page = u64::from(config.page_bytes);
        let since = |host_pages: u64| now.since(&lane.series().near(host_pages)).waf();
        let logical = u64::from(config.logical_pages);
        let streams = streams(lane);
        let (steady_band, steady_reason) = match verdict(lane.series(), now, logical) {
            Steady::Yes(band) => (Some(band), String::new()),
            Steady::No(words) => (None, words),
        };
        SchemeResult {
            name: name.to_owned(),
            is_bound: false,
            drive_half: None,
            goes_by_hints: false,
            parameters,
            streams_used: streams.len() as u32,
            host_page_bytes: now.host_pages * page,
            media_bytes: now.media_pages() * page,
            copied_bytes: now.copied_pages * page,
            collected: lane.engine().collected(),
            erased_bytes: now.erased_units * config.unit_bytes(),
            erased_units: now.erased_units,
            sealed_units: now.sealed_units,
            redirected_bytes: now.redirected_pages * page,
            levelled_bytes: now.levelled_pages * page,
            failed_programs: now.failed_programs,
            failed_erases: now.failed_erases,
            retired_units: now.retired_units,
            read_only: lane.engine().is_read_only(),
            discarded_bytes: now.discarded_pages * page,
            mapped_bytes: lane.engine().mapped_pages() * page,
            peak_mapped_bytes: lane.peak_mapped_pages() * page,
            waf: now.waf(),
            sampled: None,
            waf_window: since(now.host_pages.saturating_sub(logical)),
            waf_second_half: since(now.host_pages / 2),
            lifetime_vs_ordinary: None,
            gap_closed: BTreeMap::new(),
            steady: steady_band.is_some(),
            steady_reason,
            steady_band,
            memory_bytes: lane.memory_bytes(),
            rules: lane.assign().rule_use(),
            wear: Some(lane.engine().wear()),
            time: lane.engine().report(),
            streams,
            series: series(lane, page),
            details: lane.details(),
        }
    }
}

fn streams(lane: &Lane) -> Vec<StreamResult> {
    let config = lane.engine().config();
    let page = u64::from(config.page_bytes);
    (0..)
        .zip(lane.engine().stream_counters())
        .filter(|(_, counters)| counters.host_pages + counters.copied_pages > 0)
        .map(|(id, counters)| StreamResult {
            id,
            internal: id >= config.host_streams,
            host_page_bytes: counters.host_pages * page,
            copied_bytes: counters.copied_pages * page,
            media_bytes: (counters.host_pages + counters.copied_pages) * page,
            erased_bytes: counters.erased_units * config.unit_bytes(),
        })
        .collect()
}

fn series(lane: &Lane, page: u64) -> Vec<Point> {
    let mut points = lane.series().points().to_vec();
    if points.last() != Some(lane.counters()) {
        points.push(*lane.counters());
    }
    let point = |counters: &anabranch_ssd::Counters| Point {
        host_page_bytes: counters.host_pages * page,
        media_bytes: counters.media_pages() * page,
    };
    points.iter().map(point).collect()
}

/// The result of a comparison of `lanes`, which are (name, parameters, lane).
pub fn outcome(
    config: BTreeMap<String, serde_json::Value>,
    seed: u64,
    source: Source,
    drive: Drive,
    lanes: &[(String, BTreeMap<String, String>, Lane)],
) -> Comparison {
    let schemes: Vec<SchemeResult> = lanes
        .iter()
        .map(|(name, parameters, lane)| SchemeResult::new(name, parameters.clone(), lane))
        .collect();
    let unsteady = schemes
        .iter()
        .find(|scheme| !scheme.steady)
        .map(|scheme| format!("{}: {}", scheme.name, scheme.steady_reason));
    let mut outcome = Comparison {
        schema: SCHEMA,
        config,
        seed,
        source,
        device: drive,
        sampled: None,
        steady: unsteady.is_none(),
        steady_reason: unsteady.unwrap_or_default(),
        schemes,
        other_victims: None,
        other_ways: None,
        endurance: None,
        filled: None,
        verdict: None,
        details: None,
    };
    outcome.compare_schemes();
    outcome
}

impl Comparison {
    /// Computes the figures that compare schemes with each other, from the results of each.
    pub fn compare_schemes(&mut self) {
        let most = self
            .schemes
            .iter()
            .map(|scheme| scheme.host_page_bytes)
            .max();
        self.source.host_page_bytes = most.unwrap_or(0);
        let logical = self.device.logical_bytes.max(1);
        self.source.capacities_written = self.source.host_page_bytes as f64 / logical as f64;
        let ordinary = self.ordinary().and_then(|scheme| scheme.waf_window);
        for scheme in &mut self.schemes {
            scheme.lifetime_vs_ordinary = ordinary
                .zip(scheme.waf_window)
                .map(|(ordinary, own)| ordinary / own);
        }
    }

    /// The result of the ordinary drive, with which the others are compared.
    pub fn ordinary(&self) -> Option<&SchemeResult> {
        self.schemes.iter().find(|scheme| scheme.name == ORDINARY)
    }

    /// The comparison that answers: that on a drive the requests fill, where there is one.
    pub fn answering(&self) -> &Comparison {
        self.filled.as_deref().unwrap_or(self)
    }
}

impl SchemeResult {
    /// The kind of drive that the scheme needs.
    pub fn kind(&self) -> DriveKind {
        DriveKind::of_halves(&self.name, self.drive_half.as_deref(), self.is_bound)
    }
}
