//! Page numbers of a drive that is to be full.

use std::sync::Arc;

use anabranch_replay::{Pack, Renumber};
use anabranch_trace::Io;

use crate::{fault::Result, source::Requests, watch::Watch};

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

    /// The address of the trace that an address of the drive stands for, both in bytes; `None` where no
    /// single one does.
    pub fn original_bytes(&self, bytes: u64) -> Option<u64> {
        match self {
            Numbers::Dense(numbers) => Some(numbers.original_bytes(bytes)),
            Numbers::Packed(_) => None,
        }
    }
}

/// What a trace writes, in pages of a drive.
#[derive(Debug, Clone)]
pub struct Learned {
    /// Bytes of the pages.
    pub page_bytes: u32,
    /// Pages ever written, or, packed, ever holding data at one time.
    pub pages: u64,
    /// Their numbers.
    pub numbers: Arc<Numbers>,
}

/// Reads a trace for the pages it writes.
///
/// # Errors
/// When it cannot be read, or once only.
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
    if !packs {
        return Ok(Learned {
            page_bytes,
            pages,
            numbers: Arc::new(Numbers::Dense(numbers)),
        });
    }
    let pack = Pack::new(numbers, page_bytes, pages);
    let mut counted = pack.clone();
    ahead(source, watch, &mut |io| counted.apply(io, |_| ()))?;
    Ok(Learned {
        page_bytes,
        pages: counted.most_pages(),
        numbers: Arc::new(Numbers::Packed(pack)),
    })
}

/// The addresses of a trace as those of one device: the captured one's, or, where that is not told or too
/// large to look at page by page, those ever written, numbered densely.
#[derive(Debug)]
pub struct Addresses {
    /// Pages of the device.
    pub pages: u64,
    numbers: Option<Numbers>,
}

impl Addresses {
    /// Of a trace, in pages of `page_bytes`. It is read ahead where its device is not told, or has more
    /// than `most_pages`.
    ///
    /// # Errors
    /// When it cannot be read.
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

    /// Hands on a request with the device's addresses, in pieces where its pages lie apart.
    ///
    /// # Errors
    /// The first of `sink`.
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
