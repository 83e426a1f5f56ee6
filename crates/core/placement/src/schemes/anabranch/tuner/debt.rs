//! Debt of a drive: copies that its present state will still cost.

/// Share of the pages without valid data that must be free (our choice: with a half and with nine tenths
/// mean copies over the recordings chosen by are up to 1 and 4 % more).
const FREE_SHARE: f64 = 0.75;

/// The copies it takes until three quarters of the pages without valid data are free, the units with the fewest valid pages
/// collected first. Drives that hold the same data have as many such pages: one that parted data well has them in units that
/// are all dead and owes nothing, one that mixed them owes much, long before it first collects a unit.
///
/// `closed` has the valid pages of each closed unit, `slack_pages` is all pages without valid data. O(units + pages of a unit).
pub(super) fn owed_pages(
    closed: impl Iterator<Item = u32>,
    pages_per_unit: u32,
    slack_pages: u64,
) -> f64 {
    let mut units = vec![0_u32; pages_per_unit as usize + 1];
    let mut dead_pages = 0;
    for valid in closed {
        let valid = valid.min(pages_per_unit);
        units[valid as usize] += 1;
        dead_pages += u64::from(pages_per_unit - valid);
    }
    let mut wanted = dead_pages as f64 - (1.0 - FREE_SHARE) * slack_pages as f64;
    let mut owed = 0.0;
    for (valid, &units) in (0..pages_per_unit).zip(&units) {
        let dead = f64::from(pages_per_unit - valid);
        let collected = f64::from(units).min(wanted / dead).max(0.0);
        wanted -= collected * dead;
        owed += collected * f64::from(valid);
    }
    owed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_whose_dead_pages_lie_together_owes_nothing() {
        let apart = owed_pages([0, 0, 10, 10].into_iter(), 10, 20);
        let mixed = owed_pages([5; 4].into_iter(), 10, 20);
        // Fifteen of twenty dead pages are wanted, three units with five valid pages each.
        assert_eq!((apart, mixed), (0.0, 15.0));
    }

    #[test]
    fn what_is_free_already_costs_nothing() {
        // Of 100 pages without data 20 are dead: more than three quarters are free.
        assert_eq!(owed_pages([5; 4].into_iter(), 10, 100), 0.0);
        // Of 40, ten may stay dead: two units are collected.
        assert_eq!(owed_pages([5; 4].into_iter(), 10, 40), 10.0);
    }

    #[test]
    fn the_emptiest_are_collected_first_and_full_ones_never() {
        // Nine of twelve: the unit with one valid page is enough.
        assert_eq!(owed_pages([10, 7, 1].into_iter(), 10, 12), 1.0);
        assert_eq!(owed_pages([10; 9].into_iter(), 10, 0), 0.0);
        assert_eq!(owed_pages([].into_iter(), 10, 0), 0.0);
    }
}
