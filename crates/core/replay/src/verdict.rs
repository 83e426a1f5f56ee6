//! The answer of a comparison in sentences: whether streams are worth it, how much, with which scheme, what it takes,
//! and what comes next.

use serde::{Deserialize, Serialize};

/// The flash must last this many times as long for streams to be worth it (our choice: below a
/// twentieth, another day's load changes more).
pub const WORTH: f64 = 1.05;

/// The kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A scheme makes the flash last at least [`WORTH`] times as long.
    WorthIt,
    /// No scheme makes the flash last [`WORTH`] times as long.
    NotWorthIt,
    /// Too little was written: garbage collection never began.
    TooLittleWritten,
    /// There was no scheme to compare with.
    NotCompared,
}

/// The answer of a comparison, with the figures it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The kind of answer.
    pub answer: Answer,
    /// The answer in one sentence.
    pub headline: String,
    /// The figures behind it, a sentence; empty where there are none.
    pub evidence: String,
    /// What keeps the figures from being trusted, or a scheme from being recommended; a sentence each.
    pub warnings: Vec<String>,
    /// What the drive and the host must do for the best scheme; empty where nothing is recommended.
    pub takes: String,
    /// The command to try next, and why; empty where there is none.
    pub next: String,
    /// The scheme that stands for a drive without streams.
    pub before: Option<String>,
    /// The best scheme that can be built and is allowed as it is.
    pub best: Option<String>,
    /// WAF of `before` over the last capacity of writes.
    pub waf_before: Option<f64>,
    /// WAF of `best` over the last capacity of writes.
    pub waf_with: Option<f64>,
    /// How many times as long the flash lasts with `best`, over the last capacity of writes.
    pub life: Option<f64>,
    /// Whether the WAF of `before` and of `best` had settled.
    pub is_settled: bool,
}
