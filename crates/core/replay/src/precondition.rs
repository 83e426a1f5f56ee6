//! Preconditioning: a drive is filled and overwritten before it is measured, in the manner of the SNIA performance test
//! specification.
//!
//! The PTS preconditions in two steps: a workload-independent one, the drive written sequentially
//! from end to end, and a workload-dependent one, rounds of the load itself until five of them in a
//! row agree. Here the first is one pass over the part to be filled (the PTS makes two; the second
//! changes nothing on a drive whose flash was new), and the second overwrites that part. Rounds,
//! window and band are those of every result ([`verdict`]), and only whole rounds of overwrites are
//! judged. The limit, where rounds never agree, is the caller's.

mod cursor;

use anabranch_ssd::{Device, DeviceError, PageRange, StreamId};
use serde::Serialize;

use crate::{
    series::Series,
    steady::{Steady, WINDOWS, WINDOWS_PER_CAPACITY as ROUNDS_PER_CAPACITY, verdict},
};
use cursor::Cursor;

/// Pages that are filled between two reports of progress. Our choice: a fraction of a second's.
const FILL_PAGES: u32 = 1 << 20;

/// The pages that overwrites go to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The filled part in order, from its first page to its last, again and again.
    Sequential,
    /// Pages of the filled part, each as likely.
    Random,
    /// Pages of the filled part by Zipf's law: the page of rank `k` is as likely as `1 / k` to the power of this
    /// number; ranks are strewn over the part.
    Zipf(f64),
}

/// Preconditioning of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Precondition {
    /// Pages written once in order, and overwritten after that; the others hold nothing.
    pub fill_pages: u32,
    /// The pages that overwrites go to.
    pub pattern: Pattern,
    /// Overwriting ends once the drive is steady ([`verdict`]), or after this many capacities of writes.
    pub most_capacities: u32,
    /// Seed of the patterns that draw.
    pub seed: u64,
}

/// The result of preconditioning.
#[derive(Debug, Clone, PartialEq)]
pub struct Aged {
    /// Whether the drive is steady.
    pub steady: Steady,
    /// Write amplification of the last capacity of writes; `None` where nothing was written.
    pub waf_window: Option<f64>,
}

impl Precondition {
    /// Fills the device and overwrites it through the default stream; copies stay among new data. `progress` is called
    /// with the share of the most work it may take that is done, 0 to 1.
    ///
    /// The device keeps its pages' ages from here on, so that a relocation that goes by them can be used on the drive
    /// later.
    ///
    /// # Errors
    /// When the device refuses a write, because it has failed.
    pub fn apply(
        &self,
        device: &mut Device,
        mut progress: impl FnMut(f64),
    ) -> Result<Aged, DeviceError> {
        device.keep_ages();
        let pages = device.config().logical_pages;
        let fill = self.fill_pages.min(pages);
        let round_pages = (pages / ROUNDS_PER_CAPACITY).max(1);
        let rounds = match fill {
            0 => 0,
            _ => self.most_capacities.saturating_mul(ROUNDS_PER_CAPACITY),
        };
        let most_pages = f64::from(fill) + f64::from(rounds) * f64::from(round_pages);
        let mut done_pages = 0.0;
        let mut advance = |pages: u32| {
            done_pages += f64::from(pages);
            progress(done_pages / most_pages);
        };
        let mut series = Series::new(1);
        for first in (0..fill).step_by(FILL_PAGES as usize) {
            let count = FILL_PAGES.min(fill - first);
            device.write(&mut (), PageRange::new(first, count), StreamId::DEFAULT)?;
            advance(count);
        }
        series.record(device.counters());
        let mut cursor = Cursor::new(self.pattern, fill, self.seed);
        let mut steady = verdict(&series, device.counters(), u64::from(pages));
        for round in 1..=rounds {
            cursor.overwrite(device, round_pages, &mut advance)?;
            series.record(device.counters());
            steady = verdict(&series, device.counters(), u64::from(pages));
            if round >= WINDOWS && steady.is_yes() {
                break;
            }
        }
        let now = device.counters();
        let before = series.near(now.host_pages.saturating_sub(u64::from(pages)));
        Ok(Aged {
            steady,
            waf_window: now.since(&before).waf(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::profile::Profile;

    fn device() -> Device {
        let mut profile = Profile::shipped("golden").unwrap();
        profile.geometry.blocks_per_die = None;
        profile.geometry.logical_bytes = Some(256 << 20);
        profile.geometry.pages_per_block = 64;
        Device::new(profile.resolve("x").unwrap(), &()).unwrap()
    }

    fn aged(pattern: Pattern, fill_pages: u32) -> (Device, Aged) {
        let mut device = device();
        let plan = Precondition {
            fill_pages,
            pattern,
            most_capacities: 30,
            seed: 1,
        };
        let mut last = 0.0;
        let aged = plan
            .apply(&mut device, |share| {
                assert!(share > last && share <= 1.0);
                last = share;
            })
            .unwrap();
        (device, aged)
    }

    #[test]
    fn random_overwrites_of_a_full_drive_end_when_it_is_steady_and_copies() {
        let pages = device().config().logical_pages;
        let (device, aged) = aged(Pattern::Random, pages);
        let Steady::Yes(band) = aged.steady else {
            panic!("{aged:?}")
        };
        assert_eq!(device.mapped_pages(), u64::from(pages));
        assert!(device.counters().host_pages < 31 * u64::from(pages));
        // Filling in order copied nothing; what came last did.
        let (last, all) = (aged.waf_window.unwrap(), device.counters().waf().unwrap());
        assert!(last > all && all > 2.0, "{last} {all}");
        assert!((band.least..=band.most).contains(&last), "{last} {band}");
    }

    #[test]
    fn sequential_overwrites_copy_next_to_nothing() {
        let pages = device().config().logical_pages;
        let (device, aged) = aged(Pattern::Sequential, pages / 2);
        assert!(aged.steady.is_yes());
        assert_eq!(device.mapped_pages(), u64::from(pages / 2));
        assert!(device.counters().waf().unwrap() < 1.01);
    }

    #[test]
    fn a_drive_filled_with_nothing_stays_new() {
        let (device, aged) = aged(Pattern::Random, 0);
        assert_eq!(device.counters().host_pages, 0);
        assert!(!aged.steady.is_yes());
        assert_eq!(aged.waf_window, None);
    }

    #[test]
    fn a_skewed_load_costs_what_two_simulators_say() {
        // One stream, copies mixed with new data, greedy, 15 % of the flash spare: 4.895 for zipf(0.9)
        // and 3.510 for uniform overwrites of a million pages. This drive has 65,536 pages, and units
        // of a sixteenth.
        let pages = device().config().logical_pages;
        for (pattern, expected) in [(Pattern::Zipf(0.9), 4.895), (Pattern::Random, 3.510)] {
            let waf = aged(pattern, pages).1.waf_window.unwrap();
            assert!((waf / expected - 1.0).abs() < 0.05, "{pattern:?}: {waf}");
        }
    }
}
