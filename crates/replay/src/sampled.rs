//! How a drive was sampled, and what the samples tell of its write amplification.

use serde::{Deserialize, Serialize};

/// Student's t for a two-sided 95 % interval and 1, 2, … degrees of freedom (from any table of it).
const STUDENT: [f64; 15] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131,
];

/// How a drive was sampled.
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
    /// Half the width of the interval that holds the whole drive's WAF in 95 of 100 cases, computed from the spread of
    /// the samples; absent where there is one sample.
    pub error: Option<f64>,
}

/// Sampling rates, as one page of how many: of a sample, and of the trace it was drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Drawn {
    /// The rate of the sample.
    pub sample: u32,
    /// The rate of the trace.
    pub trace: u32,
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

/// Half the width of the mean's 95 % interval. Variance grows with the pages that one page stands for; what a sampled
/// trace left out is missing in all samples alike, and so is not in their spread.
fn error(each: &[f64], drawn: Drawn) -> Option<f64> {
    let count = each.len() as f64;
    let student = STUDENT.get(each.len().checked_sub(2)?)?;
    let mean = each.iter().sum::<f64>() / count;
    let squares = each.iter().map(|waf| (waf - mean).powi(2));
    let variance = squares.sum::<f64>() / (count - 1.0);
    let (sample, trace) = (f64::from(drawn.sample), f64::from(drawn.trace));
    let common = (trace - 1.0) / (sample - trace).max(1.0);
    Some(student * (variance * (1.0 / count + common)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_bar_is_students_of_the_mean() {
        let drawn = |sample, trace| Drawn { sample, trace };
        let each = [1.0, 1.2, 1.4, 1.2];
        // A variance of 0.08 / 3, its root over two.
        let bar = error(&each, drawn(8, 1)).unwrap();
        assert!((bar - 3.182 * (0.08_f64 / 3.0).sqrt() / 2.0).abs() < 1e-9);
        assert_eq!(error(&each[..1], drawn(8, 1)), None);
        assert_eq!(error(&[1.5, 1.5], drawn(8, 1)), Some(0.0));
    }

    #[test]
    fn what_a_sampled_trace_left_out_is_in_the_bar() {
        let each = [1.0, 1.2, 1.4, 1.2];
        let bar = |trace| error(&each, Drawn { sample: 64, trace }).unwrap();
        // The samples differ by 56 parts of 64, and have 7 in common: an eighth more variance.
        let wider = (bar(8) / bar(1)).powi(2);
        assert!((wider - (0.25 + 0.125) / 0.25).abs() < 1e-9, "{wider}");
    }
}
