//! `sequential`: the drive finds sequential writers by itself (HotStorage'14).

use anabranch_ssd::StreamId;

use crate::{
    assign::{Assign, Write},
    halves::Halves,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

parameters! {
    /// Parameters of [`SequentialDetector`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Sequential patterns followed at a time. 4: HotStorage'14.
        patterns: Count(1..=64) = 4,
            "sequential patterns followed at a time, each with a stream";
        /// Beginnings of patterns followed besides, so that single writes push out no pattern. 16, our
        /// choice; the paper does not say how a pattern begins.
        candidates: Count(1..=64) = 16,
            "beginnings of patterns followed besides";
        /// Writes that must have continued each other before they are a pattern. 2, our choice: the
        /// first one that continues another.
        least: Count(2..=1_000_000) = 2,
            "writes that must have continued each other to be a pattern";
    }
}

impl HostScheme for Parameters {
    named!("sequential");

    fn goes_by_requests(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(SequentialDetector::new(
            self,
            site.drive.host_streams,
        )))
    }
}

/// A run of writes, each where the one before it ended. 24 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    end: u64,
    /// The number of the write that continued it last; 0 while there is none.
    last_write: u64,
    writes: u32,
}

/// Follows a few runs of writes that continue each other, each in a stream of its own; all other
/// writes share stream 0. A new pattern takes the place, and the stream, of the one continued
/// least recently.
///
/// The scheme works in the drive: it sees addresses only. On a drive with fewer streams than patterns, it follows as
/// many patterns as there are streams beside stream 0. Memory: 24 bytes a run.
#[derive(Debug, Clone)]
pub struct SequentialDetector {
    /// The runs that are patterns; pattern n writes to stream n + 1.
    patterns: Vec<Run>,
    candidates: Vec<Run>,
    least: u32,
    writes: u64,
}

impl SequentialDetector {
    /// The scheme for a drive with `host_streams` streams, at least 1.
    pub fn new(parameters: &Parameters, host_streams: u16) -> SequentialDetector {
        let patterns = parameters.patterns.min(u32::from(host_streams) - 1);
        SequentialDetector {
            patterns: vec![Run::default(); patterns as usize],
            candidates: vec![Run::default(); parameters.candidates as usize],
            least: parameters.least,
            writes: 0,
        }
    }
}

/// The run that a write at `first` continues.
#[inline]
fn continued(runs: &[Run], first: u64) -> Option<usize> {
    runs.iter()
        .position(|run| run.end == first && run.last_write > 0)
}

/// Puts a run in the place of the one continued least recently. Answers with that place.
fn steal(runs: &mut [Run], with: Run) -> Option<usize> {
    let (place, run) = runs
        .iter_mut()
        .enumerate()
        .min_by_key(|(_, run)| run.last_write)?;
    *run = with;
    Some(place)
}

impl Assign for SequentialDetector {
    fn assign(&mut self, write: &Write) -> StreamId {
        self.writes += 1;
        let first = u64::from(write.pages.first);
        let mut run = Run {
            end: write.pages.end(),
            last_write: self.writes,
            writes: 1,
        };
        if let Some(pattern) = continued(&self.patterns, first) {
            self.patterns[pattern] = run;
            return StreamId(pattern as u16 + 1);
        }
        let Some(candidate) = continued(&self.candidates, first) else {
            steal(&mut self.candidates, run);
            return StreamId::DEFAULT;
        };
        run.writes = self.candidates[candidate].writes + 1;
        self.candidates[candidate] = run;
        if run.writes < self.least {
            return StreamId::DEFAULT;
        }
        self.candidates[candidate] = Run::default();
        let pattern = steal(&mut self.patterns, run);
        StreamId(pattern.map_or(0, |pattern| pattern as u16 + 1))
    }

    fn memory_bytes(&self) -> usize {
        (self.patterns.capacity() + self.candidates.capacity()) * size_of::<Run>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests;

    fn scheme(host_streams: u16) -> SequentialDetector {
        SequentialDetector::new(&Parameters::default(), host_streams)
    }

    fn stream(scheme: &mut SequentialDetector, first: u32, count: u32) -> u16 {
        scheme.assign(&tests::write(first, count, 0)).0
    }

    #[test]
    fn a_write_that_continues_another_begins_a_pattern() {
        let mut scheme = scheme(8);
        let writes = [(0, 8), (8, 8), (5000, 1), (16, 8), (8, 8), (24, 1)];
        let streams = writes.map(|(first, count)| stream(&mut scheme, first, count));
        assert_eq!(streams, [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn four_patterns_have_streams_and_a_fifth_takes_that_of_the_least_recent() {
        let mut scheme = scheme(8);
        for pattern in 0..4 {
            stream(&mut scheme, pattern * 1000, 4);
            assert_eq!(
                stream(&mut scheme, pattern * 1000 + 4, 4),
                pattern as u16 + 1
            );
        }
        // All but the second go on.
        let streams = [0, 2, 3].map(|pattern| stream(&mut scheme, pattern * 1000 + 8, 4));
        assert_eq!(streams, [1, 3, 4]);
        stream(&mut scheme, 9000, 4);
        assert_eq!(stream(&mut scheme, 9004, 4), 2);
        assert_eq!(stream(&mut scheme, 1008, 4), 0, "it was pushed out");
    }

    #[test]
    fn single_writes_push_out_no_pattern() {
        let mut scheme = scheme(8);
        stream(&mut scheme, 0, 4);
        stream(&mut scheme, 4, 4);
        for single in 0..100 {
            assert_eq!(stream(&mut scheme, 1000 + single * 10, 1), 0);
        }
        assert_eq!(stream(&mut scheme, 8, 4), 1);
    }

    #[test]
    fn a_drive_with_fewer_streams_follows_fewer_patterns() {
        for (host_streams, greatest) in [(1, 0), (2, 1), (3, 2)] {
            let mut scheme = scheme(host_streams);
            let mut streams = Vec::new();
            for pattern in 0..4 {
                stream(&mut scheme, pattern * 1000, 4);
                streams.push(stream(&mut scheme, pattern * 1000 + 4, 4));
            }
            assert_eq!(streams.iter().max(), Some(&greatest));
        }
    }

    #[test]
    fn a_pattern_may_be_asked_to_be_longer() {
        let parameters = Parameters {
            least: 4,
            ..Parameters::default()
        };
        let mut scheme = SequentialDetector::new(&parameters, 8);
        let streams = [0, 1, 2, 3, 4].map(|page| stream(&mut scheme, page, 1));
        assert_eq!(streams, [0, 0, 0, 1, 1]);
    }
}
