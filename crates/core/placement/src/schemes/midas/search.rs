//! The best chain of groups: how many, and how large.

use super::{
    lives::Curve,
    model::{Drive, HotGroup, Prediction, predict},
};

/// Rounds in which one size after the other is improved (the authors' simulator).
const ROUNDS: usize = 4;
/// The most units of a hot group that are tried, by growing size; the search stops where another
/// unit does not save the share below (the authors' simulator).
const HOT_UNITS: u32 = 29;
const HOT_GAIN: f64 = 0.05;
/// The hot group is calculated by the model if it left at most this valid share, of at least the
/// share of writes below; otherwise the measured figures count (the authors' simulator).
const TRUSTED_VALID: f64 = 0.1;
const TRUSTED_TRAFFIC: f64 = 0.15;
/// The last group keeps at least one unit of this many (our choice; the simulator keeps 50 units,
/// whatever the drive).
const LAST_SHARE: u32 = 16;

/// A chain with its predicted cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chain {
    pub(super) hot: HotGroup,
    /// Units of each group after the hot one, without the last.
    pub(super) sizes: Vec<u32>,
    pub(super) prediction: Prediction,
}

/// The conditions of a search.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) curve: &'a Curve,
    pub(super) drive: Drive,
    /// The hot group as measured; `None` on a drive without one.
    pub(super) hot: Option<HotGroup>,
    /// The most groups after the hot one, the last included.
    pub(super) most_groups: usize,
}

impl Search<'_> {
    /// The best chain of at least two groups after the hot one, if the model reaches that far.
    pub(super) fn best(&self) -> Option<Chain> {
        let mut best = self.with_hot(self.first_hot(), Vec::new())?;
        let mut growing = best.clone();
        while growing.sizes.len() + 1 < self.most_groups {
            growing.sizes.push(0);
            let index = growing.sizes.len() - 1;
            match self.resized(&growing, index) {
                Some(found) => growing = found,
                None => break,
            }
            if growing.prediction.waf < best.prediction.waf {
                best = growing.clone();
            }
        }
        for _ in 0..ROUNDS {
            let before = best.prediction.waf;
            self.improve(&mut best);
            if best.prediction.waf >= before {
                break;
            }
        }
        (!best.sizes.is_empty()).then_some(best)
    }

    fn improve(&self, best: &mut Chain) {
        if self.calculates_hot() {
            for units in 1..=HOT_UNITS {
                let hot = HotGroup::calculated(self.curve, units);
                let chain = hot.and_then(|hot| self.with_hot(hot, best.sizes.clone()));
                take_better(best, chain);
            }
        }
        for index in 0..self.most_groups.saturating_sub(1) {
            let mut chain = best.clone();
            if index > chain.sizes.len() {
                break;
            }
            if index == chain.sizes.len() {
                chain.sizes.push(0);
            }
            take_better(best, self.resized(&chain, index));
        }
    }

    fn calculates_hot(&self) -> bool {
        self.hot
            .is_some_and(|hot| hot.valid <= TRUSTED_VALID && hot.traffic >= TRUSTED_TRAFFIC)
    }

    /// The hot group that is best before there are other groups.
    fn first_hot(&self) -> HotGroup {
        let Some(measured) = self.hot else {
            return HotGroup::NONE;
        };
        if !self.calculates_hot() {
            return measured;
        }
        let mut best: Option<Chain> = None;
        for units in 1..=HOT_UNITS {
            let hot = HotGroup::calculated(self.curve, units);
            let Some(chain) = hot.and_then(|hot| self.with_hot(hot, Vec::new())) else {
                break;
            };
            let gain = |old: &Chain| old.prediction.waf - chain.prediction.waf;
            if best.as_ref().is_some_and(|old| gain(old) <= HOT_GAIN) {
                break;
            }
            best = Some(chain);
        }
        best.map_or(measured, |chain| chain.hot)
    }

    /// The chain with the best size for one of its groups; `None` if the model applies to none.
    fn resized(&self, chain: &Chain, index: usize) -> Option<Chain> {
        let others: u32 = chain.sizes.iter().sum::<u32>() - chain.sizes.get(index)?;
        let units = self.drive.units as u32;
        let most = (units - units / LAST_SHARE).checked_sub(others + chain.hot.units)?;
        let mut best: Option<Chain> = None;
        for size in sizes_up_to(most) {
            let mut sizes = chain.sizes.clone();
            *sizes.get_mut(index)? = size;
            let tried = self.with_hot(chain.hot, sizes);
            match (&mut best, tried) {
                (Some(best), tried) => take_better(best, tried),
                (best @ None, tried) => *best = tried,
            }
        }
        best
    }

    fn with_hot(&self, hot: HotGroup, sizes: Vec<u32>) -> Option<Chain> {
        let prediction = predict(self.curve, &self.drive, &hot, &sizes)?;
        Some(Chain {
            hot,
            sizes,
            prediction,
        })
    }
}

fn take_better(best: &mut Chain, tried: Option<Chain>) {
    if let Some(tried) = tried
        && tried.prediction.waf < best.prediction.waf
    {
        *best = tried;
    }
}

/// The sizes to try: every size up to sixteen, then steps of a sixteenth (our choice; the simulator
/// tries every size).
fn sizes_up_to(most: u32) -> impl Iterator<Item = u32> {
    let next = |size: &u32| size.checked_add((size / 16).max(1));
    std::iter::successors(Some(1), next).take_while(move |&size| size <= most)
}

#[cfg(test)]
mod tests {
    use super::super::lives::Lives;
    use super::*;

    /// Half the writes live 8 units, the other half 200, on a drive of 128 units with 104 live.
    fn curve() -> Curve {
        let mut lives = Lives::new(416 * 16, 16, 1);
        for _ in 0..100 {
            lives.end(0, 8 * 16);
            lives.end(0, 200 * 16);
        }
        lives.curve(16).unwrap()
    }

    fn search(curve: &Curve, hot: Option<HotGroup>) -> Search<'_> {
        Search {
            curve,
            drive: Drive {
                units: 128.0,
                live: 104.0,
                pages_per_unit: 16.0,
            },
            hot,
            most_groups: 4,
        }
    }

    #[test]
    fn a_group_just_long_enough_for_the_short_lives_is_found() {
        let curve = curve();
        let chain = search(&curve, None).best().unwrap();
        assert!((9..=11).contains(&chain.sizes[0]), "{chain:?}");
        let single = predict(&curve, &search(&curve, None).drive, &HotGroup::NONE, &[]);
        assert!(chain.prediction.waf < single.unwrap().waf);
    }

    #[test]
    fn a_hot_group_that_works_is_calculated_and_another_is_left_as_it_is() {
        let curve = curve();
        let good = HotGroup::measured(3, 0.4, 0.01);
        let chain = search(&curve, Some(good)).best().unwrap();
        assert_ne!(chain.hot, good);
        assert_eq!(chain.hot.valid, 0.0);
        let bad = HotGroup::measured(3, 0.4, 0.5);
        let chain = search(&curve, Some(bad)).best().unwrap();
        assert_eq!(chain.hot, bad);
    }

    #[test]
    fn sizes_are_tried_in_growing_steps() {
        let sizes: Vec<u32> = sizes_up_to(40).collect();
        assert_eq!(sizes[..3], [1, 2, 3]);
        assert_eq!(sizes[30..], [31, 32, 34, 36, 38, 40]);
        assert_eq!(sizes_up_to(0).count(), 0);
    }
}
