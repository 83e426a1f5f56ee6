//! `multilog`: Improving Flash Write Performance by Using Update Frequency (Stoica and Ailamaki,
//! VLDB'13).

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
};

use crate::{
    assign::{Assign, Write},
    by_page::{draw, part, place_each, shared_classes},
    geometry::HostGeometry,
    halves::Halves,
    last_writes::LastWrites,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

parameters! {
    /// Parameters of [`MultiLog`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Logs there are, at most as many as the drive has host streams. 6: what `SepBIT`'s
        /// evaluation (FAST'22) gives every scheme.
        classes: Count(1..=128) = 6,
            "logs, at most one a host stream";
        /// Seed of the draws by which a page rises.
        seed: Count(0..=u32::MAX) = 1,
            "seed of the draws by which a page moves to a hotter log";
    }
}

impl HostScheme for Parameters {
    named!("multilog");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(MultiLog::new(self, &site.geometry())))
    }
}

/// The log of a page without data.
const NEW: u8 = u8::MAX;

/// One of the logs, and its counts.
#[derive(Debug, Clone, Copy, Default)]
struct Log {
    live_pages: u64,
    /// Pages of all its victims; the field below counts those still valid.
    collected_pages: u64,
    valid_pages: u64,
}

impl Log {
    /// Half the expected time until a page of this log is collected, which stands for its mean
    /// life.
    fn expected_life(&self) -> f64 {
        match self.collected_pages {
            0 => 0.0,
            all => self.live_pages as f64 * (self.valid_pages as f64 / all as f64) / 2.0,
        }
    }
}

/// Logs from hot to cold. A page that is copied moves to the next colder log. One that the host
/// writes again earlier than its log's pages are expected to be moves to the next hotter with a
/// probability: the share by which it came early. The coldest log in use opens another once it
/// holds a unit of data.
///
/// The expectation is half the log's live pages times the valid share of its victims, as `SepBIT`'s
/// simulator has it, which also leaves the choice of victims to the drive; the paper chooses the
/// log to collect by itself. A discarded page begins anew (our choice; the simulator knows no
/// discards). Memory: 5 bytes for each page of the drive.
#[derive(Debug)]
pub struct MultiLog {
    writes: LastWrites,
    log_of: Vec<u8>,
    logs: Vec<Log>,
    /// The coldest log in use.
    coldest: u8,
    pages_per_unit: u32,
    random: u64,
}

impl MultiLog {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> MultiLog {
        let logs = usize::from(shared_classes(parameters.classes, geometry));
        MultiLog {
            writes: LastWrites::new(geometry.logical_pages),
            log_of: vec![NEW; geometry.logical_pages as usize],
            logs: vec![Log::default(); logs],
            coldest: 0,
            pages_per_unit: geometry.pages_per_unit,
            random: u64::from(parameters.seed),
        }
    }

    /// Draws a number from 0 to below 1.
    fn draw(&mut self) -> f64 {
        (draw(&mut self.random) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn place(&mut self, page: u32, now_pages: u64) -> StreamId {
        let interval = self.writes.write(page, now_pages);
        let Some(&before) = self.log_of.get(page as usize) else {
            return StreamId::DEFAULT;
        };
        let after = match (self.logs.get(usize::from(before)), interval) {
            (Some(log), Some(interval)) if before > 0 => {
                let expected = log.expected_life();
                let early = (expected - interval as f64) / expected;
                // Not a number where nothing is expected: that is not early.
                before - u8::from(early > 0.0 && self.draw() < early)
            }
            (Some(_), _) => before,
            (None, _) => 0,
        };
        self.move_page(page, before, after);
        StreamId(u16::from(after))
    }

    /// The log for a page that survives: the next colder one. The coldest opens another once it
    /// holds a unit of data.
    fn colder(&mut self, log: u8) -> u8 {
        if log < self.coldest {
            return log + 1;
        }
        let holds_a_unit = self
            .logs
            .get(usize::from(log))
            .is_some_and(|log| log.live_pages >= u64::from(self.pages_per_unit));
        if holds_a_unit && usize::from(log) + 1 < self.logs.len() {
            self.coldest = log + 1;
        }
        self.coldest
    }

    fn move_page(&mut self, page: u32, before: u8, after: u8) {
        if let Some(log) = self.logs.get_mut(usize::from(before)) {
            log.live_pages = log.live_pages.saturating_sub(1);
        }
        if let Some(log) = self.logs.get_mut(usize::from(after)) {
            log.live_pages += 1;
        }
        if let Some(log_of) = self.log_of.get_mut(page as usize) {
            *log_of = after;
        }
    }
}

impl Assign for MultiLog {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages))
    }

    fn prefetch(&self, pages: &[u32]) {
        self.writes.prefetch(pages);
    }

    fn discard(&mut self, pages: PageRange, _now_pages: u64) {
        self.writes.discard(pages);
        for log_of in part(&mut self.log_of, pages) {
            let log = std::mem::replace(log_of, NEW);
            if let Some(log) = self.logs.get_mut(usize::from(log)) {
                log.live_pages = log.live_pages.saturating_sub(1);
            }
        }
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.writes.memory_bytes()
            + self.log_of.capacity()
            + self.logs.capacity() * size_of::<Log>()
    }
}

impl Relocate for MultiLog {
    fn destination(&mut self, victim: &Victim) -> Destination {
        if let Some(log) = self.logs.get_mut(victim.stream.index()) {
            log.collected_pages += u64::from(self.pages_per_unit);
            log.valid_pages += u64::from(victim.valid_pages);
        }
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        match self.log_of.get(survivor.page as usize).copied() {
            Some(before) if before != NEW => {
                let after = self.colder(before);
                self.move_page(survivor.page, before, after);
                StreamId(u16::from(after))
            }
            _ => victim.stream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    fn victim(stream: u16, valid_pages: u32) -> Victim {
        Victim {
            stream: StreamId(stream),
            valid_pages,
            opened_at: 0,
            now: 0,
        }
    }

    fn copy(scheme: &mut MultiLog, page: u32) -> u16 {
        let survivor = Survivor { page, age_pages: 0 };
        scheme.survivor(&victim(7, 1), survivor).0
    }

    #[test]
    fn a_page_that_survives_moves_to_a_colder_log_which_opens_when_it_is_needed() {
        let mut scheme = MultiLog::new(&Parameters::default(), &DRIVE);
        (0..7).for_each(|page| {
            stream(&mut scheme, page, u64::from(page));
        });
        assert_eq!(copy(&mut scheme, 0), 0, "less than a unit of 8 pages lives");
        stream(&mut scheme, 7, 7);
        assert_eq!(copy(&mut scheme, 0), 1);
        assert_eq!(copy(&mut scheme, 1), 1);
        assert_eq!(copy(&mut scheme, 0), 1, "two pages do not open another");
        assert_eq!(scheme.logs[0].live_pages, 6);
        assert_eq!(scheme.logs[1].live_pages, 2);
    }

    #[test]
    fn an_early_write_moves_to_a_hotter_log() {
        let mut scheme = MultiLog::new(&Parameters::default(), &DRIVE);
        (0..64).for_each(|page| {
            stream(&mut scheme, page, u64::from(page));
        });
        (0..64).for_each(|page| {
            copy(&mut scheme, page);
        });
        let log_of = scheme.log_of[3];
        assert!(log_of >= 1);
        assert_eq!(
            stream(&mut scheme, 3, 64),
            u16::from(log_of),
            "nothing expected yet"
        );
        let log = usize::from(log_of);
        scheme.logs[log] = Log {
            live_pages: 1000,
            collected_pages: 80,
            valid_pages: 40,
        };
        assert_eq!(scheme.logs[log].expected_life(), 250.0);
        assert_eq!(
            stream(&mut scheme, 4, 1000),
            u16::from(scheme.log_of[4]),
            "late"
        );
        let moved = (5..64).filter(|&page| {
            let before = scheme.log_of[page as usize];
            scheme.logs[log].live_pages = 1000;
            stream(&mut scheme, page, 64 + u64::from(page)) < u16::from(before)
        });
        // 64 pages old where 250 are expected: three in four.
        assert!((35..55).contains(&moved.count()));
    }

    #[test]
    fn a_discarded_page_begins_anew() {
        let mut scheme = MultiLog::new(&Parameters::default(), &DRIVE);
        (0..20).for_each(|page| {
            stream(&mut scheme, page, u64::from(page));
        });
        copy(&mut scheme, 3);
        scheme.discard(PageRange::new(0, 20), 20);
        assert_eq!(scheme.logs.iter().map(|log| log.live_pages).sum::<u64>(), 0);
        assert_eq!(copy(&mut scheme, 3), 7, "nothing known: its own stream");
        assert_eq!(stream(&mut scheme, 3, 20), 0);
    }
}
