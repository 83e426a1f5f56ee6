//! Loads, lanes and results are as they were when last recorded, to the last request, page and word.
//!
//! A record says nothing of what is right: the other tests do. It says whether anything changed, of all that can be
//! asked, so that a change of results is seen and meant. Each line has some counts to read, and a sum over everything
//! asked. After a change that is meant, `ANABRANCH_RECORD=1 cargo test -p anabranch-replay --test recorded` writes the
//! records anew. Some figures come from the system's `exp` and `pow`: the records hold with glibc's functions of FMA and
//! AVX2 and without (`GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2`); other libraries were not tried.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod cells;
mod labels;
mod lanes;
mod loads;
mod parts;
#[path = "../../../ssd/tests/recorded/record.rs"]
mod record;

use record::{Sum, hold};

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
