//! PCStream's second phase: survivors of a stream move to a substream of it.

use super::{Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// Victims in a round of collection: one of each of the emulator's 4 channels x 4 ways.
const ROUND_VICTIMS: u32 = 16;

/// Internal streams handed to the host streams whose victims leave survivors.
///
/// The draft (§2.2.3) moves the long-lived data of a stream to its substream during garbage
/// collection only; a page in a substream stays there. Which streams get one, its §3.2.2 leaves
/// open. The rule is that of the authors' emulator: a stream gets one when the survivors of it in
/// one round of collection fill more than a unit, a round being sixteen victims (its chips).
/// Unlike there, where ids are permanent and drawn from the host's, the ids are a separate budget
/// and one returns to it when its last unit is erased, and the default stream may have one too,
/// so that the device's half can be measured alone (our choices).
#[derive(Debug)]
pub struct Substream {
    /// Substream of each host stream.
    substream: Vec<Option<StreamId>>,
    /// Pages of each host stream that survived in this round.
    survivors: Vec<u64>,
    /// Victims so far in this round.
    victims: u32,
    /// Host stream that holds each internal stream.
    holder: Vec<Option<StreamId>>,
    host_streams: u16,
    pages_per_unit: u32,
}

impl Substream {
    /// A relocation for a device with `config`'s streams.
    pub fn new(config: &Config) -> Substream {
        Substream {
            substream: vec![None; usize::from(config.host_streams)],
            survivors: vec![0; usize::from(config.host_streams)],
            victims: 0,
            holder: vec![None; usize::from(config.internal_streams)],
            host_streams: config.host_streams,
            pages_per_unit: config.pages_per_unit,
        }
    }

    fn allocate(&mut self, stream: StreamId) -> Option<StreamId> {
        let slot = self.holder.iter().position(Option::is_none)?;
        let substream = StreamId(self.host_streams + u16::try_from(slot).ok()?);
        self.holder[slot] = Some(stream);
        self.substream[stream.index()] = Some(substream);
        Some(substream)
    }
}

impl Relocate for Substream {
    fn destination(&mut self, victim: Victim) -> StreamId {
        self.victims += 1;
        if self.victims > ROUND_VICTIMS {
            self.victims = 1;
            self.survivors.fill(0);
        }
        let stream = victim.stream;
        if stream.0 >= self.host_streams {
            return stream;
        }
        if let Some(substream) = self.substream[stream.index()] {
            return substream;
        }
        let survivors = &mut self.survivors[stream.index()];
        *survivors += u64::from(victim.valid_pages);
        if *survivors <= u64::from(self.pages_per_unit) {
            return stream;
        }
        self.allocate(stream).unwrap_or(stream)
    }

    fn erased(&mut self, stream: StreamId, units_left: u32) {
        if units_left > 0 || stream.0 < self.host_streams {
            return;
        }
        let slot = usize::from(stream.0 - self.host_streams);
        if let Some(holder) = self.holder[slot].take() {
            self.substream[holder.index()] = None;
        }
    }
}
