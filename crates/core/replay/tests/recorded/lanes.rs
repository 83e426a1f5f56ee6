//! Schemes on drives: every scheme, with and without time, on new, aged and sampled drives, and what becomes of it in a
//! result.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc};

use anabranch_placement::{Future, SCHEMES, SchemeSpec};
use anabranch_replay::{
    Clock, Comparison, Drawn, Drive, Fleet, Foresight, Lane, Shown, Source, Start, close_gaps,
    outcome, pooled,
};
use anabranch_ssd::{
    Config, Device, PageRange, StreamId,
    profile::Profile,
    state::SavedDrive,
    time::Issue,
    victims::VictimRule,
    wear::{Faults, Levelling, Wear},
};
use anabranch_trace::{ContextId, FileId, Io, Operation, Rate, Sample, Sampled, WriteHint};

use crate::{Random, Sum, hold};

const PAGES: u64 = 4096;
const PAGE_BYTES: u64 = 4096;

pub fn drive() -> Config {
    let profile = Profile::shipped("golden").unwrap();
    Config {
        logical_pages: PAGES as u32,
        pages_per_unit: 32,
        physical_units: 152,
        host_streams: 6,
        internal_streams: 4,
        ..profile.resolve("golden").unwrap()
    }
}

/// Writes of contexts and tenants that differ in how long their data live, some of bytes that are no whole pages.
pub fn requests(seed: u64, count: u64) -> Vec<Io> {
    let mut random = Random(seed);
    let mut time_ns = 0;
    let mut request = |turn: u64| {
        let context = random.below(7) as u32;
        let (first, most) = match context {
            0 => (turn * 3 % 512, 3),
            1..4 => (600 + random.below(500), 1),
            4 | 5 => (1200 + random.below(PAGES - 1300), 1),
            _ => (1200 + random.below(PAGES - 1300), 40),
        };
        let operation = match random.below(40) {
            0 => Operation::Read,
            1 => Operation::Discard,
            2 => Operation::Flush,
            _ => Operation::Write,
        };
        time_ns += random.below(200_000);
        let hint = random.one_of(&WriteHint::ALL);
        let unaligned = random.one_of(&[0, 0, 0, 512]);
        Io {
            time_ns,
            operation,
            context: ContextId(context),
            file: FileId(context * 2 + random.below(2) as u32),
            hint,
            hint_granted: random.below(3) > 0,
            tenant: context % 3,
            ..Io::write(
                first * PAGE_BYTES + unaligned,
                (1 + random.below(most)) * PAGE_BYTES - unaligned,
            )
        }
    };
    (0..count).map(&mut request).collect()
}

fn specs() -> Vec<SchemeSpec> {
    let more = "baseline+gc,anabranch:setting=objects,hints:tenants=2,pcstream+substream,dac+age,sepbit+gc";
    let own = SCHEMES.iter().map(|scheme| scheme.name.parse().unwrap());
    own.chain(SchemeSpec::parse_list(more).unwrap()).collect()
}

fn future(ios: &[Io], drive: &Config) -> Arc<Future> {
    let mut foresight = Foresight::new(drive);
    ios.iter().for_each(|io| foresight.record(io).unwrap());
    Arc::new(foresight.finish())
}

/// A drive that is full and was overwritten for a while.
fn aged(drive: &Config) -> SavedDrive {
    let mut device = Device::new(drive.clone(), &()).unwrap();
    let all = PageRange::new(0, drive.logical_pages);
    device.write(&mut (), all, StreamId::DEFAULT).unwrap();
    let mut random = Random(5);
    for _ in 0..2 * PAGES {
        let page = PageRange::new(random.below(PAGES) as u32, 1);
        device.write(&mut (), page, StreamId::DEFAULT).unwrap();
    }
    let mut bytes = Vec::new();
    device.save(&(), &mut bytes).unwrap();
    SavedDrive::read(&bytes[..]).unwrap()
}

/// The comparison of all schemes, and a line for each. Memory is left out: how much a table takes is the library's.
pub fn compared(
    drive: &Config,
    start: &Start<'_>,
    ios: &[Io],
    name: &str,
) -> (Comparison, Vec<String>) {
    let mut source = Source::default();
    ios.iter().for_each(|io| source.count(io));
    let mut lanes = Vec::new();
    let mut lines = Vec::new();
    for spec in specs() {
        let mut lane = match Lane::build(&spec, drive, start) {
            Ok(lane) => lane,
            Err(error) => {
                lines.push(format!("{name} {spec}: {error}"));
                continue;
            }
        };
        let mut sum = Sum::default();
        lane.watch();
        lane.keep_placements();
        for io in ios {
            sum.take(lane.apply(io));
            sum.take(lane.placements());
        }
        lane.finish().unwrap();
        sum.take((
            lane.counters(),
            lane.series().points(),
            lane.assign().rule_use(),
        ));
        sum.take(lane.assign().learned());
        let engine = lane.engine();
        sum.take((engine.clock_pages(), engine.mapped_pages(), engine.wear()));
        for page in 0..PAGES as u32 {
            sum.take(engine.locate(page));
        }
        lines.push(format!(
            "{name} {spec}: {} host pages, {} copied, {}",
            lane.counters().host_pages,
            lane.counters().copied_pages,
            sum.text()
        ));
        lanes.push((spec.to_string(), BTreeMap::new(), lane));
    }
    let mut comparison = outcome(BTreeMap::new(), 1, source, Drive::new(name, drive), &lanes);
    for scheme in &mut comparison.schemes {
        scheme.memory_bytes = 0;
        let mut sum = Sum::default();
        sum.take(serde_json::to_string(scheme).unwrap());
        lines.push(format!(
            "{name} {}: WAF {:?}, then {:?}, steady {}, result {}",
            scheme.name,
            scheme.waf,
            scheme.waf_window,
            scheme.steady,
            sum.text()
        ));
    }
    let bounds = ["fk".to_owned(), "dac".to_owned()];
    close_gaps(&mut comparison.schemes, &bounds);
    let mut sum = Sum::default();
    sum.take(serde_json::to_string(&comparison).unwrap());
    lines.push(format!("{name}: {} {}", comparison.steady, sum.text()));
    (comparison, lines)
}

#[test]
fn every_scheme_places_and_costs_what_it_did() {
    let drive = drive();
    let ios = requests(1, 6000);
    let future = future(&ios, &drive);
    let start = Start {
        future: Some(&future),
        ..Start::default()
    };
    let mut lines = compared(&drive, &start, &ios, "new").1;
    lines.extend(compared(&drive, &Start::default(), &ios[..100], "short").1);
    let old = aged(&drive);
    let of_age = Start {
        aged: Some(&old),
        ..start
    };
    lines.extend(compared(&drive, &of_age, &ios[..3000], "aged").1);
    let worn = Config {
        victim_rule: VictimRule::CostBenefit,
        physical_units: 160,
        wear: Wear {
            levelling: Levelling::Static,
            spread: 3,
            rated_erases: 12,
            retire_at_rating: true,
        },
        faults: Faults {
            pages_per_program_failure: 20_000,
            erases_per_failure: 500,
            factory_bad_units: 2,
        },
        ..drive
    };
    lines.extend(compared(&worn, &start, &ios, "worn").1);
    hold("lanes", &lines);
}

#[test]
fn every_scheme_takes_the_time_it_took() {
    let mut profile = Profile::shipped("golden").unwrap();
    profile.geometry.blocks_per_die = None;
    profile.geometry.logical_bytes = Some(PAGES * PAGE_BYTES);
    profile.geometry.pages_per_block = 32;
    let drive = profile.resolve("golden").unwrap();
    let ios = requests(2, 3000);
    let future = future(&ios, &drive);
    let open = Issue::Open {
        time_scale: 0.7,
        queue_depth: 16,
        collect_after_idle_ns: Some(1_000_000),
    };
    let old = aged(&drive);
    let mut lines = Vec::new();
    for (name, issue, aged) in [
        ("closed", Issue::Closed { queue_depth: 4 }, None),
        ("open", open, Some(&old)),
    ] {
        let clock = Clock {
            timing: profile.timing.unwrap(),
            layout: profile.layout(),
            issue,
        };
        let start = Start {
            future: Some(&future),
            clock: Some(&clock),
            aged,
            shown: None,
        };
        lines.extend(compared(&drive, &start, &ios, name).1);
    }
    hold("timed", &lines);
}

/// A drive of a quarter of the pages, each four times as large, whose schemes are shown all requests.
#[test]
fn samples_tell_of_the_whole_drive_what_they_told() {
    let ios = requests(3, 3000);
    let whole = drive();
    let drive = Config {
        logical_pages: whole.logical_pages / 4,
        page_bytes: whole.page_bytes * 4,
        pages_per_unit: whole.pages_per_unit / 4,
        ..whole.clone()
    };
    let mut lines = Vec::new();
    let mut samples = Vec::new();
    for hash in [1, 2] {
        let (rate, page_bytes) = (Rate::one_of(4).unwrap(), 4096);
        let sample = Sample::new(Sampled {
            page_bytes,
            rate,
            hash,
        });
        let shown = Shown {
            sample,
            logical_pages: whole.logical_pages,
        };
        let start = Start {
            shown: Some(shown),
            ..Start::default()
        };
        let (comparison, told) = compared(&drive, &start, &ios, "shown");
        lines.extend(told);
        samples.push(comparison);
        let kept: Vec<Io> = ios.iter().filter_map(|io| sample.apply(io)).collect();
        lines.extend(compared(&drive, &Start::default(), &kept, "kept").1);
    }
    for count in 0..=samples.len() {
        let drawn = Drawn {
            sample: 4,
            trace: 1,
            unit_pages: 64,
        };
        let pooled = pooled(samples[..count].to_vec(), drawn);
        let mut sum = Sum::default();
        sum.take(serde_json::to_string(&pooled).unwrap());
        lines.push(format!("{count} pooled: {}", sum.text()));
    }
    hold("samples", &lines);
}

#[test]
fn lanes_on_threads_of_their_own_are_fed_what_is_theirs() {
    let drive = drive();
    let specs = SchemeSpec::parse_list("baseline,dac,sepbit,pcstream,hints").unwrap();
    let lane = |spec: &SchemeSpec| Lane::build(spec, &drive, &Start::default()).unwrap();
    let lanes: Vec<(usize, Lane)> = (0..).zip(specs.iter().map(lane)).collect();
    let lanes = lanes.into_iter().map(|(at, lane)| (at % 2, lane)).collect();
    let fleet = Fleet::start_fed(lanes, NonZeroUsize::new(3).unwrap());
    let mut lines = Vec::new();
    for (feed, seed) in [(0, 1), (1, 2), (0, 3)] {
        let ios: Arc<[Io]> = requests(seed, 2000).into();
        fleet.send_to(feed, &ios).unwrap();
        fleet.drain().unwrap();
        lines.extend(
            fleet
                .progress()
                .iter()
                .map(|progress| format!("{progress:?}")),
        );
    }
    for lane in fleet.finish().unwrap() {
        lines.push(format!("{lane:?} {:?}", lane.counters()));
    }
    hold("fleet", &lines);
}
