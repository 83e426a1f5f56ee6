//! Counters over the run, kept at regular steps in bounded memory.

use anabranch_ssd::Counters;

/// Most points kept; when they are full every second one goes and the step doubles (our choice).
const MOST_POINTS: usize = 4096;

/// Counters of one lane as its host writes advance.
#[derive(Debug, Clone)]
pub struct Series {
    step_pages: u64,
    points: Vec<Counters>,
}

impl Series {
    /// A series with a point every `step_pages` host pages, and fewer when there would be too many.
    pub fn new(step_pages: u64) -> Series {
        Series {
            step_pages: step_pages.max(1),
            points: vec![Counters::default()],
        }
    }

    /// Keeps `now` if a step has passed since the last point.
    pub fn record(&mut self, now: &Counters) {
        let last = self.points.last().map_or(0, |point| point.host_pages);
        if now.host_pages - last < self.step_pages {
            return;
        }
        if self.points.len() == MOST_POINTS {
            let mut even = false;
            self.points.retain(|_| {
                even = !even;
                even
            });
            self.step_pages *= 2;
        }
        self.points.push(*now);
    }

    /// The points, oldest first; the first is the empty drive.
    pub fn points(&self) -> &[Counters] {
        &self.points
    }

    /// The point nearest to `host_pages`.
    pub fn near(&self, host_pages: u64) -> Counters {
        let after = self
            .points
            .partition_point(|point| point.host_pages < host_pages);
        let distance = |index: usize| self.points[index].host_pages.abs_diff(host_pages);
        match after {
            0 => self.points[0],
            _ if after == self.points.len() => self.points[after - 1],
            _ if distance(after) < distance(after - 1) => self.points[after],
            _ => self.points[after - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(host_pages: u64) -> Counters {
        Counters {
            host_pages,
            ..Counters::default()
        }
    }

    #[test]
    fn points_stay_bounded_and_cover_the_whole_run() {
        let mut series = Series::new(10);
        (0..1_000_000).for_each(|page| series.record(&counters(page)));
        assert!(series.points().len() <= MOST_POINTS);
        assert!(series.near(500_000).host_pages.abs_diff(500_000) < 1000);
        assert_eq!(series.near(0).host_pages, 0);
        assert!(series.near(u64::MAX).host_pages > 998_000);
    }
}
