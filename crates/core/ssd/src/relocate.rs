//! Relocation, the device half of a scheme: chooses the stream of each page that garbage collection copies.

mod age;
mod age_chain;
pub(crate) mod fdp;
mod forget;
mod gc;
mod per_stream;
mod substream;

use std::{fmt, str::FromStr};

use serde::Serialize;

pub use substream::{Pool, Substream, Trigger};

use crate::{
    config::Config, error::UnknownName, observe::Origin, types::StreamId, victims::ClosedUnits,
};
use age::Age;
use age_chain::AgeChain;
use fdp::Fdp;
use forget::Forget;
use gc::Gc;
use per_stream::PerStream;

/// A unit about to be emptied.
#[derive(Debug, Clone, Copy)]
pub struct Victim {
    /// The stream whose pages it holds.
    pub stream: StreamId,
    /// Number of pages that are still valid.
    pub valid_pages: u32,
    /// Time of opening, in pages the host had written.
    pub opened_at: u64,
    /// The device's clock: pages the host has written.
    pub now: u64,
}

/// A unit that was erased.
#[derive(Debug, Clone, Copy)]
pub struct Erased {
    /// The stream whose pages it held.
    pub stream: StreamId,
    /// Units that still hold pages of that stream.
    pub units_left: u32,
    /// Time of opening, in pages the host had written.
    pub opened_at: u64,
    /// The device's clock: pages the host has written.
    pub now: u64,
}

/// A page about to be copied.
#[derive(Debug, Clone, Copy)]
pub struct Survivor {
    /// The logical page.
    pub page: u32,
    /// Pages the host has written since it wrote this one; 0 unless the relocation asked for it
    /// ([`Relocate::wants_ages`]).
    pub age_pages: u64,
}

/// Destination of a victim's valid pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// All to one stream.
    Stream(StreamId),
    /// Each where [`Relocate::survivor`] says.
    Each,
}

/// Decides which stream a victim's valid pages join. Deterministic; answers with a host stream
/// or one of the device's internal streams, of the victim's own reclaim group.
pub trait Relocate: Send + fmt::Debug {
    /// Chooses the streams that `victim`'s valid pages are copied to.
    fn destination(&mut self, victim: &Victim) -> Destination;

    /// The stream of one page, where [`Destination::Each`] was answered for its victim.
    fn survivor(&mut self, victim: &Victim, _survivor: Survivor) -> StreamId {
        victim.stream
    }

    /// Pages of which [`Relocate::survivor`] is asked next: a relocation with tables by page reads them now, one after the
    /// other, so that their cache misses overlap.
    fn prefetch_survivors(&self, _pages: &[u32]) {}

    /// Whether the relocation uses survivors' ages: the device then keeps a time for each page.
    fn wants_ages(&self) -> bool {
        false
    }

    /// Whether the relocation uses the place of every page programmed ([`Relocate::placed`]).
    fn wants_places(&self) -> bool {
        false
    }

    /// A logical page was written or copied into a unit of `stream`; what it held elsewhere is
    /// dead. Units are numbered from 0 within the device.
    fn placed(&mut self, _page: u32, _unit: u32, _stream: StreamId) {}

    /// The stream that takes in what lives in the open unit of `stream` when that is sealed for
    /// want of room; `None` where it must not be. `default` is the default stream of its group.
    fn seal(&self, _stream: StreamId, default: StreamId) -> Option<StreamId> {
        Some(default)
    }

    /// Whether copies meant for `wanted` may join `other` where no unit is left for them.
    fn may_join(&self, _wanted: StreamId, _other: StreamId) -> bool {
        true
    }

    /// A unit was opened for a stream.
    fn opened(&mut self, _stream: StreamId) {}

    /// `pages` were appended to a stream's open unit, which closes when it is full.
    fn appended(&mut self, _stream: StreamId, _pages: u32, _origin: Origin) {}

    /// A stream's open unit was taken from it before it was full, and not because the host
    /// asked: it was sealed, or it failed.
    fn abandoned(&mut self, _stream: StreamId) {}

    /// `pages` valid pages were moved out of a unit of `stream`.
    fn moved(&mut self, _stream: StreamId, _pages: u32) {}

    /// A unit was erased.
    fn erased(&mut self, _erased: &Erased) {}

    /// The closed unit to collect next, where the device's victim rule leaves that to the scheme
    /// ([`VictimRule::Scheme`](crate::victims::VictimRule::Scheme)); `None` asks for the one with the
    /// fewest valid pages.
    fn choose_victim(&mut self, _closed: &mut ClosedUnits, _now: u64) -> Option<u32> {
        None
    }

    /// Returns the learned state as numbers: a saved device needs it to resume.
    fn state(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Takes back what [`Relocate::state`] gave. Answers `false` if that is not a state of this
    /// relocation.
    fn restore(&mut self, state: &[u64]) -> bool {
        state.is_empty()
    }
}

/// Copies return to their own stream, among its new writes, as in the legacy drives that the papers
/// compare with (PCStream draft §4: Baseline, AutoStream, PCStream\*).
impl Relocate for () {
    fn destination(&mut self, victim: &Victim) -> Destination {
        Destination::Stream(victim.stream)
    }
}

/// The kinds of relocation that can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelocationKind {
    /// Copies return to their own stream, among new host writes: the papers' legacy drive.
    Mixed,
    /// All copies share one internal stream: what a good legacy drive does.
    Gc,
    /// Each stream's copies have an internal stream of their own, for good.
    PerStream,
    /// Copies of a stream with many survivors go to a substream of the stream: PCStream's second
    /// phase (draft §2.2.3).
    Substream(Trigger, Pool),
    /// Copies move on by one internal stream each time they survive.
    AgeChain,
    /// Copies are divided by the time since the host wrote them: `SepBIT`'s classes (FAST'22).
    Age,
    /// Copies join the default stream: the multi-stream eMMC.
    Forget,
    /// Copies mix only as the handles of Flexible Data Placement may.
    Fdp,
}

impl RelocationKind {
    /// The emulator's trigger, with internal streams of their own: what `pcstream` means.
    pub const SUBSTREAM: RelocationKind =
        RelocationKind::Substream(Trigger::Filled, Pool::Separate);

    /// Every kind, in the order of the lists people see.
    pub const ALL: [RelocationKind; ROWS.len()] = {
        let mut all = [RelocationKind::Mixed; ROWS.len()];
        let mut at = 0;
        while at < ROWS.len() {
            all[at] = ROWS[at].kind;
            at += 1;
        }
        all
    };

    fn row(self) -> &'static Row {
        let known = ROWS.iter().find(|row| row.kind == self);
        known.unwrap_or(&ROWS[0])
    }

    /// The name used after the `+` of a scheme.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Internal streams this relocation uses on a drive, of those it offers.
    pub fn internal_streams(self, drive: &Config) -> u16 {
        (self.row().internal_streams)(drive)
    }

    /// The relocation for a device.
    pub fn build(self, config: &Config) -> Box<dyn Relocate> {
        (self.row().build)(config)
    }
}

/// A kind of relocation: a row of the table.
struct Row {
    kind: RelocationKind,
    name: &'static str,
    /// Internal streams that the kind uses on a drive.
    internal_streams: fn(&Config) -> u16,
    build: fn(&Config) -> Box<dyn Relocate>,
}

/// The count for a kind that uses no internal stream.
fn none(_: &Config) -> u16 {
    0
}

/// The count for a kind that uses every internal stream.
fn all(drive: &Config) -> u16 {
    drive.internal_streams
}

/// Every relocation there is, in the order of the lists people see.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(RelocationKind::Mixed, "mixed", none, |_| Box::new(())),
    row(RelocationKind::Gc, "gc", gc::internal_streams, |config| Box::new(Gc::new(config))),
    row(RelocationKind::PerStream, "per-stream", all, |config| Box::new(PerStream::new(config))),
    row(RelocationKind::SUBSTREAM, "substream", all,
        |config| Box::new(Substream::new(config, Trigger::Filled, Pool::Separate))),
    row(RelocationKind::Substream(Trigger::Filled, Pool::Shared), "substream-shared", all,
        |config| Box::new(Substream::new(config, Trigger::Filled, Pool::Shared))),
    row(RelocationKind::Substream(Trigger::Ranked, Pool::Separate), "substream-ranked", all,
        |config| Box::new(Substream::new(config, Trigger::Ranked, Pool::Separate))),
    row(RelocationKind::Substream(Trigger::Ranked, Pool::Shared), "substream-ranked-shared", all,
        |config| Box::new(Substream::new(config, Trigger::Ranked, Pool::Shared))),
    row(RelocationKind::AgeChain, "age-chain", all, |config| Box::new(AgeChain::new(config))),
    row(RelocationKind::Age, "age", all, |config| Box::new(Age::new(config))),
    row(RelocationKind::Forget, "forget", none, |_| Box::new(Forget)),
    row(RelocationKind::Fdp, "fdp", fdp::internal_streams, |config| Box::new(Fdp::new(config))),
];

const fn row(
    kind: RelocationKind,
    name: &'static str,
    internal_streams: fn(&Config) -> u16,
    build: fn(&Config) -> Box<dyn Relocate>,
) -> Row {
    Row {
        kind,
        name,
        internal_streams,
        build,
    }
}

impl fmt::Display for RelocationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for RelocationKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for RelocationKind {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<RelocationKind, UnknownName> {
        let found = ROWS.iter().find(|row| row.name == text);
        found.map(|row| row.kind).ok_or_else(|| {
            let known: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
            UnknownName {
                what: "relocation",
                word: text.to_owned(),
                known: known.join(", "),
            }
        })
    }
}
