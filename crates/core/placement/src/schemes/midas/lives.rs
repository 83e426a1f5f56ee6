//! Lives of data: the update interval distribution, from a sample of the pages.

/// Number of intervals in a unit: lives are counted in quarters of a unit (§4.1).
const PER_UNIT: u32 = 4;
/// 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Counts the lives that end, on a sample of the pages.
#[derive(Debug)]
pub(super) struct Lives {
    counts: Vec<u32>,
    bin_pages: u64,
    sample: u32,
    /// Number of lives of all pages that ended.
    ended: u64,
}

impl Lives {
    /// Counts for lives up to `most_pages`; longer ones count as that long.
    pub(super) fn new(most_pages: u64, pages_per_unit: u32, sample: u32) -> Lives {
        let bin_pages = u64::from((pages_per_unit / PER_UNIT).max(1));
        Lives {
            counts: vec![0; (most_pages / bin_pages) as usize + 1],
            bin_pages,
            sample: sample.max(1),
            ended: 0,
        }
    }

    /// Whether a page is in the sample. One page of each run of `sample` pages is, chosen by a
    /// fixed hash, so that writes in strides are not missed.
    #[inline]
    fn follows(&self, page: u32) -> bool {
        if self.sample == 1 {
            return true;
        }
        let run = page / self.sample;
        let hash = u64::from(run).wrapping_mul(GOLDEN) >> 32;
        page == run * self.sample + ((hash * u64::from(self.sample)) >> 32) as u32
    }

    /// Notes that the data of a page ended at that age.
    #[inline]
    pub(super) fn end(&mut self, page: u32, age_pages: u64) {
        self.ended += 1;
        if self.follows(page) {
            let last = self.counts.len() - 1;
            let bin = ((age_pages / self.bin_pages) as usize).min(last);
            self.counts[bin] = self.counts[bin].saturating_add(1);
        }
    }

    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
        self.ended = 0;
    }

    /// The curve of the lives counted, with times in units; `None` if none was counted.
    pub(super) fn curve(&self, pages_per_unit: u32) -> Option<Curve> {
        let width = self.bin_pages as f64 / f64::from(pages_per_unit.max(1));
        Curve::new(&self.adjusted(), width)
    }

    /// The counts, reduced to what a sample of that share of all lives must have. One of the few
    /// pages that are written most may have more lives than all other pages of the sample; these
    /// are the shortest lives, so that the excess is taken from the shortest. This follows SHARDS
    /// (FAST'15), which evens out both ways; the paper and its authors' simulator leave it to
    /// chance.
    fn adjusted(&self) -> Vec<u32> {
        let mut counts = self.counts.clone();
        let sampled: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let mut excess = sampled.saturating_sub(self.ended.div_ceil(u64::from(self.sample)));
        for count in &mut counts {
            let taken = excess.min(u64::from(*count));
            *count -= taken as u32;
            excess -= taken;
        }
        counts
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
    }
}

/// A cumulative distribution of lives. Times are in units that the host writes.
#[derive(Debug)]
pub(super) struct Curve {
    /// Share of lives that ended before each bin begins.
    died: Vec<f64>,
    /// Integral of the surviving share up to each bin.
    lived: Vec<f64>,
    /// Mean over all lives of those that ended before each bin, the others counting as 0.
    moment: Vec<f64>,
    width: f64,
}

impl Curve {
    fn new(counts: &[u32], width: f64) -> Option<Curve> {
        let all: f64 = counts.iter().map(|&count| f64::from(count)).sum();
        if all == 0.0 {
            return None;
        }
        let mut curve = Curve {
            died: vec![0.0],
            lived: vec![0.0],
            moment: vec![0.0],
            width,
        };
        let (mut died, mut lived, mut moment) = (0.0, 0.0, 0.0);
        for (bin, &count) in counts.iter().enumerate() {
            let share = f64::from(count) / all;
            let middle = (bin as f64 + 0.5) * width;
            lived += (1.0 - died - share / 2.0) * width;
            died += share;
            moment += share * middle;
            curve.died.push(died);
            curve.lived.push(lived);
            curve.moment.push(moment);
        }
        Some(curve)
    }

    fn at(&self, table: &[f64], time: f64) -> f64 {
        let position = (time / self.width).max(0.0);
        let bin = position as usize;
        match (table.get(bin), table.get(bin + 1)) {
            (Some(&low), Some(&high)) => low + (high - low) * (position - bin as f64),
            _ => table.last().copied().unwrap_or(0.0),
        }
    }

    /// Share of lives that are longer than `time`.
    pub(super) fn survives(&self, time: f64) -> f64 {
        (1.0 - self.at(&self.died, time)).max(0.0)
    }

    /// The integral of the surviving share from the beginning to `time`: where each unit of time
    /// brings a unit of writes, so many units of them live.
    pub(super) fn lived(&self, time: f64) -> f64 {
        self.at(&self.lived, time)
    }

    /// Mean over all lives of those that ended before `time`, the others counting as 0.
    pub(super) fn moment(&self, time: f64) -> f64 {
        self.at(&self.moment, time)
    }

    /// The longest life that was counted.
    pub(super) fn horizon(&self) -> f64 {
        (self.died.len() - 1) as f64 * self.width
    }

    /// The time within which lives no longer than itself fill `size` units: the age at which a
    /// group of that size is full if it takes only writes of such lives.
    pub(super) fn time_of_hot_size(&self, size: f64) -> Option<f64> {
        let bin = (0..self.died.len()).find(|&bin| {
            let time = bin as f64 * self.width;
            (time * self.died[bin]).round() >= size
        })?;
        Some(bin as f64 * self.width)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Lives of a half, one and two units in equal numbers, as a curve of quarters.
    pub(in super::super) fn curve() -> Curve {
        let mut lives = Lives::new(40, 4, 1);
        for age_pages in [2, 4, 8] {
            lives.end(0, age_pages);
        }
        lives.curve(4).unwrap()
    }

    #[test]
    fn a_curve_cumulates_lives() {
        let curve = curve();
        assert_eq!(curve.survives(0.0), 1.0);
        assert_eq!(curve.survives(0.5), 1.0, "bins begin at their age");
        assert!((curve.survives(0.75) - 2.0 / 3.0).abs() < 1e-12);
        assert!((curve.survives(0.625) - 5.0 / 6.0).abs() < 1e-12, "between");
        assert!(curve.survives(9.0) < 1e-12);
        // Middles of the bins: 0.625, 1.125 and 2.125.
        let mean = (0.625 + 1.125 + 2.125) / 3.0;
        assert!((curve.lived(10.0) - mean).abs() < 1e-12);
        assert!((curve.moment(10.0) - mean).abs() < 1e-12);
        assert!((curve.moment(1.0) - 0.625 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn one_page_of_each_run_is_followed() {
        let lives = Lives::new(100, 4, 10);
        for run in 0..20 {
            let followed = (run * 10..run * 10 + 10).filter(|&page| lives.follows(page));
            assert_eq!(followed.count(), 1);
        }
    }

    #[test]
    fn one_page_of_the_sample_written_more_than_all_others_counts_for_itself_alone() {
        let mut lives = Lives::new(1600, 16, 10);
        let often = (0..10).find(|&page| lives.follows(page)).unwrap();
        (0..10_000).for_each(|_| lives.end(often, 1));
        for page in 0..1000 {
            (0..10).for_each(|_| lives.end(page, 800));
        }
        let curve = lives.curve(16).unwrap();
        assert!(
            (curve.survives(10.0) - 0.5).abs() < 1e-3,
            "half the lives are long"
        );
    }

    #[test]
    fn lives_beyond_the_longest_count_as_that() {
        let mut lives = Lives::new(40, 4, 1);
        lives.end(0, u64::MAX);
        assert_eq!(lives.counts.last(), Some(&1));
        lives.clear();
        assert!(lives.curve(4).is_none());
    }
}
