//! What loads, lanes and results are is what they were when it was last recorded, to the last request, page and word.
//!
//! A record says nothing of what is right: the other tests do. It says whether anything changed, of all that can be
//! asked, so that a change of results is seen and meant. Each line has some counts to read, and a sum over everything
//! asked. After a change that is meant, `ANABRANCH_RECORD=1 cargo test -p anabranch-replay --test recorded` writes the
//! records anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod cells;
mod labels;
mod lanes;
mod loads;
mod parts;

use std::{
    fmt::{Debug, Write},
    fs,
    hash::Hasher,
    path::Path,
};

/// A sum over what was asked, as text.
#[derive(Default)]
struct Sum(twox_hash::XxHash3_64);

impl Sum {
    fn take(&mut self, told: impl Debug) {
        write!(self, "{told:?};").unwrap();
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

impl Write for Sum {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        Hasher::write(&mut self.0, text.as_bytes());
        Ok(())
    }
}

/// Compares lines with the record of that name, or writes it.
fn hold(name: &str, lines: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{name}.txt"));
    if std::env::var_os("ANABRANCH_RECORD").is_some() {
        return fs::write(path, lines.join("\n") + "\n").unwrap();
    }
    let record = fs::read_to_string(&path).unwrap();
    for (is, was) in lines.iter().zip(record.lines()) {
        assert_eq!(is, was, "{name}: it is, and it was recorded");
    }
    assert_eq!(lines.len(), record.lines().count(), "{name}");
}

/// Vigna's splitmix64 (public domain).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
