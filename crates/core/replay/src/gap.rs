//! The share of the way from an ordinary drive to a bound that a scheme covers.

use crate::{outcome::SchemeResult, verdict::ORDINARY};

/// Fills in every scheme's [`SchemeResult::is_bound`] and [`SchemeResult::gap_closed`]: for each of `bounds` (names of schemes)
/// that copied less than the ordinary drive, the share of the copies between the two that the scheme
/// saves, `(ordinary - scheme) / (ordinary - bound)`. 1 is as good as the bound, 0 as the ordinary drive;
/// below 0 is worse than that. Where there is no ordinary drive, or no gap, there is no share.
pub fn close_gaps(schemes: &mut [SchemeResult], bounds: &[String]) {
    for scheme in schemes.iter_mut() {
        scheme.is_bound = bounds.contains(&scheme.name);
    }
    let copied = |name: &str| {
        let scheme = schemes.iter().find(|scheme| scheme.name == name)?;
        Some(scheme.copied_bytes as f64)
    };
    let Some(ordinary) = copied(ORDINARY) else {
        return;
    };
    let gaps = bounds.iter().filter_map(|bound| {
        let gap = ordinary - copied(bound)?;
        (gap > 0.0).then(|| (bound.clone(), gap))
    });
    let gaps: Vec<(String, f64)> = gaps.collect();
    for scheme in schemes {
        let saved = ordinary - scheme.copied_bytes as f64;
        let shares = gaps.iter().map(|(bound, gap)| (bound.clone(), saved / gap));
        scheme.gap_closed = shares.collect();
    }
}
