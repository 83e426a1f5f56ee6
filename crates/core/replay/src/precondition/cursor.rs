//! The pages to overwrite, one after the other.

use anabranch_ssd::{Device, DeviceError, StreamId};

use super::Pattern;
use crate::draw::Draw;

/// Pages drawn at a time (our choice).
const CHUNK: usize = 4096;
/// Neighbouring ranks lie this share of the pages apart: the golden ratio's, which strews any number
/// of them evenly (our choice).
const STRIDE: f64 = 0.618_033_988_749_895;

/// Draws pages among the first `fill` as a pattern asks.
pub(super) struct Cursor {
    fill: u32,
    next: u32,
    draw: Draw,
    order: Order,
}

enum Order {
    Sequential,
    Random,
    Zipf(Zipf),
}

impl Cursor {
    pub(super) fn new(pattern: Pattern, fill: u32, seed: u64) -> Cursor {
        Cursor {
            fill,
            next: 0,
            draw: Draw::new(seed),
            order: match pattern {
                Pattern::Sequential => Order::Sequential,
                Pattern::Random => Order::Random,
                Pattern::Zipf(exponent) => Order::Zipf(Zipf::new(fill, exponent)),
            },
        }
    }

    fn page(&mut self) -> u32 {
        match &self.order {
            Order::Sequential => {
                let page = self.next;
                self.next = (page + 1) % self.fill;
                page
            }
            Order::Random => self.draw.below(self.fill),
            Order::Zipf(zipf) => zipf.page(&mut self.draw),
        }
    }

    /// Overwrites `pages` pages through the default stream; `advance` is called with the pages of each part.
    pub(super) fn overwrite(
        &mut self,
        device: &mut Device,
        pages: u32,
        mut advance: impl FnMut(u32),
    ) -> Result<(), DeviceError> {
        let mut chunk = [0; CHUNK];
        let mut left = pages as usize;
        while left > 0 {
            let now = left.min(CHUNK);
            chunk[..now].fill_with(|| self.page());
            device.write_scattered(&mut (), &chunk[..now], StreamId::DEFAULT)?;
            left -= now;
            advance(now as u32);
        }
        Ok(())
    }
}

/// Ranks after Zipf's law by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to
/// generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996): no table, and
/// next to no draw in vain.
struct Zipf {
    ranks: u32,
    exponent: f64,
    /// The integral of the density from below the first rank to above the last.
    low: f64,
    high: f64,
    /// Ranks closer than this to their draw need no test.
    near: f64,
    /// Pages between two neighbouring ranks, coprime to the number of pages.
    stride: u32,
}

impl Zipf {
    fn new(ranks: u32, exponent: f64) -> Zipf {
        let mut zipf = Zipf {
            ranks,
            exponent,
            low: 0.0,
            high: 0.0,
            near: 0.0,
            stride: stride(ranks),
        };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(f64::from(ranks) + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, rank: f64) -> f64 {
        rank.powf(-self.exponent)
    }

    /// The density's integral from 1.
    fn integral(&self, rank: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power == 0.0 {
            rank.ln()
        } else {
            (rank.powf(power) - 1.0) / power
        }
    }

    fn inverse(&self, integral: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power == 0.0 {
            integral.exp()
        } else {
            (1.0 + integral * power).powf(1.0 / power)
        }
    }

    /// Draws a rank; 1 is the most likely.
    fn rank(&self, random: &mut Draw) -> u32 {
        loop {
            let drawn = self.high + random.unit() * (self.low - self.high);
            let exact = self.inverse(drawn);
            let rank = exact.round().clamp(1.0, f64::from(self.ranks));
            let accepted = rank - exact <= self.near
                || drawn >= self.integral(rank + 0.5) - self.density(rank);
            if accepted {
                return rank as u32;
            }
        }
    }

    fn page(&self, random: &mut Draw) -> u32 {
        let rank = u64::from(self.rank(random) - 1);
        (rank * u64::from(self.stride) % u64::from(self.ranks)) as u32
    }
}

/// About the golden share of `pages`, and coprime to it, so that every page has a rank.
fn stride(pages: u32) -> u32 {
    let mut stride = ((f64::from(pages) * STRIDE) as u32).max(1);
    while common_divisor(stride, pages) > 1 {
        stride += 1;
    }
    stride
}

fn common_divisor(mut one: u32, mut other: u32) -> u32 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_zipfs_law_says() {
        for exponent in [0.5, 0.9, 1.0, 1.3] {
            let zipf = Zipf::new(1000, exponent);
            let mut random = Draw::new(1);
            let draws = 400_000;
            let mut seen = vec![0_u32; 1001];
            (0..draws).for_each(|_| seen[zipf.rank(&mut random) as usize] += 1);
            let all: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [1_u32, 2, 3, 10, 100, 1000] {
                let expected = f64::from(draws) * f64::from(rank).powf(-exponent) / all;
                let found = f64::from(seen[rank as usize]);
                // Five standard deviations of a count.
                let tolerance = 5.0 * expected.sqrt();
                assert!(
                    (found - expected).abs() < tolerance,
                    "{exponent} {rank}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn every_page_has_a_rank_and_neighbours_do_not_follow_one_another() {
        for pages in [1_u32, 2, 6, 1000, 4096, 10_007] {
            let zipf = Zipf::new(pages, 0.9);
            let mut pages_of: Vec<u64> = (0..u64::from(pages))
                .map(|rank| rank * u64::from(zipf.stride) % u64::from(pages))
                .collect();
            pages_of.sort_unstable();
            assert!(pages_of.iter().copied().eq(0..u64::from(pages)), "{pages}");
        }
        assert!(Zipf::new(4096, 0.9).stride > 2000);
    }

    #[test]
    fn a_drive_of_one_page_and_an_empty_one_do_no_harm() {
        for pattern in [Pattern::Sequential, Pattern::Random, Pattern::Zipf(0.9)] {
            let mut cursor = Cursor::new(pattern, 1, 3);
            assert!((0..100).all(|_| cursor.page() == 0));
            Cursor::new(pattern, 0, 3);
        }
    }
}
