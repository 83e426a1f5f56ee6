//! Wear and faults: how units age, and what happens when one fails.
//!
//! ```
//! use anabranch_ssd::{
//!     Config, Device, PageRange, StreamId,
//!     wear::{Levelling, Wear},
//! };
//!
//! let wear = Wear { levelling: Levelling::Dynamic, rated_erases: 3000, ..Wear::default() };
//! let mut device = Device::new(Config { wear, ..Config::new(4096, 64, 80) }, &())?;
//! for _ in 0..10 {
//!     device.write(&mut (), PageRange::new(0, 4096), StreamId::DEFAULT)?;
//! }
//! let report = device.wear();
//! println!("{:?} of the rated life is left, in bytes", report.left_bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod report;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use report::WearReport;

use crate::{error::UnknownName, random::Random};

/// Distribution of erases over units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Levelling {
    /// Free units are used in the order they were freed.
    #[default]
    None,
    /// The free unit erased least often is used first.
    Dynamic,
    /// Dynamic, and data that do not die move out of units that the others outwear.
    Static,
}

impl Levelling {
    /// Every rule of levelling.
    pub const ALL: [Levelling; 3] = [Levelling::None, Levelling::Dynamic, Levelling::Static];

    /// The name of the rule in profiles and options.
    pub fn name(self) -> &'static str {
        match self {
            Levelling::None => "none",
            Levelling::Dynamic => "dynamic",
            Levelling::Static => "static",
        }
    }
}

impl FromStr for Levelling {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Levelling, UnknownName> {
        let named = Levelling::ALL.into_iter().find(|rule| rule.name() == text);
        named.ok_or_else(|| UnknownName {
            what: "wear levelling",
            word: text.to_owned(),
            known: Levelling::ALL.map(Levelling::name).join(", "),
        })
    }
}

/// Wear model of a device. All zero: a device that never fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wear {
    /// Distribution of erases.
    pub levelling: Levelling,
    /// Static levelling moves data once a closed unit lies this many erases behind the most worn
    /// one. 0 stands for 16 (our choice).
    #[serde(skip_serializing_if = "is_zero")]
    pub spread: u32,
    /// Erases a unit is rated for; 0 where no rating is known.
    pub rated_erases: u32,
    /// Whether a unit that has had its rated erases is retired at once. Otherwise the rating is
    /// only what life is reckoned with.
    pub retire_at_rating: bool,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// Erases of difference that static levelling bears, unless told otherwise (our choice).
const DEFAULT_SPREAD: u32 = 16;

impl Wear {
    /// The difference of erases from which static levelling moves data; `None` without it.
    pub(crate) fn static_spread(&self) -> Option<u32> {
        (self.levelling == Levelling::Static).then_some(match self.spread {
            0 => DEFAULT_SPREAD,
            spread => spread,
        })
    }

    /// Whether a unit with so many erases is at its end.
    pub(crate) fn is_worn_out(&self, erases: u32) -> bool {
        self.retire_at_rating && self.rated_erases > 0 && erases >= self.rated_erases
    }
}

/// Faults to inject: mean numbers of operations between failures, which are drawn at random from
/// the device's seed. 0: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Pages programmed per failed program operation.
    pub pages_per_program_failure: u64,
    /// Erases per failed erase.
    pub erases_per_failure: u64,
    /// Units that are bad from the factory.
    pub factory_bad_units: u32,
}

impl Faults {
    /// Whether units can be lost while the device works.
    pub fn can_lose_units(&self) -> bool {
        self.pages_per_program_failure > 0 || self.erases_per_failure > 0
    }
}

/// Counts down to the next failure of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Countdown {
    /// Operations that will still succeed.
    left: u64,
    mean: u64,
    random: Random,
}

impl Countdown {
    fn new(mean: u64, seed: u64) -> Countdown {
        let mut countdown = Countdown {
            left: u64::MAX,
            mean,
            random: Random::new(seed),
        };
        countdown.draw();
        countdown
    }

    /// A countdown to the next failure of a program operation.
    pub(crate) fn programs(faults: &Faults, seed: u64) -> Countdown {
        Countdown::new(faults.pages_per_program_failure, seed ^ 1)
    }

    /// A countdown to the next failure of an erase.
    pub(crate) fn erases(faults: &Faults, seed: u64) -> Countdown {
        Countdown::new(faults.erases_per_failure, seed ^ 2)
    }

    /// Whether this can be a countdown of failures with that mean.
    pub(crate) fn fits(&self, mean: u64) -> bool {
        self.mean == mean && (mean > 0 || self.left == u64::MAX)
    }

    /// Draws the next distance: geometric, so that every operation is as likely to fail.
    pub(crate) fn draw(&mut self) {
        if self.mean == 0 {
            return;
        }
        let uniform = (self.random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let survived = (1.0 - uniform).ln() / (-1.0 / self.mean as f64).ln_1p();
        self.left = if self.mean == 1 { 0 } else { survived as u64 };
    }

    /// Operations that will still succeed, as far as a `u32` tells.
    #[inline]
    pub(crate) fn left(&self) -> u32 {
        self.left.min(u64::from(u32::MAX)) as u32
    }

    /// `count` operations succeeded, no more than were left.
    #[inline]
    pub(crate) fn pass(&mut self, count: u32) {
        if self.mean > 0 {
            self.left -= u64::from(count);
        }
    }

    /// Counts one operation. Answers whether it fails.
    pub(crate) fn strikes(&mut self) -> bool {
        if self.left > 0 {
            self.pass(1);
            return false;
        }
        self.draw();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_come_as_often_as_their_mean_says() {
        for mean in [1_u64, 2, 10, 1000] {
            let mut countdown = Countdown::new(mean, 3);
            let failures = (0..200_000).filter(|_| countdown.strikes()).count() as f64;
            let expected = 200_000.0 / mean as f64;
            // Five standard deviations of a binomial count.
            let tolerance = 5.0 * expected.sqrt();
            assert!(
                (failures - expected).abs() <= tolerance,
                "{mean}: {failures}"
            );
        }
    }

    #[test]
    fn a_mean_of_none_never_fails() {
        let mut countdown = Countdown::new(0, 3);
        assert!((0..1000).all(|_| !countdown.strikes()));
        assert_eq!(countdown.left(), u32::MAX);
    }

    #[test]
    fn the_name_of_a_rule_of_levelling_is_its_own_and_parses_back() {
        for rule in Levelling::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
            assert!(!rule.name().is_empty());
        }
    }
}
