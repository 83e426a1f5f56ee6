//! Measurements of the chain at work, to compare with the predictions.

/// Counts writes, copies, and the valid shares of victims.
#[derive(Debug)]
pub(super) struct Watch {
    window_pages: u64,
    /// Writes and copies of the current window, and the ratio of the window before.
    window_writes: u64,
    window_copies: u64,
    last_waf: Option<f64>,
    /// Pages that the host has written since the beginning.
    written: u64,
    epoch: Epoch,
    hot_units: u32,
    /// The predicted valid share of each group's victims; empty without a configuration.
    expected: Vec<f64>,
    /// For each group since the last check: the sum of its victims' valid shares, and their number.
    found: Vec<(f64, u32)>,
    /// Whether every group has had a victim since the configuration began.
    settled: bool,
    check_pages: u64,
    until_check: u64,
}

/// Counts of the hot group in an epoch.
#[derive(Debug, Default, Clone, Copy)]
struct Epoch {
    writes: u64,
    hot_writes: u64,
    hot_valid: f64,
    hot_victims: u32,
}

impl Watch {
    /// Counts for write amplification over the last `window_pages`, and checks of predictions every
    /// `check_pages`.
    pub(super) fn new(window_pages: u64, check_pages: u64) -> Watch {
        Watch {
            window_pages: window_pages.max(1),
            window_writes: 0,
            window_copies: 0,
            last_waf: None,
            written: 0,
            epoch: Epoch::default(),
            hot_units: 1,
            expected: Vec::new(),
            found: Vec::new(),
            settled: false,
            check_pages: check_pages.max(1),
            until_check: u64::MAX,
        }
    }

    /// Counts a page that the host wrote.
    #[inline]
    pub(super) fn wrote(&mut self, hot: bool) {
        self.written += 1;
        self.epoch.writes += 1;
        self.epoch.hot_writes += u64::from(hot);
        self.window_writes += 1;
        self.until_check -= 1;
        if self.window_writes == self.window_pages {
            self.last_waf = Some(1.0 + self.window_copies as f64 / self.window_pages as f64);
            self.window_writes = 0;
            self.window_copies = 0;
        }
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Recent write amplification.
    pub(super) fn recent_waf(&self) -> f64 {
        self.last_waf.unwrap_or(1.0)
    }

    /// Counts a victim of a group.
    pub(super) fn collected(&mut self, group: usize, copies: u32, valid: f64) {
        self.window_copies += u64::from(copies);
        if self.expected.is_empty() {
            return;
        }
        let group = group.min(self.expected.len() - 1);
        if let Some(found) = self.found.get_mut(group) {
            *found = (found.0 + valid, found.1 + 1);
        }
        if !self.settled && self.found.iter().all(|found| found.1 > 0) {
            self.settled = true;
            self.until_check = self.check_pages;
            self.found.fill((0.0, 0));
        }
    }

    /// Counts a victim of the hot group.
    pub(super) fn hot_collected(&mut self, valid: f64) {
        self.epoch.hot_valid += valid;
        self.epoch.hot_victims += 1;
    }

    /// Notes the number of units that the hot group holds.
    pub(super) fn hot_holds(&mut self, units: u32) {
        self.hot_units = units;
    }

    /// Size, traffic and valid share of the hot group in this epoch; one unit without traffic where
    /// it had no victim (our choice: the simulator puts in 1 % of the writes, which on a small drive
    /// would stay for longer than lives are counted).
    pub(super) fn hot(&self) -> (u32, f64, f64) {
        let epoch = &self.epoch;
        if epoch.hot_writes == 0 || epoch.hot_victims == 0 {
            return (1, 0.0, 0.0);
        }
        let traffic = epoch.hot_writes as f64 / epoch.writes as f64;
        (
            self.hot_units,
            traffic,
            epoch.hot_valid / f64::from(epoch.hot_victims),
        )
    }

    pub(super) fn begin_epoch(&mut self) {
        self.epoch = Epoch::default();
    }

    /// Begins to check a configuration, given the predicted valid share of each group's victims.
    pub(super) fn expect(&mut self, valid: Vec<f64>) {
        self.found = vec![(0.0, 0); valid.len()];
        self.expected = valid;
        self.settled = false;
        self.until_check = u64::MAX;
    }

    /// Ends the checks of a configuration.
    pub(super) fn forget(&mut self) {
        self.expect(Vec::new());
    }

    /// Whether a check is due.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.until_check == 0
    }

    /// If a check is due: the first of the `sized` groups, after the first one, whose victims had a
    /// valid share above the predicted one by more than `error`.
    pub(super) fn misjudged(&mut self, sized: usize, error: f64) -> Option<usize> {
        if !self.is_due() {
            return None;
        }
        self.until_check = self.check_pages;
        let pairs = self.expected.iter().zip(&self.found).take(sized);
        let fuller = |(expected, found): (&f64, &(f64, u32))| {
            found.1 > 0 && found.0 / f64::from(found.1) - expected >= error
        };
        let group = pairs.map(fuller).position(|misjudged| misjudged);
        self.found.fill((0.0, 0));
        if group.is_some() {
            self.forget();
        }
        group
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.expected.capacity() * size_of::<f64>()
            + self.found.capacity() * size_of::<(f64, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_amplification_is_that_of_the_last_whole_window() {
        let mut watch = Watch::new(4, 10);
        watch.collected(0, 6, 0.5);
        assert_eq!(watch.recent_waf(), 1.0);
        (0..4).for_each(|_| watch.wrote(false));
        assert_eq!(watch.recent_waf(), 2.5);
        (0..4).for_each(|_| watch.wrote(false));
        assert_eq!(watch.recent_waf(), 1.0);
    }

    #[test]
    fn a_group_that_is_fuller_than_predicted_is_found_once_all_have_settled() {
        let mut watch = Watch::new(100, 3);
        watch.expect(vec![1.0, 0.3, 0.5, 0.6]);
        watch.collected(1, 1, 0.9);
        watch.collected(0, 1, 0.1);
        watch.collected(2, 1, 0.5);
        (0..9).for_each(|_| watch.wrote(false));
        assert!(!watch.is_due(), "the last group had no victim yet");
        watch.collected(7, 1, 0.5);
        watch.collected(1, 1, 0.35);
        watch.collected(2, 1, 0.61);
        watch.collected(3, 1, 0.99);
        (0..3).for_each(|_| watch.wrote(false));
        assert_eq!(watch.misjudged(3, 0.1), Some(2));
        assert_eq!(watch.misjudged(3, 0.1), None, "not due");
    }

    #[test]
    fn the_hot_group_is_measured_by_epoch() {
        let mut watch = Watch::new(100, 3);
        assert_eq!(watch.hot(), (1, 0.0, 0.0));
        (0..8).for_each(|page| watch.wrote(page < 2));
        watch.hot_collected(0.25);
        watch.hot_holds(3);
        assert_eq!(watch.hot(), (3, 0.25, 0.25));
        watch.begin_epoch();
        assert_eq!(watch.hot(), (1, 0.0, 0.0));
    }
}
