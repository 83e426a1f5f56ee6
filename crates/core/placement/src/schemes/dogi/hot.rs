//! The threshold of hot pages: the time within which a page must be written again.

/// The first threshold: 200 K blocks of the paper's 33.6 M (§4.1), by share of capacity (our
/// choice, as for all of these).
const FIRST: f64 = 0.006;
/// The step of the threshold: 65 K blocks.
const STEP: f64 = 0.002;
/// The writes between two looks at write amplification: 10 M blocks.
const WINDOW: f64 = 0.3;
/// The share below which a change of write amplification is ignored (§4.1).
const CHANGE: f64 = 0.05;

/// The threshold rises as long as that helps, and takes its last step back where it harmed.
#[derive(Debug)]
pub(super) struct HotThreshold {
    pages: u64,
    step_pages: u64,
    window_pages: u64,
    writes: u64,
    copies: u64,
    last_waf: Option<f64>,
}

impl HotThreshold {
    pub(super) fn new(logical_pages: u32) -> HotThreshold {
        let share = |share: f64| ((f64::from(logical_pages) * share) as u64).max(1);
        HotThreshold {
            pages: share(FIRST),
            step_pages: share(STEP),
            window_pages: share(WINDOW),
            writes: 0,
            copies: 0,
            last_waf: None,
        }
    }

    /// The threshold: data overwritten at a lower age, in pages, are hot.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    pub(super) fn copied(&mut self, pages: u32) {
        self.copies += u64::from(pages);
    }

    #[inline]
    pub(super) fn wrote(&mut self) {
        self.writes += 1;
        if self.writes == self.window_pages {
            self.adapt();
        }
    }

    #[cold]
    fn adapt(&mut self) {
        let waf = 1.0 + self.copies as f64 / self.writes as f64;
        if let Some(last) = self.last_waf {
            if waf < last * (1.0 - CHANGE) {
                self.pages = self.pages.saturating_add(self.step_pages);
            } else if waf > last * (1.0 + CHANGE) {
                self.pages = self.pages.saturating_sub(self.step_pages).max(1);
            }
        }
        self.last_waf = Some(waf);
        (self.writes, self.copies) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_rises_while_that_helps_and_falls_when_it_harms() {
        let mut threshold = HotThreshold::new(1000);
        let mut thresholds = Vec::new();
        for copies in [300, 300, 150, 100, 105, 280] {
            threshold.copied(copies);
            (0..300).for_each(|_| threshold.wrote());
            thresholds.push(threshold.pages());
        }
        assert_eq!(thresholds, [6, 6, 8, 10, 10, 8]);
    }
}
