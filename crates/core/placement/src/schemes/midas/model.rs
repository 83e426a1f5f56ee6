//! The cost of a chain of groups: the Markov-chain-based analytical model.

use super::lives::Curve;

/// The share of the mean life in the last group up to which lives count as its hot ones (the
/// authors' simulator).
const HOT_LIFE: f64 = 0.7;
/// The least share of the drive from which data that never dies is kept apart (the authors'
/// simulator).
const LEAST_RESTING: f64 = 0.2;

/// The drive that a chain of groups has, in units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drive {
    /// Number of units for all groups together.
    pub(super) units: f64,
    /// Live data, in units.
    pub(super) live: f64,
    pub(super) pages_per_unit: f64,
}

/// The hot group: the writes it takes, and what is left of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HotGroup {
    pub(super) units: u32,
    /// Share of the host's writes that it takes.
    pub(super) traffic: f64,
    /// Valid share of its victims.
    pub(super) valid: f64,
    /// The longest life that belongs to the hot group, in units the host writes.
    pub(super) until: f64,
}

impl HotGroup {
    pub(super) const NONE: HotGroup = HotGroup {
        units: 0,
        traffic: 0.0,
        valid: 0.0,
        until: 0.0,
    };

    /// A hot group of `units` that took that traffic and left that valid share, as measured.
    pub(super) fn measured(units: u32, traffic: f64, valid: f64) -> HotGroup {
        let until = if traffic > 0.0 {
            (f64::from(units) - 0.5).max(0.0) / traffic
        } else {
            0.0
        };
        HotGroup {
            units,
            traffic,
            valid,
            until,
        }
    }

    /// A hot group of `units` that takes all lives short enough to end in it; `None` if the lives
    /// counted do not fill it.
    pub(super) fn calculated(curve: &Curve, units: u32) -> Option<HotGroup> {
        let until = curve.time_of_hot_size(f64::from(units))?;
        let traffic = 1.0 - curve.survives(until);
        Some(HotGroup {
            units: (until * traffic).round() as u32,
            traffic,
            valid: 0.0,
            until,
        })
    }
}

/// The model's prediction for a chain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prediction {
    /// Valid share of the victims of each group after the hot one, the last included.
    pub(super) valid: Vec<f64>,
    pub(super) waf: f64,
}

/// The cost of a chain: a hot group, groups of `sizes` units emptied first in, first out, and a
/// last group of all other units. `None` where the model does not apply: groups that would hold
/// data for longer than lives were counted, or a last group without spare room.
pub(super) fn predict(
    curve: &Curve,
    drive: &Drive,
    hot: &HotGroup,
    sizes: &[u32],
) -> Option<Prediction> {
    let mut flow = 1.0 - hot.traffic + hot.traffic * hot.valid;
    let mut copies = hot.traffic * hot.valid;
    let hot_share = if hot.valid > 0.0 { hot.traffic } else { 1.0 };
    let mut live = hot_share * curve.lived(hot.until);
    let mut past = hot.until;
    let mut valid = Vec::with_capacity(sizes.len() + 1);
    for &size in sizes {
        let entered = curve.survives(past);
        if flow <= 0.0 || entered <= 0.0 {
            return None;
        }
        let end = past + (f64::from(size) - 0.5).max(0.0) / flow;
        if end >= curve.horizon() {
            return None;
        }
        let left = curve.survives(end) / entered;
        if left <= 0.0 {
            return None;
        }
        live += flow * (curve.lived(end) - curve.lived(past)) / entered;
        past = end;
        flow *= left;
        copies += flow;
        valid.push(left);
    }
    let used = f64::from(hot.units) + sizes.iter().map(|&size| f64::from(size)).sum::<f64>();
    let last = last_group(curve, drive, past, drive.units - used, drive.live - live)?;
    valid.push(last);
    // The last group copies to itself: what comes in is copied on until it is dead.
    copies += flow * last / (1.0 - last);
    Some(Prediction {
        valid,
        waf: 1.0 + copies,
    })
}

/// Valid share of the last group's victims, which are its emptiest units.
fn last_group(curve: &Curve, drive: &Drive, past: f64, units: f64, live: f64) -> Option<f64> {
    let resting = (drive.live - curve.lived(curve.horizon())).max(0.0);
    let resting = if resting < drive.units * LEAST_RESTING {
        0.0
    } else {
        resting
    };
    let (units, live) = (units - resting, live - resting);
    if live <= 0.0 || units <= live {
        return None;
    }
    let rest = curve.survives(past);
    let moment = curve.moment(curve.horizon()) - curve.moment(past);
    let hot_until = HOT_LIFE * moment / rest.max(1e-12);
    let hot_traffic = (rest - curve.survives(hot_until.max(past))) / rest.max(1e-12);
    let hot_space = (curve.moment(hot_until.max(past)) - curve.moment(past)) / moment.max(1e-12);
    // Greedy victims: the spare factor grows by half a page a unit (the same).
    let factor = 1.0 + 0.5 / drive.pages_per_unit;
    let waf = hot_cold_waf(factor * units / live, hot_traffic, hot_space) / factor;
    Some(1.0 - 1.0 / waf.max(1.0))
}

/// The write amplification of first-in first-out collection with a share `hot_traffic` of the
/// writes on a share `hot_space` of the data: the `A` with
/// `A = 1 + r / (exp((r / f) (a / A)) - 1) + (1 - r) / (exp(((1 - r) / (1 - f)) (a / A)) - 1)`,
/// `r` and `f` being those shares and `a` the physical over the logical space (Desnoyers, as
/// MiDAS's supplement has it).
fn hot_cold_waf(spare_factor: f64, hot_traffic: f64, hot_space: f64) -> f64 {
    let sensible = |share: f64| (0.001..=0.999).contains(&share);
    let (r, f) = if sensible(hot_traffic) && sensible(hot_space) {
        (hot_traffic, hot_space)
    } else {
        (0.5, 0.5)
    };
    let part = |share: f64, space: f64, waf: f64| {
        share / ((share / space) * (spare_factor / waf)).exp_m1()
    };
    let excess = |waf: f64| 1.0 + part(r, f, waf) + part(1.0 - r, 1.0 - f, waf) - waf;
    let (mut low, mut high) = (1.0, 2.0);
    while excess(high) > 0.0 && high < 1e6 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 {
            low = middle
        } else {
            high = middle
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::super::lives::{Lives, tests::curve};
    use super::*;

    const DRIVE: Drive = Drive {
        units: 4.0,
        live: 1.5,
        pages_per_unit: 4.0,
    };

    #[test]
    fn uniform_traffic_meets_the_closed_form() {
        // v = exp(-(1 - v) a), WAF = 1 / (1 - v): 3.519 at 15 % of flash spare.
        assert!((hot_cold_waf(1.0 / 0.85, 0.5, 0.5) - 3.519).abs() < 0.001);
        assert_eq!(
            hot_cold_waf(1.2, 0.0, 0.0),
            hot_cold_waf(1.2, 0.5, 0.5),
            "nothing known of hot and cold"
        );
        assert!(hot_cold_waf(1.2, 0.8, 0.2) > hot_cold_waf(1.2, 0.5, 0.5));
    }

    #[test]
    fn a_group_holds_data_for_its_size_over_what_flows_in() {
        // Lives 0.5, 1 and 2 units (bins of a quarter). A group of 2 units with all the traffic
        // holds for 2 - 0.5 units: two of three lives end there.
        let prediction = predict(&curve(), &DRIVE, &HotGroup::NONE, &[2]).unwrap();
        assert!((prediction.valid[0] - 1.0 / 3.0).abs() < 1e-12);
        let last = prediction.valid[1];
        let expected = 1.0 + 1.0 / 3.0 + (1.0 / 3.0) * last / (1.0 - last);
        assert!((prediction.waf - expected).abs() < 1e-12);
    }

    #[test]
    fn a_hot_group_takes_the_short_lives() {
        let hot = HotGroup::calculated(&curve(), 1).unwrap();
        assert_eq!(hot.until, 1.25, "1.25 x 2/3 rounds to a unit");
        assert!((hot.traffic - 2.0 / 3.0).abs() < 1e-12);
        let measured = HotGroup::measured(2, 0.5, 0.1);
        assert_eq!(measured.until, 3.0);
    }

    #[test]
    fn the_model_does_not_reach_beyond_what_was_counted() {
        let predicted = |sizes: &[u32]| predict(&curve(), &DRIVE, &HotGroup::NONE, sizes);
        assert_eq!(predicted(&[20]), None, "longer than lives were counted");
        assert_eq!(predicted(&[3]), None, "nothing survives");
        let full = Drive {
            units: 1.6,
            live: 1.5,
            ..DRIVE
        };
        assert_eq!(predict(&curve(), &full, &HotGroup::NONE, &[1]), None);
        assert!(Lives::new(4, 4, 1).curve(4).is_none());
    }
}
