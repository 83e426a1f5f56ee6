//! Properties that hold for every scheme, under any writes.

use anabranch_placement::{
    Assign, ContextName, DeviceHalf, Halves, HostGeometry, Names, Rules, SCHEMES, SchemeError,
    SchemeSpec, Site, Write,
};
use anabranch_ssd::{PageRange, relocate::RelocationKind};
use anabranch_trace::{ContextId, ContextKind, FileId, WriteHint};
use proptest::prelude::*;

const LOGICAL_PAGES: u32 = 5_000;

/// The host half on a drive that is sold.
fn host_half(spec: &SchemeSpec, geometry: &HostGeometry) -> Result<Box<dyn Assign>, SchemeError> {
    let copies = DeviceHalf::Relocation(RelocationKind::Fdp);
    let halves = spec.build(&Site::new(&geometry.drive(), copies));
    halves.map(Halves::into_assign)
}

#[derive(Debug, Clone)]
enum Request {
    Write {
        pages: PageRange,
        context: u32,
        file: u32,
        hint: WriteHint,
        tenant: u32,
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
    let file = prop_oneof![9 => 0_u32..40, 1 => any::<u32>()];
    let hint = prop::sample::select(WriteHint::ALL.to_vec());
    let write = (range(), context, file, hint, 0_u32..6);
    let write = write.prop_map(|(pages, context, file, hint, tenant)| Request::Write {
        pages,
        context,
        file,
        hint,
        tenant,
    });
    prop_oneof![6 => write, 1 => range().prop_map(Request::Discard)]
}

/// Names for some of the files and contexts that requests carry.
fn names() -> Names {
    let name = |id: u32| match id % 5 {
        0 => String::new(),
        1 => format!("{id:06}.sst"),
        2 => format!("{id:06}.log"),
        3 => format!("CommitLog-{id}.log"),
        _ => format!("kind-{id}.k{id}"),
    };
    let kinds = [
        ContextKind::Unknown,
        ContextKind::Application,
        ContextKind::Journal,
        ContextKind::Metadata,
    ];
    let context = |id: u32| ContextName {
        id: ContextId(id),
        signature: id.into(),
        kind: kinds[id as usize % kinds.len()],
        role: format!("role-{}", id % 3),
    };
    Names {
        files: (0..35).map(|id| (FileId(id), name(id))).collect(),
        contexts: (0..10).map(context).collect(),
    }
}

/// Every scheme of the catalogue, its presets, and parameters that make it another one.
fn all() -> Vec<String> {
    let mut all = Vec::new();
    for scheme in SCHEMES {
        all.push(scheme.name.to_owned());
        let presets = (scheme.host)().presets();
        all.extend(
            presets
                .iter()
                .map(|preset| format!("{}:preset={}", scheme.name, preset.name)),
        );
    }
    all.extend(Rules::shipped().map(|rules| format!("manual:rules={rules}")));
    let others = [
        "vstream:by=file,max-virtual=5",
        "pcstream-fcfs:samples=0,max-contexts=4",
        "flashalloc:objects=3,idle=16KiB",
    ];
    all.extend(others.map(str::to_owned));
    let shared = [
        "pcstream",
        "hints+gc",
        "autostream-sfr",
        "autostream-mq",
        "fstream",
    ];
    all.extend(shared.map(|scheme| format!("{scheme}:tenants=3")));
    all
}

/// The scheme's answer to each write.
fn answers(assign: &mut dyn Assign, requests: &[Request], start_pages: u64) -> Vec<u16> {
    let mut now_pages = start_pages;
    let mut streams = Vec::new();
    assign.learn(&names());
    for request in requests {
        match *request {
            Request::Discard(pages) => assign.discard(pages, now_pages),
            Request::Write {
                pages,
                context,
                file,
                hint,
                tenant,
            } => {
                let stream = assign.assign(&Write {
                    pages,
                    context: ContextId(context),
                    file: FileId(file),
                    hint,
                    tenant,
                    now_pages,
                });
                streams.push(stream.0);
                now_pages += u64::from(pages.count);
            }
        }
    }
    streams
}

/// Bytes for names of files: 2 for each file named, and the classes there are of them.
const FILE_CLASSES: usize = 64 * 2 + 2 * 64 * (32 + 64);

/// Rules over names: the rules, and which match each file and context named.
const RULES: usize = 8 * (64 + 16) + 64 * 96;

/// The bound each host part states, in bytes, for the drive and the names of these tests.
fn memory_bound(scheme: &str) -> usize {
    let (name, parameters) = scheme.split_once(':').unwrap_or((scheme, ""));
    let host = name.split_once('+').map_or(name, |(host, _)| host);
    // The smallest chunk is 1 MiB.
    let chunks = LOGICAL_PAGES.div_ceil(256) as usize;
    let of_one = match host {
        "manual" => RULES,
        "sequential" => 24 * (4 + 16),
        "autostream-sfr" => chunks * 24 + 64 * 8 + 1024 * 16,
        "autostream-mq" => chunks * 40 + 64 * 16,
        "fstream" => FILE_CLASSES + 16 + 1026 * 2,
        "flashalloc" => 128 * 24,
        "vstream" => (1 << 20) + 1024 * 32 + FILE_CLASSES,
        "pcstream-fcfs" => 65_536 * 8,
        "pcstream*" | "pcstream" => (64 << 20) + 1024 * 40 + 64 * 2,
        "fk" => LOGICAL_PAGES as usize * 8,
        "oracle" | "oracle-rate" => LOGICAL_PAGES as usize * 20 + 60 * 12 + 80 * 12,
        _ => published_memory_bound(host),
    };
    if parameters.contains("tenants=3") {
        3 * (of_one + 64 * 2) + 64 * 2
    } else {
        of_one
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
        // Eight drives' worth of quarters of a unit, 25 pages each, 4 bytes a quarter.
        "midas" => (5, (8 * LOGICAL_PAGES as usize / 25 + 1) * 4 + 4096),
        "multilog" => (5, 6 * 24),
        "sepbit" => (4, 6 * 2),
        // Room for twice the 60 units, 36 bytes each, and for the hotness of each.
        "sfs" => (10, 2 * 66 * (36 + 8) + 6 * 16),
        "warcip" => (8, 6 * 40),
        "anabranch" => (8, anabranch_fixed_bytes()),
        _ => (0, 0),
    };
    LOGICAL_PAGES as usize * page_bytes + fixed_bytes
}

/// Memory that `anabranch` states beside 8 bytes a page: 8,192 curves of 172 bytes, records of 1,024
/// writers and 4,096 files, the table curves are read with, names of files, rules over them; and seven
/// miniature drives, here of all pages (4 bytes each, and 4 in the units), 60 units and up to 72 streams, whose own predictors are
/// empty but for the fixed tables.
fn anabranch_fixed_bytes() -> usize {
    let tables = 1024 * 8 + 4096 * 8;
    let mind = 40 * 40 * 4 + 256 * 4 + 2048;
    let miniature = 4 * LOGICAL_PAGES as usize + 60 * (100 * 4 + 96) + 72 * 102 * 8 + 2048;
    8192 * 172 + tables + mind + FILE_CLASSES + RULES + 7 * (miniature + mind)
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
        for scheme in all() {
            let spec: SchemeSpec = scheme.parse().unwrap();
            let mut first = host_half(&spec, &geometry).unwrap();
            let mut second = host_half(&spec, &geometry).unwrap();
            let streams = answers(&mut *first, &requests, start_pages);
            prop_assert!(streams.iter().all(|stream| *stream < host_streams), "{}", scheme);
            prop_assert_eq!(&streams, &answers(&mut *second, &requests, start_pages));
            prop_assert!(first.memory_bytes() <= memory_bound(&scheme), "{}", scheme);
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
    let assign = host_half(&spec, &geometry).unwrap();
    assert!(assign.memory_bytes() <= (1 << 20) + 10 * 32 + 8 * 2);
}

#[test]
fn names_of_any_number_do_not_grow_a_scheme_past_its_bound() {
    let geometry = HostGeometry {
        logical_pages: 1000,
        page_bytes: 4096,
        host_streams: 8,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };
    let far = [1 << 15, (1 << 20) - 1, 1 << 20, u32::MAX];
    let names = Names {
        files: far.map(|id| (FileId(id), format!("{id}.sst"))).to_vec(),
        contexts: far
            .map(|id| ContextName {
                id: ContextId(id),
                signature: 1,
                kind: ContextKind::Journal,
                role: "role".to_owned(),
            })
            .to_vec(),
    };
    for (scheme, bound) in [
        ("manual:rules=rocksdb", (8 << 20) + (1 << 19) + 10_000),
        ("fstream", (2 << 20) + (1 << 16) + 10_000),
        ("vstream:by=file", (2 << 20) + 8_000 + 32_768 + 10_000),
        ("pcstream", 8_000 + 1024 * 40 + 10_000),
    ] {
        let mut assign = host_half(&scheme.parse().unwrap(), &geometry).unwrap();
        assign.learn(&names);
        assert!(
            assign.memory_bytes() <= bound,
            "{scheme}: {}",
            assign.memory_bytes()
        );
    }
}
