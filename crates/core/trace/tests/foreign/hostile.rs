//! Inputs that mean harm: no reader panics, and none holds more than it should.

use anabranch_trace::foreign::{Format, ImportError, Importer, Input, Options, Survey};
use proptest::prelude::*;

use super::sample::{SAMPLES, Sample};

/// Reads bytes as a format, bad records skipped, and notes all requests.
fn survive(bytes: Vec<u8>, format: Format, options: &Options) -> Result<u64, ImportError> {
    let length = bytes.len() as u64;
    let mut input = Input::new("t", std::io::Cursor::new(bytes))?;
    // Whether it is known or not, looking at it must not hurt.
    let _ = input.sniff();
    let mut importer = Importer::new(vec![input], format, options)?;
    let (mut ios, mut survey, mut requests) = (Vec::new(), Survey::default(), 0);
    while importer.read_batch(&mut ios)? {
        assert!(ios.capacity() <= 1 << 14, "a batch stays a batch");
        ios.iter().for_each(|io| survey.record(io));
        requests += ios.len() as u64;
        // What comes out makes sense by itself, and is no more than can have been said.
        for io in &ios {
            assert!(io.offset_bytes.checked_add(io.length_bytes).is_some());
        }
    }
    let _ = survey.summary();
    assert!(requests <= length);
    Ok(requests)
}

fn lenient(sample: &Sample) -> Options {
    Options {
        skip_bad: true,
        ..sample.options()
    }
}

fn any_sample() -> impl Strategy<Value = &'static Sample> {
    (0..SAMPLES.len()).prop_map(|place| &SAMPLES[place])
}

/// Bytes of a sample with some of them changed, cut out or repeated.
fn mutated() -> impl Strategy<Value = (&'static Sample, Vec<u8>)> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), 0..4, any::<u8>()), 1..12);
    (any_sample(), changes).prop_map(|(sample, changes)| {
        let mut bytes = sample.bytes().concat();
        for (place, what, byte) in changes {
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                _ => bytes.extend_from_within(at..bytes.len().min(at + usize::from(byte))),
            }
            if bytes.is_empty() {
                bytes.push(byte);
            }
        }
        (sample, bytes)
    })
}

/// Text of what such traces are made of, in no order.
fn word_salad() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "8,0",
        "0",
        "1",
        "18446744073709551615",
        "18446744073709551616",
        "-1",
        "1.5",
        "W",
        "R",
        "D",
        "Read",
        "+",
        "[x]",
        "[",
        "]",
        "(",
        ")",
        "()",
        ",",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\0",
        "é",
        "#",
        "fio version 2 iolog\n",
        "fio version 3 iolog\n",
        "wait",
        "trim",
        "block_rq_issue:",
        "mmc_request_start: mmc0: x:",
        "cmd_opcode=38",
        "cmd_opcode=35",
        "cmd_opcode=36",
        "cmd_arg=0xffffffffffffffff",
        "blocks=4294967295",
        "block_size=4294967295",
        "[001]",
        "1.0:",
        "eat",
        "tae",
        "CPU:1 [LOST 9 EVENTS]",
    ]);
    prop::collection::vec(words, 0..200).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 1..3000), sample in any_sample()) {
        let _ = survive(bytes, sample.format, &lenient(sample));
    }

    #[test]
    fn random_words_are_survived(bytes in word_salad(), sample in any_sample()) {
        let _ = survive(bytes, sample.format, &lenient(sample));
    }

    #[test]
    fn samples_with_wounds_are_survived((sample, bytes) in mutated()) {
        let _ = survive(bytes.clone(), sample.format, &lenient(sample));
        let _ = survive(bytes, sample.format, &sample.options());
    }

    #[test]
    fn packed_inputs_with_wounds_are_survived(
        sample in any_sample(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut packed = zstd::encode_all(sample.bytes().concat().as_slice(), 1).unwrap();
        let at = at.index(packed.len());
        packed[at] = byte;
        let _ = survive(packed, sample.format, &lenient(sample));
    }
}

#[test]
fn a_zstd_frame_that_asks_for_gigabytes_is_refused() {
    // Magic, a frame header without single segment, the largest window there is.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x01, 0x00, 0x00];
    let error = Input::new("t", std::io::Cursor::new(frame)).unwrap_err();
    assert!(error.to_string().starts_with("cannot read t: "), "{error}");
}

#[test]
fn a_binary_trace_goes_on_behind_its_wound() {
    let sample = SAMPLES
        .iter()
        .find(|sample| sample.name == "blktrace")
        .unwrap();
    let mut bytes = sample.bytes().concat();
    // The second record of the first file: its magic number, and no more.
    bytes[64] = 0;
    let requests = survive(bytes, Format::Blktrace, &lenient(sample)).unwrap();
    assert_eq!(requests, 4);
}
