//! A sample of a device's pages, and the requests that it sees.
//!
//! One page of every N neighbours is kept, drawn by a hash, and stands for all N: it gets the N-fold
//! size, and the number of its neighbourhood. So what a sampled request says in bytes is in the
//! device's measure, runs stay runs, neighbours stay neighbours, and a page that is N times as large is all
//! that whoever comes after must know.

mod kept_pages;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Io, Operation};

pub use kept_pages::KeptPages;

/// The most times that pages are halved: one page of 1,048,576 is left (our choice: of 16 TB that leaves 4,000 pages).
const MOST_HALVINGS: u32 = 20;

/// The conversions of `#[serde(into = "String", try_from = "String")]`, of a type that is printed and
/// parsed.
#[doc(hidden)]
#[macro_export]
macro_rules! as_text {
    ($type:ty, $error:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = $error;

            fn try_from(text: String) -> std::result::Result<$type, $error> {
                text.parse()
            }
        }
    };
}

/// The rate of a sample, one page of N: N is a power of two, so that a sample can be thinned by halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rate {
    halvings: u32,
}

/// The error for a text that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{text}\" is no rate: write one page of a power of two up to 1048576, as in {works}")]
pub struct NoRate {
    text: String,
    works: Rate,
}

impl Rate {
    /// Every page.
    pub const WHOLE: Rate = Rate { halvings: 0 };

    /// The rate of one page of `pages`; `None` unless that is a power of two that is not too large.
    pub fn one_of(pages: u32) -> Option<Rate> {
        let halvings = pages.trailing_zeros();
        (pages.is_power_of_two() && halvings <= MOST_HALVINGS).then_some(Rate { halvings })
    }

    /// The N of one page of N.
    pub fn pages(self) -> u32 {
        1 << self.halvings
    }

    /// The rate with twice as many pages; `None` where there are no more.
    pub fn finer(self) -> Option<Rate> {
        let halvings = self.halvings.checked_sub(1)?;
        Some(Rate { halvings })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", self.pages())
    }
}

as_text!(Rate, NoRate);

impl FromStr for Rate {
    type Err = NoRate;

    fn from_str(text: &str) -> Result<Rate, NoRate> {
        let number = text.trim().strip_prefix("1/").map(str::parse::<u64>);
        let pages = number.and_then(Result::ok);
        let rate = pages.and_then(|pages| Rate::one_of(u32::try_from(pages).ok()?));
        // What is meant is near: the next finer one, or the finest of a sample.
        let near = pages.filter(|&pages| pages > 1).map_or(6, u64::ilog2);
        rate.ok_or_else(|| NoRate {
            text: text.to_owned(),
            works: Rate {
                halvings: near.min(MOST_HALVINGS),
            },
        })
    }
}

/// Share of a device that a trace holds, by the trace's own metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    /// The rate: one page of how many.
    pub rate: Rate,
    /// The number that chooses the pages: another number draws others.
    pub hash: u64,
    /// Bytes of a page of the device.
    pub page_bytes: u32,
}

/// The pages of a device that are kept.
///
/// ```
/// use anabranch_trace::{Io, Rate, Sample, Sampled};
///
/// let rate = Rate::one_of(64).expect("64 is a power of two");
/// let sample = Sample::new(Sampled { rate, hash: 0, page_bytes: 4096 });
/// let kept = (0..6400).filter_map(|page| sample.apply(&Io::write(page * 4096, 4096)));
/// assert_eq!(kept.count(), 100);
/// ```
///
/// A coarser sample of one hash is a sample of a finer one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Bytes of a page of the requests that come.
    page_bytes: u64,
    from: Rate,
    to: Rate,
    hash: u64,
}

impl Sample {
    /// A sample of a device's pages.
    pub fn new(sampled: Sampled) -> Sample {
        Sample::thinned(Rate::WHOLE, sampled)
    }

    /// A sample of requests that are themselves sampled, at the rate `from` with the same hash. It leaves what
    /// [`Sample::new`] would keep of all requests; with a coarser `from` than asked for, it keeps all that come.
    pub fn thinned(from: Rate, sampled: Sampled) -> Sample {
        Sample {
            page_bytes: u64::from(sampled.page_bytes.max(1)) << from.halvings,
            from,
            to: sampled.rate.max(from),
            hash: sampled.hash,
        }
    }

    /// The sample's rate, counted in pages of the device.
    pub fn rate(&self) -> Rate {
        self.to
    }

    /// The rate at which the requests that come are sampled already, counted in pages of the device.
    pub fn trace_rate(&self) -> Rate {
        self.from
    }

    /// The number that chooses the pages.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Share of the device that the sample holds.
    pub fn sampled(&self) -> Sampled {
        Sampled {
            rate: self.to,
            hash: self.hash,
            // As it was given: 32 bits hold it.
            page_bytes: u32::try_from(self.page_bytes >> self.from.halvings).unwrap_or(u32::MAX),
        }
    }

    /// The request as the sample sees it; `None` where no page of it is kept. A write is widened to whole pages, a
    /// discard shrunk to them. Flushes change no page, and are not kept.
    #[inline]
    pub fn apply(&self, io: &Io) -> Option<Io> {
        let (first, end) = self.pages(io)?;
        let kept = self.kept(first, end)?;
        Some(self.seen(io, kept))
    }

    /// The first page of a request and the one behind its last, as requests come; `None` for flushes.
    #[inline]
    fn pages(&self, io: &Io) -> Option<(u64, u64)> {
        let end_bytes = io.offset_bytes.saturating_add(io.length_bytes);
        match io.operation {
            Operation::Flush => None,
            Operation::Discard => Some((
                io.offset_bytes.div_ceil(self.page_bytes),
                end_bytes / self.page_bytes,
            )),
            Operation::Read | Operation::Write => Some((
                io.offset_bytes / self.page_bytes,
                end_bytes.div_ceil(self.page_bytes),
            )),
        }
    }

    /// A request as one to kept pages, by their numbers.
    #[inline]
    fn seen(&self, io: &Io, (first, end): (u64, u64)) -> Io {
        let bytes = self.page_bytes << (self.to.halvings - self.from.halvings);
        Io {
            offset_bytes: first.saturating_mul(bytes),
            length_bytes: (end - first).saturating_mul(bytes),
            ..*io
        }
    }

    /// The numbers of the kept pages among the pages `first..end` of the requests; `None` if there are none.
    #[inline]
    pub fn kept(&self, mut first: u64, mut end: u64) -> Option<(u64, u64)> {
        for halving in self.from.halvings..self.to.halvings {
            if first >= end {
                return None;
            }
            first = self.half(halving, first);
            end = self.half(halving, end);
        }
        (first < end).then_some((first, end))
    }

    /// Of the pages that come, the one that is kept under a number.
    #[inline]
    pub fn page(&self, number: u64) -> u64 {
        let halvings = (self.from.halvings..self.to.halvings).rev();
        halvings.fold(number, |pair, halving| {
            2 * pair + u64::from(self.keeps_latter(halving, pair))
        })
    }

    /// Bytes of a page as requests come.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The number of pages kept before `end` when one of each two neighbours is kept.
    #[inline]
    fn half(&self, halving: u32, end: u64) -> u64 {
        let pair = end >> 1;
        match end & 1 {
            0 => pair,
            _ => pair + u64::from(!self.keeps_latter(halving, pair)),
        }
    }

    /// Whether the latter of a pair of neighbours is kept.
    #[inline]
    fn keeps_latter(&self, halving: u32, pair: u64) -> bool {
        let seed = self.hash ^ (u64::from(halving) << 56);
        mixed(seed.wrapping_mul(GOLDEN) ^ pair) >> 63 == 1
    }
}

/// 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Stafford's variant 13 of MurmurHash3's final mixing: each bit of the result depends on every bit.
#[inline]
fn mixed(mut word: u64) -> u64 {
    word = word.wrapping_add(GOLDEN);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests;
