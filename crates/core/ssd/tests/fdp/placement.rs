//! Configurations, identifiers, namespaces, statuses and statistics.

use anabranch_ssd::{
    PageRange, StreamId,
    fdp::{
        FdpConfiguration, FdpDevice, FdpError, FdpOptions, HandleType, HandleUsage,
        PlacementIdentifier, UnitStatus,
    },
};

use super::{NAMESPACE, drive};

fn device(groups: u32, handles: u16, isolated: u16) -> FdpDevice {
    let config = drive(800, 10, groups, handles, isolated, 20);
    FdpDevice::new(&config, &FdpOptions::default()).unwrap()
}

fn configuration(
    groups: u32,
    handles: u16,
    group_bits: Option<u8>,
) -> Result<FdpConfiguration, FdpError> {
    let options = FdpOptions {
        group_bits,
        ..FdpOptions::default()
    };
    FdpConfiguration::of(&drive(800, 10, groups, handles, 1, 0), &options)
}

#[test]
fn a_configuration_describes_the_device() {
    let device = device(4, 3, 1);
    let configuration = device.configuration();
    assert_eq!((configuration.groups, configuration.handles), (4, 3));
    assert_eq!(configuration.unit_bytes, 40960);
    assert_eq!(configuration.max_placement_identifiers, 12);
    assert_eq!(configuration.group_bits, 2);
    use HandleType::{InitiallyIsolated, PersistentlyIsolated};
    let types = [InitiallyIsolated, InitiallyIsolated, PersistentlyIsolated];
    assert_eq!(configuration.handle_types, types);
}

#[test]
fn the_group_is_in_the_upper_bits_of_an_identifier_and_the_handle_in_all_others() {
    let four = configuration(4, 3, Some(3)).unwrap();
    let identifier = four.encode(2, 1).unwrap();
    assert_eq!(identifier, PlacementIdentifier(0b010_0000000000001));
    assert_eq!(four.decode(identifier), (2, 1));
    // The bit just below the group is the handle's.
    assert_eq!(
        four.decode(PlacementIdentifier(0b001_1000000000000)),
        (1, 0x1000)
    );
    assert_eq!(four.encode(4, 0), None);
    assert_eq!(four.encode(0, 0x2000), None);
    let one = configuration(1, 3, None).unwrap();
    assert_eq!(one.decode(PlacementIdentifier(0xffff)), (0, 0xffff));
    assert_eq!(one.encode(0, 0xffff), Some(PlacementIdentifier(0xffff)));
}

#[test]
fn a_single_group_ignores_the_bits_that_would_name_another() {
    let one = configuration(1, 3, Some(4)).unwrap();
    assert_eq!(one.decode(PlacementIdentifier(0xf002)), (0, 2));
}

#[test]
fn group_bits_that_cannot_tell_groups_and_handles_apart_are_refused() {
    assert!(configuration(4, 3, Some(1)).is_err());
    assert!(configuration(4, 3, Some(15)).is_err());
    assert!(configuration(1, 1, Some(16)).is_err());
    assert!(configuration(1, 1, Some(255)).is_err());
    assert!(configuration(4, 3, Some(14)).is_ok());
}

#[test]
fn a_placement_handle_means_the_handle_its_namespace_lists() {
    let mut device = device(2, 4, 0);
    device.create_namespace(1, &[3, 1]).unwrap();
    device.create_namespace(2, &[1]).unwrap();
    let identifier = device.configuration().encode(1, 0);
    device.write(1, PageRange::new(0, 1), identifier).unwrap();
    assert_eq!(device.device().stream_of(0), Some(device.stream(1, 3)));
    device.write(2, PageRange::new(1, 1), identifier).unwrap();
    assert_eq!(device.device().stream_of(1), Some(StreamId(4 + 1)));
    use HandleUsage::{HostSpecified, Unused};
    let usage = [Unused, HostSpecified, Unused, HostSpecified];
    assert_eq!(device.usage(), usage);
}

#[test]
fn a_namespace_without_a_list_gets_the_one_handle_the_controller_picks() {
    let mut device = device(1, 3, 0);
    device.create_namespace(1, &[0]).unwrap();
    device.create_namespace(2, &[]).unwrap();
    device.create_namespace(3, &[]).unwrap();
    use HandleUsage::{ControllerSpecified, HostSpecified, Unused};
    assert_eq!(device.usage(), [HostSpecified, ControllerSpecified, Unused]);
    device.write(3, PageRange::new(0, 1), None).unwrap();
    assert_eq!(device.device().stream_of(0), Some(StreamId(1)));
    assert!(device.create_namespace(4, &[1]).is_err());
    device.delete_namespace(2).unwrap();
    device.delete_namespace(3).unwrap();
    assert_eq!(device.usage(), [HostSpecified, Unused, Unused]);
}

#[test]
fn namespaces_that_cannot_be_are_refused() {
    let options = FdpOptions {
        namespaces: 1,
        ..FdpOptions::default()
    };
    let mut device = FdpDevice::new(&drive(800, 10, 1, 2, 0, 9), &options).unwrap();
    let list = Err(FdpError::HandleList { handles: 2 });
    assert_eq!(device.create_namespace(1, &[0, 0]), list);
    assert_eq!(device.create_namespace(1, &[2]), list);
    device.create_namespace(1, &[0, 1]).unwrap();
    assert_eq!(
        device.create_namespace(1, &[0]),
        Err(FdpError::NamespaceExists(1))
    );
    assert_eq!(
        device.create_namespace(2, &[0]),
        Err(FdpError::TooManyNamespaces(1))
    );
    assert_eq!(
        device.delete_namespace(2),
        Err(FdpError::NoSuchNamespace(2))
    );
    let nowhere = device.write(2, PageRange::new(0, 1), None);
    assert_eq!(nowhere, Err(FdpError::NoSuchNamespace(2)));
}

#[test]
fn a_write_without_a_directive_goes_where_the_most_room_is_and_stays_until_a_unit_is_full() {
    let mut device = device(2, 2, 0);
    device.create_namespace(NAMESPACE, &[0, 1]).unwrap();
    let crowd = device.configuration().encode(0, 1);
    device
        .write(NAMESPACE, PageRange::new(0, 25), crowd)
        .unwrap();
    device
        .write(NAMESPACE, PageRange::new(100, 9), None)
        .unwrap();
    // Group 1 is the fuller now, and its unit is not yet.
    device.discard(PageRange::new(0, 25)).unwrap();
    device
        .write(NAMESPACE, PageRange::new(109, 1), None)
        .unwrap();
    device
        .write(NAMESPACE, PageRange::new(110, 1), None)
        .unwrap();
    let lies = |page| device.device().stream_of(page).unwrap();
    assert_eq!([lies(100), lies(109)], [device.stream(1, 0); 2]);
    assert_eq!(lies(110), device.stream(0, 0));
}

#[test]
fn a_status_lists_units_by_placement_handle_and_then_by_group() {
    let mut device = device(2, 3, 0);
    device.create_namespace(NAMESPACE, &[2, 0]).unwrap();
    let encode = |group, handle| device.configuration().encode(group, handle).unwrap();
    let expected = [
        (encode(0, 0), 2, 10),
        (encode(1, 0), 2, 10),
        (encode(0, 1), 0, 10),
        (encode(1, 1), 0, 7),
    ];
    device
        .write(NAMESPACE, PageRange::new(0, 3), Some(expected[3].0))
        .unwrap();
    let expected = expected.map(|(placement, handle, pages)| UnitStatus {
        placement,
        handle,
        time_left_seconds: 0,
        available_bytes: pages * 4096,
    });
    assert_eq!(device.status(NAMESPACE).unwrap(), expected);
}

#[test]
fn statistics_count_user_data_only_and_are_cleared_with_the_feature() {
    let mut device = device(1, 1, 0);
    device.create_namespace(NAMESPACE, &[0]).unwrap();
    let placement = PlacementIdentifier(0);
    assert_eq!(device.statistics().waf(), None);
    device
        .write(NAMESPACE, PageRange::new(0, 3), Some(placement))
        .unwrap();
    device.update(NAMESPACE, &[placement]).unwrap();
    let statistics = device.statistics();
    assert_eq!(statistics.host_bytes, 3 * 4096);
    assert_eq!(statistics.media_bytes, 3 * 4096, "padding is no user data");
    assert_eq!(device.device().counters().unwritten_pages, 7);
    device.clear();
    assert_eq!(device.statistics(), Default::default());
    device.write(NAMESPACE, PageRange::new(0, 1), None).unwrap();
    assert_eq!(device.statistics().host_bytes, 4096);
}

#[test]
fn erased_bytes_are_whole_units() {
    let mut device = device(1, 1, 0);
    device.create_namespace(NAMESPACE, &[0]).unwrap();
    for _ in 0..3 {
        device
            .write(NAMESPACE, PageRange::new(0, 800), None)
            .unwrap();
    }
    let erased = device.device().counters().erased_units;
    assert!(erased > 0);
    assert_eq!(device.statistics().erased_bytes, u128::from(erased) * 40960);
}

#[test]
fn an_update_of_too_many_or_invalid_identifiers_changes_nothing() {
    let mut device = device(1, 2, 0);
    device.create_namespace(NAMESPACE, &[0]).unwrap();
    let (good, bad) = (PlacementIdentifier(0), PlacementIdentifier(1));
    device
        .write(NAMESPACE, PageRange::new(0, 1), Some(good))
        .unwrap();
    assert_eq!(
        device.update(NAMESPACE, &[good, bad]),
        Err(FdpError::Invalid(bad))
    );
    let three = FdpError::TooManyIdentifiers {
        identifiers: 3,
        most: 2,
    };
    assert_eq!(device.update(NAMESPACE, &[good; 3]), Err(three));
    assert_eq!(device.device().counters().finished_units, 0);
}

/// A configuration with fewer handles has fewer identifiers.
#[test]
fn an_update_names_no_more_identifiers_than_its_configuration_has() {
    let mut device = device(2, 4, 0);
    device.use_handles(1).unwrap();
    device.create_namespace(NAMESPACE, &[0]).unwrap();
    let one = PlacementIdentifier(0);
    assert_eq!(device.update(NAMESPACE, &[one; 2]), Ok(()));
    let three = FdpError::TooManyIdentifiers {
        identifiers: 3,
        most: 2,
    };
    assert_eq!(device.update(NAMESPACE, &[one; 3]), Err(three));
}

#[test]
fn a_full_group_writes_on_in_another_and_says_so() {
    let config = drive(400, 10, 2, 2, 0, 0);
    let mut device = FdpDevice::new(&config, &FdpOptions::default()).unwrap();
    device.create_namespace(NAMESPACE, &[0, 1]).unwrap();
    let first = device.configuration().encode(0, 1);
    device
        .write(NAMESPACE, PageRange::new(0, 400), first)
        .unwrap();
    let misplaced = device.device().counters().misplaced_pages;
    let config = device.device().config();
    let elsewhere = (0..400).filter(|&page| {
        device
            .device()
            .stream_of(page)
            .is_some_and(|stream| config.group_of(stream) == 1)
    });
    assert_eq!(elsewhere.count() as u64, misplaced);
    assert!((150..250).contains(&misplaced), "{misplaced}");
    // The same handle, there.
    assert_eq!(device.device().stream_counters()[2].host_pages, 0);
    assert_eq!(device.device().stream_counters()[3].host_pages, misplaced);
}
