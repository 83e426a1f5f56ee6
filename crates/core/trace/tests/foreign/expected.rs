//! Every sample means what stands beside it.

use anabranch_trace::foreign::{Format, Importer, Options};
use anabranch_trace::{ContextKind, Io};

use super::sample::{SAMPLES, import, input, io};

/// The lines behind the requests: what the tables hold, and what was skipped.
fn remarks(importer: &Importer) -> [String; 3] {
    let tables = importer.tables();
    let kind = |kind| match kind {
        ContextKind::Unknown => "unknown",
        ContextKind::Application => "application",
        ContextKind::Journal => "journal",
        ContextKind::Kernel => "kernel",
        other => panic!("no sample has a context of kind {other:?}"),
    };
    let contexts = tables.contexts.iter();
    let contexts: Vec<String> = contexts
        .map(|row| format!("{} {}", kind(row.kind), row.role).trim().into())
        .collect();
    let skipped = importer.skipped();
    [
        format!("contexts: {}", contexts.join(" | ")),
        format!("volumes: {}", importer.volumes().join(" | ")),
        format!(
            "skipped: other_events={} without_data={} notes={}",
            skipped.other_events, skipped.without_data, skipped.notes
        ),
    ]
    .map(|line| line.trim().into())
}

#[test]
fn every_sample_means_what_stands_beside_it() {
    for sample in &SAMPLES {
        let inputs = sample.bytes();
        let inputs = inputs.into_iter().map(|bytes| input(sample.name, bytes));
        let imported = import(inputs.collect(), sample.format, &sample.options());
        let (found, importer) = imported.unwrap_or_else(|error| panic!("{error}"));
        let expected = sample.expected();
        let mut lines = expected.lines().filter(|line| !line.starts_with('#'));
        let ios: Vec<Io> = lines
            .by_ref()
            .take_while(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(io)
            .collect();
        assert_eq!(found, ios, "{}", sample.name);
        // `take_while` has taken the first remark.
        let rest: Vec<&str> = expected
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
            .collect();
        assert_eq!(rest, remarks(&importer), "{}", sample.name);
        assert_eq!(importer.skipped().malformed, 0, "{}", sample.name);
    }
}

#[test]
fn every_sample_is_known_by_its_looks() {
    for sample in SAMPLES.iter().filter(|sample| sample.format != Format::Csv) {
        for bytes in sample.bytes() {
            let format = input(sample.name, bytes).sniff().unwrap();
            assert_eq!(format, sample.format, "{}", sample.name);
        }
    }
}

#[test]
fn packed_samples_mean_the_same() {
    use std::io::Write;
    for sample in &SAMPLES {
        let packed = |pack: &dyn Fn(Vec<u8>) -> Vec<u8>| {
            let inputs = sample.bytes().into_iter();
            let inputs = inputs.map(|bytes| input(sample.name, pack(bytes)));
            import(inputs.collect(), sample.format, &sample.options())
                .unwrap()
                .0
        };
        let plain = packed(&|bytes| bytes);
        let gzip = packed(&|bytes| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&bytes).unwrap();
            encoder.finish().unwrap()
        });
        let zstd = packed(&|bytes| zstd::encode_all(bytes.as_slice(), 1).unwrap());
        assert_eq!(plain, gzip, "{}", sample.name);
        assert_eq!(plain, zstd, "{}", sample.name);
    }
}

#[test]
fn what_a_trace_knows_of_its_beginning_and_its_losses_is_told() {
    let tables = |name: &str| {
        let sample = SAMPLES.iter().find(|sample| sample.name == name).unwrap();
        let inputs = sample.bytes().into_iter().map(|bytes| input(name, bytes));
        let imported = import(inputs.collect(), sample.format, &Options::default());
        imported.unwrap().1.tables().capture
    };
    // 2007-02-22 17:00:00 UTC, 2019-12-31 16:02:24 UTC, 2018-09-30 16:00:00 UTC.
    assert_eq!(tables("msr").started_unix_s, 1_172_163_600);
    assert_eq!(tables("alibaba").started_unix_s, 1_577_808_144);
    assert_eq!(tables("tencent").started_unix_s, 1_538_323_200);
    assert_eq!(tables("spc").started_unix_s, 0);
    assert_eq!(tables("ftrace-block").lost_events, 123);
}
