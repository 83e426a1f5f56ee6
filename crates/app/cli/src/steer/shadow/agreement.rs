//! Agreement of the estimates of one drive: `replay`, `replay --sample`, a replay of what `record --sample` keeps, and `steer`'s
//! sampled models. All of them get the same requests; no kernel is asked.
//!
//! ```text
//! whole:     every page, the scheme asked of every page
//! sampled:   four samples; each has a scheme that sees the sample alone
//! recorded:  the first sample as `record` writes it, replayed at its own rate
//! steered:   one scheme that sees every page; four samples of the drive get its decisions
//! ```

use std::path::Path;

use anabranch_compare::{
    ReplayOptions, Requests, Result as Found, Sampling, Sink, TraceFile, Unwatched, read_text,
    replay,
};
use anabranch_placement::{DeviceHalf, Names, SchemeSpec, Site};
use anabranch_steer::{Placer, Writer, Writers};
use anabranch_trace::{Io, Operation, Sampled, Tables};

use super::{model::model_of, *};

const SPARE: f64 = 0.07;
/// Streams, as many as the profile below has handles.
const STREAMS: u16 = 8;
const PROFILE: &str = "fdp-8ruh";
/// The farthest that the estimates by samples may be from each other, as a share of their WAF.
const NEAR: f64 = 0.03;
/// The farthest that they may be from the whole drive's, at 32 pages a unit.
const OFF: f64 = 0.05;

/// A load on a drive, and the rate of its samples.
struct Trial<'a> {
    load: &'a str,
    drive: &'a str,
    unit: &'a str,
    rate: &'a str,
}

/// WAF in one stream, and in the scheme's.
type Wafs = [f64; 2];

impl Trial<'_> {
    fn source(&self) -> TraceFile {
        TraceFile::open(Path::new(self.load), None, false).unwrap()
    }

    fn rate(&self) -> Rate {
        self.rate.parse().unwrap()
    }

    fn replayed(&self, source: &dyn Requests, rate: Option<Rate>, samples: Option<u32>) -> Wafs {
        let mut options = ReplayOptions::default();
        let drive = &mut options.drive;
        drive.profiles = vec![PROFILE.to_owned()];
        drive.size = Some(self.drive.to_owned());
        drive.unit = vec![self.unit.to_owned()];
        drive.over_provisioning = vec![SPARE.to_string()];
        options.comparison.sample = rate.map(Sampling::Rate);
        options.comparison.samples = samples;
        let specs = ["baseline+fdp", "anabranch+fdp"].map(spec);
        let results = replay(&options, &specs, &[source], &mut Unwatched).unwrap();
        let waf = |at: usize| results[0].schemes[at].waf.unwrap();
        [waf(0), waf(1)]
    }

    fn recorded(&self, source: &TraceFile) -> Wafs {
        let sampled = Sampled {
            rate: self.rate(),
            hash: HASH,
            page_bytes: small(PAGE_BYTES),
        };
        let mut tables = source.tables().unwrap().clone();
        tables.capture.sampled = Some(sampled);
        let sample = Sample::new(sampled);
        let mut kept = Vec::new();
        let batch = |ios: &[Io], _| -> Found {
            kept.extend(ios.iter().filter_map(|io| sample.apply(io)));
            Ok(())
        };
        source.each_batch(batch).unwrap();
        self.replayed(&Recording { kept, tables }, None, None)
    }

    fn steered(&self, source: &TraceFile) -> Wafs {
        let bytes = |text| anabranch_compare::bytes(text).unwrap();
        let sizes = (bytes(self.drive), bytes(self.unit));
        let model = |rate| model_of(sizes, RelocationKind::Fdp, STREAMS, SPARE, rate);
        let whole = model(Rate::WHOLE);
        let site = Site::new(&whole.config, DeviceHalf::Relocation(whole.kind));
        let halves = spec("anabranch").build(&site).unwrap();
        let mut placer = Placer::new(halves.into_assign(), None);
        let model = model(self.rate());
        let (one, apart) = one_stream(&model.config, model.kind);
        let samples = samples(model.rate, small(PAGE_BYTES), None, HASH, None).unwrap();
        let pair = |_: &Sample| {
            let baseline = ModelledDrive::new(&one, apart).unwrap();
            [
                baseline,
                ModelledDrive::new(&model.config, model.kind).unwrap(),
            ]
        };
        let drives: Arc<Mutex<Vec<Pair>>> =
            Arc::new(Mutex::new(samples.iter().map(pair).collect()));
        placer.watch(Box::new(Models {
            samples,
            drives: Arc::clone(&drives),
        }));
        let names = Names::of(source.tables().unwrap());
        let batch = |ios: &[Io], _| -> Found {
            ios.iter().for_each(|io| place(&mut placer, &names, io));
            Ok(())
        };
        source.each_batch(batch).unwrap();
        let drives = drives.lock().unwrap();
        let counters = |at: usize| -> Vec<Counters> {
            drives.iter().map(|pair| *pair[at].counters()).collect()
        };
        let drawn = Drawn {
            sample: model.rate.pages(),
            trace: 1,
            unit_pages: model.config.pages_per_unit,
        };
        let counted = Counted::of(&counters(0), &counters(1), drawn);
        [counted.baseline.waf.unwrap(), counted.steered.waf.unwrap()]
    }

    /// All estimates, by name.
    fn estimates(&self) -> [(&'static str, Wafs); 4] {
        let source = self.source();
        [
            ("whole", self.replayed(&source, None, None)),
            ("sampled", self.replayed(&source, Some(self.rate()), None)),
            ("recorded", self.recorded(&source)),
            ("steered", self.steered(&source)),
        ]
    }
}

fn spec(text: &str) -> SchemeSpec {
    SchemeSpec::read(text, &read_text).unwrap()
}

/// Requests of a trace that `record --sample` wrote.
struct Recording {
    kept: Vec<Io>,
    tables: Tables,
}

impl Requests for Recording {
    fn name(&self) -> String {
        "recording".to_owned()
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.tables)
    }

    fn each_batch(&self, sink: &mut Sink<'_>) -> Found {
        sink(&self.kept, 1.0)
    }
}

/// Models on the caller's own thread: none is missed.
struct Models {
    samples: Vec<Sample>,
    drives: Arc<Mutex<Vec<Pair>>>,
}

impl Witness for Models {
    fn wrote(&mut self, pages: PageRange, stream: StreamId) {
        for (number, kept) in kept_pages(&self.samples, pages) {
            take(
                &mut self.drives.lock().unwrap(),
                Seen::Wrote(number, kept, stream),
            );
        }
    }

    fn discarded(&mut self, pages: PageRange) {
        for (number, kept) in kept_pages(&self.samples, pages) {
            take(
                &mut self.drives.lock().unwrap(),
                Seen::Discarded(number, kept),
            );
        }
    }
}

/// The writer of a request, and all names.
struct Of<'a>(Writer, &'a Names);

impl Writers for Of<'_> {
    fn writer_of(&self, _page: u64) -> Option<Writer> {
        Some(self.0)
    }

    fn news(&self, contexts: usize, _files: usize) -> Option<Names> {
        (contexts == 0).then(|| self.1.clone())
    }

    fn done(&self, _first_page: u64, _pages: u64) {}
}

/// A request as the steered drive gets it.
fn place(placer: &mut Placer, names: &Names, io: &Io) {
    let end_bytes = io.offset_bytes + io.length_bytes;
    let range =
        |first: u64, end: u64| PageRange::new(small(first), small(end.saturating_sub(first)));
    match io.operation {
        Operation::Write => {
            let writer = Writer {
                context: io.context,
                file: io.file,
                hint: io.hint,
                tenant: io.tenant,
            };
            let pages = range(io.offset_bytes / PAGE_BYTES, end_bytes.div_ceil(PAGE_BYTES));
            placer.place(pages, false, &Of(writer, names), &mut Vec::new());
        }
        Operation::Discard => {
            let pages = range(io.offset_bytes.div_ceil(PAGE_BYTES), end_bytes / PAGE_BYTES);
            if pages.count > 0 {
                placer.discard(pages);
            }
        }
        Operation::Read | Operation::Flush => {}
    }
}

#[test]
fn the_estimates_of_a_drive_of_a_thousand_units_agree() {
    let trial = Trial {
        load: "synthetic:fio-three-streams:size=480MiB,write=2GiB",
        drive: "512MiB",
        unit: "512KiB",
        rate: "1/4",
    };
    let estimates = trial.estimates();
    let [(_, whole), sampled @ ..] = estimates;
    for at in 0..2 {
        let wafs = sampled.map(|(_, wafs)| wafs[at]);
        let (least, most) = (
            wafs.into_iter().fold(f64::MAX, f64::min),
            wafs.into_iter().fold(0.0, f64::max),
        );
        assert!(most / least - 1.0 < NEAR, "{estimates:?}");
        let off = (most / whole[at] - 1.0)
            .abs()
            .max((least / whole[at] - 1.0).abs());
        assert!(off < OFF, "{estimates:?}");
    }
}

/// Prints the rows of `lab/data/sampling-agreement.csv`.
#[test]
#[ignore = "takes minutes"]
fn prints_the_agreement() {
    let made = [
        "fio-three-streams",
        "cachelib",
        "fio-zipf",
        "varmail",
        "rocksdb-update",
    ];
    let recorded = [
        "rocksdb-fill",
        "sqlite-wal",
        "sqlite-rollback",
        "postgres-pgbench",
        "mariadb-tpcc",
        "lmdb",
    ];
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../traces");
    let loads = made.map(|name| {
        (
            name,
            format!("synthetic:{name}:size=3840MiB,write=12GiB"),
            "4GiB",
            "4MiB",
            "1/16",
        )
    });
    let recordings = recorded.map(|name| {
        (
            name,
            format!("{traces}/{name}.parquet"),
            "512MiB",
            "512KiB",
            "1/2",
        )
    });
    for (name, load, drive, unit, rate) in loads.into_iter().chain(recordings) {
        let load = &load;
        let estimates = Trial {
            load,
            drive,
            unit,
            rate,
        }
        .estimates();
        for (at, placed) in ["one stream", "`anabranch`"].into_iter().enumerate() {
            let wafs = estimates.map(|(_, wafs)| format!("{:.3}", wafs[at]));
            println!("{name},{drive},{rate},{placed},{}", wafs.join(","));
        }
    }
}
