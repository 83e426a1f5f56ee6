//! Which pages a miniature drive has.

use anabranch_ssd::PageRange;

use crate::geometry::HostGeometry;

/// Units a miniature drive keeps at least, so that what one unit holds is little beside all (our
/// choice).
const LEAST_UNITS: u32 = 256;

/// One page, drawn from a hash, of every so many neighbours. The sampled pages are numbered in
/// order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    stride: u32,
    thinning: u32,
    pages: u32,
    seed: u32,
}

impl Sample {
    /// A sample so thin that a unit keeps no fewer than `unit_pages`, and the drive no fewer than
    /// `least_pages`. First units shrink, by a divisor of theirs so that spare and data shrink
    /// alike; then they become fewer, where there are many.
    pub fn new(geometry: &HostGeometry, unit_pages: u32, least_pages: u32, seed: u32) -> Sample {
        let unit = geometry.pages_per_unit;
        let by_unit = unit / unit_pages.max(1);
        let by_drive = geometry.logical_pages / least_pages.max(1);
        let most = by_unit.min(by_drive);
        let shrinking = (1..=most).rev().find(|parts| unit.is_multiple_of(*parts));
        let shrinking = shrinking.unwrap_or(1);
        let by_units = geometry.logical_pages / unit.max(1) / LEAST_UNITS;
        let thinning = by_units.min(by_drive / shrinking).max(1);
        let stride = shrinking * thinning;
        Sample {
            stride,
            thinning,
            pages: geometry.logical_pages / stride,
            seed,
        }
    }

    /// Pages of a unit of a miniature drive.
    pub fn unit_pages(&self, pages_per_unit: u32) -> u32 {
        (pages_per_unit / (self.stride / self.thinning)).max(1)
    }

    /// Units of the drive for one of a miniature drive.
    pub fn thinning(&self) -> u32 {
        self.thinning
    }

    /// Pages of the drive for one in the sample.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// Pages in the sample.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The page that has this number.
    #[inline]
    pub fn page(&self, number: u32) -> u32 {
        let hash = (number ^ self.seed).wrapping_mul(0x9e37_79b1);
        // The hash's upper half, scaled to the stride.
        number * self.stride + ((u64::from(hash) * u64::from(self.stride)) >> 32) as u32
    }

    /// The number of a page, if it is in the sample.
    #[inline]
    pub fn number(&self, page: u32) -> Option<u32> {
        let number = page / self.stride;
        (number < self.pages && self.page(number) == page).then_some(number)
    }

    /// The numbers of the sampled pages in a range.
    pub fn numbers(&self, range: PageRange) -> PageRange {
        let first_at_least = |page: u64| {
            let number = page / u64::from(self.stride);
            match u32::try_from(number)
                .ok()
                .filter(|&number| number < self.pages)
            {
                Some(number) => number + u32::from(u64::from(self.page(number)) < page),
                None => self.pages,
            }
        };
        let first = first_at_least(u64::from(range.first));
        PageRange::new(first, first_at_least(range.end()) - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;

    fn sample(logical_pages: u32, pages_per_unit: u32, seed: u32) -> Sample {
        let geometry = HostGeometry {
            logical_pages,
            pages_per_unit,
            ..DRIVE
        };
        Sample::new(&geometry, 16, 4096, seed)
    }

    #[test]
    fn one_page_of_so_many_neighbours_is_in_the_sample() {
        let sample = sample(100_000, 128, 1);
        assert_eq!(
            (sample.stride, sample.thinning, sample.pages()),
            (24, 3, 4166)
        );
        let numbered: Vec<u32> = (0..100_000)
            .filter_map(|page| sample.number(page))
            .collect();
        assert_eq!(numbered, (0..4166).collect::<Vec<u32>>());
        assert!((0..4166).all(|number| sample.page(number) / 24 == number));
        assert_eq!(sample.unit_pages(128), 16);
    }

    #[test]
    fn a_range_has_the_numbers_of_its_sampled_pages() {
        let sample = sample(100_003, 128, 7);
        for (first, count) in [(0, 1), (0, 100_003), (17, 8), (64, 1000), (99_990, 500)] {
            let range = PageRange::new(first, count);
            let single = range
                .indices()
                .filter_map(|page| sample.number(page as u32));
            let whole: Vec<u32> = sample.numbers(range).indices().map(|n| n as u32).collect();
            assert_eq!(single.collect::<Vec<u32>>(), whole, "{range:?}");
        }
    }

    #[test]
    fn small_drives_and_small_units_are_taken_whole() {
        let thin = |pages, unit| sample(pages, unit, 1).stride;
        assert_eq!(thin(4000, 128), 1);
        assert_eq!(thin(8000, 16), 1);
        assert_eq!(thin(8000, 0), 1);
        assert_eq!(thin(25_000, 100), 5, "it divides the unit");
    }

    #[test]
    fn seeds_draw_other_pages() {
        let [one, other] = [1, 2].map(|seed| sample(100_000, 128, seed));
        let same = (0..4166).filter(|&number| one.page(number) == other.page(number));
        assert!(same.count() < 500);
    }
}
