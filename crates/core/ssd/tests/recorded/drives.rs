//! Drives without time: every victim rule with every relocation.

use anabranch_ssd::{
    Config, Device, DeviceError, PageRange, StreamId,
    relocate::RelocationKind,
    state::SavedDrive,
    wear::{Faults, Levelling, Wear},
};

use crate::{
    drawn,
    driven::Driven,
    flash::{rules, with_spare},
    heard::{Heard, Listening},
    hold,
    workload::Random,
};

/// Drives for each pair of a rule and a relocation.
const DRIVES: usize = 3;
const STEPS: u32 = 90;

fn listening(config: &Config, kind: RelocationKind, heard: &Heard) -> Listening {
    Listening {
        inner: kind.build(config),
        heard: heard.clone(),
        asks_all: config.seed.is_multiple_of(3),
        chosen: 0,
        streams: config.streams(),
    }
}

fn mapping(device: &Driven<Heard>, pages: std::ops::Range<u32>) -> (Vec<u32>, Vec<u32>) {
    let (mut places, mut times) = (Vec::new(), Vec::new());
    device.mapping(pages, &mut places, &mut times);
    (places, times)
}

/// All that a device tells.
fn asked(device: &Driven<Heard>, heard: &Heard) {
    let config = device.config();
    heard.take((device.counters(), device.stream_counters()));
    heard.take((device.erases(), device.retired_units(), device.wear()));
    heard.take((
        device.mapped_pages(),
        device.clock_pages(),
        device.is_read_only(),
    ));
    for group in 0..=config.reclaim_groups {
        heard.take(device.free_units(group));
    }
    for group in 0..config.reclaim_groups {
        heard.take(device.group_room(group));
    }
    for stream in (0..=config.streams()).map(StreamId) {
        heard.take(device.unit_room(stream));
    }
    for unit in 0..=config.physical_units {
        let pages: Vec<_> = (0..=config.pages_per_unit)
            .map(|offset| device.page_at(unit, offset))
            .collect();
        heard.take((device.unit(unit), pages));
    }
    for page in 0..=config.logical_pages {
        heard.take((device.locate(page), device.stream_of(page)));
    }
    heard.take(mapping(device, 1..config.logical_pages - 1));
    heard.take(device.verify());
    let saved = device.saved();
    let mut around = Vec::new();
    device
        .save_around(&*device.relocation, &mut around)
        .unwrap();
    let (l2p, written_at) = mapping(device, 0..config.logical_pages);
    let read = SavedDrive::read_around(&around[..], l2p, written_at);
    heard.take((read.map(|drive| format!("{drive:?}")).unwrap(), saved));
}

fn step(
    device: &mut Driven<Heard>,
    random: &mut Random,
    config: &Config,
) -> Result<u32, DeviceError> {
    let stream = StreamId(random.below(u32::from(config.host_streams)) as u16);
    let other = StreamId(random.below(u32::from(config.host_streams)) as u16);
    let first = random.below(config.logical_pages);
    let count = 1 + random.below((config.logical_pages - first).min(40));
    match random.below(20) {
        0..8 => device
            .write(PageRange::new(first, count), stream)
            .map(|()| count),
        8..14 => {
            let pages: Vec<u32> = (0..1 + random.below(90))
                .map(|_| random.below(config.logical_pages))
                .collect();
            device.write_scattered(&pages, stream).map(|()| count)
        }
        14..16 => device
            .discard(PageRange::new(first, count / 2))
            .map(|()| count),
        16 => device.finish_unit(stream),
        17 => device.hand_over(stream, other),
        18 => device
            .write(PageRange::new(first, config.logical_pages), stream)
            .map(|()| 0),
        _ => {
            let Driven { device, relocation } = device;
            Ok(u32::from(device.collect_idle(&mut **relocation)))
        }
    }
}

/// Saved, read, and gone on with.
fn resumed(device: &Driven<Heard>, kind: RelocationKind, heard: &Heard) -> Driven<Heard> {
    let drive = SavedDrive::read(&device.saved()[..]).unwrap();
    heard.take((drive.config(), drive.counters(), drive.erases()));
    let mut relocation = listening(drive.config(), kind, heard);
    let device = drive.resume(&mut relocation, heard.clone()).unwrap();
    Driven {
        device,
        relocation: Box::new(relocation),
    }
}

/// The drive as the aged one of another experiment; `None` where it may not be.
fn aged(
    device: &Driven<Heard>,
    random: &mut Random,
    heard: &Heard,
) -> Option<(Driven<Heard>, Config)> {
    let kinds = RelocationKind::ALL;
    let kind = kinds[random.below(kinds.len() as u32) as usize];
    let old = device.config();
    let groups = old.reclaim_groups as u16;
    let config = Config {
        host_streams: groups * (1 + random.below(3) as u16),
        internal_streams: groups * random.below(4) as u16,
        victim_rule: rules()[random.below(rules().len() as u32) as usize],
        persistently_isolated: 0,
        ..old.clone()
    };
    let mut relocation = listening(&config, kind, heard);
    let drive = SavedDrive::read(&device.saved()[..]).unwrap();
    let device = drive.age(config.clone(), &mut relocation, heard.clone());
    let device = device.map_err(|error| heard.take(error.to_string())).ok()?;
    let relocation = Box::new(relocation);
    Some((Driven { device, relocation }, config))
}

fn run(config: &Config, kind: RelocationKind, random: &mut Random) -> String {
    let heard = Heard::default();
    let relocation = listening(config, kind, &heard);
    let device = Device::watched(config.clone(), &relocation, heard.clone()).unwrap();
    let relocation = Box::new(relocation);
    let mut device = Driven { device, relocation };
    let mut refused = 0;
    let mut drive = |device: &mut Driven<Heard>, random: &mut Random, config: &Config| {
        let result = step(device, random, config);
        refused += u32::from(result.is_err());
        heard.take(result.map_err(|error| error.to_string()));
    };
    let mut before = *device.counters();
    for at in 0..STEPS {
        drive(&mut device, random, config);
        match at {
            30 => device = resumed(&device, kind, &heard),
            45 => {
                before = *device.counters();
                device.reset_counters();
            }
            55 if random.below(2) == 0 => device.keep_ages(),
            20 | 40 | 60 | 80 => asked(&device, &heard),
            _ => {}
        }
    }
    asked(&device, &heard);
    let counters = *device.counters();
    if let Some((mut device, config)) = aged(&device, random, &heard) {
        asked(&device, &heard);
        (0..STEPS / 2).for_each(|_| drive(&mut device, random, &config));
        asked(&device, &heard);
    }
    format!(
        "{}+{kind}: {} and {} host pages, {} copied, {} erases, {} sealed, {} levelled, {} failed, {refused} refused, {}",
        config.victim_rule,
        before.host_pages,
        counters.host_pages,
        counters.copied_pages,
        counters.erased_units,
        counters.sealed_units,
        counters.levelled_pages,
        counters.failed_programs + counters.failed_erases,
        heard.text(),
    )
}

/// A drive whose units hold more pages than are copied at a time, with data at rest that wear levelling moves.
fn wide(config: Config, random: &mut Random) -> Config {
    let wear = Wear {
        levelling: Levelling::Static,
        spread: 1,
        ..Wear::default()
    };
    let config = Config {
        logical_pages: 400 + random.below(400),
        pages_per_unit: 65 + random.below(100),
        faults: Faults::default(),
        wear,
        ..config
    };
    with_spare(config, random.below(4))
}

/// A drive that soon comes to its end.
fn frail(config: Config, random: &mut Random) -> Config {
    let faults = Faults {
        pages_per_program_failure: 10 + u64::from(random.below(60)),
        erases_per_failure: 4 + u64::from(random.below(30)),
        factory_bad_units: random.below(3),
    };
    let config = Config { faults, ..config };
    with_spare(config, 4 + random.below(12))
}

#[test]
fn wide_and_frail_drives_do_what_they_did() {
    let mut random = Random(8);
    let mut lines = Vec::new();
    for (at, victim_rule) in (0..5).flat_map(|at| rules().into_iter().map(move |rule| (at, rule))) {
        for (number, kind) in RelocationKind::ALL.into_iter().enumerate() {
            let config = Config {
                victim_rule,
                ..drawn(&mut random)
            };
            let config = match at {
                0 if number % 2 == 0 => wide(config, &mut random),
                _ => frail(config, &mut random),
            };
            lines.push(run(&config, kind, &mut random));
        }
    }
    hold("ends", &lines);
}

#[test]
fn every_victim_rule_with_every_relocation_does_what_it_did() {
    let mut random = Random(1);
    let mut lines = Vec::new();
    for victim_rule in rules() {
        for kind in RelocationKind::ALL {
            for _ in 0..DRIVES {
                let config = Config {
                    victim_rule,
                    ..drawn(&mut random)
                };
                lines.push(run(&config, kind, &mut random));
            }
        }
    }
    hold("drives", &lines);
}
