//! Progress of one shadow drive: its writes in all, and over the last capacity of writes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Parts of a capacity that the window of the last capacity is known to (our choice: a sixteenth, as the
/// curves of a replay have it).
const PARTS: u64 = 16;

/// Writes of a drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Bytes the host wrote, in whole pages.
    pub host_page_bytes: u64,
    /// Bytes garbage collection copied.
    pub copied_bytes: u64,
}

impl Written {
    /// Media bytes over host bytes; `None` before the first write.
    pub fn waf(&self) -> Option<f64> {
        let media = self.host_page_bytes.saturating_add(self.copied_bytes);
        (self.host_page_bytes > 0).then(|| media as f64 / self.host_page_bytes as f64)
    }

    /// Returns the writes since `before`.
    #[must_use]
    pub fn since(&self, before: &Written) -> Written {
        Written {
            host_page_bytes: self.host_page_bytes.saturating_sub(before.host_page_bytes),
            copied_bytes: self.copied_bytes.saturating_sub(before.copied_bytes),
        }
    }
}

/// One scheme in one sample, however many drives it was on: after a restart, and at another rate, it goes on
/// with a new drive that was given what the old one held, and what that took is not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Writes of the drives before the present one.
    before: Written,
    /// Writes of the present one when counting began.
    #[serde(skip)]
    mark: Written,
    /// Writes of the present one by now.
    #[serde(skip)]
    now: Written,
    /// Readings at every sixteenth of a capacity, or less often where it is read less often; the oldest first.
    points: VecDeque<Written>,
    /// Whether the oldest point is a capacity back.
    #[serde(default)]
    is_full: bool,
}

impl Track {
    /// Goes on with a drive that has written this much for being given what the last one held.
    pub fn go_on(&mut self, mark: Written) {
        self.before = self.total();
        (self.mark, self.now) = (mark, mark);
    }

    /// The present drive has written so much; it is as large as `capacity_bytes`.
    pub fn advance(&mut self, now: Written, capacity_bytes: u64) {
        self.now = now;
        let total = self.total();
        let last = self.points.back().copied().unwrap_or_default();
        if total.since(&last).host_page_bytes >= (capacity_bytes / PARTS).max(1) {
            self.points.push_back(total);
        }
        let is_back = |point: &Written| total.since(point).host_page_bytes >= capacity_bytes;
        while self.points.get(1).is_some_and(is_back) {
            self.points.pop_front();
        }
        self.is_full = self.points.front().is_some_and(is_back);
    }

    /// All that was counted.
    pub fn total(&self) -> Written {
        let now = self.now.since(&self.mark);
        Written {
            host_page_bytes: self.before.host_page_bytes + now.host_page_bytes,
            copied_bytes: self.before.copied_bytes + now.copied_bytes,
        }
    }

    /// Returns the counts over the last capacity of writes, to a sixteenth of one or to the writes between two
    /// looks; all of it where that is less.
    pub fn window(&self) -> Written {
        let from = self.points.front().filter(|_| self.is_full).copied();
        self.total().since(&from.unwrap_or_default())
    }

    /// The track as it is kept: what was counted is all behind it.
    #[must_use]
    pub fn kept(&self) -> Track {
        Track {
            before: self.total(),
            points: self.points.clone(),
            is_full: self.is_full,
            ..Track::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(host_page_bytes: u64, copied_bytes: u64) -> Written {
        Written {
            host_page_bytes,
            copied_bytes,
        }
    }

    #[test]
    fn the_window_is_the_last_capacity_and_points_stay_few() {
        let mut track = Track::default();
        for step in 1..=1000 {
            // Nothing is copied in the first half, as much as is written in the second.
            track.advance(written(step * 10, 10 * step.saturating_sub(500)), 160);
        }
        assert_eq!(track.total(), written(10_000, 5_000));
        assert_eq!(track.window(), written(160, 160));
        assert_eq!(track.points.len(), 17);
        assert_eq!(track.total().waf(), Some(1.5));
        assert_eq!(Track::default().window().waf(), None);
    }

    #[test]
    fn a_drive_that_is_looked_at_seldom_has_a_window_of_one_look() {
        let mut track = Track::default();
        for step in 1..=10 {
            track.advance(written(step * 400, 40 * step), 160);
        }
        assert_eq!(track.window(), written(400, 40));
        assert_eq!(track.points.len(), 2);
    }

    #[test]
    fn a_new_drive_goes_on_where_the_old_one_stood() {
        let mut track = Track::default();
        track.advance(written(1000, 500), 100_000);
        let mut kept = track.kept();
        assert_eq!(kept.total(), track.total());
        // Given 300 bytes that the old one held, of which it copied 20.
        kept.go_on(written(300, 20));
        assert_eq!(kept.total(), written(1000, 500));
        kept.advance(written(400, 25), 100_000);
        assert_eq!(kept.total(), written(1100, 505));
    }
}
