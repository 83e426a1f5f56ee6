//! Page numbers of a drive that is to be full.

use anabranch_replay::{Pack, Renumber};
use anabranch_trace::Io;

use crate::{failure::Outcome, source::Source};

/// How the addresses of a trace become those of the drive.
#[derive(Debug, Clone)]
pub enum Numbers {
    /// Holes vanish.
    Dense(Renumber),
    /// What is discarded makes room for what comes.
    Packed(Pack),
}

impl Numbers {
    /// A request with the drive's addresses. One pass over a trace begins with a clone of what
    /// was learned.
    pub fn apply(&mut self, io: &Io, sink: impl FnMut(Io)) {
        match self {
            Numbers::Dense(numbers) => numbers.apply(io, sink),
            Numbers::Packed(pack) => pack.apply(io, sink),
        }
    }
}

/// What a trace writes, in a profile's pages.
pub struct Learned {
    /// Bytes of the profile's pages.
    pub page_bytes: u32,
    /// Pages ever written, or, packed, ever holding data at one time.
    pub pages: u64,
    /// Their numbers.
    pub numbers: Numbers,
}

/// Reads a trace for the pages it writes.
pub fn learn(source: &Source, profile: &str, packs: bool) -> Outcome<Learned> {
    source.check_twice()?;
    let page_bytes = crate::drives::load(profile)?.geometry.page_bytes;
    let mut numbers = Renumber::new(page_bytes);
    source.each_batch(|ios, _| {
        ios.iter().for_each(|io| numbers.learn(io));
        Ok(())
    })?;
    let pages = numbers.settle();
    if !packs {
        return Ok(Learned {
            page_bytes,
            pages,
            numbers: Numbers::Dense(numbers),
        });
    }
    let pack = Pack::new(numbers, page_bytes, pages);
    let mut counted = pack.clone();
    source.each_batch(|ios, _| {
        ios.iter().for_each(|io| counted.apply(io, |_| ()));
        Ok(())
    })?;
    Ok(Learned {
        page_bytes,
        pages: counted.most_pages(),
        numbers: Numbers::Packed(pack),
    })
}
