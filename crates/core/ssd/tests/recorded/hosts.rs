//! View of the host: placement identifiers, stream identifiers, contexts.

use std::fmt::Debug;

use anabranch_ssd::{
    Config, Device, PageRange, StreamId,
    fdp::{AtReset, FdpDevice, FdpEventKind, FdpEventKinds, FdpOptions, PlacementIdentifier},
    relocate::RelocationKind,
    state::SavedDrive,
    streams::{
        AtClose, Capabilities, ContextConf, EmmcCard, EmmcCommand, EmmcContexts, Extent, Scope,
        ScsiStreams, StreamHost, StreamTable,
    },
};

use crate::{Sum, drawn, flash::with_spare, heard::Heard, hold, one_of, workload::Random};

/// Answers to a host: errors in their words, too.
fn answered<T: Debug, E: Debug + ToString>(result: Result<T, E>) -> String {
    result.map_or_else(
        |error| format!("{error:?} {}", error.to_string()),
        |answer| format!("{answer:?}"),
    )
}

fn pages(random: &mut Random, config: &Config) -> PageRange {
    let first = random.below(config.logical_pages);
    let count = 1 + random.below((config.logical_pages - first).min(30));
    PageRange::new(first, count)
}

fn asked(device: &FdpDevice<Heard>, sum: &mut Sum) {
    sum.take((device.configuration(), device.usage(), device.statistics()));
    sum.take((device.events(), device.statistics().waf()));
    sum.take((device.cleared_at(), device.verify()));
    for namespace in 0..4 {
        sum.take(answered(device.status(namespace)));
        for handle in 0..4 {
            sum.take(answered(device.enabled_events(namespace, handle)));
        }
    }
    for stream in 0..device.device().config().host_streams {
        sum.take(device.location(StreamId(stream)));
    }
}

fn fdp_step(device: &mut FdpDevice<Heard>, random: &mut Random, now_ms: &mut u64) -> String {
    let config = device.device().config().clone();
    let namespace = 1 + random.below(3);
    let group = random.below(config.reclaim_groups);
    let handle = random.below(4) as u16;
    let known = device.configuration().encode(group, handle);
    let wrong = PlacementIdentifier(random.next() as u16);
    let placement = one_of(random, &[known, known, known, None, Some(wrong)]);
    let pages = pages(random, &config);
    let kind = one_of(random, &FdpEventKind::ALL);
    match random.below(30) {
        0..12 => answered(device.write(namespace, pages, placement)),
        12..18 => {
            let all: Vec<u32> = (0..1 + random.below(80))
                .map(|_| random.below(config.logical_pages))
                .collect();
            answered(device.write_scattered(namespace, &all, placement))
        }
        18 => answered(device.discard(pages)),
        19..22 => answered(device.update(namespace, &[placement.unwrap_or(wrong)])),
        22 => answered(device.update(namespace, &[PlacementIdentifier(0); 70])),
        23 => {
            *now_ms += u64::from(random.below(40_000));
            answered(device.advance(*now_ms))
        }
        24 => {
            device.set_timestamp(random.next() >> 20);
            String::new()
        }
        25 => answered(device.delete_namespace(namespace)),
        26 => answered(device.create_namespace(namespace, &[handle, random.below(4) as u16])),
        27 => answered(device.create_namespace(namespace, &[])),
        28 => {
            let kinds = FdpEventKinds::ALL.without(FdpEventKinds::from(kind));
            let kinds = one_of(
                random,
                &[kinds, FdpEventKinds::from(kind), FdpEventKinds::ALL],
            );
            let is_on = random.below(4) > 0;
            answered(device.enable_events(namespace, random.below(3) as u16, kinds, is_on))
        }
        _ => match random.below(4) {
            0 => {
                device.clear();
                String::new()
            }
            1 => answered(device.reset(AtReset::Keep)),
            2 => answered(device.reset(AtReset::Close)),
            _ => answered(device.use_handles(handle)),
        },
    }
}

fn fdp(random: &mut Random) -> String {
    let config = drawn(random);
    let config = Config {
        internal_streams: RelocationKind::Fdp.internal_streams(&config),
        ..config
    };
    let config = with_spare(config, random.below(6));
    let options = FdpOptions {
        time_limit_seconds: one_of(random, &[0, 0, 20, 200]),
        namespaces: one_of(random, &[128, 2]),
        group_bits: one_of(random, &[None, None, None, Some(2), Some(4), Some(16)]),
    };
    let (mut sum, heard) = (Sum::default(), Heard::default());
    let mut device = match FdpDevice::watched(&config, &options, heard.clone()) {
        Ok(device) => device,
        Err(error) => return format!("fdp: {error}"),
    };
    let mut now_ms = 0;
    for at in 0..160 {
        sum.take(fdp_step(&mut device, random, &mut now_ms));
        if at % 20 == 0 {
            asked(&device, &mut sum);
        }
        if at == 100 {
            let (mut bytes, cleared_at) = (Vec::new(), *device.cleared_at());
            device.save(&mut bytes).unwrap();
            let saved = SavedDrive::read(&bytes[..]).unwrap();
            device = FdpDevice::resume(saved, &options, cleared_at, heard.clone()).unwrap();
        }
        if at == 100 || at == 0 {
            for namespace in 1..3 {
                sum.take(answered(device.create_namespace(namespace, &[0])));
                let all = FdpEventKinds::ALL;
                sum.take(answered(device.enable_events(namespace, 0, all, true)));
            }
        }
    }
    asked(&device, &mut sum);
    let counters = device.device().counters();
    format!(
        "fdp: {} host pages, {} copied, {} misplaced, {} and {} events, {} {}",
        counters.host_pages,
        counters.copied_pages,
        counters.misplaced_pages,
        device.events().host().len(),
        device.events().controller().len(),
        sum.text(),
        heard.text(),
    )
}

fn table(random: &mut Random) -> String {
    let config = Config {
        host_streams: 2 + random.below(5) as u16,
        ..Config::new(300, 10, 60)
    };
    let mut relocation = RelocationKind::Mixed.build(&config);
    let mut device = Device::new(config.clone(), &*relocation).unwrap();
    let mut table = StreamTable::new(config.host_streams - 1);
    if random.below(3) == 0 {
        table = table.sharing_identifiers();
    }
    let mut sum = Sum::default();
    for _ in 0..250 {
        let scope = Scope {
            namespace: 1 + random.below(2),
            host: one_of(
                random,
                &[
                    StreamHost::Identified(7),
                    StreamHost::Identified(8),
                    StreamHost::Anonymous(0),
                ],
            ),
        };
        let identifier = random.below(6) as u16;
        let pages = pages(random, &config);
        match random.below(24) {
            0..8 => sum.take(table.resolve(scope, identifier)),
            8..16 => {
                let at_close = one_of(random, &[AtClose::Keep, AtClose::Finish, AtClose::Default]);
                let on = (&mut device, &mut *relocation);
                sum.take(table.write(on, at_close, (scope, identifier), pages));
            }
            16 | 17 => sum.take(answered(table.allocate(scope, random.below(4) as u16))),
            18 | 19 => sum.take(table.release(scope, identifier)),
            20 => sum.take(table.release_resources(scope)),
            21 => sum.take(table.release_all(scope)),
            22 => sum.take(match random.below(4) {
                0 => table.release_namespace(scope.namespace),
                1 => table.reset(),
                _ => table.close_namespace(scope.namespace),
            }),
            _ => sum.take(table.lookup(scope, identifier)),
        }
        sum.take((table.status(scope), table.pool_status(), table.limit()));
        sum.take((table.parameters(scope), device.stream_counters()));
    }
    let counters = device.counters();
    format!(
        "streams: {} host pages, {} copied, {} finished, {}",
        counters.host_pages,
        counters.copied_pages,
        counters.finished_units,
        sum.text()
    )
}

fn scsi(random: &mut Random) -> String {
    let mut streams = ScsiStreams::new(random.below(6) as u16);
    let mut sum = Sum::default();
    for _ in 0..100 {
        let identifier = random.below(7) as u16;
        match random.below(3) {
            0 => sum.take(streams.close(identifier)),
            _ => sum.take(answered(streams.open())),
        }
        sum.take((streams.status(identifier), streams.stream(identifier)));
    }
    format!("scsi: {}", sum.text())
}

/// Some bytes of a device of 8 MiB, or a little beyond; half of them go on at `end`.
fn extent(random: &mut Random, end: u64) -> Extent {
    let step = one_of(random, &[4096, 4096, 512, 65_536, 1 << 20]);
    let elsewhere = u64::from(random.below((17 << 19) / step)) * u64::from(step);
    Extent {
        offset_bytes: one_of(random, &[end, elsewhere]),
        length_bytes: u64::from(1 + random.below(12)) * u64::from(step),
    }
}

fn contexts(random: &mut Random) -> String {
    let config = Config {
        host_streams: 2 + random.below(5) as u16,
        ..Config::new(2048, 16, 160)
    };
    let mut contexts = EmmcContexts::new(Capabilities::of(&config));
    let mut sum = Sum::default();
    let (mut kept, mut end) = (0, 0);
    for _ in 0..400 {
        let (context, extent) = (random.below(7) as u16, extent(random, end));
        let told = match random.below(20) {
            0..4 => {
                let conf = ContextConf::of_byte(random.next() as u8);
                sum.take(conf);
                answered(contexts.configure(context, conf.unwrap_or_default()))
            }
            4 => answered(contexts.configure(context, ContextConf::default())),
            5..13 => answered(contexts.write(context, extent)),
            13..18 => answered(contexts.read(context, extent)),
            18 => answered(contexts.erase(extent)),
            _ if random.below(6) == 0 => format!("{:?}", contexts.power_cycle()),
            _ => format!("{:?}", contexts.activation(context)),
        };
        if told.starts_with('(') || told.starts_with("Page") {
            kept += 1;
            end = extent.offset_bytes + extent.length_bytes;
        }
        sum.take((told, contexts.stream(context)));
    }
    format!(
        "contexts: {kept} of 400 kept the rules and transferred, {}",
        sum.text()
    )
}

fn command(random: &mut Random) -> EmmcCommand {
    let opcode = one_of(
        random,
        &[
            0, 6, 6, 6, 6, 17, 18, 18, 23, 24, 25, 25, 25, 25, 32, 33, 35, 36, 38, 44, 45, 46, 47,
            47, 13,
        ],
    );
    let block_count = random.below(8) << 25 | random.below(2) << 31 | 8;
    let argument = match opcode {
        0 => one_of(random, &[0, 0xffff_fffa]),
        // How, which register, and what.
        6 => {
            let register = one_of(random, &[32, 37, 38, 39, 40, 51, 52, 179]);
            let value = one_of(random, &[0, 1, 2, 3, 0x45, 0xff]);
            random.below(4) << 24 | register << 16 | value << 8
        }
        23 => block_count | u32::from(random.below(20) == 0) << 30,
        38 => one_of(random, &[0, 1, 2, 3, 0x8000_0000, 0x8000_0001, 0x8000_8000]),
        44 => block_count | random.below(4) << 16,
        46 | 47 => random.below(4) << 16,
        _ => random.below(17_000),
    };
    EmmcCommand {
        opcode,
        argument,
        set_block_count: one_of(random, &[None, None, Some(block_count)]),
        length_bytes: (1 + u64::from(random.below(24))) * one_of(random, &[512, 4096]),
        sector: (random.below(2) == 0).then(|| u64::from(random.below(16_500))),
    }
}

fn card(random: &mut Random) -> String {
    let config = Config {
        host_streams: 2 + random.below(6) as u16,
        ..Config::new(2048, 16, 160)
    };
    let mut relocation = RelocationKind::Gc.build(&config);
    let mut card = EmmcCard::new(Device::new(config, &*relocation).unwrap());
    let mut sum = Sum::default();
    for _ in 0..700 {
        let command = command(random);
        sum.take(answered(card.perform(&mut *relocation, &command)));
        sum.take((
            card.counts(),
            card.erased(),
            card.flushes(),
            card.elsewhere(),
        ));
        sum.take((card.broken(), card.stream(command.opcode.into())));
        sum.take(card.device().counters());
    }
    let broken: u64 = card.broken().values().sum();
    format!(
        "card: {} host pages, {} flushes, {broken} broke a rule, {}",
        card.device().counters().host_pages,
        card.flushes(),
        sum.text()
    )
}

#[test]
fn hosts_are_answered_as_they_were() {
    let mut random = Random(4);
    let mut lines = Vec::new();
    for (times, host) in [
        (80, fdp as fn(&mut Random) -> String),
        (40, table),
        (10, scsi),
        (20, contexts),
        (20, card),
    ] {
        lines.extend((0..times).map(|_| host(&mut random)));
    }
    hold("hosts", &lines);
}
