//! Cost of reading a foreign trace, on one core: text to requests.
//! `cargo bench -p anabranch-trace`

#![allow(missing_docs, clippy::unwrap_used)]

use std::fmt::Write;
use std::hint::black_box;
use std::io::Cursor;

use anabranch_trace::foreign::{Format, Importer, Input, Options, Survey};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const RECORDS: u64 = 500_000;

/// A multiplicative generator: gives the same trace on every run.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *state >> 33
}

/// A record as a busy mail server makes them: a few programs, random addresses on a disk of 1 TiB.
fn line(format: Format, text: &mut String, place: u64, state: &mut u64) {
    let commands = ["imapd", "syslogd", "kjournald", "smtpd"];
    let command = commands[next(state) as usize % commands.len()];
    let (sector, sectors) = (next(state) % (1 << 28) * 8, 8 << (next(state) % 4));
    let letters = if next(state).is_multiple_of(4) {
        "R"
    } else {
        "W"
    };
    let ns = place * 12_345;
    let done = match format {
        Format::Fiu => writeln!(
            text,
            "{} {} {command} {sector} {sectors} {letters} 6 0 531e779e531e779e531e779e531e779e",
            85_564_152_538_721 + ns,
            300 + place % 7,
        ),
        Format::Blkparse => writeln!(
            text,
            "  8,0  {:>3} {place:>8} {:>5}.{:09} {:>5}  D  {letters}S {sector} + {sectors} [{command}]",
            place % 4,
            ns / 1_000_000_000,
            ns % 1_000_000_000,
            300 + place % 7,
        ),
        _ => writeln!(
            text,
            "{},{letters},{},{},{}",
            place % 100,
            sector * 512,
            sectors * 512,
            1_577_808_144_360_767 + ns / 1000
        ),
    };
    done.unwrap();
}

/// A text that lives as long as the process, so that reading it copies nothing first.
fn text(format: Format) -> &'static [u8] {
    let (mut text, mut state) = (String::new(), 1);
    for place in 0..RECORDS {
        line(format, &mut text, place, &mut state);
    }
    text.into_bytes().leak()
}

/// Reads all of a text, and shows each batch to `note`.
fn read(text: &'static [u8], format: Format, mut note: impl FnMut(&[anabranch_trace::Io])) -> u64 {
    let input = Input::new("bench", Cursor::new(text)).unwrap();
    let mut importer = Importer::new(vec![input], format, &Options::default()).unwrap();
    let (mut ios, mut records) = (Vec::new(), 0);
    while importer.read_batch(&mut ios).unwrap() {
        records += ios.len() as u64;
        note(&ios);
    }
    records
}

fn foreign(c: &mut Criterion) {
    let mut group = c.benchmark_group("foreign");
    group
        .throughput(Throughput::Elements(RECORDS))
        .sample_size(20);
    for format in [Format::Fiu, Format::Blkparse, Format::Alibaba] {
        let text = text(format);
        group.bench_function(format!("{}_read", format.name()), |b| {
            b.iter(|| {
                let records = read(text, format, |ios| {
                    black_box(ios);
                });
                assert_eq!(records, RECORDS);
            });
        });
    }
    let text = text(Format::Fiu);
    group.bench_function("fiu_read_and_survey", |b| {
        b.iter(|| {
            let mut survey = Survey::default();
            read(text, Format::Fiu, |ios| {
                ios.iter().for_each(|io| survey.record(io))
            });
            survey.summary()
        });
    });
    group.finish();
}

criterion_group!(benches, foreign);
criterion_main!(benches);
