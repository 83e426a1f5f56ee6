//! One pass over a trace's writes and discards, in pages; all measures are taken in it.

use anabranch_compare::{Addresses, CompareError, Requests, Result, Watch};
use anabranch_placement::{DeviceHalf, Names, Policy, SchemeSpec, Site, Write};
use anabranch_replay::Pages;
use anabranch_ssd::{Config, PageRange, relocate::RelocationKind};
use anabranch_trace::{Io, Operation, Tables};

/// Bytes of the pages in which lifetimes are measured.
pub const PAGE_BYTES: u32 = 4096;
/// Bytes of memory for a lifetime table (our choice: page-exact up to a drive of 64 GiB).
pub const TABLE_BYTES: usize = 256 << 20;

/// A measure over a trace. Both calls get the number of pages that were written before.
pub trait Measure {
    /// Called for each write of at least one page.
    fn write(&mut self, io: &Io, write: &Write);

    /// Called for each run of pages that is discarded.
    fn discard(&mut self, pages: PageRange, now_pages: u64);
}

/// The tables of a trace that tells its writers.
///
/// # Errors
/// When it does not tell them.
pub fn tables(source: &dyn Requests) -> Result<&Tables> {
    source.tables().ok_or_else(|| {
        CompareError::wrong_use(format!(
            "{} holds page numbers and no contexts; give a trace that `anabranch run` or `record` made",
            source.name()
        ))
    })
}

/// The reading of a trace on a drive in pages, and how far it is.
pub struct Reading {
    pages: Pages,
    now_pages: u64,
}

impl Reading {
    /// A reading on a drive of `logical_pages` pages.
    pub fn new(logical_pages: u32) -> Reading {
        Reading {
            pages: Pages::new(logical_pages, PAGE_BYTES),
            now_pages: 0,
        }
    }

    /// Reads the whole trace. Answers how many pages were written.
    ///
    /// # Errors
    /// When the trace cannot be read or does not fit the drive, or when the watch ends the work.
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

    /// Reads one request.
    pub fn apply(&mut self, io: &Io, measure: &mut impl Measure) -> Result {
        match io.operation {
            Operation::Write => {
                let pages = self.pages.written(io).map_err(CompareError::usage)?;
                measure.write(io, &Write::of(io, pages, self.now_pages));
                self.now_pages += u64::from(pages.count);
            }
            Operation::Discard => {
                let pages = self.pages.discarded(io).map_err(CompareError::usage)?;
                measure.discard(pages, self.now_pages);
            }
            Operation::Read | Operation::Flush => {}
        }
        Ok(())
    }
}

/// The addresses at which a trace is measured, and their number of pages, which may be `most`;
/// `limit` is that bound in words for the error.
///
/// # Errors
/// When there are more pages, when the trace cannot be read, or when the watch ends the work.
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
        CompareError::wrong_use(format!(
            "{} writes more than {limit} of pages; --volume of `anabranch import` keeps one volume of \
             several",
            source.name()
        ))
    })?;
    Ok((addresses, pages))
}

/// A scheme's host half, on a drive that is not simulated, with all names given at once.
///
/// # Errors
/// When there is no such scheme, or it cannot work on that drive.
pub fn host_policy(
    scheme: &str,
    logical_pages: u32,
    host_streams: u16,
    names: &Names,
) -> Result<Policy> {
    let spec = scheme.parse::<SchemeSpec>().map_err(CompareError::usage)?;
    let drive = Config {
        page_bytes: PAGE_BYTES,
        host_streams,
        ..Config::new(logical_pages, 0, 0)
    };
    let copies = DeviceHalf::Relocation(RelocationKind::Fdp);
    let halves = spec.build(&Site::new(&drive, copies));
    let mut policy = Policy::of_host(halves.map_err(CompareError::usage)?.into_assign());
    policy.learn(names);
    Ok(policy)
}
