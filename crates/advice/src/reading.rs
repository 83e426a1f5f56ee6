//! One pass over a trace's writes and discards, in pages: what every measure is taken in.

use anabranch_compare::{Addresses, Fault, Requests, Result, Watch};
use anabranch_placement::{HostGeometry, Names, Policy, SchemeSpec, Write};
use anabranch_replay::Pages;
use anabranch_ssd::PageRange;
use anabranch_trace::{Io, Operation, Tables};

/// Bytes of the pages that lifetimes are measured in.
pub const PAGE_BYTES: u32 = 4096;
/// Bytes of memory for a lifetime table (our choice: page-exact up to a drive of 64 GiB).
pub const TABLE_BYTES: usize = 256 << 20;

/// What is measured. Both calls are told the pages that were written before.
pub trait Measure {
    /// A write of at least one page.
    fn write(&mut self, io: &Io, write: &Write);

    /// Pages are discarded.
    fn discard(&mut self, pages: PageRange, now_pages: u64);
}

/// The tables of a trace that says who wrote.
///
/// # Errors
/// When it does not.
pub fn tables(source: &dyn Requests) -> Result<&Tables> {
    source.tables().ok_or_else(|| {
        Fault::say(format!(
            "{} holds page numbers and no contexts; give a trace that `anabranch run` or `record` made",
            source.name()
        ))
    })
}

/// How far a trace was read, on a drive in pages.
pub struct Reading {
    pages: Pages,
    now_pages: u64,
}

impl Reading {
    /// On a drive of so many pages.
    pub fn new(logical_pages: u32) -> Reading {
        Reading {
            pages: Pages {
                logical_pages,
                page_bytes: PAGE_BYTES,
            },
            now_pages: 0,
        }
    }

    /// Reads the whole trace, and answers how many pages were written.
    ///
    /// # Errors
    /// When the trace cannot be read or does not fit the drive, or when the watch ends it.
    pub fn whole(
        mut self,
        source: &dyn Requests,
        addresses: &mut Addresses,
        watch: &mut dyn Watch,
        measure: &mut impl Measure,
    ) -> Result<u64> {
        watch.begin("reading");
        source.each_batch(&mut |ios, done| {
            watch.done(done)?;
            ios.iter()
                .try_for_each(|io| addresses.apply(io, |io| self.apply(io, measure)))
        })?;
        watch.end();
        Ok(self.now_pages)
    }

    /// Tells of one request.
    pub fn apply(&mut self, io: &Io, measure: &mut impl Measure) -> Result {
        match io.operation {
            Operation::Write => {
                let pages = self.pages.written(io).map_err(Fault::usage)?;
                measure.write(io, &Write::of(io, pages, self.now_pages));
                self.now_pages += u64::from(pages.count);
            }
            Operation::Discard => {
                let pages = self.pages.discarded(io).map_err(Fault::usage)?;
                measure.discard(pages, self.now_pages);
            }
            Operation::Read | Operation::Flush => {}
        }
        Ok(())
    }
}

/// The addresses that a trace is measured at, and their pages, of which there may be `most`; `limit`
/// says how much that is.
///
/// # Errors
/// When there are more, or the trace cannot be read, or when the watch ends it.
pub fn addresses(
    source: &dyn Requests,
    most: u64,
    limit: &str,
    watch: &mut dyn Watch,
) -> Result<(Addresses, u32)> {
    let addresses = Addresses::of(source, PAGE_BYTES, most, watch)?;
    let pages = u32::try_from(addresses.pages).ok();
    let pages = pages.filter(|pages| u64::from(*pages) <= most);
    let pages = pages.ok_or_else(|| {
        Fault::say(format!(
            "{} writes more than {limit} of pages; --volume of `anabranch import` keeps one volume of \
             several",
            source.name()
        ))
    })?;
    Ok((addresses, pages))
}

/// A scheme's host side at work on a drive that is not simulated, told all names at once.
///
/// # Errors
/// When there is no such scheme, or it cannot work there.
pub fn host_policy(
    scheme: &str,
    logical_pages: u32,
    host_streams: u16,
    names: &Names,
) -> Result<Policy> {
    let spec = scheme.parse::<SchemeSpec>().map_err(Fault::usage)?;
    let geometry = HostGeometry {
        logical_pages,
        page_bytes: PAGE_BYTES,
        host_streams,
        internal_streams: 0,
        pages_per_unit: 0,
        physical_units: 0,
    };
    let mut policy = Policy::of_host(spec.build(&geometry).map_err(Fault::usage)?);
    policy.learn(names);
    Ok(policy)
}
