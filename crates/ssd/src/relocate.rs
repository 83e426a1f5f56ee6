//! Where garbage collection puts the pages it copies: the device's half of a scheme.

mod age_chain;
mod forget;
mod gc;
mod mixed;
mod per_stream;
mod substream;

use std::{fmt, str::FromStr};

pub use substream::Substream;

use crate::{config::Config, types::StreamId};
use age_chain::AgeChain;
use forget::Forget;
use gc::Gc;
use mixed::Mixed;
use per_stream::PerStream;

/// A unit about to be emptied.
#[derive(Debug, Clone, Copy)]
pub struct Victim {
    /// The stream whose pages it holds.
    pub stream: StreamId,
    /// How many of them are still valid.
    pub valid_pages: u32,
}

/// Decides which stream a victim's valid pages join. Deterministic; answers with a host stream
/// or one of the device's internal streams.
pub trait Relocate: Send + fmt::Debug {
    /// The stream that `victim`'s valid pages are copied to.
    fn destination(&mut self, victim: Victim) -> StreamId;

    /// A unit of `stream` was erased, and `units_left` still hold its pages.
    fn erased(&mut self, _stream: StreamId, _units_left: u32) {}
}

/// The relocations there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelocationKind {
    /// Copies return to their own stream, among new host writes: the papers' legacy drive.
    Mixed,
    /// All copies share one internal stream: what a good legacy drive does.
    Gc,
    /// Each stream's copies have an internal stream of their own, for good.
    PerStream,
    /// Copies of a stream with many survivors go to a substream of its own: PCStream's second
    /// phase (draft §2.2.3).
    Substream,
    /// Copies move on by one internal stream each time they survive.
    AgeChain,
    /// Copies join the default stream: the multi-stream eMMC.
    Forget,
}

impl RelocationKind {
    /// Every kind, in the order of the lists people see.
    pub const ALL: [RelocationKind; 6] = [
        RelocationKind::Mixed,
        RelocationKind::Gc,
        RelocationKind::PerStream,
        RelocationKind::Substream,
        RelocationKind::AgeChain,
        RelocationKind::Forget,
    ];

    /// The name used after the `+` of a scheme.
    pub fn name(self) -> &'static str {
        match self {
            RelocationKind::Mixed => "mixed",
            RelocationKind::Gc => "gc",
            RelocationKind::PerStream => "per-stream",
            RelocationKind::Substream => "substream",
            RelocationKind::AgeChain => "age-chain",
            RelocationKind::Forget => "forget",
        }
    }

    /// Internal streams this relocation uses of the `budget` a device offers.
    pub fn internal_streams(self, budget: u16) -> u16 {
        match self {
            RelocationKind::Mixed | RelocationKind::Forget => 0,
            RelocationKind::Gc => 1,
            RelocationKind::PerStream | RelocationKind::Substream | RelocationKind::AgeChain => {
                budget
            }
        }
    }

    /// The relocation for a device.
    pub fn build(self, config: &Config) -> Box<dyn Relocate> {
        match self {
            RelocationKind::Mixed => Box::new(Mixed),
            RelocationKind::Gc => Box::new(Gc::new(config)),
            RelocationKind::PerStream => Box::new(PerStream::new(config)),
            RelocationKind::Substream => Box::new(Substream::new(config)),
            RelocationKind::AgeChain => Box::new(AgeChain::new(config)),
            RelocationKind::Forget => Box::new(Forget),
        }
    }
}

impl fmt::Display for RelocationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RelocationKind {
    type Err = String;

    fn from_str(text: &str) -> Result<RelocationKind, String> {
        let known = RelocationKind::ALL.map(RelocationKind::name).join(", ");
        RelocationKind::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("no relocation is called \"{text}\" (there are: {known})"))
    }
}
