//! The parts on the way from a trace to a result: page numbers, surveys, labels, preconditioning.

use anabranch_placement::Names;
use anabranch_replay::{
    Drawn, Foresight, Pack, Pages, Pattern, Precondition, Renumber, SampledWaf, Survey, short,
    without_parameters,
};
use anabranch_ssd::{Config, Device};
use anabranch_trace::{
    Context, ContextId, ContextKind, FileId, Frame, Io, Operation, Rate, Sample, Sampled,
};

use crate::{
    Random, Sum, hold,
    lanes::{drive, requests},
};

/// Requests over addresses with holes.
fn sparse(random: &mut Random) -> Io {
    let operation = random.one_of(&[
        Operation::Write,
        Operation::Write,
        Operation::Write,
        Operation::Discard,
        Operation::Read,
        Operation::Flush,
    ]);
    let offset = random.below(12) * 1_000_000 + random.below(60) * random.one_of(&[4096, 512]);
    let length = random.below(30) * random.one_of(&[4096, 4096, 512]);
    Io {
        operation,
        ..Io::write(offset, length)
    }
}

fn numbers(seed: u64) -> String {
    let mut random = Random(seed);
    let ios: Vec<Io> = (0..200).map(|_| sparse(&mut random)).collect();
    let mut numbers = Renumber::new(4096);
    ios.iter().for_each(|io| numbers.learn(io));
    let dense = numbers.finish_learning();
    let mut sum = Sum::default();
    for page in 0..dense + 2 {
        sum.take(numbers.original_bytes(page * 4096 + 7));
    }
    let mut pack = Pack::new(numbers.clone(), 4096, dense).unwrap();
    for io in &ios {
        numbers.apply(io, |io| sum.take(io));
        pack.apply(io, |io| sum.take(("packed", io)));
        sum.take(pack.most_pages());
    }
    format!(
        "{dense} dense pages, {} packed, {}",
        pack.most_pages(),
        sum.text()
    )
}

fn pages(seed: u64) -> String {
    let mut random = Random(seed);
    let pages = Pages::new(500, 4096);
    let mut sum = Sum::default();
    let mut foresight = Foresight::new(&Config::new(500, 10, 60));
    for _ in 0..500 {
        let io = Io {
            offset_bytes: random.below(505 * 8) * 512,
            length_bytes: random.below(200) * 512,
            ..sparse(&mut random)
        };
        sum.take((pages.written(&io), pages.discarded(&io)));
        sum.take(foresight.record(&io).map_err(|error| error.to_string()));
    }
    sum.take(foresight.finish());
    sum.text()
}

const SYMBOLS: [&str; 22] = [
    "main",
    "write",
    "__libc_start_main",
    "rocksdb::DBImpl::Write(rocksdb::WriteOptions const&, int)",
    "rocksdb::DBImpl::WriteImpl()",
    "rocksdb::WritableFileWriter::Append(rocksdb::Slice const&)",
    "rocksdb::WritableFileWriter::Flush()",
    "rocksdb::log::Writer::AddRecord",
    "rocksdb::FlushJob::Run",
    "rocksdb::CompactionJob::ProcessKeyValueCompaction(long)",
    "std::function<void (int)>::operator()(int) const",
    "(anonymous namespace)::background(void*)",
    "runtime.goexit",
    "main.(*Store).Put",
    "internal/poll.(*FD).Pwrite",
    "os.(*File).WriteAt",
    "github.com/cockroachdb/pebble/record.(*LogWriter).flushLoop",
    "PyEval_EvalFrameDefault",
    "checkpoint_write_the_whole_of_a_very_long_named_table_of_records_in_one_go",
    "log_writer",
    "mi_flush_key_blocks_int",
    "fil_io",
];

fn context(random: &mut Random, id: u32) -> Context {
    let kind = random.one_of(&[
        ContextKind::Application,
        ContextKind::Application,
        ContextKind::Application,
        ContextKind::Kernel,
        ContextKind::Journal,
        ContextKind::Metadata,
        ContextKind::Folded,
        ContextKind::Unknown,
    ]);
    let roles = ["db", "db:low-", "mkfs.ext4", "worker/", ""];
    let mut context = Context::new(ContextId(id), random.next(), kind, random.one_of(&roles));
    for _ in 0..random.below(9) {
        let symbol = random.one_of(&SYMBOLS);
        context.frames.push(Frame {
            build_id: String::new(),
            object: random
                .one_of(&["/bin/db", "/bin/db", "/lib/libc.so.6", "[anon]"])
                .to_owned(),
            file_offset: random.below(99),
            symbol: (random.below(6) > 0).then(|| symbol.to_owned()),
        });
    }
    context
}

/// Report of a survey on writers, with their labels, and of lifetimes; half of it kept and gone on with.
fn survey(seed: u64) -> String {
    let mut random = Random(seed);
    let drive = drive();
    let contexts: Vec<Context> = (0..7).map(|id| context(&mut random, id)).collect();
    let extensions = ["sst", "log", "ibd"];
    let files = (0..14).map(|id| {
        let extension = random.one_of(&extensions);
        (FileId(id), format!("{:06}.{extension}", id * 7))
    });
    let names = Names {
        files: files.collect(),
        contexts: Vec::new(),
    };
    let ios = requests(seed, 4000);
    let (before, after) = ios.split_at(2500);
    let mut survey = Survey::new(&drive);
    survey.learn(&names);
    before.iter().for_each(|io| survey.apply(io));
    let mut sum = Sum::default();
    sum.take(survey.details(&contexts[..5]));
    let mut kept = survey.kept();
    sum.take(&kept);
    kept.cut(drive.logical_bytes() / 2 + 2048);
    for one_of in [1, 4] {
        let (rate, page_bytes) = (Rate::one_of(one_of).unwrap(), 4096);
        let hash = seed;
        let sample = Sample::new(Sampled {
            page_bytes,
            rate,
            hash,
        });
        let sampled = Config {
            logical_pages: drive.logical_pages / one_of,
            page_bytes: drive.page_bytes * one_of,
            ..drive.clone()
        };
        let mut resumed = Survey::resume(&sampled, &kept, &sample);
        let kept = after.iter().filter_map(|io| sample.apply(io));
        kept.for_each(|io| resumed.apply(&io));
        sum.take((resumed.details(&contexts), resumed.kept()));
    }
    let details = survey.details(&contexts);
    sum.take(&details);
    let labels: Vec<String> = details.contexts.into_iter().map(|one| one.label).collect();
    format!("{}: {}", labels.join(" | "), sum.text())
}

fn preconditioned(pattern: Pattern, fill_pages: u32, most_capacities: u32) -> String {
    let mut device = Device::new(drive(), &()).unwrap();
    let plan = Precondition {
        fill_pages,
        pattern,
        most_capacities,
        seed: 3,
    };
    let mut sum = Sum::default();
    let aged = plan.apply(&mut device, |share| sum.take(share)).unwrap();
    for page in 0..device.config().logical_pages {
        sum.take(device.locate(page));
    }
    format!("{:?} {:?} {}", aged, device.counters(), sum.text())
}

#[test]
fn parts_do_what_they_did() {
    let mut lines: Vec<String> = (0..30).map(numbers).collect();
    lines.extend((0..30).map(pages));
    lines.extend((0..40).map(survey));
    for symbol in SYMBOLS {
        lines.push(format!(
            "{} / {}",
            short(symbol),
            without_parameters(symbol)
        ));
    }
    let patterns = [
        Pattern::Sequential,
        Pattern::Random,
        Pattern::Zipf(0.9),
        Pattern::Zipf(1.2),
    ];
    for pattern in patterns {
        for (fill_pages, most_capacities) in [(4096, 12), (1000, 3), (1, 1), (9999, 1)] {
            lines.push(preconditioned(pattern, fill_pages, most_capacities));
        }
    }
    let mut random = Random(4);
    for count in 0..20 {
        let trace = random.one_of(&[1, 4, 64]);
        let drawn = Drawn {
            sample: 64,
            trace,
            unit_pages: 256,
        };
        let each = (0..count).map(|_| 1.0 + random.below(100) as f64 / 64.0);
        let waf = SampledWaf::new(each.collect(), drawn);
        lines.push(format!("{:?}", waf.error));
    }
    hold("parts", &lines);
}
