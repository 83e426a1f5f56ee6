//! Page numbers on a drive that the trace is to fill.

use std::sync::Arc;

use anabranch_replay::{Pack, Renumber};
use anabranch_trace::Io;

use crate::{
    error::{CompareError, Result},
    source::Requests,
    watch::Watch,
};

/// Mapping of the trace's addresses to the drive's.
#[derive(Debug, Clone)]
pub enum Numbers {
    /// Pages ever written are numbered densely: holes vanish.
    Dense(Renumber),
    /// Page numbers are given out anew: discarded pages make room for new ones.
    Packed(Pack),
}

impl Numbers {
    /// Passes the request with the drive's addresses to `sink`. Each pass over a trace must begin with a clone of the
    /// numbers learned.
    pub fn apply(&mut self, io: &Io, sink: impl FnMut(Io)) {
        match self {
            Numbers::Dense(numbers) => numbers.apply(io, sink),
            Numbers::Packed(pack) => pack.apply(io, sink),
        }
    }

    /// The trace's address for an address of the drive, both in bytes; `None` where there is no single one.
    pub fn original_bytes(&self, bytes: u64) -> Option<u64> {
        match self {
            Numbers::Dense(numbers) => Some(numbers.original_bytes(bytes)),
            Numbers::Packed(_) => None,
        }
    }
}

/// The pages that a trace writes, in pages of a drive.
#[derive(Debug, Clone)]
pub struct Learned {
    /// Size of a page in which the requests were counted.
    pub page_bytes: u32,
    /// Number of pages ever written; when packed, the most that held data at one time.
    pub pages: u64,
    /// The numbers of these pages.
    pub numbers: Arc<Numbers>,
}

/// Reads a trace to learn the pages it writes.
///
/// # Errors
/// When the trace cannot be read, or can be read only once.
pub fn learn(
    source: &dyn Requests,
    page_bytes: u32,
    packs: bool,
    watch: &mut dyn Watch,
) -> Result<Learned> {
    source.check_twice()?;
    let mut numbers = Renumber::new(page_bytes);
    ahead(source, watch, &mut |io| numbers.learn(io))?;
    let pages = numbers.finish_learning();
    if pages > Pack::MOST_PAGES {
        let bytes = u128::from(pages) * u128::from(page_bytes);
        return Err(CompareError::wrong_use(format!(
            "{} writes {bytes} bytes of addresses, and a drive that it fills can have {} pages of {page_bytes}: its \
             addresses are damaged or hashes; name the drive with --size, or import the trace again with the true units",
            source.name(),
            Pack::MOST_PAGES
        )));
    }
    if !packs {
        return Ok(Learned {
            page_bytes,
            pages,
            numbers: Arc::new(Numbers::Dense(numbers)),
        });
    }
    let pack = Pack::new(numbers, page_bytes, pages)
        .ok_or_else(|| CompareError::wrong_use("more pages than can be packed"))?;
    let mut counted = pack.clone();
    ahead(source, watch, &mut |io| counted.apply(io, |_| ()))?;
    Ok(Learned {
        page_bytes,
        pages: counted.most_pages(),
        numbers: Arc::new(Numbers::Packed(pack)),
    })
}

/// A trace's addresses as addresses of one device: the captured device's own or, where its size is not known or too
/// large to look at page by page, the pages ever written, numbered densely.
#[derive(Debug)]
pub struct Addresses {
    /// Pages of the device.
    pub pages: u64,
    numbers: Option<Numbers>,
}

impl Addresses {
    /// The addresses of a trace, in pages of `page_bytes`. The trace is read ahead where its device's size is not
    /// known, or is more than `most_pages`.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn of(
        source: &dyn Requests,
        page_bytes: u32,
        most_pages: u64,
        watch: &mut dyn Watch,
    ) -> Result<Addresses> {
        let capture = source.tables().map(|tables| &tables.capture);
        let bytes = capture.map_or(0, |capture| capture.device_bytes);
        let pages = bytes.div_ceil(u64::from(page_bytes));
        if (1..=most_pages).contains(&pages) {
            return Ok(Addresses {
                pages,
                numbers: None,
            });
        }
        let learned = learn(source, page_bytes, false, watch)?;
        Ok(Addresses {
            pages: learned.pages.max(1),
            numbers: Some(Arc::unwrap_or_clone(learned.numbers)),
        })
    }

    /// Passes a request with the device's addresses to `sink`, in pieces where its pages lie apart.
    ///
    /// # Errors
    /// When `sink` fails: its first error.
    pub fn apply<E>(
        &mut self,
        io: &Io,
        mut sink: impl FnMut(&Io) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(numbers) = &mut self.numbers else {
            return sink(io);
        };
        let mut done = Ok(());
        numbers.apply(io, |piece| {
            if done.is_ok() {
                done = sink(&piece);
            }
        });
        done
    }
}

fn ahead(source: &dyn Requests, watch: &mut dyn Watch, note: &mut dyn FnMut(&Io)) -> Result {
    watch.begin(&format!("reading ahead: {}", source.name()));
    source.each_batch(&mut |ios, done| {
        watch.done(done)?;
        ios.iter().for_each(&mut *note);
        Ok(())
    })?;
    watch.end();
    Ok(())
}
