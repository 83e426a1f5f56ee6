//! Wear of a drive, and the bytes that its host can write before the rated erases are used up.

use serde::{Deserialize, Serialize};

use super::{Levelling, Wear};

/// Wear of the units in service, and the life that follows from it.
///
/// With `N` units of `U` bytes, each rated for `R` erases, and write amplification `W`:
///
/// - levelled perfectly, every unit has all its rated erases, and each erase makes room for `U`
///   bytes of flash writes, `U / W` of them the host's: `life = N R U / W`;
/// - levelled as measured, the drive ends when its most worn unit has had `R` erases, and the mean
///   unit has then had fewer, `m`: `life = N m U / W`. Under static levelling the most worn stays as
///   far ahead as it is, `m = R - (most - mean)`; otherwise wear goes on in the proportions seen,
///   `m = R mean / most`. (Our choice: the standards rate a drive and do not say how to reckon. It is
///   cautious: a drive outlives its first worn unit by its spare.)
/// - of that life the share `mean / m` is used.
///
/// The figures hold for a load like the one measured. After few erases the proportions say little:
/// `most_erases` tells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WearReport {
    /// Units in service.
    pub units: u32,
    /// Units retired, those bad from the factory included.
    pub retired_units: u32,
    /// Erases of the least worn unit in service, since the drive was new.
    pub least_erases: u32,
    /// Erases of the mean unit.
    pub mean_erases: f64,
    /// Erases of the most worn unit.
    pub most_erases: u32,
    /// The most worn unit's erases less the least worn one's.
    pub spread_erases: u32,
    /// Standard deviation of the units' erases.
    pub deviation_erases: f64,
    /// Erases a unit is rated for; null where no rating is known.
    pub rated_erases: Option<u32>,
    /// Bytes the host can write to a new drive, in whole pages, levelled perfectly. Null without a rating, or
    /// before the host wrote anything.
    pub level_life_bytes: Option<u64>,
    /// The same, levelled as measured. Null also before the first erase.
    pub life_bytes: Option<u64>,
    /// Bytes of `life_bytes` that are left.
    pub left_bytes: Option<u64>,
}

impl WearReport {
    /// The report of units with so many erases each, of which some are retired. `waf` is the write
    /// amplification of the load whose life is reckoned, `unit_bytes` the size of a unit.
    pub fn new(
        erases: &[u32],
        retired: &[u32],
        wear: &Wear,
        unit_bytes: u64,
        waf: Option<f64>,
    ) -> WearReport {
        let erases = in_service(erases, retired);
        let spread = Spread::of(&erases);
        let rated_erases = (wear.rated_erases > 0).then_some(wear.rated_erases);
        let worth = waf.map(|waf| erases.len() as f64 * unit_bytes as f64 / waf);
        let rated = rated_erases.zip(worth);
        let ended = rated_erases.and_then(|rated| spread.mean_at_end(rated, wear.levelling));
        let life = ended.zip(worth).map(|(mean, worth)| mean * worth);
        let left = ended.map(|mean| (1.0 - spread.mean / mean).max(0.0));
        WearReport {
            units: erases.len() as u32,
            retired_units: retired.len() as u32,
            least_erases: spread.least,
            mean_erases: spread.mean,
            most_erases: spread.most,
            spread_erases: spread.most - spread.least,
            deviation_erases: spread.deviation,
            rated_erases,
            level_life_bytes: rated.map(|(rated, worth)| (f64::from(rated) * worth) as u64),
            life_bytes: life.map(|bytes| bytes as u64),
            left_bytes: life.zip(left).map(|(bytes, left)| (bytes * left) as u64),
        }
    }

    /// Life of this drive as a multiple of another's: the ratio of the bytes that their hosts can
    /// write, levelled as measured. `None` where either is unknown.
    pub fn times_of(&self, other: &WearReport) -> Option<f64> {
        let (own, other) = self.life_bytes.zip(other.life_bytes)?;
        (other > 0).then(|| own as f64 / other as f64)
    }
}

fn in_service(erases: &[u32], retired: &[u32]) -> Vec<u32> {
    let mut serves = vec![true; erases.len()];
    for &unit in retired {
        if let Some(serves) = serves.get_mut(unit as usize) {
            *serves = false;
        }
    }
    let kept = erases.iter().zip(&serves).filter(|&(_, &serves)| serves);
    kept.map(|(&erases, _)| erases).collect()
}

/// Distribution of erases over units.
#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    least: u32,
    mean: f64,
    most: u32,
    deviation: f64,
}

impl Spread {
    /// All zero of no units.
    fn of(erases: &[u32]) -> Spread {
        let (Some(&least), Some(&most)) = (erases.iter().min(), erases.iter().max()) else {
            return Spread::default();
        };
        let units = erases.len() as f64;
        let mean = erases.iter().map(|&erases| u64::from(erases)).sum::<u64>() as f64 / units;
        let squares = erases
            .iter()
            .map(|&erases| (f64::from(erases) - mean).powi(2));
        Spread {
            least,
            mean,
            most,
            deviation: (squares.sum::<f64>() / units).sqrt(),
        }
    }

    /// Erases of the mean unit when the most worn has had its rated ones; `None` before the first
    /// erase.
    fn mean_at_end(&self, rated: u32, levelling: Levelling) -> Option<f64> {
        let rated = f64::from(rated);
        let most = f64::from(self.most);
        (self.most > 0).then(|| match levelling {
            Levelling::Static => (rated - (most - self.mean)).max(self.mean),
            Levelling::None | Levelling::Dynamic => rated * self.mean / most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn wear(levelling: Levelling) -> Wear {
        Wear {
            levelling,
            rated_erases: 1000,
            ..Wear::default()
        }
    }

    fn report(erases: &[u32], levelling: Levelling, waf: f64) -> WearReport {
        WearReport::new(erases, &[], &wear(levelling), MIB, Some(waf))
    }

    #[test]
    fn erases_are_told_by_least_mean_most_spread_and_deviation() {
        let report = report(&[2, 4, 4, 4, 5, 5, 7, 9], Levelling::None, 1.0);
        assert_eq!((report.least_erases, report.most_erases), (2, 9));
        assert_eq!(report.spread_erases, 7);
        assert_eq!(report.mean_erases, 5.0);
        assert_eq!(report.deviation_erases, 2.0);
    }

    #[test]
    fn a_level_drive_lives_for_all_rated_erases_over_its_amplification() {
        let report = report(&[100; 50], Levelling::None, 2.0);
        let life = 50 * 1000 * MIB / 2;
        assert_eq!(report.level_life_bytes, Some(life));
        assert_eq!(report.life_bytes, Some(life));
        assert_eq!(report.left_bytes, Some(life / 10 * 9));
    }

    #[test]
    fn an_uneven_drive_ends_with_its_most_worn_unit() {
        let erases = [100, 300];
        let none = report(&erases, Levelling::None, 1.0);
        assert_eq!(none.level_life_bytes, Some(2 * 1000 * MIB));
        // Mean 200 of most 300: two thirds of the rated erases are ever used.
        assert_eq!(none.life_bytes, Some(2 * 1000 * MIB * 2 / 3));
        assert_eq!(
            none.left_bytes,
            none.life_bytes.map(|life| (life as f64 * 0.7) as u64)
        );
        // Levelled statically, the distance of 100 stays.
        let bounded = report(&erases, Levelling::Static, 1.0);
        assert_eq!(bounded.life_bytes, Some(2 * 900 * MIB));
    }

    #[test]
    fn half_the_amplification_is_twice_the_life() {
        let (one, other) = (
            report(&[50; 9], Levelling::None, 1.5),
            report(&[100; 9], Levelling::None, 3.0),
        );
        assert!((one.times_of(&other).unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_known_is_not_told() {
        let new = WearReport::new(&[0; 5], &[], &wear(Levelling::None), MIB, None);
        assert_eq!(
            (new.level_life_bytes, new.life_bytes, new.left_bytes),
            (None, None, None)
        );
        let unrated = WearReport::new(&[3; 5], &[], &Wear::default(), MIB, Some(1.0));
        assert_eq!((unrated.rated_erases, unrated.life_bytes), (None, None));
        let dead = WearReport::new(&[7; 2], &[0, 1], &wear(Levelling::None), MIB, Some(1.0));
        assert_eq!(
            (dead.units, dead.retired_units, dead.life_bytes),
            (0, 2, None)
        );
        assert_eq!(new.times_of(&unrated), None);
    }

    #[test]
    fn a_worn_out_drive_has_nothing_left() {
        let report = report(&[1200; 4], Levelling::None, 1.0);
        assert_eq!(report.left_bytes, Some(0));
    }

    #[test]
    fn retired_units_are_not_counted_on() {
        let report = WearReport::new(&[500, 10, 10], &[0], &wear(Levelling::None), MIB, Some(1.0));
        assert_eq!((report.units, report.most_erases), (2, 10));
        assert_eq!(report.life_bytes, Some(2 * 1000 * MIB));
    }
}
