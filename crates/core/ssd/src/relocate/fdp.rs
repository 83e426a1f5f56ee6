//! Isolation rules of garbage collection on a Flexible Data Placement drive.

use std::fmt;

use super::{Destination, Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// Hears what becomes of the units of an FDP device, beside the relocation.
pub(crate) trait Listener: Send + fmt::Debug {
    /// A unit was opened for a stream.
    fn opened(&mut self, stream: StreamId);

    /// A stream's open unit was taken from it before it was full, and not because the host asked.
    fn abandoned(&mut self, stream: StreamId);

    /// `pages` valid pages were moved out of a unit of `stream`, whose handle is not persistently
    /// isolated.
    fn moved(&mut self, stream: StreamId, pages: u32);
}

impl Listener for () {
    fn opened(&mut self, _stream: StreamId) {}

    fn abandoned(&mut self, _stream: StreamId) {}

    fn moved(&mut self, _stream: StreamId, _pages: u32) {}
}

/// Copies of initially isolated handles share one internal stream in each reclaim group; copies
/// of a persistently isolated handle have one of their own, since only its own data may join them
/// (NVM Express Base Specification 2.2, §8.1.10, Reclaim Unit Handle Type; one collecting unit for
/// the first kind and one a handle for the second: WARP, FAST'26). Each reclaim group copies
/// within itself.
///
/// A persistently isolated handle's data never joins another's, not even for want of room: its
/// units are not sealed and its copies not redirected. The device keeps the spare units that this
/// needs ([`Config::spare_units_of_group`]). Units of initially isolated handles may be sealed;
/// what lives in them joins the group's other copies.
///
/// `L` hears what becomes of the units; `()` hears nothing, at no cost.
#[derive(Debug)]
pub(crate) struct Fdp<L: Listener = ()> {
    pub(crate) listener: L,
    /// Stream that copies of each stream go to.
    destination: Vec<StreamId>,
    /// The host stream of the persistently isolated handle whose data each stream holds; `None` for
    /// a stream that holds initially isolated data.
    owner: Vec<Option<StreamId>>,
    host_streams: usize,
}

/// Internal streams that the relocation uses on a drive.
pub(crate) fn internal_streams(config: &Config) -> u16 {
    let per_group = shared(config) + persistent(config);
    per_group.saturating_mul(config.reclaim_groups as u16)
}

fn persistent(config: &Config) -> u16 {
    config.persistently_isolated.min(config.handles())
}

/// Streams shared by the initially isolated handles of a group: one, if there are any.
fn shared(config: &Config) -> u16 {
    u16::from(persistent(config) < config.handles())
}

impl Fdp {
    pub(crate) fn new(config: &Config) -> Fdp {
        Fdp::heard_by((), config)
    }
}

impl<L: Listener> Fdp<L> {
    pub(crate) fn heard_by(listener: L, config: &Config) -> Fdp<L> {
        let handles = config.handles();
        // Internal streams of each group, be they as many as that takes or not.
        let per_group = u32::from(config.internal_streams) / config.reclaim_groups.max(1);
        let per_group = per_group as u16;
        let first_persistent = handles - persistent(config);
        let streams = usize::from(config.streams());
        // A device without the internal streams for it mixes copies with new data.
        let mut destination: Vec<StreamId> = (0..config.streams()).map(StreamId).collect();
        let mut owner = vec![None; streams];
        for host in 0..config.host_streams {
            let (group, handle) = (host / handles, host % handles);
            let persistent = handle.checked_sub(first_persistent);
            let slot = persistent.map_or(0, |persistent| shared(config) + persistent);
            let of_group = group.saturating_mul(per_group).saturating_add(slot);
            let copies = if slot < per_group {
                config.host_streams.saturating_add(of_group)
            } else {
                u16::MAX
            };
            let own = persistent.map(|_| StreamId(host));
            owner[usize::from(host)] = own;
            if let Some(owner) = owner.get_mut(usize::from(copies)) {
                *owner = own;
                destination[usize::from(host)] = StreamId(copies);
            }
        }
        Fdp {
            listener,
            destination,
            owner,
            host_streams: usize::from(config.host_streams),
        }
    }

    /// Whether a stream holds data of a persistently isolated handle.
    fn is_isolated(&self, stream: StreamId) -> bool {
        self.owner
            .get(stream.index())
            .is_some_and(|owner| owner.is_some())
    }
}

impl<L: Listener> Relocate for Fdp<L> {
    fn destination(&mut self, victim: &Victim) -> Destination {
        Destination::Stream(self.destination[victim.stream.index()])
    }

    fn seal(&self, stream: StreamId, default: StreamId) -> Option<StreamId> {
        if self.is_isolated(stream) {
            return None;
        }
        let to = self.destination[stream.index()];
        // A host stream whose copies return to itself: a device without internal streams.
        let mixes = to == stream && stream.index() < self.host_streams;
        Some(if mixes { default } else { to })
    }

    fn may_join(&self, wanted: StreamId, other: StreamId) -> bool {
        self.owner[wanted.index()] == self.owner[other.index()]
    }

    fn opened(&mut self, stream: StreamId) {
        self.listener.opened(stream);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.listener.abandoned(stream);
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        if !self.is_isolated(stream) {
            self.listener.moved(stream, pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    /// Two groups of three initially isolated handles and a persistently isolated one.
    fn two_groups() -> Fdp {
        let mut config = small();
        config.reclaim_groups = 2;
        config.host_streams = 8;
        config.persistently_isolated = 1;
        config.internal_streams = internal_streams(&config);
        assert_eq!(config.internal_streams, 4);
        Fdp::new(&config)
    }

    #[test]
    fn only_initially_isolated_handles_of_one_group_share() {
        let mut fdp = two_groups();
        let to = |fdp: &mut Fdp, stream| {
            let victim = Victim {
                stream: StreamId(stream),
                valid_pages: 1,
                opened_at: 0,
                now: 0,
            };
            fdp.destination(&victim)
        };
        let expected = [8, 8, 8, 9, 10, 10, 10, 11, 8, 9, 10, 11];
        for (stream, expected) in (0..).zip(expected) {
            let expected = Destination::Stream(StreamId(expected));
            assert_eq!(to(&mut fdp, stream), expected, "{stream}");
        }
    }

    #[test]
    fn want_of_room_does_not_break_persistent_isolation() {
        let fdp = two_groups();
        let default = StreamId(4);
        let seal = |stream| fdp.seal(StreamId(stream), default);
        assert_eq!(seal(4), Some(StreamId(10)));
        assert_eq!(seal(10), Some(StreamId(10)));
        assert_eq!([seal(7), seal(11)], [None, None]);
        let joins = |wanted, other| fdp.may_join(StreamId(wanted), StreamId(other));
        assert!(joins(10, 5) && joins(11, 7) && joins(7, 11));
        assert!(!joins(11, 10) && !joins(10, 7) && !joins(11, 5));
    }

    #[test]
    fn without_internal_streams_sealed_data_join_the_default_stream() {
        let mut config = small();
        config.internal_streams = 0;
        let fdp = Fdp::new(&config);
        let seal = |stream| fdp.seal(StreamId(stream), StreamId(0));
        assert_eq!([seal(0), seal(3)], [Some(StreamId(0)); 2]);
    }
}
