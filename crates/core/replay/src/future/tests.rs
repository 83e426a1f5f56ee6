//! The first pass, by hand and against a naive one.

use super::*;
use anabranch_placement::SchemeSpec;
use anabranch_ssd::profile::Profile;
use proptest::prelude::*;

const PAGE: u64 = 4096;
const END: u32 = Future::ENDLESS;

fn drive(logical_pages: u32) -> Config {
    let profile = Profile::shipped("golden").unwrap();
    Config {
        logical_pages,
        pages_per_unit: 4,
        physical_units: logical_pages.div_ceil(4) + 8,
        ..profile.resolve("golden").unwrap()
    }
}

fn discard(io: Io) -> Io {
    Io {
        operation: Operation::Discard,
        ..io
    }
}

fn foretold(ios: &[Io]) -> Future {
    let mut foresight = Foresight::new(&drive(8));
    ios.iter().for_each(|io| foresight.record(io).unwrap());
    foresight.finish()
}

#[test]
fn a_life_ends_with_an_overwrite_or_a_discard() {
    let future = foretold(&[
        Io::write(0, 3 * PAGE),
        Io::write(PAGE, PAGE),
        discard(Io::write(0, 2 * PAGE)),
        discard(Io::write(0, 2 * PAGE)),
        Io::write(0, PAGE),
    ]);
    assert_eq!(future.lives_pages(), [4, 2, END, 1, END]);
    let deaths = [0, 1, 2, 3, 4, 5].map(|now| future.dies_at(now));
    let never = Future::NEVER;
    assert_eq!(deaths, [4, 3, never, 4, never, never]);
}

#[test]
fn a_part_of_a_page_is_overwritten_whole_and_discarded_never() {
    let future = foretold(&[
        Io::write(0, 2 * PAGE),
        discard(Io::write(1, 2 * PAGE - 2)),
        Io::write(PAGE - 1, 1),
        discard(Io::write(0, PAGE - 1)),
    ]);
    assert_eq!(future.lives_pages(), [2, END, END]);
}

#[test]
fn a_mean_life_counts_the_time_of_lives_that_have_not_ended() {
    let future = foretold(&[
        Io::write(0, PAGE),
        Io::write(0, PAGE),
        Io::write(PAGE, 6 * PAGE),
        discard(Io::write(PAGE, PAGE)),
    ]);
    // Page 0 lived for 1 and lasts for 7 more; page 1 lived for 6; page 2 never died.
    let means = [0, 1, 2, 7, 99].map(|page| future.mean_life_pages(page));
    assert_eq!(means, [8, 6, Future::NEVER, Future::NEVER, Future::NEVER]);
}

#[test]
fn a_request_beyond_the_drive_is_named_by_its_number() {
    let mut foresight = Foresight::new(&drive(8));
    assert_eq!(foresight.record(&Io::write(0, PAGE)), Ok(()));
    let error = foresight.record(&Io::write(8 * PAGE, PAGE)).unwrap_err();
    assert!(error.to_string().starts_with("record 2: "), "{error}");
}

/// When each page written dies, found by looking through all that comes after it.
fn naive(ios: &[Io]) -> Vec<u32> {
    let pages = |io: &Io| match io.operation {
        Operation::Write => {
            io.offset_bytes / PAGE..(io.offset_bytes + io.length_bytes).div_ceil(PAGE)
        }
        _ => io.offset_bytes.div_ceil(PAGE)..(io.offset_bytes + io.length_bytes) / PAGE,
    };
    // (page, logical time, written or discarded)
    let mut events: Vec<(u64, u64, bool)> = Vec::new();
    let mut now = 0;
    for io in ios {
        for page in pages(io) {
            let is_write = io.operation == Operation::Write;
            events.push((page, now, is_write));
            now += u64::from(is_write);
        }
    }
    let life = |index: usize| {
        let (page, born, _) = events[index];
        let end = events[index + 1..].iter().find(|event| event.0 == page);
        end.map_or(END, |(_, dies, _)| (dies - born) as u32)
    };
    let written = (0..events.len()).filter(|&index| events[index].2);
    written.map(life).collect()
}

fn request() -> impl Strategy<Value = Io> {
    let bytes = (0..24 * PAGE, 0..6 * PAGE);
    (bytes, prop::bool::weighted(0.7)).prop_map(|((offset, length), is_write)| {
        let io = Io::write(offset, length);
        if is_write { io } else { discard(io) }
    })
}

proptest! {
    #[test]
    fn the_pass_agrees_with_a_naive_one_and_counts_as_a_lane_does(
        ios in prop::collection::vec(request(), 0..150),
    ) {
        let drive = drive(32);
        let mut foresight = Foresight::new(&drive);
        let spec: SchemeSpec = "baseline".parse().unwrap();
        let mut lane = crate::Lane::build(&spec, &drive, &crate::Start::default()).unwrap();
        for io in &ios {
            foresight.record(io).unwrap();
            lane.apply(io).unwrap();
        }
        lane.flush_batch().unwrap();
        let future = foresight.finish();
        prop_assert_eq!(future.lives_pages(), &naive(&ios)[..]);
        prop_assert_eq!(future.lives_pages().len() as u64, lane.counters().host_pages);
    }
}
