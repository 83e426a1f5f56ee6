//! Content of the drive before the load begins: data of others, which are never given back, and the data that
//! filled the load's own part.
//!
//! PCStream's authors filled nine tenths of their drive with files that stay. How these lay is not told. Written in
//! sequence alone, they fill units of their own, which are never collected. So a second setting says how much of them is
//! then overwritten, a page at a time and each page as likely as another (SNIA's preconditioning by random writes): what
//! is collected afterwards holds some of them.
//!
//! MiDAS' and DOGI's authors fill the whole drive before a load begins: the third setting writes the load's part once,
//! in sequence, before the data of others.
//!
//! Our choice: the load has the addresses below the held data, and these are nobody's: they have no context and no hint.

use anabranch_trace::{Io, Operation};

use super::{LoadRequests, PAGE_BYTES, nobodys, settings::Setting};
use crate::draw::Draw;

/// Share of the drive that the held data fill.
const HELD: Setting = Setting::share(0, "held", 0.0, (0.0, 0.95));
/// Bytes overwritten at random, as a share of the held data.
const OVERWRITTEN: Setting = Setting::share(1, "overwritten", 0.0, (0.0, 10.0));

/// Whether the load's part is written once before it begins: 0 or 1.
const FILLED: Setting = Setting::count(2, "filled", 0.0, (0.0, 1.0));

/// The settings, which every load has.
pub(super) const SETTINGS: &[Setting] = &[HELD, OVERWRITTEN, FILLED];

/// Pages of one request of the sequence: 1 MiB.
const SEQUENCE_PAGES: u64 = 256;

/// Keeps the draws of the held data apart from the load's, which are the same with and without them.
const SEED: u64 = 0x6865_6c64;

/// The held data of one drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    first: u64,
    pages: u64,
    overwrites: u64,
    /// Pages of the load's part that are written first.
    filled: u64,
    seed: u64,
}

impl Held {
    /// The held data of a drive of so many pages, by the values of the settings.
    pub(super) fn new(values: &[f64], drive_pages: u64, seed: u64) -> Result<Held, String> {
        let value = |setting: &Setting| setting.value_in(values);
        let (share, overwritten) = (value(&HELD), value(&OVERWRITTEN));
        if share == 0.0 && overwritten > 0.0 {
            return Err("overwritten is a share of the held data: say held=SHARE too".to_owned());
        }
        let pages = (drive_pages as f64 * share) as u64;
        let first = drive_pages - pages;
        Ok(Held {
            first,
            filled: if value(&FILLED) > 0.0 { first } else { 0 },
            pages,
            overwrites: (pages as f64 * overwritten) as u64,
            seed: seed ^ SEED,
        })
    }

    /// Whether nothing is written before the load begins.
    pub(super) fn is_none(self) -> bool {
        self.pages + self.filled == 0
    }

    /// Bytes of the drive that are left to the load.
    pub(super) fn left_bytes(self) -> u64 {
        self.first * PAGE_BYTES
    }

    /// Bytes of the drive that are held.
    pub(super) fn bytes(self) -> u64 {
        self.pages * PAGE_BYTES
    }

    /// Bytes that are written before the load begins.
    pub(super) fn write_bytes(self) -> u64 {
        (self.filled + self.pages + self.overwrites) * PAGE_BYTES
    }

    /// Returns the writes before the load begins.
    pub(super) fn requests(self) -> LoadRequests {
        let write = |first, pages| -> Io { nobodys(Operation::Write, first, pages) };
        let in_sequence = move |first: u64, end: u64| {
            let starts = (first..end).step_by(SEQUENCE_PAGES as usize);
            starts.map(move |first| write(first, SEQUENCE_PAGES.min(end - first)))
        };
        let held = in_sequence(self.first, self.first + self.pages);
        let sequence = in_sequence(0, self.filled).chain(held);
        let mut draw = Draw::new(self.seed);
        let overwrites =
            (0..self.overwrites).map(move |_| write(self.first + draw.below_all(self.pages), 1));
        Box::new(sequence.chain(overwrites))
    }
}
