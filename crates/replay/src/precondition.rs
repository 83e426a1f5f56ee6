//! A drive made old before it is measured, in the manner of the SNIA performance test
//! specification: filled once, then overwritten until its write amplification is steady.

use anabranch_ssd::{Device, DeviceError, PageRange, Relocate, StreamId};

use crate::{
    series::Series,
    steady::{Steady, verdict},
};

/// Points of the series per capacity written, as in a lane.
const POINTS_PER_CAPACITY: u32 = 16;
/// Pages drawn at a time.
const CHUNK: usize = 4096;

/// Where overwrites go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Over the filled part from its first page to its last, again and again.
    Sequential,
    /// Pages of the filled part, each as likely.
    Random,
}

/// How a drive is made old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precondition {
    /// Pages written once in order, and overwritten after that; the others hold nothing.
    pub fill_pages: u32,
    /// Where overwrites go.
    pub pattern: Pattern,
    /// Overwriting ends once the drive is steady ([`verdict`]), and after so many drive's worths
    /// at the latest.
    pub most_capacities: u32,
    /// Seed of the random pattern.
    pub seed: u64,
}

impl Precondition {
    /// Fills the device and overwrites it through the default stream. `progress` is told the share
    /// of the longest way that is done. Answers whether the drive is steady.
    ///
    /// # Errors
    /// When the device refuses a write: it has failed.
    pub fn apply<R: Relocate>(
        &self,
        device: &mut Device<R>,
        mut progress: impl FnMut(f64),
    ) -> Result<Steady, DeviceError> {
        let pages = device.config().logical_pages;
        let fill = self.fill_pages.min(pages);
        let step = (pages / POINTS_PER_CAPACITY).max(1);
        let mut series = Series::new(u64::from(step));
        device.write(PageRange::new(0, fill), StreamId::DEFAULT)?;
        series.record(device.counters());
        let mut cursor = Cursor::new(self, fill);
        let rounds = self.most_capacities.saturating_mul(POINTS_PER_CAPACITY);
        let mut steady = verdict(&series, device.counters(), u64::from(pages));
        for round in 0..rounds {
            if fill == 0 || steady == Steady::Yes {
                break;
            }
            cursor.overwrite(device, step)?;
            series.record(device.counters());
            steady = verdict(&series, device.counters(), u64::from(pages));
            progress(f64::from(round + 1) / f64::from(rounds));
        }
        Ok(steady)
    }
}

/// The next page to overwrite.
struct Cursor {
    pattern: Pattern,
    fill: u32,
    next: u32,
    state: u64,
}

impl Cursor {
    fn new(plan: &Precondition, fill: u32) -> Cursor {
        Cursor {
            pattern: plan.pattern,
            fill,
            next: 0,
            state: plan.seed,
        }
    }

    fn page(&mut self) -> u32 {
        match self.pattern {
            Pattern::Sequential => {
                let page = self.next;
                self.next = (page + 1) % self.fill;
                page
            }
            Pattern::Random => self.draw(),
        }
    }

    /// Vigna's splitmix64 (public domain), brought below the bound by multiplication.
    fn draw(&mut self) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((mixed ^ (mixed >> 31)) >> 32) * u64::from(self.fill)) >> 32) as u32
    }

    fn overwrite<R: Relocate>(
        &mut self,
        device: &mut Device<R>,
        pages: u32,
    ) -> Result<(), DeviceError> {
        let mut chunk = [0; CHUNK];
        let mut left = pages as usize;
        while left > 0 {
            let now = left.min(CHUNK);
            chunk[..now].fill_with(|| self.page());
            device.write_scattered(&chunk[..now], StreamId::DEFAULT)?;
            left -= now;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::{Profile, RelocationKind};

    fn device() -> Device {
        let mut profile = Profile::parse("x", Profile::text("golden").unwrap()).unwrap();
        profile.geometry.blocks_per_die = None;
        profile.geometry.logical_bytes = Some(64 << 20);
        profile.geometry.pages_per_block = 8;
        let config = profile.resolve("x").unwrap();
        Device::new(config.clone(), RelocationKind::Mixed.build(&config)).unwrap()
    }

    fn aged(pattern: Pattern, fill_pages: u32) -> (Device, Steady) {
        let mut device = device();
        let plan = Precondition {
            fill_pages,
            pattern,
            most_capacities: 30,
            seed: 1,
        };
        let mut last = 0.0;
        let steady = plan
            .apply(&mut device, |share| {
                assert!(share > last && share <= 1.0);
                last = share;
            })
            .unwrap();
        (device, steady)
    }

    #[test]
    fn random_overwrites_of_a_full_drive_end_when_it_is_steady_and_copies() {
        let pages = device().config().logical_pages;
        let (aged, steady) = aged(Pattern::Random, pages);
        assert_eq!(steady, Steady::Yes);
        assert_eq!(aged.mapped_pages(), u64::from(pages));
        assert!(aged.counters().host_pages < 31 * u64::from(pages));
        assert!(aged.counters().waf().unwrap() > 2.0);
    }

    #[test]
    fn sequential_overwrites_copy_next_to_nothing() {
        let pages = device().config().logical_pages;
        let (aged, steady) = aged(Pattern::Sequential, pages / 2);
        assert_eq!(steady, Steady::Yes);
        assert_eq!(aged.mapped_pages(), u64::from(pages / 2));
        assert!(aged.counters().waf().unwrap() < 1.01);
    }

    #[test]
    fn a_drive_filled_with_nothing_stays_new() {
        let (aged, steady) = aged(Pattern::Random, 0);
        assert_eq!(aged.counters().host_pages, 0);
        assert!(matches!(steady, Steady::No(_)));
    }
}
