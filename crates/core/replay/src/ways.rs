//! Other ways to spare copies than streams: changes to the ordinary drive, and to its discards.

use serde::{Deserialize, Serialize};

/// A change to the ordinary drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lever {
    /// No change.
    AsItIs,
    /// More spare flash.
    MoreSpare,
    /// The same data on twice the drive.
    HalfAsFull,
    /// Discards once a day.
    DailyDiscards,
    /// The host discards nothing.
    NoDiscards,
}

/// A change to the ordinary drive, with what it gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherWay {
    /// Kind of the change.
    pub way: Lever,
    /// The change in words.
    pub words: String,
    /// Spare flash, as a share of the bytes that the host sees; null where it is not what changes.
    pub spare: Option<f64>,
    /// WAF over the last capacity of writes.
    pub waf: Option<f64>,
    /// Life of the flash by its WAF, as a multiple of that of the drive as it is.
    pub life: Option<f64>,
}

/// The WAF of an ordinary drive with so much spare flash.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WafAtSpare {
    /// Spare flash, as a share of the bytes that the host sees.
    pub spare: f64,
    /// WAF over the last capacity of writes.
    pub waf: f64,
}

/// The WAFs of an ordinary drive with each change, over the last capacity of writes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OtherWays {
    /// With more spare flash, by rising spare; the first is the drive as it is.
    pub spares: Vec<WafAtSpare>,
    /// With the same data on twice the drive.
    pub half_as_full: Option<f64>,
    /// With discards once a day; null where the trace has none, or lasts less than two days.
    pub daily_discards: Option<f64>,
    /// Without discards; null where the trace has none.
    pub no_discards: Option<f64>,
}

impl OtherWays {
    /// The two neighbouring spares between which the WAF falls to `waf`; `None` where it is lower already, or never so
    /// low.
    pub fn bracket(&self, waf: f64) -> Option<[WafAtSpare; 2]> {
        let mut pairs = self.spares.windows(2);
        let around = |pair: &&[WafAtSpare]| pair[0].waf > waf && pair[1].waf <= waf;
        pairs.find(around).map(|pair| [pair[0], pair[1]])
    }

    /// The spare at which the WAF is `waf`, on the line between the neighbours that were measured.
    pub fn spare_for(&self, waf: f64) -> Option<f64> {
        let [low, high] = self.bracket(waf)?;
        let share = (low.waf - waf) / (low.waf - high.waf);
        Some(low.spare + share * (high.spare - low.spare))
    }
}
