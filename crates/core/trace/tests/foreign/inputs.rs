//! Several inputs as one trace, one volume of several, and what is said of bad records.

use anabranch_trace::foreign::{ColumnMap, Format, Options};

use super::sample::{import, input};

fn options(skip_bad: bool, volume: Option<&str>) -> Options {
    Options {
        skip_bad,
        volume: volume.map(str::to_owned),
        ..Options::default()
    }
}

fn texts(texts: &[&str]) -> Vec<anabranch_trace::foreign::Input> {
    texts.iter().map(|text| input("t", *text)).collect()
}

/// Times and offsets of all requests.
fn order(inputs: &[&str], format: Format) -> Vec<(u64, u64)> {
    let (ios, _) = import(texts(inputs), format, &Options::default()).unwrap();
    ios.iter().map(|io| (io.time_ns, io.offset_bytes)).collect()
}

#[test]
fn inputs_of_one_clock_are_merged_by_time_and_ties_keep_their_order() {
    let first = "1,W,0,512,10\n1,W,512,512,20\n1,W,1024,512,20\n";
    let second = "2,W,2048,512,5\n2,W,2560,512,20\n2,W,3072,512,30\n";
    assert_eq!(
        order(&[first, second], Format::Alibaba),
        [
            (0, 2048),
            (5000, 0),
            (15_000, 512),
            (15_000, 1024),
            (15_000, 2560),
            (25_000, 3072)
        ]
    );
}

#[test]
fn inputs_of_clocks_of_their_own_follow_each_other() {
    let first = "100 0 0 1 0\n300 0 1 1 0\n";
    let clock_begins_anew = "50 0 2 1 0\n60 0 3 1 0\n";
    let clock_goes_on = "400 0 2 1 0\n410 0 3 1 0\n";
    assert_eq!(
        order(&[first, clock_begins_anew], Format::MqSim),
        [(0, 0), (200, 512), (200, 1024), (210, 1536)]
    );
    assert_eq!(
        order(&[first, clock_goes_on], Format::MqSim),
        [(0, 0), (200, 512), (300, 1024), (310, 1536)]
    );
}

#[test]
fn a_clock_that_goes_back_never_makes_a_time_before_the_first() {
    assert_eq!(
        order(&["100 0 0 1 0\n90 0 1 1 0\n"], Format::MqSim),
        [(0, 0), (0, 512)]
    );
}

#[test]
fn many_inputs_longer_than_a_batch_are_merged_to_the_last_request() {
    let text = |volume: u64| -> String {
        let lines = (0..10_000).map(|i| format!("{volume},W,{},512,{}\n", i * 512, i * 3 + volume));
        lines.collect()
    };
    let inputs = [text(0), text(1), text(2)];
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let (ios, _) = import(texts(&inputs), Format::Alibaba, &Options::default()).unwrap();
    assert_eq!(ios.len(), 30_000);
    assert!(ios.iter().zip(0..).all(|(io, i)| io.time_ns == i * 1000));
    assert!(
        ios.iter()
            .zip((0..3).cycle())
            .all(|(io, volume)| io.tenant == volume)
    );
}

#[test]
fn one_volume_can_be_asked_for_by_name_or_number() {
    let kept = |text: &str, format, volume| {
        let options = options(false, Some(volume));
        let (ios, importer) = import(texts(&[text]), format, &options).unwrap();
        (ios.len(), importer.skipped().other_volumes)
    };
    let alibaba = "7,W,0,512,1\n8,W,0,512,2\n7,R,0,512,3\n";
    assert_eq!(kept(alibaba, Format::Alibaba, "7"), (2, 1));
    assert_eq!(kept(alibaba, Format::Alibaba, "hm_0"), (0, 3));
    let msr = "1,hm,0,Read,0,512,0\n2,hm,1,Read,0,512,0\n";
    assert_eq!(kept(msr, Format::Msr, "hm_1"), (1, 1));
    // Named volumes are not known by the place of their name.
    assert_eq!(kept(msr, Format::Msr, "1"), (0, 2));
}

#[test]
fn a_malformed_record_is_named_with_its_line_and_content() {
    for (format, text, words) in [
        (
            Format::Alibaba,
            "1,W,0,512,1\n\n1,X,0,512,2\n",
            r#"t, line 3: its operation is not R or W: "1,X,0,512,2""#,
        ),
        (
            Format::Tencent,
            "1,2,3,4\n",
            r#"t, line 1: its operation is not 0 (read) or 1 (write): "1,2,3,4""#,
        ),
        (
            Format::Alibaba,
            "a,heading\nand,more\n",
            r#"t, line 2: its volume is no number, or does not fit 64 bits: "and,more""#,
        ),
        (Format::Tencent, "1,2,3,1\n", "it has no volume"),
        (Format::MqSim, "1 0 x 8 0\n", "its offset is no number"),
        (Format::Spc, "0,1,2,R,1e9\n", "its time is no number"),
        (
            Format::Msr,
            "1,h,0,Read,18446744073709551615,2,0\n",
            "exceed 64 bits",
        ),
        (Format::Blkparse, "hello\n", "it is not an event"),
        (Format::FioIolog, "1 /x read 0 1\n", "it is not the heading"),
        (
            Format::Ftrace,
            "a-1 [000] . 1.0: block_rq_issue: 8,0 Q 0 () 0 + 1 [a]\n",
            "its operation is not made of the letters",
        ),
    ] {
        let error = import(texts(&[text]), format, &Options::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(words), "{error}");
        assert!(error.contains("--skip-bad"), "{error}");
    }
}

#[test]
fn bad_records_are_counted_on_request_and_the_first_is_shown() {
    let text = "1,W,0,512,1\nbad 1\nbad 2\n1,W,512,512,2\n";
    let (ios, importer) = import(texts(&[text]), Format::Alibaba, &options(true, None)).unwrap();
    assert_eq!(ios.len(), 2);
    let skipped = importer.skipped();
    assert_eq!(skipped.malformed, 2);
    let first = skipped.first_malformed.unwrap();
    assert_eq!(
        first,
        r#"t, line 2: its volume is no number, or does not fit 64 bits: "bad 1""#
    );
}

#[test]
fn ten_thousand_bad_records_in_a_row_are_no_more_than_counted() {
    let text = "bad 1\n".repeat(100_000);
    let (ios, importer) = import(texts(&[&text]), Format::Alibaba, &options(true, None)).unwrap();
    assert_eq!((ios.len(), importer.skipped().malformed), (0, 100_000));
}

#[test]
fn nothing_follows_an_error() {
    let inputs = texts(&["1,W,0,512,1\nbad 1\n1,W,0,512,3\n"]);
    let mut importer =
        anabranch_trace::foreign::Importer::new(inputs, Format::Alibaba, &Options::default())
            .unwrap();
    let mut ios = Vec::new();
    assert!(importer.read_batch(&mut ios).is_err());
    assert!(ios.is_empty());
    assert!(!importer.read_batch(&mut ios).unwrap());
}

#[test]
fn a_csv_without_its_columns_is_refused_with_the_way_to_say_them() {
    let error = import(texts(&["1,2,3\n"]), Format::Csv, &Options::default()).unwrap_err();
    assert!(
        error.to_string().contains("time-col=1,obj-id-col=2"),
        "{error}"
    );
}

#[test]
fn what_looks_like_nothing_is_not_guessed() {
    for bytes in [b"hello\nworld\n".to_vec(), vec![0; 24], vec![0xff; 1000]] {
        let error = input("t", bytes).sniff().unwrap_err();
        assert!(error.to_string().contains("--format"), "{error}");
    }
}

#[test]
fn every_format_and_form_stands_in_the_manual() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/traces.md");
    let text = std::fs::read_to_string(manual).unwrap();
    for format in Format::ALL {
        let row = format!("\n| `{}` |", format.name());
        assert!(text.contains(&row), "docs/traces.md has no row{row}");
    }
    for form in anabranch_trace::foreign::Form::ALL {
        assert!(
            text.contains(&format!("`{}`", form.name())),
            "{}",
            form.name()
        );
    }
}

/// `oracleGeneral` with objects of those numbers and of so many bytes each.
fn oracle(numbers: impl Iterator<Item = u64>, size_bytes: u32) -> Vec<u8> {
    let record = |number: u64| {
        let mut bytes = 5_u32.to_le_bytes().to_vec();
        bytes.extend(number.to_le_bytes());
        bytes.extend(size_bytes.to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
        bytes
    };
    numbers.flat_map(record).collect()
}

#[test]
fn what_objects_numbers_count_is_guessed_from_their_neighbours_and_always_said() {
    let last = |bytes: &[u8], options: &Options| {
        let inputs = vec![input("t", bytes.to_vec())];
        let (ios, importer) = import(inputs, Format::OracleGeneral, options).unwrap();
        let remark = importer.remarks().join(" ");
        let said = [
            "sectors of 512 bytes, since",
            "blocks of 4,096 bytes, since",
        ]
        .map(|words| remark.contains(words));
        (ios.last().unwrap().offset_bytes, said)
    };
    let guessed = |bytes: &[u8]| last(bytes, &Options::default());
    let (sectors, blocks) = ([true, false], [false, true]);
    // Neighbours: objects of 4 KiB every 8 sectors, from an odd sector on; of 32 KiB every 8 blocks.
    let odd = oracle((0..20).map(|number| 63 + 8 * number), 4096);
    assert_eq!(guessed(&odd), (215 * 512, sectors));
    let large = oracle((1..=20).map(|number| 8 * number), 32768);
    assert_eq!(guessed(&large), (160 * 4096, blocks));
    assert_eq!(guessed(&oracle(1..=20, 4096)), (20 * 4096, blocks));
    // None are neighbours: multiples of 8 are sectors, others blocks.
    let apart = oracle((1..=20).map(|number| 800 * number), 4096);
    assert_eq!(guessed(&apart), (16000 * 512, sectors));
    let any = oracle((1..=20).map(|number| 801 * number), 4096);
    assert_eq!(guessed(&any), (16020 * 4096, blocks));
    // Too few to tell.
    let few = oracle((1..=3).map(|number| 8 * number), 4096);
    assert_eq!(guessed(&few), (24 * 4096, blocks));
    let told = Options {
        columns: Some(ColumnMap::parse("id-unit=block").unwrap()),
        ..Options::default()
    };
    assert_eq!(last(&apart, &told), (16000 * 4096, [false, false]));
}
