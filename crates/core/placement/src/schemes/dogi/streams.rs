//! The streams that groups fill.

use anabranch_ssd::StreamId;

use crate::{by_page::copy_streams, geometry::HostGeometry};

/// The host streams of groups, and the streams of copies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams {
    pub(super) has_hot: bool,
    /// The stream that is always the last group's; those of the groups between come before it.
    pub(super) last: u16,
    pub(super) frozen: StreamId,
    /// The stream of survivors while there is no plan.
    pub(super) survivors: StreamId,
}

impl Streams {
    pub(super) fn new(groups: u32, geometry: &HostGeometry) -> Streams {
        let most = geometry.host_streams.saturating_sub(1);
        let last = (groups as u16).min(most);
        let copies = copy_streams(2, last + 1, geometry);
        Streams {
            has_hot: last > 0,
            last,
            frozen: copies[0],
            survivors: copies[1],
        }
    }

    /// The most groups between hot and frozen.
    pub(super) fn most_groups(self) -> usize {
        usize::from(self.last.max(1))
    }

    pub(super) fn of_group(self, group: usize, groups: usize) -> StreamId {
        if group < groups {
            StreamId((group as u16).min(self.last))
        } else {
            StreamId(self.last)
        }
    }

    /// Streams whose units do not expire with a group's time: the last group's, those of former
    /// groups, and those of copies.
    pub(super) fn untimed(self, groups: usize) -> impl Iterator<Item = StreamId> {
        let host = (groups as u16).min(self.last)..=self.last;
        let copies = [self.frozen, self.survivors];
        host.map(StreamId).chain(copies)
    }

    /// The group of a stream's units.
    pub(super) fn group_of(self, stream: StreamId, groups: usize) -> usize {
        if stream.index() < groups && stream.0 < self.last {
            stream.index()
        } else {
            groups
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;

    #[test]
    fn the_last_group_keeps_its_stream_however_many_there_are() {
        let streams = Streams::new(10, &DRIVE);
        let of = |group, groups| streams.of_group(group, groups).0;
        assert_eq!(
            [of(0, 3), of(1, 3), of(2, 3), of(3, 3), of(4, 3)],
            [0, 1, 2, 7, 7]
        );
        assert_eq!([of(1, 1), of(2, 9)], [7, 2]);
        let untimed: Vec<u16> = streams.untimed(3).map(|stream| stream.0).collect();
        assert_eq!(untimed, [3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(streams.group_of(StreamId(2), 3), 2);
        assert_eq!(streams.group_of(StreamId(7), 3), 3);
        assert_eq!(streams.group_of(StreamId(4), 3), 3, "of a group that was");
    }

    #[test]
    fn a_drive_of_one_stream_has_one_group_and_none_that_is_hot() {
        let narrow = HostGeometry {
            host_streams: 1,
            internal_streams: 0,
            ..DRIVE
        };
        let streams = Streams::new(10, &narrow);
        assert!(!streams.has_hot);
        assert_eq!(streams.of_group(1, 1), StreamId(0));
        assert_eq!(
            (streams.frozen, streams.survivors),
            (StreamId(0), StreamId(0))
        );
    }
}
