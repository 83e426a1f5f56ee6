//! The device against a naive one, on random operations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driven;
mod naive;

use anabranch_ssd::{
    Config, ConfigError, DeviceError, PageRange, StreamId,
    relocate::{Destination, RelocationKind},
    victims::VictimRule,
};
use driven::Driven;
use naive::Naive;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Operation {
    Write { first: u32, count: u32, stream: u16 },
    Scatter { pages: Vec<u32>, stream: u16 },
    Discard { first: u32, count: u32 },
}

fn config(
    pages: u32,
    pages_per_unit: u32,
    spare: u32,
    host: u16,
    internal: u16,
    start: u32,
    stop: u32,
) -> Config {
    let config = Config {
        host_streams: host,
        internal_streams: internal,
        chips: 3,
        seed: 7,
        gc_start_free_units: start,
        gc_stop_free_units: start + stop,
        ..Config::new(pages, pages_per_unit, 0)
    };
    let physical_units = config.least_physical_units() as u32 + start - 1 + spare;
    Config {
        physical_units,
        ..config
    }
}

prop_compose! {
    fn devices()(pages in 1_u32..90, per_unit in 1_u32..14, spare in 0_u32..6, host in 1_u16..6,
                 internal in 0_u16..4, start in 1_u32..4, stop in 0_u32..3) -> Config {
        config(pages, per_unit, spare, host, internal, start, stop)
    }
}

fn operations(pages: u32, host: u16) -> impl Strategy<Value = Vec<Operation>> {
    let range = (0..pages).prop_flat_map(move |first| (Just(first), 1..=(pages - first).min(30)));
    let one = prop_oneof![
        4 => (range.clone(), 0..host).prop_map(|((first, count), stream)| Operation::Write { first, count, stream }),
        3 => (prop::collection::vec(0..pages, 1..80), 0..host)
            .prop_map(|(pages, stream)| Operation::Scatter { pages, stream }),
        2 => range.prop_map(|(first, count)| Operation::Discard { first, count }),
    ];
    prop::collection::vec(one, 1..120)
}

fn rules() -> impl Strategy<Value = VictimRule> {
    let all = VictimRule::named().chain([VictimRule::Choices(3)]);
    prop::sample::select(all.collect::<Vec<_>>())
}

fn kinds() -> impl Strategy<Value = RelocationKind> {
    prop::sample::select(RelocationKind::ALL.to_vec())
}

fn apply(device: &mut Driven, naive: &mut Naive, operation: &Operation) -> Result<(), DeviceError> {
    match *operation {
        Operation::Write {
            first,
            count,
            stream,
        } => {
            device.write(PageRange::new(first, count), StreamId(stream))?;
            naive.write_run(&(first..first + count).collect::<Vec<_>>(), stream);
        }
        Operation::Scatter { ref pages, stream } => {
            device.write_scattered(pages, StreamId(stream))?;
            pages
                .chunks(64)
                .for_each(|batch| naive.write_run(batch, stream));
        }
        Operation::Discard { first, count } => {
            device.discard(PageRange::new(first, count))?;
            (first..first + count).for_each(|page| naive.discard(page));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 400 } else { 2000 }))]

    /// Same victims, same copies, same place of every page: the greedy victim has the fewest
    /// valid pages, a unit holds one stream, and every mapped page lies at exactly one place.
    #[test]
    fn the_device_agrees_with_a_naive_one_to_the_last_count(
        (config, operations, kind) in devices().prop_flat_map(|config| {
            let operations = operations(config.logical_pages, config.host_streams);
            (Just(config), operations, kinds())
        })
    ) {
        let mut device = Driven::new(&config, kind).unwrap();
        let mut naive = Naive::new(config.clone(), kind);
        for operation in &operations {
            apply(&mut device, &mut naive, operation).unwrap();
            device.verify()?;
        }
        let counters = device.counters();
        prop_assert_eq!(counters.host_pages, naive.host_pages);
        prop_assert_eq!(counters.copied_pages, naive.copied_pages);
        prop_assert_eq!(counters.erased_units, naive.erased_units);
        prop_assert_eq!(counters.sealed_units, naive.sealed_units);
        prop_assert_eq!(counters.redirected_pages, naive.redirected_pages);
        let mapped: Vec<u32> =
            (0..config.logical_pages).filter(|&page| device.stream_of(page).is_some()).collect();
        prop_assert_eq!(&mapped, &naive.mapped());
        prop_assert_eq!(device.mapped_pages(), mapped.len() as u64);
        for page in mapped {
            prop_assert_eq!(device.stream_of(page).map(|stream| stream.0), naive.stream_of(page));
        }
    }

    /// The least spare the configuration allows is enough, whatever the streams do.
    #[test]
    fn a_full_drive_accepts_overwrites_for_ever(config in devices(), kind in kinds(), victim_rule in rules(), seed in any::<u64>()) {
        let config = Config { victim_rule, ..config };
        let mut device = Driven::new(&config, kind).unwrap();
        device.write(PageRange::new(0, config.logical_pages), StreamId(0)).unwrap();
        let mut state = seed | 1;
        for _ in 0..40 * config.logical_pages {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let page = (state >> 33) as u32 % config.logical_pages;
            let stream = (state >> 20) as u16 % config.host_streams;
            device.write(PageRange::new(page, 1), StreamId(stream)).unwrap();
        }
        device.verify()?;
        prop_assert_eq!(device.mapped_pages(), u64::from(config.logical_pages));
    }
}

#[test]
fn a_request_beyond_the_drive_is_refused_and_changes_nothing() {
    let config = config(100, 10, 3, 2, 1, 1, 0);
    let mut device = Driven::new(&config, RelocationKind::Gc).unwrap();
    let beyond = Err(DeviceError::OutOfRange {
        first: 90,
        end: 101,
        logical_pages: 100,
    });
    assert_eq!(device.write(PageRange::new(90, 11), StreamId(0)), beyond);
    assert_eq!(device.discard(PageRange::new(90, 11)), beyond);
    assert!(
        device
            .write(PageRange::new(u32::MAX, u32::MAX), StreamId(0))
            .is_err()
    );
    assert!(device.write_scattered(&[5, 100], StreamId(0)).is_err());
    assert!(device.write(PageRange::new(0, 1), StreamId(2)).is_err());
    assert_eq!(device.counters().host_pages, 0);
    assert_eq!(device.mapped_pages(), 0);
}

#[test]
fn discarding_what_was_never_written_means_nothing() {
    let config = config(100, 10, 3, 1, 1, 1, 0);
    let mut device = Driven::new(&config, RelocationKind::Mixed).unwrap();
    device.write(PageRange::new(10, 5), StreamId(0)).unwrap();
    device.discard(PageRange::new(0, 100)).unwrap();
    device.discard(PageRange::new(0, 100)).unwrap();
    assert_eq!(device.counters().discarded_pages, 5);
}

#[test]
fn a_drive_without_spare_units_is_refused_with_the_number_it_needs() {
    let good = config(100, 10, 0, 1, 1, 1, 0);
    let short = Config {
        physical_units: good.physical_units - 1,
        ..good.clone()
    };
    let error = Driven::new(&short, RelocationKind::Mixed).unwrap_err();
    assert_eq!(
        error,
        ConfigError::TooFewUnits {
            physical_units: 12,
            logical_units: 10,
            least_units: 13
        }
    );
    assert!(Driven::new(&good, RelocationKind::Mixed).is_ok());
}

#[test]
fn streams_that_die_apart_cost_no_copies() {
    // Two files written in turns, one of them deleted: mixed it must be copied around.
    let config = config(1000, 100, 0, 2, 1, 1, 0);
    let copied = |streams: [u16; 2]| {
        let mut device = Driven::new(&config, RelocationKind::Mixed).unwrap();
        for round in 0..50 {
            for step in 0..40 {
                let short = PageRange::new(step * 10, 10);
                device.write(short, StreamId(streams[0])).unwrap();
                if round % 10 == 0 {
                    device
                        .write(PageRange::new(400 + step * 15, 15), StreamId(streams[1]))
                        .unwrap();
                }
            }
            device.discard(PageRange::new(0, 400)).unwrap();
        }
        device.counters().copied_pages
    };
    assert!(copied([0, 0]) > 0);
    assert_eq!(copied([0, 1]), 0);
}

#[test]
fn more_streams_than_a_number_tells_apart_are_refused() {
    let config = Config {
        host_streams: 65_535,
        internal_streams: 1,
        ..config(100, 10, 3, 1, 1, 1, 0)
    };
    for kind in RelocationKind::ALL {
        let refused = Driven::new(&config, kind);
        assert!(matches!(refused, Err(ConfigError::TooManyStreams { .. })));
    }
}

#[test]
fn survivors_move_on_by_one_internal_stream_each_time() {
    let config = config(1000, 10, 3, 1, 3, 1, 0);
    let mut chain = RelocationKind::AgeChain.build(&config);
    let mut step = |stream| {
        let victim = anabranch_ssd::relocate::Victim {
            stream: StreamId(stream),
            valid_pages: 1,
            opened_at: 0,
            now: 0,
        };
        match chain.destination(&victim) {
            Destination::Stream(stream) => stream.0,
            Destination::Each => panic!("a chain moves whole units"),
        }
    };
    assert_eq!([step(0), step(1), step(2), step(3)], [1, 2, 3, 3]);
}
