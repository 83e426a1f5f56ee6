//! Statistics from which a scheme learns about one program context: two counts and a mean.

/// The average that makes a mean lifetime of single deaths: an exponentially weighted moving
/// average (EWMA) whose step follows the number of pages that died.
///
/// The PCStream draft says "average" (§3.1.3); the form of the average was not found in FAST'19
/// either, so an EWMA with weight 1/8 is our choice. A death of `step_pages` pages moves the mean
/// by `alpha` of the difference, a death of n pages by n / (n + step_pages (1 - alpha) / alpha):
/// in proportion to n while n is small, never by more than the whole difference. Until as much has
/// died as the average remembers, it is the plain mean over pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Averaging {
    remembered_pages: f64,
}

impl Averaging {
    /// An average in which a death of `step_pages` pages weighs `alpha`. `alpha` is brought
    /// into 0.001..=1, `step_pages` to 1 at least.
    pub fn new(alpha: f64, step_pages: u64) -> Averaging {
        let alpha = alpha.clamp(0.001, 1.0);
        Averaging {
            remembered_pages: step_pages.max(1) as f64 * (1.0 - alpha) / alpha,
        }
    }
}

/// The statistics of one context that a placement decides by. 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ContextStats {
    written_pages: u64,
    ended_pages: u64,
    mean_lifetime_pages: f64,
}

impl ContextStats {
    /// Records that the context wrote `pages` pages.
    #[inline]
    pub fn record_write(&mut self, pages: u64) {
        self.written_pages += pages;
    }

    /// Records that `pages` pages of the context died after `lifetime_pages`.
    #[inline]
    pub fn record_death(&mut self, pages: u64, lifetime_pages: u64, averaging: Averaging) {
        self.ended_pages += pages;
        let pages = pages as f64;
        let remembered = (self.ended_pages as f64).min(pages + averaging.remembered_pages);
        let difference = lifetime_pages as f64 - self.mean_lifetime_pages;
        self.mean_lifetime_pages += difference * pages / remembered;
    }

    /// Halves the pages written, so that they reflect the recent past.
    pub fn fade(&mut self) {
        self.written_pages /= 2;
    }

    /// Pages written, halved by each [`ContextStats::fade`].
    pub fn written_pages(&self) -> u64 {
        self.written_pages
    }

    /// Pages whose life has ended, from which the mean is computed.
    #[inline]
    pub fn ended_pages(&self) -> u64 {
        self.ended_pages
    }

    /// Mean lifetime of the pages that ended, in pages written to the device; 0 while none has
    /// ended. Lives that still last are not in it, so it starts too short and rises as they end.
    pub fn mean_lifetime_pages(&self) -> f64 {
        self.mean_lifetime_pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_deaths_make_a_plain_mean() {
        let averaging = Averaging::new(0.125, 256);
        let mut stats = ContextStats::default();
        stats.record_death(10, 100, averaging);
        assert_eq!(stats.mean_lifetime_pages(), 100.0);
        stats.record_death(30, 200, averaging);
        assert_eq!(stats.mean_lifetime_pages(), 175.0);
        assert_eq!(stats.ended_pages(), 40);
    }

    #[test]
    fn later_deaths_of_one_step_weigh_an_eighth() {
        let averaging = Averaging::new(0.125, 256);
        let mut stats = ContextStats::default();
        stats.record_death(1 << 20, 800, averaging);
        stats.record_death(256, 1600, averaging);
        assert!((stats.mean_lifetime_pages() - 900.0).abs() < 1e-9);
    }

    #[test]
    fn one_large_death_weighs_about_what_its_parts_weigh() {
        let averaging = Averaging::new(0.125, 256);
        let mut whole = ContextStats::default();
        whole.record_death(1 << 20, 1000, averaging);
        let mut parts = whole;
        whole.record_death(64, 9000, averaging);
        for _ in 0..64 {
            parts.record_death(1, 9000, averaging);
        }
        let difference = whole.mean_lifetime_pages() - parts.mean_lifetime_pages();
        assert!(difference.abs() < 10.0, "{difference}");
    }

    #[test]
    fn the_mean_follows_a_change_of_behaviour() {
        let averaging = Averaging::new(0.125, 256);
        let mut stats = ContextStats::default();
        stats.record_death(100_000, 10, averaging);
        for _ in 0..64 {
            stats.record_death(256, 10_000, averaging);
        }
        assert!(stats.mean_lifetime_pages() > 9_900.0);
    }

    #[test]
    fn fading_halves_what_was_written() {
        let mut stats = ContextStats::default();
        stats.record_write(9);
        stats.fade();
        assert_eq!(stats.written_pages(), 4);
    }
}
