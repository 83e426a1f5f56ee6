//! How many bytes are ever written, in bounded memory.

/// Bytes that are counted as one at first: a page.
const GRAIN_BYTES: u64 = 4096;

/// Ranges gathered before they are merged. Our choice: some MiB, and the merging costs little
/// beside the reading.
const MERGE_AT: usize = 1 << 17;

/// Ranges kept after a merge; where there are more, the grain is doubled. Our choice: 24 MiB.
const MOST_RANGES: usize = 1 << 20;

/// A range of grains of a volume: the volume, the first grain, one past the last.
type Range = (u32, u64, u64);

/// The distinct bytes of requests, as ranges of grains. The grain is a page until the ranges
/// become too many; then it doubles, and the answer is an upper bound.
#[derive(Debug, Clone)]
pub(super) struct Footprint {
    ranges: Vec<Range>,
    merge_at: usize,
    most_ranges: usize,
    grain_bytes: u64,
}

impl Footprint {
    pub(super) fn new() -> Footprint {
        Footprint {
            ranges: Vec::new(),
            merge_at: MERGE_AT,
            most_ranges: MOST_RANGES,
            grain_bytes: GRAIN_BYTES,
        }
    }

    /// Adds the bytes of a request, widened to grains.
    pub(super) fn add(&mut self, volume: u32, offset_bytes: u64, length_bytes: u64) {
        let end_bytes = offset_bytes.saturating_add(length_bytes);
        let first = offset_bytes / self.grain_bytes;
        let end = end_bytes.div_ceil(self.grain_bytes);
        if let Some(last) = self.ranges.last_mut()
            && last.0 == volume
            && last.1 <= first
            && first <= last.2
        {
            last.2 = last.2.max(end);
            return;
        }
        self.ranges.push((volume, first, end));
        if self.ranges.len() >= self.merge_at {
            self.merge();
        }
    }

    /// The bytes so far, and whether they are exact to the page.
    pub(super) fn bytes(&mut self) -> (u64, bool) {
        self.merge();
        let grains = self
            .ranges
            .iter()
            .fold(0_u64, |sum, range| sum.saturating_add(range.2 - range.1));
        let exact = self.grain_bytes == GRAIN_BYTES;
        (grains.saturating_mul(self.grain_bytes), exact)
    }

    fn merge(&mut self) {
        self.join();
        while self.ranges.len() > self.most_ranges && self.grain_bytes < 1 << 63 {
            self.grain_bytes *= 2;
            for (_, first, end) in &mut self.ranges {
                (*first, *end) = (*first / 2, end.div_ceil(2));
            }
            self.join();
        }
        // As many new ones as there are: so that all merges together cost little.
        self.merge_at = self.ranges.len() + MERGE_AT.max(self.ranges.len());
    }

    fn join(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, kept| {
            let joins = next.0 == kept.0 && next.1 <= kept.2;
            if joins {
                kept.2 = kept.2.max(next.2);
            }
            joins
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_twice_counts_once_in_each_volume() {
        let mut footprint = Footprint::new();
        for (volume, offset, length) in [(0, 0, 1), (0, 4095, 2), (1, 0, 4096), (0, 0, 8192)] {
            footprint.add(volume, offset, length);
        }
        assert_eq!(footprint.bytes(), (3 * 4096, true));
        footprint.add(0, u64::MAX - 1, 1);
        assert_eq!(footprint.bytes(), (4 * 4096, true));
    }

    #[test]
    fn too_many_ranges_are_counted_in_coarser_grains() {
        let mut footprint = Footprint {
            most_ranges: 100,
            ..Footprint::new()
        };
        for page in 0..1000 {
            footprint.add(0, page * 10 * 4096, 4096);
        }
        let (bytes, exact) = footprint.bytes();
        assert!(!exact && footprint.ranges.len() <= 100);
        assert!(
            (1000 * 4096..=10_000 * 4096 * 2).contains(&bytes),
            "{bytes}"
        );
    }

    #[test]
    fn volumes_without_end_are_counted_without_end() {
        let mut footprint = Footprint {
            most_ranges: 4,
            ..Footprint::new()
        };
        for volume in 0..10 {
            footprint.add(volume, 0, u64::MAX);
        }
        assert_eq!(footprint.bytes(), (u64::MAX, false));
    }
}
