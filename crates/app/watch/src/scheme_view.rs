//! Results of one scheme for the writes of a device.

use anabranch_replay::{Drawn, SampledWaf};
use serde::Serialize;

use crate::track::{Track, Written};

/// Results of one scheme.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SchemeView {
    /// Name of the scheme, as `anabranch schemes` lists it.
    pub name: String,
    /// Bytes the host wrote: the mean over the samples, as all here.
    pub host_page_bytes: u64,
    /// Bytes garbage collection copied.
    pub copied_bytes: u64,
    /// Media bytes over host bytes since watching began.
    pub waf: Option<f64>,
    /// Half the width of the interval meant to hold the whole drive's WAF in 95 of 100 cases; null where there is one sample.
    pub error: Option<f64>,
    /// The same over the last capacity of writes.
    pub waf_window: Option<f64>,
    /// Standard error of the window's WAF; `None` without samples.
    pub window_error: Option<f64>,
}

impl SchemeView {
    /// A scheme by its tracks, one for each sample, and how they were drawn.
    pub fn new(name: String, tracks: &[Track], drawn: Drawn) -> SchemeView {
        let totals: Vec<Written> = tracks.iter().map(Track::total).collect();
        let windows: Vec<Written> = tracks.iter().map(Track::window).collect();
        let count = tracks.len().max(1) as u64;
        let mean =
            |of: fn(&Written) -> u64| (totals.iter().map(of).sum::<u64>() + count / 2) / count;
        let (waf, error) = pooled(&totals, drawn);
        let (waf_window, window_error) = pooled(&windows, drawn);
        SchemeView {
            name,
            host_page_bytes: mean(|one| one.host_page_bytes),
            copied_bytes: mean(|one| one.copied_bytes),
            waf,
            error,
            waf_window,
            window_error,
        }
    }
}

/// The mean WAF of samples, and its error.
fn pooled(each: &[Written], drawn: Drawn) -> (Option<f64>, Option<f64>) {
    let each: Vec<f64> = each.iter().filter_map(Written::waf).collect();
    if each.is_empty() {
        return (None, None);
    }
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    (Some(mean), SampledWaf::new(each, drawn).error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_the_mean_of_its_samples_with_their_spread() {
        let track = |copied_bytes| {
            let mut track = Track::default();
            let now = Written {
                host_page_bytes: 100,
                copied_bytes,
            };
            track.advance(now, 1600);
            track
        };
        // Units of so many pages that the spread is all.
        let drawn = |sample| Drawn {
            sample,
            trace: 1,
            unit_pages: u32::MAX,
        };
        let view = SchemeView::new("x".into(), &[track(10), track(31)], drawn(8));
        assert_eq!((view.host_page_bytes, view.copied_bytes), (100, 21));
        assert_eq!(view.waf, Some(1.205));
        // Student's t of one degree of freedom, times the deviation of two over their root.
        let deviation = 0.21 / 2.0_f64.sqrt();
        let bar = 12.706 * deviation / 2.0_f64.sqrt();
        assert!((view.error.unwrap() - bar).abs() < 1e-4);
        let one = SchemeView::new("x".into(), &[track(10)], drawn(1));
        assert_eq!((one.waf, one.error), (Some(1.1), None));
        assert_eq!(SchemeView::new("x".into(), &[], drawn(1)).waf, None);
    }
}
