//! The PC-to-stream mapper, which gives contexts with similar lifetimes one stream.

use anabranch_lifetime::{Weighted, cluster};
use anabranch_ssd::StreamId;

/// A context with enough samples to be placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed {
    /// The context's index.
    pub index: usize,
    /// Logarithm (base 2) of its mean lifetime in pages.
    pub log_lifetime: f64,
    /// Bytes that it wrote recently: the weight of its lifetime.
    pub weight: f64,
    /// Its stream; `None` while it is new.
    pub stream: Option<StreamId>,
}

/// Gives streams to groups of contexts.
///
/// A group is made only if it brings contexts nearer to their group's mean by a mean square of
/// `gain` octaves, for each stream keeps a unit of the drive open, which is spare space lost.
/// Groups take over the streams that most of their bytes are in already, so that a reclustering
/// moves as few bytes as it can. (By nearest old mean would be worse: a mean that moved, as all
/// do at the start, would leave its own contexts' stream to others.) Groups with no such stream
/// take free ones in order, the shortest lifetime first.
#[derive(Debug, Clone)]
pub(super) struct Mapper {
    /// The streams that groups may have, in the order they are given out. The default stream is
    /// not among them, save on a drive with two: there it serves the second group as well, for
    /// one stream alone would tell nothing apart.
    streams: Vec<StreamId>,
    gain: f64,
    hysteresis: f64,
}

impl Mapper {
    pub fn new(host_streams: u16, gain: f64, hysteresis: f64) -> Mapper {
        let mut streams: Vec<StreamId> = (1..host_streams).map(StreamId).collect();
        if host_streams == 2 {
            streams.push(StreamId::DEFAULT);
        }
        Mapper {
            streams,
            gain,
            hysteresis,
        }
    }

    /// Clusters the contexts anew and gives each its stream.
    pub fn remap(&self, contexts: &mut [Placed]) {
        let points: Vec<Weighted> = contexts.iter().map(Placed::point).collect();
        let written: f64 = points.iter().map(|point| point.weight).sum();
        let groups = cluster(&points, self.streams.len(), self.gain * written);
        if groups.is_empty() {
            return;
        }
        let streams = self.streams_of(&groups, contexts);
        for context in contexts {
            let nearest = nearest(&groups, context.log_lifetime);
            let distance = |group: usize| (groups[group].value - context.log_lifetime).abs();
            let held = streams
                .iter()
                .position(|stream| Some(*stream) == context.stream);
            let gains = |held| distance(nearest) < (1.0 - self.hysteresis) * distance(held);
            if held.is_none_or(gains) {
                context.stream = Some(streams[nearest]);
            }
        }
    }

    /// The stream of each group; there are no more groups than streams.
    fn streams_of(&self, groups: &[Weighted], contexts: &[Placed]) -> Vec<StreamId> {
        let mut kept = vec![None; groups.len()];
        for (group, stream) in claims(groups, contexts) {
            if kept[group].is_none() && !kept.contains(&Some(stream)) {
                kept[group] = Some(stream);
            }
        }
        let mut free = self
            .streams
            .iter()
            .filter(|stream| !kept.contains(&Some(**stream)));
        let stream = |kept: &Option<StreamId>| kept.or_else(|| free.next().copied());
        kept.iter()
            .map(stream)
            .map(Option::unwrap_or_default)
            .collect()
    }

    pub fn memory_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<StreamId>()
    }
}

/// The groups' claims to streams, as (group, stream), the claim with the most bytes first.
fn claims(groups: &[Weighted], contexts: &[Placed]) -> impl Iterator<Item = (usize, StreamId)> {
    let claim = |context: &Placed| {
        let group = nearest(groups, context.log_lifetime);
        Some((group, context.stream?, context.weight))
    };
    let mut claims: Vec<_> = contexts.iter().filter_map(claim).collect();
    claims.sort_unstable_by_key(|(group, stream, _)| (*group, *stream));
    let mut sums: Vec<_> = claims
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|same| {
            (
                same[0].0,
                same[0].1,
                same.iter().map(|claim| claim.2).sum::<f64>(),
            )
        })
        .collect();
    // A stable sort: equal claims stay in the order of their groups.
    sums.sort_by(|a, b| b.2.total_cmp(&a.2));
    sums.into_iter().map(|(group, stream, _)| (group, stream))
}

fn nearest(groups: &[Weighted], value: f64) -> usize {
    let above = groups.partition_point(|group| group.value < value);
    if above == 0 {
        return 0;
    }
    if above == groups.len() || value - groups[above - 1].value <= groups[above].value - value {
        return above - 1;
    }
    above
}

impl Placed {
    fn point(&self) -> Weighted {
        Weighted {
            value: self.log_lifetime,
            weight: self.weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(log_lifetime: f64, weight: f64, stream: Option<u16>) -> Placed {
        Placed {
            index: 0,
            log_lifetime,
            weight,
            stream: stream.map(StreamId),
        }
    }

    fn remapped(host_streams: u16, mut contexts: Vec<Placed>) -> Vec<u16> {
        Mapper::new(host_streams, 0.05, 0.1).remap(&mut contexts);
        contexts
            .iter()
            .map(|context| context.stream.unwrap().0)
            .collect()
    }

    #[test]
    fn new_groups_take_streams_in_the_order_of_their_lifetimes() {
        let contexts = [9.0, 3.0, 6.0].map(|value| placed(value, 1.0, None));
        assert_eq!(remapped(8, contexts.to_vec()), [3, 1, 2]);
    }

    #[test]
    fn a_newcomer_in_the_middle_moves_nobody() {
        let contexts = vec![
            placed(3.0, 1.0, Some(1)),
            placed(9.0, 1.0, Some(2)),
            placed(6.0, 9.0, None),
        ];
        assert_eq!(remapped(8, contexts), [1, 2, 3]);
    }

    #[test]
    fn a_group_keeps_the_stream_that_most_of_its_bytes_are_in() {
        let contexts = vec![
            placed(3.0, 5.0, Some(2)),
            placed(3.0, 9.0, Some(1)),
            placed(9.0, 1.0, Some(2)),
            placed(9.2, 1.0, None),
        ];
        assert_eq!(remapped(3, contexts), [1, 1, 2, 2]);
    }

    #[test]
    fn contexts_keep_their_streams_when_all_their_means_have_moved() {
        let contexts = vec![placed(8.0, 1.0, Some(1)), placed(13.0, 1.0, Some(2))];
        assert_eq!(remapped(8, contexts), [1, 2]);
    }

    #[test]
    fn a_context_between_two_groups_moves_only_for_a_clear_gain() {
        let at = |middle: f64| {
            remapped(
                3,
                vec![
                    placed(0.0, 1e9, Some(1)),
                    placed(10.0, 1e9, Some(2)),
                    placed(middle, 1.0, Some(1)),
                ],
            )[2]
        };
        assert_eq!(at(5.2), 1, "4.8 is not below 0.9 x 5.2");
        assert_eq!(at(5.3), 2, "4.7 is below 0.9 x 5.3");
    }

    #[test]
    fn a_small_group_not_far_off_gets_no_stream_of_its_own() {
        let with_small = |weight| {
            let contexts = vec![
                placed(8.0, 100.0, None),
                placed(14.0, 100.0, None),
                placed(16.0, weight, None),
            ];
            remapped(8, contexts)
        };
        assert_eq!(
            with_small(2.0),
            [1, 2, 2],
            "4 octaves squared x 1 % is below 0.05"
        );
        assert_eq!(with_small(5.0), [1, 2, 3]);
    }

    #[test]
    fn with_two_streams_the_default_serves_the_longer_lived_too() {
        let contexts = vec![placed(3.0, 1.0, None), placed(9.0, 1.0, None)];
        assert_eq!(remapped(2, contexts), [1, 0]);
    }

    #[test]
    fn contexts_that_write_no_more_make_no_group_and_keep_their_stream() {
        let contexts = vec![placed(3.0, 1.0, Some(1)), placed(4.0, 0.0, Some(5))];
        assert_eq!(remapped(8, contexts), [1, 1]);
        assert_eq!(remapped(8, vec![placed(3.0, 0.0, Some(4))]), [4]);
    }
}
