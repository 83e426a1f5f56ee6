//! Samples of a drive, and the estimate of its write amplification from them.

use serde::{Deserialize, Serialize};

/// Student's t for a two-sided 95 % interval and 1, 2, … degrees of freedom (from any table of it).
const STUDENT: [f64; 15] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131,
];

/// Error that samples of one drive share, which their spread does not show: where fewer pages make a unit, units differ
/// more, and garbage collection finds others to copy. The width that this adds to the interval, for a unit of one page and
/// a WAF of 2 (our choice: with it 94.7 % of the shipped traces' WAFs at 128 to 768 pages a unit are inside; docs/results/speed.md
/// has how it does on traces that had no part in the choice).
const COMMON: f64 = 0.7;

/// Sampling of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledDrive {
    /// The sampling rate, as in `1/64`: one page of how many was kept.
    pub rate: String,
    /// The rate at which the trace itself was sampled, as in `1/1`.
    pub trace_rate: String,
    /// Pages of an erase unit in the sample.
    pub unit_pages: u32,
    /// The hash of each sample, which chooses its pages. Figures are means over these samples; curves, wear and learned
    /// lifetimes are those of the first one.
    pub hashes: Vec<u64>,
}

/// A scheme's write amplification in the samples of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledWaf {
    /// The WAF in each sample.
    pub each: Vec<f64>,
    /// Half the width of the interval meant to hold the whole drive's WAF in 95 of 100 cases, computed from the spread of
    /// the samples and from the pages that a unit has in them; absent where there is one sample, which at 1/1 is the whole drive.
    pub error: Option<f64>,
}

/// Sampling rates, as one page of how many: of a sample, and of the trace it was drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Drawn {
    /// The rate of the sample.
    pub sample: u32,
    /// The rate of the trace.
    pub trace: u32,
    /// Pages of an erase unit in the sample.
    pub unit_pages: u32,
}

impl Drawn {
    /// Returns the error that the samples share: it grows with the root of the copied share, and falls with the root
    /// of a unit's pages.
    fn common(self, waf: f64) -> f64 {
        let pages = f64::from(self.unit_pages.max(1));
        let fewer = 1.0 / pages.sqrt() - 1.0 / (pages * f64::from(self.sample)).sqrt();
        COMMON * (waf - 1.0).max(0.0).sqrt() * fewer
    }
}

impl SampledWaf {
    /// The WAF of samples drawn at these rates, with its error.
    pub fn new(each: Vec<f64>, drawn: Drawn) -> SampledWaf {
        SampledWaf {
            error: error(&each, drawn),
            each,
        }
    }
}

/// Half the width of the mean's 95 % interval: Student's, and what the samples have in common. Variance grows with the
/// pages that one page stands for; what a sampled trace left out is missing in all samples alike, and so is not in their
/// spread.
fn error(each: &[f64], drawn: Drawn) -> Option<f64> {
    let count = each.len() as f64;
    let student = STUDENT.get(each.len().checked_sub(2)?)?;
    let mean = each.iter().sum::<f64>() / count;
    let squares = each.iter().map(|waf| (waf - mean).powi(2));
    let variance = squares.sum::<f64>() / (count - 1.0);
    let (sample, trace) = (f64::from(drawn.sample), f64::from(drawn.trace));
    let left_out = (trace - 1.0) / (sample - trace).max(1.0);
    let spread = student * (variance * (1.0 / count + left_out)).sqrt();
    Some(spread + drawn.common(mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units of so many pages that nothing is in common.
    fn drawn(sample: u32, trace: u32) -> Drawn {
        let unit_pages = u32::MAX;
        Drawn {
            sample,
            trace,
            unit_pages,
        }
    }

    #[test]
    fn an_error_bar_is_students_of_the_mean_where_units_have_many_pages() {
        let each = [1.0, 1.2, 1.4, 1.2];
        // A variance of 0.08 / 3, its root over two.
        let bar = error(&each, drawn(8, 1)).unwrap();
        assert!((bar - 3.182 * (0.08_f64 / 3.0).sqrt() / 2.0).abs() < 1e-4);
        assert_eq!(error(&each[..1], drawn(8, 1)), None);
        assert_eq!(error(&[1.0, 1.0], drawn(8, 1)), Some(0.0));
    }

    #[test]
    fn a_bar_is_wider_where_units_have_fewer_pages() {
        let bar = |waf, sample, unit_pages| {
            let trace = 1;
            let drawn = Drawn {
                sample,
                trace,
                unit_pages,
            };
            error(&[waf, waf], drawn).unwrap()
        };
        // 256 of 1,024 pages: a 16th less a 32nd.
        assert!((bar(2.0, 4, 256) - 0.7 / 32.0).abs() < 1e-12);
        assert!((bar(5.0, 4, 256) - 1.4 / 32.0).abs() < 1e-12);
        assert!(bar(2.0, 8, 128) > bar(2.0, 4, 256));
        // Nothing is copied, or all pages are in the sample.
        assert_eq!((bar(1.0, 4, 256), bar(3.0, 1, 256)), (0.0, 0.0));
    }

    #[test]
    fn what_a_sampled_trace_left_out_is_in_the_bar() {
        let each = [1.0, 1.2, 1.4, 1.2];
        let bar = |trace| error(&each, drawn(64, trace)).unwrap();
        // The samples differ by 56 parts of 64, and have 7 in common: an eighth more variance.
        let wider = (bar(8) / bar(1)).powi(2);
        assert!((wider - (0.25 + 0.125) / 0.25).abs() < 1e-3, "{wider}");
    }
}
