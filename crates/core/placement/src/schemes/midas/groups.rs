//! The chain of groups on a drive's streams.

use std::cmp::Reverse;

use anabranch_ssd::{StreamId, victims::ClosedUnits};

use crate::{by_page::copy_streams, geometry::HostGeometry, last_victims::LastVictims};

/// Number of streams that a chain's last group is spread over while its lives cannot be told apart
/// (the authors' simulator: copies by how often they survived, victims from all together).
const SPREAD: usize = 4;

/// Streams that the groups fill. A unit stays in the stream it was written to; where a new
/// configuration would leave a group with more units than it is to have, the group begins anew in
/// an empty stream, and the old one falls to the last group. So do the streams of groups that are
/// given up. The simulator renumbers units instead.
#[derive(Debug)]
pub(super) struct Groups {
    /// The streams of the chain: the hot group's if there is one, that of the other writes, then
    /// those of copies.
    line: Vec<StreamId>,
    /// The sizes of the first groups, which are emptied first in, first out. All other streams, in
    /// the line or not, are the last group.
    sizes: Vec<u32>,
    has_hot: bool,
    /// Streams for the first writes, and for copies.
    host: Vec<StreamId>,
    copies: Vec<StreamId>,
    /// Number of units that each stream holds.
    held: Vec<u32>,
}

impl Groups {
    /// The groups before the first configuration: a single last group, spread over several streams.
    pub(super) fn new(most_groups: usize, geometry: &HostGeometry) -> Groups {
        let host_streams = geometry.host_streams.max(1);
        let has_hot = host_streams > 1;
        // A third host stream lets the first writes move on.
        let host_end = host_streams.min(3);
        let host = (u16::from(has_hot)..host_end).map(StreamId).collect();
        let streams = usize::from(
            geometry
                .host_streams
                .saturating_add(geometry.internal_streams),
        );
        let mut copies = copy_streams(most_groups, host_end, geometry);
        copies.dedup();
        let mut groups = Groups {
            line: Vec::with_capacity(most_groups + 2),
            sizes: Vec::with_capacity(most_groups + 2),
            has_hot,
            host,
            copies,
            held: vec![0; streams.max(1)],
        };
        groups.give_up_from(0);
        groups
    }

    pub(super) fn has_hot(&self) -> bool {
        self.has_hot
    }

    /// Number of groups with a size.
    pub(super) fn sized(&self) -> usize {
        self.sizes.len()
    }

    /// The most groups that there may be after the hot one.
    pub(super) fn most_after_hot(&self, most_groups: usize) -> usize {
        let hot = usize::from(self.has_hot);
        most_groups.saturating_sub(hot).min(1 + self.copies.len())
    }

    /// The hot group's stream.
    pub(super) fn hot(&self) -> Option<StreamId> {
        self.line.first().copied().filter(|_| self.has_hot)
    }

    /// The stream of writes that are not hot.
    pub(super) fn first(&self) -> StreamId {
        let index = usize::from(self.has_hot);
        self.line.get(index).copied().unwrap_or(StreamId::DEFAULT)
    }

    /// The group of a stream's units; units of a stream that was given up belong to the last group.
    pub(super) fn group_of(&self, stream: StreamId) -> usize {
        let found = self.line.iter().position(|&other| other == stream);
        found.unwrap_or(self.sizes.len().min(self.line.len().saturating_sub(1)))
    }

    /// The stream of a group's survivors, which is the next group's; the last group copies to
    /// itself.
    pub(super) fn next(&self, group: usize) -> StreamId {
        let next = (group + 1).min(self.line.len().saturating_sub(1));
        self.line.get(next).copied().unwrap_or(StreamId::DEFAULT)
    }

    /// Whether a stream takes the host's writes, or took them before.
    pub(super) fn takes_writes(&self, stream: StreamId) -> bool {
        Some(stream) == self.hot() || self.host.contains(&stream)
    }

    pub(super) fn opened(&mut self, stream: StreamId) {
        if let Some(held) = self.held.get_mut(stream.index()) {
            *held += 1;
        }
    }

    pub(super) fn erased(&mut self, stream: StreamId, units_left: u32) {
        if let Some(held) = self.held.get_mut(stream.index()) {
            *held = units_left;
        }
    }

    fn held(&self, stream: StreamId) -> u32 {
        self.held.get(stream.index()).copied().unwrap_or(0)
    }

    /// The next victim: the oldest unit of the first group that has more than its size, or else
    /// that of the last group which `rule` names, if it has a dead page.
    pub(super) fn victim(
        &self,
        closed: &mut ClosedUnits,
        rule: LastVictims,
        now: u64,
        pages_per_unit: u32,
    ) -> Option<u32> {
        for (&stream, &size) in self.line.iter().zip(&self.sizes) {
            // A group's size counts its open unit.
            if closed.count(stream) >= size.max(1) {
                return closed.oldest(stream).map(|unit| unit.unit);
            }
        }
        let sized = self.line.get(..self.sizes.len()).unwrap_or_default();
        let streams = (0..self.held.len() as u16).map(StreamId);
        let last = streams.filter(|stream| !sized.contains(stream));
        rule.choose(last, closed, now, pages_per_unit)
    }

    /// Begins a configuration, given the size of each group but the last, the hot one's first.
    pub(super) fn configure(&mut self, sizes: &[u32]) {
        let old = std::mem::take(&mut self.line);
        let old_sized = self.sizes.len();
        self.sizes.clear();
        let first = usize::from(self.has_hot);
        if self.has_hot {
            self.line.push(StreamId(0));
        }
        for (group, &size) in sizes.iter().enumerate() {
            if group >= first {
                let before = old.get(group).copied();
                // Writes went to one stream all along; copies keep theirs if it had a size.
                let before = before.filter(|_| group == first || group < old_sized);
                let pool = if group == first {
                    &self.host
                } else {
                    &self.copies
                };
                let Some(stream) = self.choose(pool, before, size) else {
                    break;
                };
                self.line.push(stream);
            }
            self.sizes.push(size);
        }
        self.finish_line(1);
    }

    /// A stream for a group of that size: the one it had, if that holds no more units; otherwise
    /// the emptiest of the pool that is not in the line.
    fn choose(&self, pool: &[StreamId], before: Option<StreamId>, size: u32) -> Option<StreamId> {
        let unused = |stream: &StreamId| !self.line.contains(stream);
        let kept = before
            .filter(unused)
            .filter(|&stream| self.held(stream) <= size);
        let others = pool.iter().copied().filter(unused);
        kept.or_else(|| others.min_by_key(|&stream| self.held(stream)))
    }

    /// Makes one last group of the groups from `group` on, spread over several streams by how often
    /// data survived. If only the hot group and the first would be left, they join it as well.
    pub(super) fn give_up_from(&mut self, group: usize) {
        let first = usize::from(self.has_hot);
        if group <= first {
            let stream = self.host.iter().find(|stream| self.line.contains(stream));
            let stream = stream.or(self.host.first()).copied();
            self.line.clear();
            self.line.extend(self.has_hot.then_some(StreamId(0)));
            self.line.extend(stream);
            self.sizes.clear();
            self.finish_line(SPREAD - 1);
        } else {
            self.line.truncate(group);
            self.sizes.truncate(group);
            self.finish_line(SPREAD);
        }
    }

    /// Adds `more` streams for the last group's copies, fullest first, or as many as there are.
    fn finish_line(&mut self, more: usize) {
        for _ in 0..more {
            let unused = self.copies.iter().copied();
            let unused = unused.filter(|stream| !self.line.contains(stream));
            let fullest = unused.min_by_key(|&stream| Reverse(self.held(stream)));
            let Some(stream) = fullest else {
                break;
            };
            self.line.push(stream);
        }
        // Every stream of copies has a size: the last loses it.
        if self.sizes.len() == self.line.len() {
            self.sizes.pop();
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let streams = self.line.capacity() + self.host.capacity() + self.copies.capacity();
        streams * size_of::<StreamId>()
            + (self.sizes.capacity() + self.held.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;

    fn line(groups: &Groups) -> Vec<u16> {
        groups.line.iter().map(|stream| stream.0).collect()
    }

    #[test]
    fn survivors_move_on_and_stay_in_the_last_group() {
        let groups = Groups::new(8, &DRIVE);
        assert_eq!(line(&groups)[..2], [0, 1], "hot and the others");
        assert_eq!(groups.line.len(), 5, "and three of copies");
        let chain: Vec<u16> = (0..6).map(|group| groups.next(group).0).collect();
        assert_eq!(
            chain[1..],
            [
                line(&groups)[2],
                line(&groups)[3],
                line(&groups)[4],
                line(&groups)[4],
                line(&groups)[4]
            ]
        );
        assert_eq!(groups.sized(), 0);
    }

    #[test]
    fn a_configuration_begins_crowded_groups_anew() {
        let mut groups = Groups::new(8, &DRIVE);
        (0..20).for_each(|_| groups.opened(StreamId(1)));
        groups.configure(&[2, 5, 4]);
        assert_eq!(groups.first(), StreamId(2), "stream 1 holds 20 units");
        assert_eq!((groups.sized(), groups.line.len()), (3, 4));
        assert_eq!(groups.group_of(StreamId(1)), 3, "now of the last group");
        groups.erased(StreamId(2), 3);
        let kept = groups.line[2];
        groups.configure(&[2, 5, 6, 7]);
        assert_eq!((groups.first(), groups.line[2]), (StreamId(2), kept));
        assert_eq!(groups.line.len(), 5);
    }

    #[test]
    fn what_is_given_up_falls_to_the_last_group() {
        let mut groups = Groups::new(8, &DRIVE);
        groups.configure(&[2, 5, 4, 3]);
        let third = groups.line[2];
        groups.give_up_from(3);
        assert_eq!((groups.sized(), groups.line[2]), (3, third));
        groups.give_up_from(1);
        assert_eq!(groups.sized(), 0);
        assert_eq!(groups.line.len(), 5);
    }

    #[test]
    fn a_drive_of_one_stream_has_one_group() {
        let bare = HostGeometry {
            host_streams: 1,
            internal_streams: 0,
            ..DRIVE
        };
        let mut groups = Groups::new(8, &bare);
        assert_eq!(groups.hot(), None);
        groups.configure(&[3, 4]);
        assert_eq!((groups.first(), groups.next(0)), (StreamId(0), StreamId(0)));
        assert_eq!(groups.sized(), 0);
    }
}
