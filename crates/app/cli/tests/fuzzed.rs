//! The fuzzers' cases of what reads files, replayed, and a fuzzer of its own that needs no nightly compiler:
//! the cases changed in a few places, by a seed.
//!
//! ANABRANCH_FUZZ says how many changed cases each target gets instead of the short form's number, and
//! ANABRANCH_SEED where they begin.

// A drive's checkpoint is read by the served drive's room, which a command without `serve` has not.
#![cfg(feature = "serve")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

#[path = "../../../../fuzz/src/cards.rs"]
mod cards;
#[path = "../../../../fuzz/src/native.rs"]
mod native;
#[path = "../../../../fuzz/src/states.rs"]
mod states;
#[path = "../../../../fuzz/src/texts.rs"]
mod texts;

use std::{fs, path::Path};

/// Hard inputs for readers: ends of ranges, malformed numbers, marks of the forms.
const WORDS: [&[u8]; 18] = [
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"65535",
    b"4294967296",
    b"18446744073709551615",
    b"9223372036854775808",
    b"100%",
    b"1TiB",
    b"[[[[[[[[",
    b"\"",
    b"'",
    b"\n",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\xe2\x80\xae",
];

/// A generator that is the same everywhere (SplitMix64, Steele and others, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus");
    let files = fs::read_dir(place.join(target)).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Changes a case in one to four places. The first byte, which says how it is read, mostly stays.
fn change(random: &mut Random, case: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..=random.below(4) {
        let at = match random.below(64) {
            0 => 0,
            _ => 1 + random.below(case.len().saturating_sub(1)),
        };
        let at = at.min(case.len().saturating_sub(1));
        let span = (at + 1 + random.below(16)).min(case.len());
        match random.below(8) {
            0 => case[at] ^= 1 << random.below(8),
            1 => case[at] = random.next() as u8,
            2 => drop(case.drain(at..span)),
            3 => case.truncate(at + 1),
            4 => {
                let again = case[at..span].to_vec();
                case.splice(at..at, again);
            }
            5 => {
                let other = &others[random.below(others.len())];
                let from = random.below(other.len());
                let some = other[from..(from + 32).min(other.len())].to_vec();
                case.splice(at..span, some);
            }
            // In place of a whole number, where there is one.
            6 => {
                let digits = |range: &[u8]| {
                    range
                        .iter()
                        .take_while(|byte| byte.is_ascii_digit())
                        .count()
                };
                let next = case[at..]
                    .iter()
                    .position(u8::is_ascii_digit)
                    .map_or(at, |off| at + off);
                let end = next + digits(&case[next..]);
                let word = WORDS[random.below(WORDS.len())];
                case.splice(next..end, word.iter().copied());
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                let end = (at + word.len()).min(case.len());
                case.splice(at..end, word.iter().copied());
            }
        }
        if case.is_empty() {
            case.push(0);
        }
    }
}

/// Replays the cases, then so many changed ones; some of both must be taken, or nothing was tested.
fn fuzz(target: &str, short: u64, reads: impl Fn(&[u8]) -> bool) {
    let setting = |name| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let executions: u64 = setting("ANABRANCH_FUZZ").unwrap_or(short);
    let seed: u64 = setting("ANABRANCH_SEED").unwrap_or(15);
    let cases = corpus(target);
    let whole = cases.iter().filter(|case| reads(case)).count();
    assert_eq!(whole, cases.len(), "a case of {target} is refused");
    let mut taken = 0;
    for number in seed..seed + executions {
        let mut random = Random(number);
        let mut case = cases[random.below(cases.len())].clone();
        change(&mut random, &mut case, &cases);
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reads(&case)));
        let read =
            read.unwrap_or_else(|_| panic!("{target}: ANABRANCH_SEED={number} ANABRANCH_FUZZ=1"));
        taken += u64::from(read);
    }
    eprintln!("{target}: {executions} changed cases, {taken} taken");
    assert!(
        taken > 0 || executions < 100,
        "no changed case of {target} was taken"
    );
}

#[test]
fn bytes_read_as_commands_to_a_card_hold() {
    fuzz("cards", 1000, cards::cards);
}

#[test]
fn bytes_read_as_our_traces_hold() {
    fuzz("native", 1500, native::native);
}

#[test]
fn bytes_read_as_the_state_of_a_drive_hold() {
    fuzz("states", 2000, states::states);
}

#[test]
fn bytes_read_as_texts_of_people_and_as_results_hold() {
    fuzz("texts", 4000, texts::texts);
}

/// Each kind of text has its case, and a reader.
#[test]
fn every_kind_of_text_has_a_case() {
    let cases = corpus("texts");
    let kinds: std::collections::BTreeSet<u8> = cases.iter().map(|case| case[0]).collect();
    assert_eq!(kinds, (0..texts::KINDS).collect());
}
