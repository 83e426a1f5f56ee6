//! Lifetimes by size, for reports.

/// Bins per power of two. A quantile is known to one part in 32.
const BINS_PER_OCTAVE: u64 = 16;
const OCTAVE_SHIFT: u32 = BINS_PER_OCTAVE.trailing_zeros();

/// A histogram of lifetimes: exact below 16 pages, from there 16 bins per power of two (our
/// choice). At most 8 KiB; bins are made as they are needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LifetimeHistogram {
    counts: Vec<u64>,
    pages: u64,
}

impl LifetimeHistogram {
    /// `pages` pages lived `lifetime_pages`.
    pub fn record(&mut self, lifetime_pages: u64, pages: u64) {
        let bin = bin_of(lifetime_pages);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += pages;
        self.pages += pages;
    }

    /// Pages recorded.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The lifetime, in pages written to the device, that `quantile` (0 to 1) of the pages did
    /// not outlive: the middle of its bin. `None` while nothing is recorded.
    pub fn quantile_pages(&self, quantile: f64) -> Option<u64> {
        let wanted = (quantile.clamp(0.0, 1.0) * self.pages as f64)
            .ceil()
            .max(1.0) as u64;
        let mut seen = 0;
        for (bin, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Some(middle_of(bin));
            }
        }
        None
    }

    /// The bins that hold anything: the shortest lifetime of each and its pages, ascending.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, pages)| **pages > 0);
        filled.map(|(bin, pages)| (start_of(bin), *pages))
    }
}

/// Values below 16 have a bin each; above, the octave and the four bits after its leading one.
fn bin_of(value: u64) -> usize {
    if value < BINS_PER_OCTAVE {
        return value as usize;
    }
    let octave = value.ilog2() - OCTAVE_SHIFT;
    (u64::from(octave) * BINS_PER_OCTAVE + (value >> octave)) as usize
}

fn start_of(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * BINS_PER_OCTAVE {
        return bin;
    }
    let octave = bin / BINS_PER_OCTAVE - 1;
    (bin - octave * BINS_PER_OCTAVE) << octave
}

fn middle_of(bin: usize) -> u64 {
    let start = start_of(bin);
    let width_less_one = match start.checked_ilog2() {
        Some(octave) if octave > OCTAVE_SHIFT => (1 << (octave - OCTAVE_SHIFT)) - 1,
        _ => 0,
    };
    start + width_less_one / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(LifetimeHistogram::default().quantile_pages(0.5), None);
    }

    #[test]
    fn short_lifetimes_are_exact() {
        let mut histogram = LifetimeHistogram::default();
        histogram.record(3, 25);
        histogram.record(7, 50);
        histogram.record(12, 25);
        let quartiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| histogram.quantile_pages(q));
        assert_eq!(quartiles, [3, 3, 7, 7, 12].map(Some));
        assert_eq!(histogram.pages(), 100);
    }

    proptest! {
        #[test]
        fn a_bin_holds_its_value_within_one_part_in_sixteen(value: u64) {
            let bin = bin_of(value);
            prop_assert!(bin < 1024);
            prop_assert!(start_of(bin) <= value);
            prop_assert!(value - start_of(bin) <= start_of(bin) / BINS_PER_OCTAVE);
            prop_assert_eq!(bin_of(middle_of(bin)), bin);
            prop_assert!(middle_of(bin).abs_diff(value) <= value / 32 + 1);
        }

        #[test]
        fn quantiles_agree_with_the_sorted_values(
            mut values in prop::collection::vec(0_u64..1 << 40, 1..200),
            quantile in 0.0..1.0_f64,
        ) {
            let mut histogram = LifetimeHistogram::default();
            values.iter().for_each(|value| histogram.record(*value, 1));
            values.sort_unstable();
            let rank = ((quantile * values.len() as f64).ceil() as usize).max(1) - 1;
            let found = histogram.quantile_pages(quantile).unwrap();
            prop_assert!(found.abs_diff(values[rank]) <= values[rank] / 32 + 1);
        }
    }
}
