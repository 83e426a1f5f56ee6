//! The reasons for which a comparison has no answer yet.

use std::fmt;

use crate::{
    judge::percent,
    outcome::{Comparison, SchemeResult},
};

/// Capacities of writes needed to judge a steady state.
const CAPACITIES_TO_JUDGE: f64 = 2.5;
/// A drive that never held more than this share of data is far from full: its room works like spare flash (our choice).
pub(super) const FULL: f64 = 0.75;

/// Lack that keeps figures from answering.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lack {
    /// The requests hold no write.
    NothingWritten,
    /// Garbage collection never began.
    NeverCollected,
    /// The drive was far from full; the share of it that held data at most.
    Empty(f64),
    /// The drive was overwritten too seldom; the capacities written.
    Short(f64),
    /// A scheme's WAF still moves; its name and the reason.
    Unsettled(String, String),
}

impl Lack {
    /// The reason why none of the schemes of a comparison can have an answer.
    pub(super) fn of_all(outcome: &Comparison) -> Option<Lack> {
        let schemes = &outcome.schemes;
        if schemes.is_empty() {
            None
        } else if outcome.source.host_page_bytes == 0 {
            Some(Lack::NothingWritten)
        } else if schemes.iter().all(|scheme| scheme.erased_units == 0) {
            Some(Lack::NeverCollected)
        } else {
            None
        }
    }

    /// The first thing that is missing before these schemes can be compared; `None` if nothing is.
    pub(super) fn of(outcome: &Comparison, judged: &[&SchemeResult]) -> Option<Lack> {
        if let Some(lack) = Lack::of_all(outcome) {
            return Some(lack);
        }
        if judged.iter().all(|scheme| scheme.erased_units == 0) {
            return Some(Lack::NeverCollected);
        }
        let full = fullness(outcome);
        if full < FULL && !is_packed(outcome) {
            return Some(Lack::Empty(full));
        }
        let capacities = outcome.source.capacities_written;
        if capacities < CAPACITIES_TO_JUDGE {
            return Some(Lack::Short(capacities));
        }
        let unsteady = judged.iter().find(|scheme| !scheme.steady)?;
        Some(Lack::Unsettled(
            unsteady.name.clone(),
            unsteady.steady_reason.clone(),
        ))
    }
}

/// The largest share of the drive that ever held data.
pub(super) fn fullness(outcome: &Comparison) -> f64 {
    let drive = outcome.device.logical_bytes.max(1) as f64;
    peak_bytes(outcome) as f64 / drive
}

/// The most bytes that ever held data, on any of the drives: they are all told the same writes.
pub(super) fn peak_bytes(outcome: &Comparison) -> u64 {
    let peak = |scheme: &SchemeResult| scheme.peak_mapped_bytes.max(scheme.mapped_bytes);
    outcome.schemes.iter().map(peak).max().unwrap_or(0)
}

/// Whether addresses were handed out anew so that the drive is as full as the data ever are.
pub(super) fn is_packed(outcome: &Comparison) -> bool {
    outcome
        .config
        .get("pack")
        .is_some_and(|pack| pack.as_bool() == Some(true))
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::NothingWritten => write!(
                f,
                "nothing was written, and reads cost no flash; record a program that writes"
            ),
            Lack::NeverCollected => {
                write!(f, "the drive never filled, so nothing had to be copied")
            }
            Lack::Empty(share) => write!(
                f,
                "the drive was {} full at most, and empty room works like spare flash",
                percent(*share)
            ),
            Lack::Short(capacities) => write!(
                f,
                "{capacities:.2} capacities of the drive were written, and {CAPACITIES_TO_JUDGE} are needed"
            ),
            Lack::Unsettled(name, why) => write!(f, "`{name}` has not settled: {why}"),
        }
    }
}
