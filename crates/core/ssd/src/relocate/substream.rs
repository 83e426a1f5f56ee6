//! PCStream's second phase: survivors of a stream move to a substream of it.

use super::{Destination, Erased, Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// Victims in a round of collection: one of each of the emulator's 4 channels x 4 ways.
const ROUND_VICTIMS: u32 = 16;
/// Weight of a victim in its stream's mean share of survivors (our choice: 1/8).
const RECENT: f64 = 0.125;
/// A stream that wants the substream of another must leave this many times its share of
/// survivors (our choice, so that substreams do not change hands at every victim).
const TAKE_OVER: f64 = 1.5;
/// Streams whose victims keep less than this share get no substream (our choice: what is copied
/// is then not worth a unit of its own).
const LEAST_SHARE: f64 = 0.05;

/// Streams that get a substream. The draft (§3.2.2) leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The authors' emulator: the survivors of a stream in one round of collection, sixteen
    /// victims, fill more than a unit.
    Filled,
    /// The streams whose victims keep the largest share of valid pages, on average over the last
    /// victims; one that outgrows another by half takes its substream over.
    Ranked,
}

/// Numbers of substreams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pool {
    /// Internal streams are a budget of their own.
    Separate,
    /// Host streams that hold data and substreams are together no more than the drive's host
    /// streams, as in the emulator; a host stream that begins to hold data later takes a number
    /// back.
    Shared,
}

/// Internal streams handed to the host streams whose victims leave survivors.
///
/// The draft (§2.2.3) moves the long-lived data of a stream to its substream during garbage
/// collection only; a page in a substream stays there. Unlike in the emulator, where ids are
/// permanent, one returns when its last unit is erased, and the default stream may have one too,
/// so that the device half can be measured alone (our choices).
#[derive(Debug)]
pub struct Substream {
    trigger: Trigger,
    pool: Pool,
    /// Substream of each host stream.
    substream: Vec<Option<StreamId>>,
    /// Pages of each host stream that survived in the current round.
    survivors: Vec<u64>,
    /// Mean share of a victim's pages that survive, for each host stream.
    share: Vec<f64>,
    /// Victims so far in this round.
    victims: u32,
    /// Host stream that holds each internal stream, and whether that has data.
    holder: Vec<Option<StreamId>>,
    in_use: Vec<bool>,
    host_streams: u16,
    pages_per_unit: u32,
}

impl Substream {
    /// A relocation for a device with `config`'s streams.
    pub fn new(config: &Config, trigger: Trigger, pool: Pool) -> Substream {
        let host = usize::from(config.host_streams);
        Substream {
            trigger,
            pool,
            substream: vec![None; host],
            survivors: vec![0; host],
            share: vec![0.0; host],
            victims: 0,
            holder: vec![None; usize::from(config.internal_streams)],
            in_use: vec![false; usize::from(config.streams())],
            host_streams: config.host_streams,
            pages_per_unit: config.pages_per_unit,
        }
    }

    /// Whether the survivors of a victim's stream deserve a stream of their own.
    fn deserves(&mut self, victim: &Victim) -> bool {
        self.victims += 1;
        if self.victims > ROUND_VICTIMS {
            self.victims = 1;
            self.survivors.fill(0);
        }
        let stream = victim.stream.index();
        if victim.stream.0 >= self.host_streams {
            return false;
        }
        self.survivors[stream] += u64::from(victim.valid_pages);
        let kept = f64::from(victim.valid_pages) / f64::from(self.pages_per_unit);
        self.share[stream] += (kept - self.share[stream]) * RECENT;
        match self.trigger {
            Trigger::Filled => self.survivors[stream] > u64::from(self.pages_per_unit),
            Trigger::Ranked => self.share[stream] >= LEAST_SHARE,
        }
    }

    /// Whether the pool has a place for one more substream.
    fn has_place(&self) -> bool {
        match self.pool {
            Pool::Separate => true,
            Pool::Shared => {
                let used = self.in_use.iter().filter(|&&used| used).count();
                used < usize::from(self.host_streams)
            }
        }
    }

    fn allocate(&mut self, stream: StreamId) -> Option<StreamId> {
        let free = |slot: &usize| {
            self.holder[*slot].is_none() && !self.in_use[usize::from(self.host_streams) + slot]
        };
        let slot = match (0..self.holder.len()).find(free) {
            Some(slot) if self.has_place() => slot,
            _ => self.take_over(stream)?,
        };
        let substream = StreamId(self.host_streams + u16::try_from(slot).ok()?);
        self.holder[slot] = Some(stream);
        self.substream[stream.index()] = Some(substream);
        Some(substream)
    }

    /// The place of the substream whose stream keeps the least, if `stream` keeps much more.
    fn take_over(&mut self, stream: StreamId) -> Option<usize> {
        if self.trigger == Trigger::Filled {
            return None;
        }
        let (slot, holder) = self.weakest()?;
        if self.share[stream.index()] < self.share[holder.index()] * TAKE_OVER {
            return None;
        }
        self.release(slot);
        Some(slot)
    }

    fn weakest(&self) -> Option<(usize, StreamId)> {
        let held = |(slot, holder): (usize, &Option<StreamId>)| holder.map(|holder| (slot, holder));
        let share = |&(_, holder): &(usize, StreamId)| self.share[holder.index()];
        self.holder
            .iter()
            .enumerate()
            .filter_map(held)
            .min_by(|one, other| share(one).total_cmp(&share(other)))
    }

    /// Ends the claim of the stream that held a substream's number; its data there stay.
    fn release(&mut self, slot: usize) {
        if let Some(holder) = self.holder[slot].take() {
            self.substream[holder.index()] = None;
        }
    }
}

impl Relocate for Substream {
    fn destination(&mut self, victim: &Victim) -> Destination {
        let deserves = self.deserves(victim);
        let stream = victim.stream;
        if stream.0 >= self.host_streams {
            return Destination::Stream(stream);
        }
        let own = self.substream[stream.index()];
        let substream = own.or_else(|| deserves.then(|| self.allocate(stream)).flatten());
        Destination::Stream(substream.unwrap_or(stream))
    }

    fn opened(&mut self, stream: StreamId) {
        let new = !std::mem::replace(&mut self.in_use[stream.index()], true);
        if !new || self.pool == Pool::Separate || stream.0 >= self.host_streams {
            return;
        }
        let used = self.in_use.iter().filter(|&&used| used).count();
        if used > usize::from(self.host_streams)
            && let Some((slot, _)) = self.weakest()
        {
            self.release(slot);
        }
    }

    fn erased(&mut self, erased: &Erased) {
        if erased.units_left > 0 {
            return;
        }
        self.in_use[erased.stream.index()] = false;
        if let Some(slot) = erased.stream.0.checked_sub(self.host_streams) {
            self.release(usize::from(slot));
        }
    }

    fn state(&self) -> Vec<u64> {
        let number = |stream: &Option<StreamId>| stream.map_or(u64::MAX, |stream| stream.0.into());
        let mut state = vec![u64::from(self.victims)];
        state.extend(&self.survivors);
        state.extend(self.share.iter().map(|share| share.to_bits()));
        state.extend(self.holder.iter().map(number));
        state.extend(self.in_use.iter().map(|&used| u64::from(used)));
        state
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        let (host, internal) = (self.survivors.len(), self.holder.len());
        if state.len() != 1 + 2 * host + internal + self.in_use.len() {
            return false;
        }
        let (victims, rest) = state.split_at(1);
        let (survivors, rest) = rest.split_at(host);
        let (share, rest) = rest.split_at(host);
        let (holders, in_use) = rest.split_at(internal);
        self.victims = victims[0].min(u64::from(ROUND_VICTIMS)) as u32;
        for (own, pages) in self.survivors.iter_mut().zip(survivors) {
            // No round's survivors come near; what a file says may.
            *own = *pages.min(&(u64::MAX >> 8));
        }
        for (own, bits) in self.share.iter_mut().zip(share) {
            *own = f64::from_bits(*bits).clamp(0.0, 1.0);
        }
        for (used, word) in self.in_use.iter_mut().zip(in_use) {
            *used = *word != 0;
        }
        for (slot, holder) in (0..).zip(holders) {
            let holder = u16::try_from(*holder).ok().map(StreamId);
            let holder = holder.filter(|holder| holder.0 < self.host_streams);
            self.holder[usize::from(slot)] = holder;
            if let Some(holder) = holder {
                self.substream[holder.index()] = Some(StreamId(self.host_streams + slot));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    #[test]
    fn of_a_shared_pool_substreams_get_what_host_streams_leave() {
        for (used, expected) in [(1, 4), (3, 4), (4, 0)] {
            let mut substream = Substream::new(&small(), Trigger::Filled, Pool::Shared);
            (0..used).for_each(|stream| substream.opened(StreamId(stream)));
            let victim = Victim {
                stream: StreamId(0),
                valid_pages: 8,
                opened_at: 0,
                now: 0,
            };
            let mut destination = || substream.destination(&victim);
            assert_eq!(destination(), Destination::Stream(StreamId(0)));
            // Two victims leave more than a unit.
            let second = destination();
            assert_eq!(second, Destination::Stream(StreamId(expected)), "{used}");
        }
    }
}
