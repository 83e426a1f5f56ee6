//! What holds for every scheme, whatever is written.

use anabranch_placement::{Assign, HostGeometry, SCHEMES, SchemeSpec, Write};
use anabranch_ssd::PageRange;
use anabranch_trace::{ContextId, FileId, WriteHint};
use proptest::prelude::*;

const LOGICAL_PAGES: u32 = 5_000;

#[derive(Debug, Clone)]
enum Request {
    Write {
        pages: PageRange,
        context: u32,
        hint: WriteHint,
    },
    Discard(PageRange),
}

fn range() -> impl Strategy<Value = PageRange> {
    let first = prop_oneof![0..LOGICAL_PAGES, (0_u32..50).prop_map(|slot| slot * 92)];
    let count = prop_oneof![Just(1), Just(92), 1_u32..2000];
    (first, count).prop_map(|(first, count)| PageRange::new(first, count))
}

fn request() -> impl Strategy<Value = Request> {
    let context = prop_oneof![9 => 0_u32..12, 1 => any::<u32>()];
    let hint = prop::sample::select(WriteHint::ALL.to_vec());
    let write = (range(), context, hint).prop_map(|(pages, context, hint)| Request::Write {
        pages,
        context,
        hint,
    });
    prop_oneof![6 => write, 1 => range().prop_map(Request::Discard)]
}

/// The scheme's answer to each write.
fn answers(assign: &mut dyn Assign, requests: &[Request], start_pages: u64) -> Vec<u16> {
    let mut now_pages = start_pages;
    let mut streams = Vec::new();
    for request in requests {
        match *request {
            Request::Discard(pages) => assign.discard(pages, now_pages),
            Request::Write {
                pages,
                context,
                hint,
            } => {
                let stream = assign.assign(&Write {
                    pages,
                    context: ContextId(context),
                    file: FileId(0),
                    hint,
                    tenant: 0,
                    now_pages,
                });
                streams.push(stream.0);
                now_pages += u64::from(pages.count);
            }
        }
    }
    streams
}

/// The bound each host part states, in bytes.
fn memory_bound(scheme: &str) -> usize {
    match scheme {
        "autostream-sfr" => LOGICAL_PAGES.div_ceil(256) as usize * 24 + 64 * 8,
        "pcstream*" | "pcstream" => (64 << 20) + 1024 * 32 + 64 * 2,
        _ => published_memory_bound(scheme),
    }
}

/// The same of the published schemes that do both halves: bytes for each page of the drive, and
/// what does not grow with it.
fn published_memory_bound(scheme: &str) -> usize {
    let (page_bytes, fixed_bytes) = match scheme {
        "dac" => (1, 0),
        // Four trainings of 1,024 samples, each with its place in a table, and the network.
        "dogi" => (6, 4 * 1024 * (48 + 2 * 9) + 4 * 1610 * 4 + 4 * 10),
        "eti" => (0, 1024 * 8),
        "fadac" => (4, 0),
        // Four drives' worth of quarters of a unit, 25 pages each, 4 bytes a quarter.
        "midas" => (5, (4 * LOGICAL_PAGES as usize / 25 + 1) * 4 + 4096),
        "multilog" => (5, 6 * 24),
        "sepbit" => (4, 6 * 2),
        // Room for twice the 60 units, 36 bytes each, and for the hotness of each.
        "sfs" => (10, 2 * 66 * (36 + 8) + 6 * 16),
        "warcip" => (8, 6 * 40),
        _ => (0, 0),
    };
    LOGICAL_PAGES as usize * page_bytes + fixed_bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn streams_exist_answers_repeat_and_memory_is_bounded(
        requests in prop::collection::vec(request(), 1..400),
        host_streams in prop_oneof![1_u16..10, Just(64)],
        start_pages in prop_oneof![Just(0), Just(u64::from(u32::MAX) - 1000), Just(1 << 45)],
    ) {
        let geometry = HostGeometry { logical_pages: LOGICAL_PAGES, page_bytes: 4096, host_streams, internal_streams: 8, pages_per_unit: 100, physical_units: 60 };
        for scheme in SCHEMES {
            let spec: SchemeSpec = scheme.name.parse().unwrap();
            let mut first = spec.build(&geometry).unwrap();
            let mut second = spec.build(&geometry).unwrap();
            let streams = answers(&mut *first, &requests, start_pages);
            prop_assert!(streams.iter().all(|stream| *stream < host_streams), "{}", scheme.name);
            prop_assert_eq!(&streams, &answers(&mut *second, &requests, start_pages));
            prop_assert!(first.memory_bytes() <= memory_bound(scheme.name), "{}", scheme.name);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z*+:=,.0-9 -]{0,40}|\\PC{0,20}") {
        let _ = SchemeSpec::parse_list(&text);
    }
}

#[test]
fn the_lifetime_table_keeps_to_the_bound_it_was_given() {
    let geometry = HostGeometry {
        logical_pages: 1 << 28,
        page_bytes: 4096,
        host_streams: 8,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };
    let spec: SchemeSpec = "pcstream:table=1MiB,max-contexts=10".parse().unwrap();
    let assign = spec.build(&geometry).unwrap();
    assert!(assign.memory_bytes() <= (1 << 20) + 10 * 32 + 8 * 2);
}
