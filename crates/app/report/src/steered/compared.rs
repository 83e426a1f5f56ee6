//! Comparison of a steered drive by its own log: periods as the scheme decides beside periods in one handle.

use serde::{Deserialize, Serialize};

/// The comparison so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The length of a period.
    pub period_s: f64,
    /// Pairs of periods that are asked for.
    pub pairs: usize,
    /// The way of the present moment; `steered` once all pairs are measured.
    pub way: ComparedWay,
    /// Pairs that were left out, since the log did not tell a period's write amplification.
    pub dropped_pairs: u64,
    /// The measured periods, in their order.
    pub periods: Vec<ComparedPeriod>,
    /// Mean write amplification of the measured pairs' periods; nothing before the first pair.
    pub mean_waf: Option<WafOfWays>,
    /// The mean difference, that in one handle less the steered one, and its interval; nothing before all are measured.
    pub difference: Option<WafDifference>,
    /// The comparison in a sentence.
    pub verdict: String,
}

/// The place of writes in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ComparedWay {
    /// The scheme decides.
    #[serde(rename = "steered")]
    Steered,
    /// All go to the first handle.
    #[serde(rename = "one handle")]
    OneHandle,
}

impl ComparedWay {
    /// In words, as in the result.
    pub fn name(self) -> &'static str {
        match self {
            ComparedWay::Steered => "steered",
            ComparedWay::OneHandle => "one handle",
        }
    }

    /// The other one.
    pub fn other(self) -> ComparedWay {
        match self {
            ComparedWay::Steered => ComparedWay::OneHandle,
            ComparedWay::OneHandle => ComparedWay::Steered,
        }
    }
}

/// A measured period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedPeriod {
    /// Number of the pair of spans that it belongs to, from 1.
    pub pair: usize,
    /// Whether writes were steered or went to one handle.
    pub way: ComparedWay,
    /// Bytes that hosts wrote in its first part, which is left out.
    pub settling_bytes: u64,
    /// Bytes that hosts wrote in the rest, by the drive's log.
    pub host_bytes: u64,
    /// Bytes that the drive wrote to its flash meanwhile.
    pub media_bytes: u64,
    /// The latter over the former.
    pub waf: f64,
    /// Bytes of the former that this server did not send.
    pub foreign_bytes: u64,
}

/// Write amplification of both ways.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WafOfWays {
    /// As the scheme decides.
    pub steered: f64,
    /// Write amplification while all writes went to one handle.
    pub one_handle: f64,
}

/// A difference of write amplification, with the interval that holds it in 95 of 100 comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WafDifference {
    /// The mean over pairs.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// Whether chance alone does not explain it.
    pub is_beyond_chance: bool,
}
