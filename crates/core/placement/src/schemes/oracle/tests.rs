//! Hand-worked futures.

use super::*;

const DRIVE: HostGeometry = HostGeometry {
    logical_pages: 100,
    page_bytes: 4096,
    host_streams: 4,
    internal_streams: 2,
    pages_per_unit: 10,
    physical_units: 14,
};

/// The oracle of a drive whose first pages live so long, in the order they are written, in a trace
/// of 6,000; with classes that stand for lives of 5, 20, 80, 320, 1,280 and 5,120 pages while they
/// are empty.
fn oracle(lives_pages: &[u32], classes: u32) -> Oracle {
    let parameters = Parameters {
        classes,
        ..Parameters::default()
    };
    let mut lives_pages = lives_pages.to_vec();
    lives_pages.resize(6000, 1);
    let future = Future::new(lives_pages, Vec::new());
    Oracle::new(&parameters, &DRIVE, Some(&Arc::new(future)))
}

fn write(page: u32, now_pages: u64) -> Write {
    Write {
        pages: PageRange::new(page, 1),
        context: anabranch_trace::ContextId(0),
        file: anabranch_trace::FileId(0),
        hint: anabranch_trace::WriteHint::NotSet,
        tenant: 0,
        now_pages,
    }
}

fn victim(now: u64) -> Victim {
    Victim {
        stream: StreamId(0),
        valid_pages: 1,
        opened_at: 0,
        now,
    }
}

fn copy(oracle: &mut Oracle, page: u32, now: u64) -> u16 {
    let survivor = Survivor { page, age_pages: 0 };
    oracle.survivor(&victim(now), survivor).0
}

#[test]
fn empty_classes_are_ranges_of_life_that_grow_by_the_ratio() {
    let lives = [1, 12, 13, 49, 51, 199, 201, Future::ENDLESS];
    let mut oracle = oracle(&lives, 4);
    let streams: Vec<u16> = (0..8)
        .map(|page| oracle.assign(&write(page, u64::from(page))).0)
        .collect();
    assert_eq!(streams, [0, 0, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn a_page_goes_where_data_die_nearest_to_its_own_death() {
    let mut oracle = oracle(&[50, 49, 100], 4);
    assert_eq!(oracle.assign(&write(0, 0)), StreamId(1));
    oracle.placed(0, 3, StreamId(1));
    // The class of 20 pages now dies at 50, as this page does; the class of 80 dies at 81.
    assert_eq!(oracle.assign(&write(1, 1)), StreamId(1));
    // At 2 the page dies at 102: nearer to 82 than to 50.
    assert_eq!(oracle.assign(&write(2, 2)), StreamId(2));
}

#[test]
fn a_copy_goes_by_the_life_that_is_left_to_it() {
    let mut oracle = oracle(&[200], 4);
    assert_eq!(oracle.assign(&write(0, 0)), StreamId(2));
    assert_eq!(copy(&mut oracle, 0, 0), 2);
    assert_eq!(copy(&mut oracle, 0, 170), 1);
    assert_eq!(copy(&mut oracle, 0, 195), 0);
}

#[test]
fn only_copies_reach_the_classes_beyond_the_hosts_streams() {
    let mut oracle = oracle(&[5000], 6);
    assert_eq!(oracle.assign(&write(0, 0)), StreamId(3));
    assert_eq!(copy(&mut oracle, 0, 0), 5);
    assert_eq!(copy(&mut oracle, 0, 4000), 4);
}

#[test]
fn a_page_outlives_the_trace_by_a_capacity() {
    let mut oracle = oracle(&[Future::ENDLESS], 6);
    assert_eq!(oracle.assign(&write(0, 0)), StreamId(3));
    assert_eq!(copy(&mut oracle, 0, 6000), 2);
    assert_eq!(copy(&mut oracle, 0, 6080), 1);
}

#[test]
fn what_is_tried_fits_the_streams_and_nothing_is_tried_where_classes_are_given() {
    let classes = |parameters: &Parameters| -> Vec<String> {
        let trials = parameters.trials(&DRIVE);
        trials.into_iter().map(|trial| trial[0].1.clone()).collect()
    };
    assert_eq!(
        classes(&Parameters::default()),
        ["1", "2", "4", "6", "6", "6"]
    );
    let given = Parameters {
        classes: 3,
        ..Parameters::default()
    };
    assert!(classes(&given).is_empty());
}
