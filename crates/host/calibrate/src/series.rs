//! Conclusions from series of counts. Pure.

use crate::findings::{Band, Isolation};

/// One look at the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Bytes sent until now, in whole mapping units.
    pub sent_bytes: u64,
    /// Bytes counted on the flash until now.
    pub media_bytes: u64,
}

impl Sample {
    /// Bytes of the flash that nobody sent, since another look.
    pub fn copied_since(self, before: Sample) -> u64 {
        let media = self.media_bytes.saturating_sub(before.media_bytes);
        media.saturating_sub(self.sent_bytes.saturating_sub(before.sent_bytes))
    }
}

/// The mapping unit, of (bytes of a lone write, bytes counted for each such write) in rising order of bytes: a write of
/// less than a mapping unit costs a whole one.
pub fn mapping_unit(costs: &[(u64, u64)]) -> Option<Band> {
    let &(smallest, cost) = costs.first()?;
    // A hundredth is left to what drives write for themselves (our choice).
    let is_whole = |&&(sent, cost): &&(u64, u64)| {
        let (sent, cost) = (u128::from(sent), u128::from(cost));
        // Fewer bytes than were sent mean that the count was still behind.
        (sent * 99..=sent * 101).contains(&(cost * 100))
    };
    let high = costs.iter().find(is_whole).map(|&(sent, _)| sent)?;
    let low = costs.iter().take_while(|one| one.0 < high).last();
    // Larger than what was seen to cost more, and no larger than what was not.
    let low = low.map_or(0, |&(sent, _)| sent + 1);
    let best = if high == smallest { smallest } else { cost };
    Some(Band {
        low: low as f64,
        best: best.clamp(low, high) as f64,
        high: high as f64,
    })
}

/// Largest lag of the flash's count.
pub fn lag(begin: Sample, samples: &[Sample]) -> u64 {
    let behind = |one: &Sample| {
        let sent = one.sent_bytes.saturating_sub(begin.sent_bytes);
        sent.saturating_sub(one.media_bytes.saturating_sub(begin.media_bytes))
    };
    samples.iter().map(behind).max().unwrap_or(0)
}

/// Whether the flash's count takes a unit's last room, which a write fills, for written a second time; of (room before that
/// write, bytes counted beyond it) of several units. No copy is as large as the room of each. One unit alone says nothing.
pub fn counts_room_twice(ends: &[(u64, u64)]) -> Option<bool> {
    let twice = |&(room, beyond): &(u64, u64)| room > 0 && beyond == room;
    (ends.len() > 1).then(|| ends.iter().all(twice))
}

/// Whether a unit became full since a look at (bytes sent to it, its room).
pub fn is_full((sent, room): (u64, u64), sent_now: u64) -> bool {
    sent_now.saturating_sub(sent) >= room
}

/// Whether rooms fall by what is sent. A drive may count its room as late as its flash: then each look shows up to
/// `lag_bytes` too much.
#[derive(Debug, Clone, Copy)]
pub struct Falling {
    lag_bytes: u64,
    /// Bytes sent when the unit is full lie between these.
    low_bytes: u64,
    high_bytes: u64,
}

impl Falling {
    /// Before the first look.
    pub fn new(lag_bytes: u64) -> Falling {
        Falling {
            lag_bytes,
            low_bytes: 0,
            high_bytes: u64::MAX,
        }
    }

    /// Whether the next look at (bytes sent, room) shows as much less room as was sent, or another unit. What is known of
    /// the unit's end goes on from look to look, and from unit to unit: each look alone may be within the lag.
    pub fn fits(&mut self, (sent, room): (u64, u64)) -> bool {
        let high = sent.saturating_add(room);
        let low = high.saturating_sub(self.lag_bytes);
        let before = *self;
        if low > before.high_bytes {
            // Another unit, which follows the one before and is no smaller than its room.
            self.low_bytes = low.max(before.low_bytes.saturating_add(room));
            self.high_bytes = high;
            return sent >= before.low_bytes;
        }
        // A drive may write to the unit as well: then it ends earlier than was known.
        let ends_earlier = high < before.low_bytes;
        self.low_bytes = if ends_earlier {
            low
        } else {
            low.max(before.low_bytes)
        };
        self.high_bytes = high.min(before.high_bytes);
        true
    }
}

/// Most bytes that may be counted without a copy between two looks, where it is not known whether rooms are counted
/// twice: the rooms that were left are no more than the writes that filled them.
pub fn rooms_at_most(before: (u64, u64), sent_now: u64) -> u64 {
    if is_full(before, sent_now) {
        sent_now.saturating_sub(before.0)
    } else {
        0
    }
}

/// The looks after each of which copies were made, with copies of no more than `noise_bytes` passed over. A burst over
/// several looks counts once.
pub fn bursts(samples: &[Sample], noise_bytes: u64) -> Vec<Sample> {
    let mut found = Vec::new();
    let mut goes_on = false;
    for pair in samples.windows(2) {
        let copies = pair[1].copied_since(pair[0]) > noise_bytes;
        if copies && !goes_on {
            found.push(pair[0]);
        }
        goes_on = copies;
    }
    found
}

/// Fewest bursts that a period is believed of (our choice).
const FEWEST: usize = 8;
/// The shortest gap may have been so many periods.
const MOST_FOLD: u64 = 4;

/// A period is so many times as long as what gaps are known to, or any positions would do (our choice).
const LEAST_ERRORS: f64 = 8.0;

/// The distance of which all positions are multiples from the first, where each gap is known to `error_bytes`. Every
/// position narrows what the distance lies between; where nothing is left, there is none.
pub fn period(positions: &[u64], error_bytes: u64) -> Option<Band> {
    let (&first, rest) = positions.split_first()?;
    if positions.len() < FEWEST {
        return None;
    }
    let error = error_bytes as f64;
    let gaps = positions.windows(2);
    let shortest = gaps.map(|pair| pair[1].saturating_sub(pair[0])).min()?;
    let within =
        |distance: f64, folds: f64| ((distance - error) / folds, (distance + error) / folds);
    let fits = |fold: u64| {
        let (mut low, mut high) = within(shortest as f64, fold as f64);
        for &position in rest {
            let distance = position.saturating_sub(first) as f64;
            let folds = (2.0 * distance / (low + high)).round().max(1.0);
            let (least, most) = within(distance, folds);
            (low, high) = (low.max(least), high.min(most));
            if low > high || low < LEAST_ERRORS * error {
                return None;
            }
        }
        let best = f64::midpoint(low, high);
        Some(Band { low, best, high })
    };
    (1..=MOST_FOLD).find_map(fits)
}

/// The unit by the rule that a full unit is followed by one with all its room: of (bytes sent to the handle, room of its
/// unit) looks.
pub fn unit_by_room(looks: &[(u64, u64)]) -> Option<u64> {
    let most = looks.iter().map(|look| look.1).max()?;
    let ends = looks.iter().map(|(sent, room)| sent.saturating_add(*room));
    let ends: Vec<u64> = ends.collect();
    let unit = ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let unit = unit.fold(0, divisor);
    // No unit ends before the one that was written before it, and none is smaller than the room that it had.
    (ends.is_sorted() && most > 0 && unit >= most).then_some(unit)
}

fn divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => divisor(other, one % other),
    }
}

/// Bytes in use at the first copy, of a drive that frees `at_once` units at a time. `before_bytes` were written and died
/// before `taken_bytes` were. Their units are freed without copies: all of them by then where one is freed at a time, but
/// the last of them only in the round that begins to copy where several are.
pub fn in_use(taken_bytes: u64, before_bytes: u64, unit_bytes: u64, at_once: u64) -> u64 {
    let Some(dead) = before_bytes.checked_div(unit_bytes).filter(|_| at_once > 1) else {
        return taken_bytes;
    };
    let used = taken_bytes
        .saturating_add(before_bytes)
        .saturating_sub(dead / at_once * at_once * unit_bytes);
    // Whole units are full at that time.
    (used.saturating_add(unit_bytes / 2) / unit_bytes).saturating_mul(unit_bytes)
}

/// The flash for data: `taken_bytes` were written from an empty drive on until something had to be copied. That happens
/// where a unit is full and none but one in reserve is free.
pub fn physical(taken_bytes: u64, unit_bytes: Option<f64>) -> Band {
    let taken = taken_bytes as f64;
    let Some(unit) = unit_bytes.filter(|unit| *unit > 0.0) else {
        return Band {
            low: taken,
            best: taken,
            high: f64::INFINITY,
        };
    };
    let full = (taken / unit).ceil();
    Band {
        low: full * unit,
        best: (full + 1.0) * unit,
        // Other handles may have open units, and a drive more units in reserve: two are allowed for (our choice).
        high: (full + 3.0) * unit,
    }
}

/// Copies of more than this share of what was written again say that the dropped data lay among others' (our choice).
const SHARED_ABOVE: f64 = 0.01;

/// Whether a handle's data lay alone: its data were dropped, and so much written in their place.
pub fn isolation(rewritten_bytes: u64, copied_bytes: u64) -> Option<(Isolation, f64)> {
    let share = (rewritten_bytes > 0).then(|| copied_bytes as f64 / rewritten_bytes as f64)?;
    let isolation = if share > SHARED_ABOVE {
        Isolation::Initial
    } else {
        Isolation::Persistent
    };
    Some((isolation, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sent_bytes: u64, media_bytes: u64) -> Sample {
        Sample {
            sent_bytes,
            media_bytes,
        }
    }

    #[test]
    fn a_mapping_unit_is_where_small_writes_stop_costing_more() {
        let costs = |unit: u64| -> Vec<(u64, u64)> {
            let sizes = (9..=16).map(|shift| 1_u64 << shift);
            sizes.map(|size| (size, size.max(unit))).collect()
        };
        for unit in [512, 4096, 16_384, 65_536] {
            let band = mapping_unit(&costs(unit)).unwrap();
            assert_eq!(band.best, unit as f64);
            assert!(band.low <= band.best && band.best <= band.high);
            assert!(unit == 512 || band.low > unit as f64 / 2.0);
        }
        // Everything costs more: nothing is known.
        assert_eq!(mapping_unit(&[(4096, 9000), (8192, 18_000)]), None);
        assert_eq!(mapping_unit(&[]), None);
        // A count that does not move.
        assert_eq!(
            mapping_unit(&[(512, 0), (1024, 0), (u64::MAX, u64::MAX / 2)]),
            None
        );
    }

    #[test]
    fn the_count_may_be_behind() {
        let samples = [at(10, 0), at(20, 4), at(30, 30)];
        assert_eq!(lag(at(0, 0), &samples), 16);
        assert_eq!(lag(at(0, 0), &[at(5, 9)]), 0);
    }

    #[test]
    fn a_count_that_rises_by_each_last_room_is_no_count_of_copies() {
        let ends = [(128, 128), (64, 64), (128, 128)];
        assert_eq!(counts_room_twice(&ends), Some(true));
        // A drive that counts what is written; one that copied something once; units without room.
        for ends in [
            &[(128, 0), (64, 0)][..],
            &[(128, 128), (64, 0)],
            &[(0, 0), (0, 0)],
        ] {
            assert_eq!(counts_room_twice(ends), Some(false), "{ends:?}");
        }
        // One unit, and none.
        assert_eq!(counts_room_twice(&[(128, 128)]), None);
        assert_eq!(counts_room_twice(&[]), None);
    }

    #[test]
    fn a_room_falls_by_what_was_sent_until_it_is_full() {
        let falls = |looks: &[(u64, u64)]| fall(looks, 0);
        assert!(falls(&[]) && falls(&[(0, 96)]));
        assert!(falls(&[(0, 96), (64, 32)]) && falls(&[(0, 96), (64, 0)]));
        assert!(falls(&[(0, 96), (96, 500)]) && falls(&[(0, 0), (8, 0)]));
        assert!(!falls(&[(0, 96), (64, 33)]) && !falls(&[(0, 96), (1, 96)]));
        assert!(falls(&[(9, 5), (0, 5)]));
    }

    fn fall(looks: &[(u64, u64)], lag_bytes: u64) -> bool {
        let mut falling = Falling::new(lag_bytes);
        looks.iter().all(|look| falling.fits(*look))
    }

    #[test]
    fn a_room_that_is_counted_late_falls_and_one_that_stays_does_not() {
        let (unit, buffer) = (96, 10);
        for step in [1, 3, 7, 64, 96, 200] {
            let late = |sent: u64| (sent, unit - sent / buffer * buffer % unit);
            let looks: Vec<(u64, u64)> = (0..500).map(|look| late(look * step)).collect();
            assert!(fall(&looks, buffer - 1), "{step}");
            // Steps of less than the lag, whose sum is more than that.
            let constant = |look| (look * step, 203);
            let looks: Vec<(u64, u64)> = (0..500).map(constant).collect();
            assert!(!fall(&looks, buffer - 1), "{step}");
        }
        assert!(!fall(&[(0, 96), (7, 96)], 0) && fall(&[(0, 96), (7, 96)], 7));
    }

    #[test]
    fn where_a_unit_became_full_its_room_may_have_been_counted() {
        let before = (100, 32);
        assert_eq!(rooms_at_most(before, 164), 64);
        assert_eq!(rooms_at_most(before, 132), 32);
        assert_eq!(rooms_at_most(before, 131), 0);
    }

    /// Looks every 4 bytes at a drive that copies 30 bytes whenever `unit` bytes were sent.
    fn looks(unit: u64, from: u64) -> Vec<Sample> {
        let sent = (0..500).map(|look| from + look * 4);
        sent.map(|sent| at(sent, sent + sent / unit * 30)).collect()
    }

    #[test]
    fn the_period_of_bursts_is_the_unit() {
        for unit in [100, 101, 37] {
            let bursts = bursts(&looks(unit, 13), 0);
            let positions: Vec<u64> = bursts.iter().map(|burst| burst.sent_bytes).collect();
            let band = period(&positions, 4).unwrap();
            assert!((band.best - unit as f64).abs() < 1.0, "{unit}: {band:?}");
            assert!(band.low <= unit as f64 && unit as f64 <= band.high);
        }
    }

    #[test]
    fn bursts_that_were_left_out_do_not_hide_the_period() {
        let every = [0, 200, 500, 700, 1000, 1300, 1500, 1800];
        let band = period(&every, 3).unwrap();
        assert!((band.best - 100.0).abs() < 2.0, "{band:?}");
    }

    #[test]
    fn copies_without_a_period_and_few_of_them_say_nothing() {
        assert_eq!(period(&[0, 100, 230, 391, 520, 777, 888, 1111], 3), None);
        assert_eq!(period(&[0, 100, 200], 3), None);
        // Copies all the time are one burst.
        let smooth: Vec<Sample> = (0..100).map(|look| at(look * 4, look * 7)).collect();
        assert_eq!(bursts(&smooth, 0).len(), 1);
        assert_eq!(bursts(&smooth, 3).len(), 0);
    }

    #[test]
    fn a_units_room_tells_its_size_over_missed_units_too() {
        let unit = 96;
        let look = |sent: u64| (sent, unit - (sent + 7) % unit);
        let looks: Vec<(u64, u64)> = (0..80).map(|step| look(step * 50)).collect();
        assert_eq!(unit_by_room(&looks), Some(96));
        assert_eq!(unit_by_room(&[(0, 96), (10, 86)]), None);
        // Rooms that are always none, or out of step by a little, tell nothing.
        assert_eq!(unit_by_room(&[(0, 0), (50, 0), (100, 0)]), None);
        assert_eq!(
            unit_by_room(&[(0, 96), (50, 46), (100, 93), (150, 42)]),
            None
        );
        assert_eq!(unit_by_room(&[(0, u64::MAX), (50, u64::MAX)]), None);
    }

    #[test]
    fn the_flash_is_what_was_taken_and_the_unit_in_reserve() {
        // 10 units of 100, one in reserve; the first had 30 bytes of old data.
        let band = physical(900 - 30, Some(100.0));
        assert_eq!((band.low, band.best, band.high), (900.0, 1000.0, 1200.0));
        assert_eq!(physical(870, None).low, 870.0);
    }

    #[test]
    fn units_that_died_before_are_in_use_where_several_are_freed_at_a_time() {
        assert_eq!(in_use(870, 230, 100, 1), 870);
        assert_eq!(in_use(870, 230, 100, 3), 1100);
        assert_eq!(in_use(870, 230, 100, 2), 900);
        assert_eq!(in_use(870, 230, 0, 2), 870);
    }

    #[test]
    fn dropped_data_that_lay_alone_leave_nothing_to_copy() {
        assert_eq!(
            isolation(1000, 0).map(|found| found.0),
            Some(Isolation::Persistent)
        );
        assert_eq!(isolation(1000, 300), Some((Isolation::Initial, 0.3)));
        assert_eq!(isolation(0, 0), None);
    }
}
