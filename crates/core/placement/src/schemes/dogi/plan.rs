//! The plan of groups: which classes share one, and where survivors go, from a log of predictions
//! and real lives.

use super::network::CLASSES;

/// The least accuracy, as a share, with which predictions are used (§4.4).
const LEAST_ACCURACY: f64 = 0.1;

/// Classes predicted, and the lives they had: by predicted and by real class.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    lives: [[u32; CLASSES]; CLASSES],
    sums: [[f64; CLASSES]; CLASSES],
}

impl Log {
    pub(super) fn record(&mut self, predicted: usize, real: usize, life_pages: u64) {
        if predicted < CLASSES && real < CLASSES {
            self.lives[predicted][real] += 1;
            self.sums[predicted][real] += life_pages as f64;
        }
    }

    /// Share of predictions that came true.
    pub(super) fn accuracy(&self) -> f64 {
        let right: u32 = (0..CLASSES).map(|class| self.lives[class][class]).sum();
        f64::from(right) / f64::from(self.lives.iter().flatten().sum::<u32>()).max(1.0)
    }

    /// For the classes of a group: the number of lives, the number of those that ended within
    /// classes up to `bound`, and the sum of the latter.
    fn lives_of(&self, classes: std::ops::Range<usize>, bound: usize) -> (f64, f64, f64) {
        let (mut all, mut ended, mut sum) = (0.0, 0.0, 0.0);
        for class in classes {
            let ends = 0..=bound.min(CLASSES - 1);
            all += f64::from(self.lives[class].iter().sum::<u32>());
            ended += f64::from(self.lives[class][ends.clone()].iter().sum::<u32>());
            sum += self.sums[class][ends].iter().sum::<f64>();
        }
        (all, ended, sum)
    }

    /// The mean life of a class's members that outlive classes up to `bound`.
    fn mean_beyond(&self, class: usize, bound: usize) -> Option<f64> {
        let beyond = (bound + 1).min(CLASSES)..CLASSES;
        let count: u32 = self.lives[class][beyond.clone()].iter().sum();
        let sum: f64 = self.sums[class][beyond].iter().sum();
        (count > 0).then(|| sum / f64::from(count))
    }
}

/// The drive and its hot group, in pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drive {
    pub(super) physical_pages: f64,
    pub(super) pages_per_unit: f64,
    pub(super) live_pages: f64,
    /// Share of the writes that is hot; the fields below are the valid share of hot victims, and
    /// the threshold.
    pub(super) hot_traffic: f64,
    pub(super) hot_valid: f64,
    pub(super) hot_pages: f64,
}

/// The groups of classes. Groups are counted from 1; group 0 is the hot one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// The group of each class.
    pub(super) group_of: [u8; CLASSES],
    /// The group that survivors of each class go to when first copied.
    pub(super) survivors: [u8; CLASSES],
    /// The last class of each group, from group 1 on.
    pub(super) ends: Vec<usize>,
}

impl Plan {
    pub(super) fn groups(&self) -> usize {
        self.ends.len()
    }
}

/// Bounds of a plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Groups, the last included.
    pub(super) groups: usize,
    /// Classes whose groups have a time; all others are the last group's.
    pub(super) timed: usize,
}

/// The grouping of neighbouring classes that costs least by the model, within `limits`;
/// `None` where predictions are useless. `bounds` are the pages up to which each class but the last
/// lives.
pub(super) fn best_plan(log: &Log, bounds: &[u64], drive: &Drive, limits: Limits) -> Option<Plan> {
    if log.accuracy() < LEAST_ACCURACY {
        return None;
    }
    // Every way to put borders between classes: all 2^9 merges where every class may have a time (§4.4).
    let merges = 0_u32..1 << limits.timed.min(CLASSES - 1);
    let fitting = merges.filter(|borders| borders.count_ones() < limits.groups.max(1) as u32);
    let ends = |borders: u32| -> Vec<usize> {
        let inner = (0..CLASSES - 1).filter(|class| borders >> class & 1 == 1);
        inner.chain([CLASSES - 1]).collect()
    };
    let cost = |borders: &u32| waf(log, bounds, drive, &ends(*borders));
    let costs = fitting.map(|borders| (borders, cost(&borders)));
    let (best, _) = costs.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(plan(log, bounds, ends(best)))
}

/// The write amplification of a grouping; infinite where the drive has no room for it. It sums what
/// flows into each group, what of it dies there, and a last group that copies to itself (§4.4; the
/// model of the authors' tool, with the data that lives in a group taken from the log instead of an
/// assumed profile).
fn waf(log: &Log, bounds: &[u64], drive: &Drive, ends: &[usize]) -> f64 {
    let total = log.lives_of(0..CLASSES, CLASSES).0.max(1.0);
    let survivors = drive.hot_traffic * drive.hot_valid;
    let mut copies = survivors;
    let mut moved = survivors;
    // A group cannot use the unit it is filling, half of it on average (the authors' tool).
    let open = (1 + ends.len()) as f64 * drive.pages_per_unit / 2.0;
    let mut room = drive.physical_pages - open - drive.hot_traffic * drive.hot_pages;
    let mut live = drive.live_pages - drive.hot_traffic * drive.hot_pages / 2.0;
    let mut begin = 0;
    for (index, &end) in ends.iter().enumerate() {
        let (all, ended, sum) = log.lives_of(begin..end + 1, end);
        let flow = (1.0 - drive.hot_traffic) * all / total + moved;
        if index + 1 == ends.len() {
            if index > 0 && room <= live.max(0.0) + drive.pages_per_unit {
                return f64::INFINITY;
            }
            let valid = fifo_valid(room / live.max(1.0));
            return 1.0 + copies + flow * valid / (1.0 - valid);
        }
        let bound = bounds.get(end).copied().unwrap_or(u64::MAX) as f64;
        // A group of its own takes traffic, or it only takes room.
        if all / total < LEAST_TRAFFIC {
            return f64::INFINITY;
        }
        let beyond = all - ended;
        room -= (flow * bound).max(2.0 * drive.pages_per_unit);
        live -= flow * (sum + beyond * bound) / all;
        moved = flow * beyond / all;
        copies += moved;
        begin = end + 1;
    }
    f64::INFINITY
}

/// The least share of the writes for which a group is made (the authors' tool).
const LEAST_TRAFFIC: f64 = 0.0005;

/// The valid share of victims first in first out: v = exp(-(1 - v) x), `x` being the physical over
/// the live space. Close to 1 where there is no spare room.
fn fifo_valid(spare_factor: f64) -> f64 {
    if spare_factor <= 1.001 {
        return 0.9999;
    }
    let mut valid = 0.5_f64;
    for _ in 0..200 {
        let next = (-(1.0 - valid) * spare_factor).exp();
        if (next - valid).abs() < 1e-9 {
            break;
        }
        valid = next;
    }
    valid
}

fn plan(log: &Log, bounds: &[u64], ends: Vec<usize>) -> Plan {
    let mut group_of = [0; CLASSES];
    let mut survivors = [0; CLASSES];
    for class in 0..CLASSES {
        let group = ends.iter().take_while(|&&end| end < class).count();
        group_of[class] = group as u8 + 1;
        survivors[class] = group as u8 + 1 + next_group(log, bounds, &ends, class, group);
    }
    Plan {
        group_of,
        survivors,
        ends,
    }
}

/// Number of groups further that the survivors of a class go: to the first group that covers their
/// remaining life, by the mean life of those that outlived their group; to the next group where
/// none is known.
fn next_group(log: &Log, bounds: &[u64], ends: &[usize], class: usize, group: usize) -> u8 {
    let last = ends.len() - 1;
    let end = ends.get(group).copied().unwrap_or(CLASSES - 1);
    let bound = |end: usize| bounds.get(end).copied().unwrap_or(u64::MAX) as f64;
    let Some(mean) = log.mean_beyond(class, end) else {
        return u8::from(group < last);
    };
    let left = (mean - bound(end)).max(0.0);
    let later = ends.iter().skip(group);
    later
        .take_while(|&&end| bound(end) < left)
        .count()
        .min(last - group) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes end at 10, 20, 40, … pages.
    fn bounds() -> Vec<u64> {
        (0..9).map(|class| 10 << class).collect()
    }

    /// Half the writes live 5 pages and are known to, half 2,000.
    fn log() -> Log {
        let mut log = Log::default();
        for _ in 0..100 {
            log.record(0, 0, 5);
            log.record(8, 8, 2000);
        }
        log
    }

    fn limits(groups: usize) -> Limits {
        Limits { groups, timed: 9 }
    }

    const DRIVE: Drive = Drive {
        physical_pages: 1200.0,
        pages_per_unit: 10.0,
        live_pages: 1000.0,
        hot_traffic: 0.0,
        hot_valid: 0.0,
        hot_pages: 0.0,
    };

    #[test]
    fn classes_that_differ_are_kept_apart_and_empty_ones_get_no_group() {
        let plan = best_plan(&log(), &bounds(), &DRIVE, limits(7)).unwrap();
        assert_eq!(plan.groups(), 2, "{plan:?}");
        assert_ne!(plan.group_of[0], plan.group_of[8]);
        let one = best_plan(&log(), &bounds(), &DRIVE, limits(1)).unwrap();
        assert_eq!(one.groups(), 1);
        let untimed = Limits {
            groups: 7,
            timed: 0,
        };
        let untimed = best_plan(&log(), &bounds(), &DRIVE, untimed).unwrap();
        assert_eq!(untimed.ends, [9]);
    }

    #[test]
    fn worthless_predictions_make_no_plan() {
        let mut log = Log::default();
        for class in 0..CLASSES {
            log.record(class, (class + 1) % CLASSES, 10);
        }
        assert_eq!(log.accuracy(), 0.0);
        assert_eq!(best_plan(&log, &bounds(), &DRIVE, limits(7)), None);
    }

    #[test]
    fn a_groups_cost_is_what_outlives_it() {
        // One group: all copies are the last group's. x = 1195 / 1000.
        let (room, flow) = (1200.0 - 10.0, 1.0);
        let valid = fifo_valid(room / 1000.0);
        let single = waf(&log(), &bounds(), &DRIVE, &[9]);
        assert!((single - (1.0 + flow * valid / (1.0 - valid))).abs() < 1e-9);
        // Two: the first takes half the writes, all of which die in it, within 20 pages' room.
        let valid = fifo_valid((1200.0 - 15.0 - 20.0) / (1000.0 - 0.5 * 5.0));
        let double = waf(&log(), &bounds(), &DRIVE, &[0, 9]);
        assert!((double - (1.0 + 0.5 * valid / (1.0 - valid))).abs() < 1e-9);
        assert!((fifo_valid(1.0 / 0.85) - (1.0 - 1.0 / 3.519)).abs() < 1e-3);
    }

    #[test]
    fn survivors_go_where_their_rest_of_life_fits() {
        let mut log = Log::default();
        // Class 0 is wrong now and then: such a write lives 70 pages, 60 more than its bound.
        (0..9).for_each(|_| log.record(0, 0, 5));
        log.record(0, 3, 70);
        log.record(5, 5, 300);
        let plan = plan(&log, &bounds(), vec![0, 2, 4, 9]);
        assert_eq!(plan.group_of, [1, 2, 2, 3, 3, 4, 4, 4, 4, 4]);
        assert_eq!(plan.survivors[0], 3, "60 pages: up to 160");
        assert_eq!(plan.survivors[1], 3, "nothing known: the next");
        assert_eq!(plan.survivors[5], 4, "the last keeps its own");
    }
}
