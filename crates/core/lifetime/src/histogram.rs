//! Lifetimes by size, for reports.

use hdrhistogram::Histogram;

/// Significant decimal digits kept: a quantile is known to one part in a hundred (our choice).
const DIGITS: u8 = 2;

/// A histogram of lifetimes, in pages written to the device.
///
/// ```
/// use anabranch_lifetime::LifetimeHistogram;
///
/// let mut lifetimes = LifetimeHistogram::default();
/// lifetimes.record(50, 90);
/// lifetimes.record(100_000, 10);
/// assert_eq!((lifetimes.pages(), lifetimes.quantile_pages(0.5)), (100, Some(50)));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LifetimeHistogram {
    /// Made at the first record: most contexts of a trace have few or none.
    histogram: Option<Histogram<u64>>,
}

impl LifetimeHistogram {
    /// Records that `pages` pages lived `lifetime_pages`.
    pub fn record(&mut self, lifetime_pages: u64, pages: u64) {
        let histogram = match &mut self.histogram {
            Some(histogram) => histogram,
            // It grows by itself, and cannot fail with so few digits.
            none => match Histogram::new(DIGITS) {
                Ok(histogram) => none.insert(histogram),
                Err(_) => return,
            },
        };
        // Only a histogram of fixed size refuses a value.
        let _ = histogram.record_n(lifetime_pages, pages);
    }

    /// Pages recorded.
    pub fn pages(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The lifetime, in pages written to the device, that a share `quantile` (0 to 1) of the pages did not outlive.
    /// `None` while nothing is recorded.
    pub fn quantile_pages(&self, quantile: f64) -> Option<u64> {
        let histogram = self
            .histogram
            .as_ref()
            .filter(|histogram| !histogram.is_empty())?;
        Some(histogram.value_at_quantile(quantile.clamp(0.0, 1.0)))
    }

    /// The recorded lifetimes, each with the number of its pages, as exact as the histogram is: recorded again they
    /// make the same histogram.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let values = self.histogram.iter().flat_map(Histogram::iter_recorded);
        values.map(|value| (value.value_iterated_to(), value.count_at_value()))
    }

    /// Pages by class of lifetime: class `k` holds lifetimes from `2^(k/2)` to `2^((k+1)/2)` pages, and class 0 also
    /// lifetimes of 0. The last class is not empty.
    pub fn half_octaves(&self) -> Vec<u64> {
        let mut classes = Vec::new();
        for value in self.histogram.iter().flat_map(Histogram::iter_recorded) {
            let lifetime = value.value_iterated_to().max(1) as f64;
            let class = (2.0 * lifetime.log2()).floor() as usize;
            if classes.len() <= class {
                classes.resize(class + 1, 0);
            }
            classes[class] += value.count_at_value();
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(LifetimeHistogram::default().quantile_pages(0.5), None);
        assert_eq!(LifetimeHistogram::default().pages(), 0);
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

    #[test]
    fn classes_are_half_octaves_and_lose_no_page() {
        let mut histogram = LifetimeHistogram::default();
        assert!(histogram.half_octaves().is_empty());
        for (life, pages) in [(0, 1), (1, 2), (2, 4), (3, 8), (64, 16)] {
            histogram.record(life, pages);
        }
        let classes = histogram.half_octaves();
        assert_eq!(classes[..4], [3, 0, 4, 8]);
        assert_eq!((classes.len(), classes[12]), (13, 16));
        assert_eq!(classes.iter().sum::<u64>(), histogram.pages());
    }

    #[test]
    fn what_was_recorded_makes_the_same_again() {
        let mut histogram = LifetimeHistogram::default();
        (0..1000_u64).for_each(|life| histogram.record(life * life * 37, 1 + life % 3));
        let mut again = LifetimeHistogram::default();
        histogram
            .recorded()
            .for_each(|(life, pages)| again.record(life, pages));
        assert_eq!(again, histogram);
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_the_sorted_values_within_one_part_in_a_hundred(
            mut values in prop::collection::vec(0_u64..1 << 40, 1..200),
            quantile in 0.0..1.0_f64,
        ) {
            let mut histogram = LifetimeHistogram::default();
            values.iter().for_each(|value| histogram.record(*value, 1));
            values.sort_unstable();
            let rank = ((quantile * values.len() as f64).ceil() as usize).max(1) - 1;
            let found = histogram.quantile_pages(quantile).unwrap();
            prop_assert!(found.abs_diff(values[rank]) <= values[rank] / 100 + 1);
        }
    }
}
