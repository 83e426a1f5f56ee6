//! The choice between collecting and leaving it to the drive: by what both have moved so far.

use std::collections::VecDeque;

use anabranch_ssd::Config;

/// The fewest spare units of a drive with which collecting by the host pays. Our choice: in replays of greedy drives 64
/// programs copied 4 to 8 % more on drives with fewer, and 3 to 30 % less from there on (`lab/notebook/drives.md`).
pub const FEWEST_SPARE_UNITS: u32 = 8;
/// The fewest handles. Our choice: of two, one is for copies, and they copied 2 to 6 % more (ditto).
pub const FEWEST_HANDLES: u16 = 3;

/// Judgements per capacity of writes (our choice).
const JUDGEMENTS_PER_CAPACITY: u64 = 16;
/// Judgements back to which both are compared: half a capacity (our choice).
const WINDOW: usize = 8;
/// Judgements from when both collect to the first comparison: a capacity. Our choice: both collect the emptiest units of a
/// new drive first, and who began earlier is still behind by that.
const BEGIN: usize = 16;
/// The share of a capacity that the half has copied once it collects, one in so many. Our choice: a few pages are copied
/// long before.
const COLLECTS: u64 = 64;
/// Capacities of writes after which the bound holds: what was won or lost before does not count.
const LEARNING_CAPACITIES: u64 = 2;
/// The share of media pages by which collecting may be behind before the host gives up (our choice: a fifth of the bound
/// of 0.5 % that the choice is to hold).
const BEHIND: f64 = 0.001;

/// Pages written and moved so far, whoever moved them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Pages that the user wrote.
    pub host_pages: u64,
    /// Pages that were copied or written anew.
    pub copied_pages: u64,
}

impl Moved {
    fn media_pages_since(&self, earlier: &Moved) -> u64 {
        let host = self.host_pages.saturating_sub(earlier.host_pages);
        host + self.copied_pages.saturating_sub(earlier.copied_pages)
    }
}

/// Counts of a host that collects, and of the host half alone.
type Both = (Moved, Moved);

/// Whether a drive is such that collecting by the host can pay: a model gives up a spare unit, and each of its streams keeps
/// one open, so that little is left of a few.
pub fn can_pay(drive: &Config) -> bool {
    drive.spare_units() >= FEWEST_SPARE_UNITS && drive.handles() >= FEWEST_HANDLES
}

/// A host that collects beside the host half alone, compared once in a while.
#[derive(Debug)]
pub struct Contest {
    can_pay: bool,
    logical_pages: u64,
    next_at: u64,
    /// The counts of both at the last judgements, since both collect.
    past: VecDeque<Both>,
    /// Judgements since both collect.
    judgements: usize,
    /// The counts of both from which the bound holds: zero until [`LEARNING_CAPACITIES`] are written.
    since: Both,
}

impl Contest {
    /// One on a drive, which is lost at once where collecting cannot pay.
    pub fn new(drive: &Config) -> Contest {
        Contest {
            can_pay: can_pay(drive),
            logical_pages: drive.logical_pages.into(),
            next_at: 0,
            past: VecDeque::new(),
            judgements: 0,
            since: Both::default(),
        }
    }

    /// Whether it is time to judge, when the host has written so many pages; once for each time.
    pub fn is_due(&mut self, host_pages: u64) -> bool {
        if host_pages < self.next_at {
            return false;
        }
        self.next_at += (self.logical_pages / JUDGEMENTS_PER_CAPACITY).max(1);
        true
    }

    /// Judges: whether the host should leave the collecting to the drive from now on.
    pub fn is_lost(&mut self, ours: Moved, half: Moved) -> bool {
        if !self.can_pay {
            return true;
        }
        let now = (ours, half);
        if !has_begun(&now, self.logical_pages) {
            return false;
        }
        if self.since.0.host_pages == 0
            && ours.host_pages >= LEARNING_CAPACITIES * self.logical_pages
        {
            self.since = now;
        }
        self.judgements += 1;
        self.past.push_back(now);
        if self.past.len() <= WINDOW {
            return false;
        }
        let Some(then) = self.past.pop_front() else {
            return false;
        };
        self.judgements > BEGIN && gives_up(&self.since, &then, &now)
    }
}

/// Whether both collect. Whoever collects first is behind until the other does, too; a half that need not collect while we
/// have copied twice as much is an answer by itself.
fn has_begun(now: &Both, logical_pages: u64) -> bool {
    let share = logical_pages / COLLECTS;
    now.1.copied_pages >= share || now.0.copied_pages >= 2 * share
}

/// Whether collecting has cost more than the host half alone, both since `start` and since `then`.
fn gives_up(start: &Both, then: &Both, now: &Both) -> bool {
    let is_behind = |from: &Both| {
        let (ours, half) = (
            now.0.media_pages_since(&from.0),
            now.1.media_pages_since(&from.1),
        );
        ours as f64 > half as f64 * (1.0 + BEHIND)
    };
    is_behind(start) && is_behind(then)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(host_pages: u64, copied_pages: u64) -> Moved {
        Moved {
            host_pages,
            copied_pages,
        }
    }

    #[test]
    fn a_drive_of_few_spare_units_or_handles_is_left_alone_at_once() {
        let drive = |spare_units: u32, host_streams| Config {
            host_streams,
            ..Config::new(1600, 16, 100 + spare_units)
        };
        let is_lost = |drive: &Config| {
            let mut contest = Contest::new(drive);
            contest.is_due(0) && contest.is_lost(Moved::default(), Moved::default())
        };
        assert!(!is_lost(&drive(8, 3)));
        assert!(is_lost(&drive(7, 3)) && is_lost(&drive(8, 2)));
    }

    #[test]
    fn a_host_gives_up_that_is_behind_in_all_and_lately() {
        let then = (counts(1000, 100), counts(1000, 100));
        let none = Both::default();
        let lately = |ours, half| gives_up(&none, &then, &(counts(2000, ours), counts(2000, half)));
        assert!(lately(203, 200));
        assert!(!lately(202, 200), "within the bound");
        assert!(!lately(190, 200));
        let ahead = (counts(1000, 100), counts(1000, 150));
        let since = |ours, half| gives_up(&none, &ahead, &(counts(2000, ours), counts(2000, half)));
        assert!(!since(220, 250), "behind lately, ahead in all");
        let behind = (counts(1000, 150), counts(1000, 100));
        let since =
            |ours, half| gives_up(&none, &behind, &(counts(2000, ours), counts(2000, half)));
        assert!(!since(250, 220), "behind in all, ahead lately");
        let since =
            |ours, half| gives_up(&ahead, &ahead, &(counts(2000, ours), counts(2000, half)));
        assert!(
            since(220, 250),
            "ahead before the bound holds, behind since"
        );
    }
}
