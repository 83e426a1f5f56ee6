//! Events that the device reports to its host.

use anabranch_ssd::{
    Config, PageRange,
    fdp::{
        AtReset, EVENTS_KEPT, EventDetail, EventLocation, FdpDevice, FdpEvent, FdpEventKind,
        FdpEventKinds, FdpOptions, PlacementIdentifier,
    },
};

use super::{NAMESPACE, drive};

const P0: PlacementIdentifier = PlacementIdentifier(0);

/// A device whose namespace has all handles, with every event enabled.
fn telling(config: &Config, options: &FdpOptions) -> FdpDevice {
    let mut device = FdpDevice::new(config, options).unwrap();
    let handles: Vec<u16> = (0..device.configuration().handles).collect();
    device.create_namespace(NAMESPACE, &handles).unwrap();
    for handle in handles {
        enable(&mut device, handle);
    }
    device
}

fn enable(device: &mut FdpDevice, handle: u16) {
    device
        .enable_events(NAMESPACE, handle, FdpEventKinds::ALL, true)
        .unwrap();
}

fn roomy() -> Config {
    drive(400, 10, 1, 2, 0, 20)
}

fn write(device: &mut FdpDevice, first: u32, count: u32, placement: PlacementIdentifier) {
    let pages = PageRange::new(first, count);
    device.write(NAMESPACE, pages, Some(placement)).unwrap();
}

fn host_events(device: &FdpDevice) -> Vec<FdpEvent> {
    device.events().host().copied().collect()
}

#[test]
fn nothing_is_told_until_it_is_enabled() {
    let mut device = FdpDevice::new(&roomy(), &FdpOptions::default()).unwrap();
    device.create_namespace(NAMESPACE, &[0, 1]).unwrap();
    let enabled = |device: &FdpDevice, handle| device.enabled_events(NAMESPACE, handle).unwrap();
    assert_eq!(enabled(&device, 0), FdpEventKinds::NONE);
    write(&mut device, 0, 1, P0);
    device.update(NAMESPACE, &[P0]).unwrap();
    assert_eq!(host_events(&device), []);
    let kinds: FdpEventKinds = [
        FdpEventKind::NotFullyWritten,
        FdpEventKind::MediaReallocated,
    ]
    .into_iter()
    .collect();
    device.enable_events(NAMESPACE, 1, kinds, true).unwrap();
    let reallocated = FdpEventKind::MediaReallocated.into();
    device
        .enable_events(NAMESPACE, 1, reallocated, false)
        .unwrap();
    assert_eq!(enabled(&device, 1), FdpEventKind::NotFullyWritten.into());
    // Of handle 1 alone.
    let p1 = PlacementIdentifier(1);
    write(&mut device, 0, 1, P0);
    write(&mut device, 1, 1, p1);
    device.update(NAMESPACE, &[P0, p1]).unwrap();
    let [event] = host_events(&device)[..] else {
        panic!("one event")
    };
    assert_eq!(event.placement, Some(p1));
}

#[test]
fn an_update_tells_what_was_left_unwritten_and_an_empty_unit_is_kept() {
    let mut device = telling(&roomy(), &FdpOptions::default());
    device.set_timestamp(1_000_000);
    device.advance(250).unwrap();
    device.update(NAMESPACE, &[P0]).unwrap();
    write(&mut device, 0, 10, P0);
    device.update(NAMESPACE, &[P0]).unwrap();
    assert_eq!(
        host_events(&device),
        [],
        "nothing was begun, then nothing left"
    );
    write(&mut device, 0, 3, P0);
    device.update(NAMESPACE, &[P0]).unwrap();
    let event = FdpEvent {
        kind: FdpEventKind::NotFullyWritten,
        timestamp_ms: 1_000_250,
        placement: Some(P0),
        namespace: Some(NAMESPACE),
        location: Some(EventLocation {
            group: 0,
            handle: 0,
        }),
        detail: EventDetail::Unwritten { bytes: 7 * 4096 },
    };
    assert_eq!(host_events(&device), [event]);
    assert_eq!(
        device.status(NAMESPACE).unwrap()[0].available_bytes,
        10 * 4096
    );
}

#[test]
fn an_invalid_identifier_is_told_with_the_controllers_choice() {
    let config = drive(400, 10, 2, 3, 1, 20);
    let mut device = FdpDevice::new(&config, &FdpOptions::default()).unwrap();
    device.create_namespace(NAMESPACE, &[1, 2]).unwrap();
    enable(&mut device, 0);
    // Handle 2 of the namespace does not exist.
    let bad = device.configuration().encode(0, 2).unwrap();
    device
        .write(NAMESPACE, PageRange::new(0, 4), Some(bad))
        .unwrap();
    let [event] = host_events(&device)[..] else {
        panic!("one event")
    };
    assert_eq!(event.kind, FdpEventKind::InvalidPlacementIdentifier);
    assert_eq!(
        (event.placement, event.namespace),
        (Some(bad), Some(NAMESPACE))
    );
    let stream = device.device().stream_of(0).unwrap();
    assert_eq!(event.location, Some(device.location(stream)));
    assert_eq!(device.location(stream).handle, 1);
    assert_eq!(device.statistics().host_bytes, 4 * 4096);
}

#[test]
fn a_group_beyond_the_last_is_invalid() {
    let config = drive(400, 10, 2, 2, 0, 20);
    let options = FdpOptions {
        group_bits: Some(4),
        ..FdpOptions::default()
    };
    let mut device = telling(&config, &options);
    write(&mut device, 0, 1, PlacementIdentifier(0x1000));
    assert_eq!(host_events(&device), []);
    write(&mut device, 0, 1, PlacementIdentifier(0x2000));
    assert_eq!(host_events(&device).len(), 1);
}

#[test]
fn the_newest_63_events_are_kept() {
    let mut device = telling(&roomy(), &FdpOptions::default());
    for number in 0..100 {
        device.advance(number).unwrap();
        write(&mut device, 0, 1, PlacementIdentifier(999));
    }
    let times: Vec<u64> = device
        .events()
        .host()
        .map(|event| event.timestamp_ms)
        .collect();
    assert_eq!(times.len(), EVENTS_KEPT);
    assert_eq!(times, (37..100).collect::<Vec<_>>());
    device.clear();
    assert_eq!(device.events().host().len(), 0);
}

#[test]
fn a_unit_begun_longer_ago_than_the_limit_is_given_up() {
    let options = FdpOptions {
        time_limit_seconds: 5,
        ..FdpOptions::default()
    };
    let mut device = telling(&roomy(), &options);
    let left = |device: &FdpDevice| {
        let units = device.status(NAMESPACE).unwrap();
        [units[0].time_left_seconds, units[1].time_left_seconds]
    };
    device.advance(10_000).unwrap();
    write(&mut device, 0, 3, P0);
    device.advance(12_500).unwrap();
    write(&mut device, 10, 3, PlacementIdentifier(1));
    assert_eq!(left(&device), [3, 5]);
    device.advance(14_999).unwrap();
    assert_eq!(host_events(&device), []);
    device.advance(15_000).unwrap();
    let [event] = host_events(&device)[..] else {
        panic!("one event")
    };
    assert_eq!(event.kind, FdpEventKind::TimeLimitExceeded);
    assert_eq!(
        event.location,
        Some(EventLocation {
            group: 0,
            handle: 0
        })
    );
    assert_eq!(left(&device), [5, 3]);
    // One that fills in time is not told of, and a clock does not go back.
    write(&mut device, 13, 7, PlacementIdentifier(1));
    device.advance(0).unwrap();
    device.advance(60_000).unwrap();
    assert_eq!(host_events(&device).len(), 1);
    assert_eq!(device.device().counters().finished_units, 1);
}

#[test]
fn a_reset_that_closes_units_tells_of_each_and_disables_events() {
    let mut device = telling(&roomy(), &FdpOptions::default());
    write(&mut device, 0, 3, PlacementIdentifier(1));
    device.reset(AtReset::Keep).unwrap();
    assert_eq!(host_events(&device), []);
    assert_eq!(
        device.status(NAMESPACE).unwrap()[1].available_bytes,
        7 * 4096
    );
    assert_eq!(device.enabled_events(NAMESPACE, 1), Ok(FdpEventKinds::NONE));
    enable(&mut device, 0);
    enable(&mut device, 1);
    device.reset(AtReset::Close).unwrap();
    let [event] = host_events(&device)[..] else {
        panic!("one event")
    };
    assert_eq!(event.kind, FdpEventKind::ResetModifiedHandles);
    assert_eq!((event.placement, event.namespace), (None, None));
    assert_eq!(
        event.location,
        Some(EventLocation {
            group: 0,
            handle: 1
        })
    );
}

/// One long-lived page in each unit of handle 0 and in each of handle 1; all else is overwritten.
fn churn(device: &mut FdpDevice) {
    for unit in 0..40 {
        for handle in 0..2 {
            let long_lived = 100 + unit * 2 + u32::from(handle);
            write(device, long_lived, 1, PlacementIdentifier(handle));
            write(
                device,
                u32::from(handle) * 9,
                9,
                PlacementIdentifier(handle),
            );
        }
    }
}

#[test]
fn collecting_an_initially_isolated_unit_is_told_and_a_persistently_isolated_one_not() {
    let mut device = telling(&drive(400, 10, 1, 2, 1, 0), &FdpOptions::default());
    churn(&mut device);
    let events: Vec<FdpEvent> = device.events().controller().copied().collect();
    assert!(events.len() > 5);
    for event in &events {
        assert_eq!(event.kind, FdpEventKind::MediaReallocated);
        assert_eq!(
            event.location,
            Some(EventLocation {
                group: 0,
                handle: 0
            })
        );
        assert_eq!((event.placement, event.namespace), (None, None));
        assert_eq!(event.detail, EventDetail::Moved { bytes: 4096 });
    }
    let copied = device.device().stream_counters();
    assert!(copied[2].copied_pages > 0 && copied[3].copied_pages > 0);
}

#[test]
fn a_unit_sealed_for_want_of_room_is_an_implicitly_modified_handle() {
    // As little spare as can be, and all data valid: only idle open units have anything to give.
    let mut device = telling(&drive(40, 10, 1, 4, 0, 0), &FdpOptions::default());
    let moves = FdpEventKind::MediaReallocated.into();
    for handle in 0..4 {
        device
            .enable_events(NAMESPACE, handle, moves, false)
            .unwrap();
    }
    write(&mut device, 0, 40, P0);
    for round in 0..40 {
        write(&mut device, round, 1, PlacementIdentifier(round as u16 % 4));
    }
    let sealed: u64 = device.device().stream_counters()[..4]
        .iter()
        .map(|stream| stream.sealed_units)
        .sum();
    let told = device.events().controller();
    assert!(sealed > 0);
    assert_eq!(told.len() as u64, sealed);
    let implicit = FdpEventKind::ImplicitlyModifiedHandle;
    assert!(
        device
            .events()
            .controller()
            .all(|event| event.kind == implicit)
    );
}
