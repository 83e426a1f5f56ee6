//! What a decision costs, per page written. `cargo bench -p anabranch-placement`

#![allow(missing_docs)]

use anabranch_placement::{
    Assign, Built, ContextName, HostGeometry, Names, SCHEMES, SchemeSpec, Whole, Write,
};
use anabranch_ssd::{Destination, PageRange, StreamId, Survivor, Victim};
use anabranch_trace::{ContextId, ContextKind, FileId, WriteHint};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const DRIVE: HostGeometry = HostGeometry {
    logical_pages: 300_000,
    page_bytes: 4096,
    host_streams: 8,
    internal_streams: 8,
    pages_per_unit: 100,
    physical_units: 3_300,
};
const WRITES: u64 = 4096;

/// Schemes that parameters make others of.
const VARIANTS: [&str; 6] = [
    "autostream-sfr:preset=sepbit-port",
    "autostream-mq:preset=sepbit-port",
    "autostream-mq:preset=log10-emulator",
    "vstream:by=file",
    "hints:tenants=4",
    "pcstream:tenants=4",
];

/// Random addresses, sixteen contexts and files, four tenants. The generator is cheap beside what
/// is measured, and the same on every run.
fn next(state: &mut u64) -> u32 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*state >> 33) as u32
}

fn names() -> Names {
    let context = |id| ContextName {
        id: ContextId(id),
        signature: id.into(),
        kind: ContextKind::Application,
        role: format!("role-{}", id % 3),
    };
    Names {
        files: (0..16)
            .map(|id| (FileId(id), format!("{id}.k{}", id % 5)))
            .collect(),
        contexts: (0..16).map(context).collect(),
    }
}

/// Places so many requests of so many pages each.
fn place(assign: &mut dyn Assign, request_pages: u32, now_pages: &mut u64, state: &mut u64) {
    for _ in 0..WRITES {
        let slot = next(state) % (DRIVE.logical_pages / request_pages);
        let drawn = next(state);
        let stream = assign.assign(&Write {
            pages: PageRange::new(slot * request_pages, request_pages),
            context: ContextId(drawn % 16),
            file: FileId(drawn / 16 % 16),
            hint: WriteHint::ALL[(drawn % 6) as usize],
            tenant: drawn / 256 % 4,
            now_pages: *now_pages,
        });
        std::hint::black_box(stream);
        *now_pages += u64::from(request_pages);
    }
}

fn assign(c: &mut Criterion) {
    for request_pages in [1, 92] {
        let mut group = c.benchmark_group(format!("assign_{request_pages}_pages"));
        group.throughput(Throughput::Elements(WRITES * u64::from(request_pages)));
        let schemes = SCHEMES.iter().map(|scheme| scheme.name);
        for name in schemes.chain(VARIANTS) {
            let Ok(spec) = name.parse::<SchemeSpec>() else {
                continue;
            };
            let Ok(mut assign) = spec.build(&DRIVE) else {
                continue;
            };
            assign.learn(&names());
            let (mut now_pages, mut state) = (0, 1);
            group.bench_function(name, |b| {
                b.iter(|| place(&mut *assign, request_pages, &mut now_pages, &mut state));
            });
        }
    }
}

fn page_write(page: u32, now_pages: u64) -> Write {
    Write {
        pages: PageRange::new(page, 1),
        context: ContextId(0),
        file: FileId(0),
        hint: WriteHint::NotSet,
        tenant: 0,
        now_pages,
    }
}

/// Schemes that hold both halves, on a drive that was filled once.
fn wholes() -> Vec<(&'static str, Box<dyn Whole>)> {
    let mut wholes = Vec::new();
    for scheme in SCHEMES {
        let spec = scheme.name.parse::<SchemeSpec>();
        let built = spec.map(|spec| spec.build_both(&DRIVE, None));
        if let Ok(Ok(Built::Whole(mut whole))) = built {
            for page in 0..DRIVE.logical_pages {
                whole.assign(&page_write(page, u64::from(page)));
            }
            wholes.push((scheme.name, whole));
        }
    }
    wholes
}

/// A victim of a hundred pages, all alive, at random addresses.
fn survivor(c: &mut Criterion) {
    let mut group = c.benchmark_group("survivor");
    group.throughput(Throughput::Elements(u64::from(DRIVE.pages_per_unit)));
    for (name, mut whole) in wholes() {
        let (mut now, mut state) = (u64::from(DRIVE.logical_pages), 1);
        group.bench_function(name, |b| {
            b.iter(|| {
                now += 10;
                let victim = Victim {
                    stream: StreamId(next(&mut state) as u16 % 8),
                    valid_pages: DRIVE.pages_per_unit,
                    opened_at: now / 2,
                    now,
                };
                if whole.destination(&victim) == Destination::Each {
                    for _ in 0..DRIVE.pages_per_unit {
                        let page = next(&mut state) % DRIVE.logical_pages;
                        let survivor = Survivor { page, age_pages: 0 };
                        std::hint::black_box(whole.survivor(&victim, survivor));
                    }
                }
            });
        });
    }
}

criterion_group!(benches, assign, survivor);
criterion_main!(benches);
