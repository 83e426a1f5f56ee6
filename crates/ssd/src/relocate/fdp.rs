//! What may mix when a Flexible Data Placement drive collects garbage.

use super::{Destination, Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// Copies of initially isolated handles share one internal stream in each reclaim group; copies
/// of a persistently isolated handle have one of their own, since only its own data may join them
/// (NVM Express Base Specification 2.2, §8.1.10, Reclaim Unit Handle Type; one collecting unit for
/// the first kind and one a handle for the second: WARP, FAST'26). Each reclaim group copies
/// within itself.
#[derive(Debug)]
pub(super) struct Fdp {
    /// Where copies of each stream go.
    destination: Vec<StreamId>,
}

/// Internal streams that takes.
pub(super) fn internal_streams(config: &Config) -> u16 {
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
    pub(super) fn new(config: &Config) -> Fdp {
        let handles = config.handles();
        let per_group = shared(config) + persistent(config);
        let first_persistent = handles - persistent(config);
        let host = |stream: u16| {
            let (group, handle) = (stream / handles, stream % handles);
            let slot = match handle.checked_sub(first_persistent) {
                None => 0,
                Some(persistent) => shared(config) + persistent,
            };
            StreamId(
                config
                    .host_streams
                    .saturating_add(group.saturating_mul(per_group).saturating_add(slot)),
            )
        };
        let internal = config.host_streams..config.streams();
        let mut destination: Vec<StreamId> = (0..config.host_streams).map(host).collect();
        destination.extend(internal.map(StreamId));
        // A device without the internal streams for it mixes copies with new data.
        for (own, to) in destination.iter_mut().enumerate() {
            if to.0 >= config.streams() {
                *to = StreamId(own as u16);
            }
        }
        Fdp { destination }
    }
}

impl Relocate for Fdp {
    fn destination(&mut self, victim: &Victim) -> Destination {
        Destination::Stream(self.destination[victim.stream.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    #[test]
    fn only_initially_isolated_handles_of_one_group_share() {
        let mut config = small();
        config.reclaim_groups = 2;
        config.host_streams = 8;
        config.persistently_isolated = 1;
        config.internal_streams = internal_streams(&config);
        assert_eq!(config.internal_streams, 4);
        let mut fdp = Fdp::new(&config);
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
}
