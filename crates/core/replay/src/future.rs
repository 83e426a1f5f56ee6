//! The first of two passes over a trace, which finds out when each page written will die.

use anabranch_placement::Future;
use anabranch_ssd::{Config, PageRange};
use anabranch_trace::{Io, Operation};

use crate::{lane::LaneError, pages::Pages};

/// Marks a logical page that holds no data.
const NOTHING: u64 = u64::MAX;

/// Reads a trace ahead of the lanes, and counts pages as they do: the same requests give the same
/// page numbers and the same logical time.
///
/// Memory: 4 bytes a page written, and 24 a logical page until it is done.
#[derive(Debug)]
pub struct Foresight {
    pages: Pages,
    /// The life of each page written, in the order of writing.
    lives_pages: Vec<u32>,
    logical: Vec<Logical>,
    records: u64,
}

/// A logical page's past.
#[derive(Debug, Clone, Copy)]
struct Logical {
    /// The index, among all pages written, of the write that made its data.
    written: u64,
    /// Sum of the lives of its data so far, in pages.
    lived_pages: u64,
    deaths: u32,
}

impl Foresight {
    /// The beginning of a pass over a trace that will be replayed on `drive`.
    pub fn new(drive: &Config) -> Foresight {
        let untouched = Logical {
            written: NOTHING,
            lived_pages: 0,
            deaths: 0,
        };
        Foresight {
            pages: Pages::of(drive),
            lives_pages: Vec::new(),
            logical: vec![untouched; drive.logical_pages as usize],
            records: 0,
        }
    }

    /// Notes one request.
    ///
    /// # Errors
    /// When the request does not fit the drive.
    pub fn record(&mut self, io: &Io) -> Result<(), LaneError> {
        self.records += 1;
        let pages = match io.operation {
            Operation::Write => self.pages.written(io),
            Operation::Discard => self.pages.discarded(io),
            Operation::Read | Operation::Flush => return Ok(()),
        }
        .map_err(|problem| LaneError::Beyond {
            record: self.records,
            problem,
        })?;
        match io.operation {
            Operation::Write => self.write(pages),
            _ => self.discard(pages),
        }
        Ok(())
    }

    fn now_pages(&self) -> u64 {
        self.lives_pages.len() as u64
    }

    fn write(&mut self, pages: PageRange) {
        for index in pages.indices() {
            let now = self.now_pages();
            self.logical[index].dies(now, &mut self.lives_pages);
            self.logical[index].written = now;
            self.lives_pages.push(Future::ENDLESS);
        }
    }

    fn discard(&mut self, pages: PageRange) {
        let now = self.now_pages();
        for logical in &mut self.logical[pages.indices()] {
            logical.dies(now, &mut self.lives_pages);
        }
    }

    /// Ends the pass. Answers with the lives found.
    pub fn finish(mut self) -> Future {
        self.lives_pages.shrink_to_fit();
        let now = self.now_pages();
        let mean_lives = self.logical.iter().map(|logical| logical.mean_life(now));
        Future::new(self.lives_pages, mean_lives.collect())
    }
}

impl Logical {
    /// Ends the life of the page's data, if it has any.
    fn dies(&mut self, now: u64, lives_pages: &mut [u32]) {
        if self.written == NOTHING {
            return;
        }
        let life = now - self.written;
        lives_pages[self.written as usize] = saturated(life);
        self.lived_pages += life;
        self.deaths = self.deaths.saturating_add(1);
        self.written = NOTHING;
    }

    /// The total time its data lived divided by their deaths, which is the most likely mean of
    /// exponential lives; data that last to the end of the trace count with the time they have
    /// lasted.
    fn mean_life(&self, end: u64) -> u32 {
        let lasting = match self.written {
            NOTHING => 0,
            written => end - written,
        };
        match self.deaths {
            0 => Future::ENDLESS,
            deaths => saturated((self.lived_pages + lasting) / u64::from(deaths)),
        }
    }
}

/// A life capped to 32 bits.
fn saturated(life_pages: u64) -> u32 {
    u32::try_from(life_pages).unwrap_or(Future::ENDLESS)
}

#[cfg(test)]
mod tests;
