//! Samples against what they must be, page by page.

use proptest::prelude::*;

use super::*;

fn rate(pages: u32) -> Rate {
    Rate::one_of(pages).unwrap()
}

fn sample(pages: u32, hash: u64) -> Sample {
    Sample::new(Sampled {
        rate: rate(pages),
        hash,
        page_bytes: 4096,
    })
}

fn page(number: u64) -> Io {
    Io::write(number * 4096, 4096)
}

/// The pages of `0..pages` that are kept, in order.
fn kept(sample: &Sample, pages: u64) -> Vec<u64> {
    let is_kept = |&number: &u64| sample.apply(&page(number)).is_some();
    (0..pages).filter(is_kept).collect()
}

#[test]
fn one_page_of_so_many_neighbours_is_kept_and_stands_for_all() {
    for hash in 0..5 {
        let sample = sample(64, hash);
        let kept = kept(&sample, 64 * 100);
        let groups: Vec<u64> = kept.iter().map(|page| page / 64).collect();
        assert_eq!(groups, (0..100).collect::<Vec<u64>>());
        for (number, &kept) in (0..).zip(&kept) {
            let io = sample.apply(&page(kept)).unwrap();
            assert_eq!(
                (io.offset_bytes, io.length_bytes),
                (number * 64 * 4096, 64 * 4096)
            );
        }
    }
}

#[test]
fn hashes_draw_pages_that_have_nothing_to_do_with_each_other() {
    let [one, other] = [1, 2].map(|hash| kept(&sample(8, hash), 80_000));
    let same = one.iter().filter(|page| other.binary_search(page).is_ok());
    // One of eight by chance: 1,250 of 10,000, give or take four deviations.
    assert!((1118..1382).contains(&same.count()));
    let places = (0..8).map(|place| one.iter().filter(|page| *page % 8 == place).count());
    assert!(
        places
            .into_iter()
            .all(|count| (1118..1382).contains(&count))
    );
}

#[test]
fn a_request_of_the_whole_rate_is_its_pages() {
    let whole = sample(1, 9);
    let io = |offset_bytes, length_bytes, operation| Io {
        operation,
        ..Io::write(offset_bytes, length_bytes)
    };
    let seen = |io: Io| {
        let seen = whole.apply(&io)?;
        Some((seen.offset_bytes / 4096, seen.length_bytes / 4096))
    };
    assert_eq!(seen(io(4095, 4098, Operation::Write)), Some((0, 3)));
    assert_eq!(seen(io(4095, 4098, Operation::Discard)), Some((1, 1)));
    assert_eq!(seen(io(1, 4096, Operation::Discard)), None);
    assert_eq!(seen(io(0, 0, Operation::Flush)), None);
    assert_eq!(seen(io(0, 0, Operation::Write)), None);
    assert!(seen(io(u64::MAX - 1, u64::MAX, Operation::Write)).is_some());
}

#[test]
fn a_rate_is_one_of_a_power_of_two_and_what_is_not_is_told_one_that_works() {
    assert_eq!("1/64".parse(), Ok(rate(64)));
    assert_eq!("1/1".parse(), Ok(Rate::WHOLE));
    assert_eq!(rate(1024).to_string(), "1/1024");
    assert_eq!(rate(2).finer(), Some(Rate::WHOLE));
    assert_eq!(Rate::WHOLE.finer(), None);
    for (wrong, works) in [
        ("1/0", "1/64"),
        ("2/3", "1/64"),
        ("1/-8", "1/64"),
        ("64", "1/64"),
        ("", "1/64"),
        ("1/100", "1/64"),
        ("1/10000000", "1/1048576"),
        ("1/99999999999999999999", "1/64"),
    ] {
        let words = wrong.parse::<Rate>().unwrap_err().to_string();
        assert!(words.contains(&format!("\"{wrong}\"")), "{words}");
        assert!(words.ends_with(works), "{words}");
    }
}

proptest! {
    /// A request sees what its pages see, one by one.
    #[test]
    fn a_request_is_its_pages(
        first in 0_u64..1 << 40, count in 0_u64..300, halvings in 0_u32..9, hash: u64
    ) {
        let sample = sample(1 << halvings, hash);
        let single = (first..first + count).filter_map(|number| sample.apply(&page(number)));
        let single: Vec<u64> = single.map(|io| io.offset_bytes).collect();
        let whole = sample.apply(&Io::write(first * 4096, count * 4096));
        let bytes = 4096 << halvings;
        let whole = whole.map_or(Vec::new(), |io| {
            (0..io.length_bytes / bytes).map(|page| io.offset_bytes + page * bytes).collect()
        });
        prop_assert_eq!(single, whole);
    }

    #[test]
    fn a_sample_of_a_sample_is_the_coarser_sample(
        offset in 0_u64..1 << 40, length in 0_u64..1 << 22, fine in 0_u32..6, more in 0_u32..6, hash: u64,
        discards: bool
    ) {
        let sampled = |halvings: u32| Sampled { rate: rate(1 << halvings), hash, page_bytes: 4096 };
        let operation = if discards { Operation::Discard } else { Operation::Write };
        let io = Io { operation, ..Io::write(offset, length) };
        let coarse = sampled(fine + more);
        let once = Sample::new(coarse).apply(&io);
        let twice = Sample::new(sampled(fine)).apply(&io);
        let twice = twice.and_then(|io| Sample::thinned(rate(1 << fine), coarse).apply(&io));
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_remembers_its_pages_keeps_what_each_sample_keeps(
        requests in prop::collection::vec((0_u64..1 << 36, 0_u64..1 << 23), 1..40),
        fine in 0_u32..4, more in 0_u32..18, hashes in prop::collection::vec(any::<u64>(), 1..5),
        far: bool, discards: bool
    ) {
        let sample = |&hash: &u64| {
            let sampled = Sampled { rate: rate(1 << (fine + more).min(20)), hash, page_bytes: 4096 };
            Sample::thinned(rate(1 << fine), sampled)
        };
        let samples: Vec<Sample> = hashes.iter().map(sample).collect();
        let mut pages = KeptPages::new(&samples);
        let operation = if discards { Operation::Discard } else { Operation::Write };
        for (offset, length) in requests {
            // Far ones are beyond what is remembered; the same page comes again and again.
            let offset = if far { offset << 28 } else { offset % (1 << 26) };
            let io = Io { operation, ..Io::write(offset, length) };
            let mut kept = Vec::new();
            pages.apply(&io, |number, io| kept.push((number, io)));
            let each = samples.iter().map(|sample| sample.apply(&io)).enumerate();
            let each: Vec<(usize, Io)> = each.filter_map(|(number, io)| Some((number, io?))).collect();
            prop_assert_eq!(kept, each);
        }
    }
}
