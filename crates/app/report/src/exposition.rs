//! Figures as a monitoring system reads them: OpenMetrics text.

use std::fmt::Write as _;

use crate::foreign;

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The value only rises.
    Counter,
    /// The value rises and falls.
    Gauge,
}

/// Labels of a value: pairs of name and text. The text may come from elsewhere.
pub type Labels<'a> = Vec<(&'a str, String)>;

/// A set of metrics whose names share a prefix.
#[derive(Debug)]
pub struct Exposition {
    prefix: &'static str,
    text: String,
}

impl Exposition {
    /// An empty set; every metric's name will begin with `prefix`.
    pub fn new(prefix: &'static str) -> Exposition {
        Exposition {
            prefix,
            text: String::new(),
        }
    }

    /// Adds a metric with a value for each set of labels.
    pub fn family<'a>(
        &mut self,
        name: &str,
        metric: Metric,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'a>, f64)>,
    ) {
        let (kind, total) = match metric {
            Metric::Counter => ("counter", "_total"),
            Metric::Gauge => ("gauge", ""),
        };
        let name = format!("{}_{name}", self.prefix);
        let _ = writeln!(self.text, "# TYPE {name} {kind}\n# HELP {name} {help}");
        for (labels, value) in values {
            let labels = labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
            let labels = labels.collect::<Vec<_>>().join(",");
            let labels = if labels.is_empty() {
                labels
            } else {
                format!("{{{labels}}}")
            };
            let _ = writeln!(self.text, "{name}{total}{labels} {value}");
        }
    }

    /// The text of all metrics.
    pub fn finish(self) -> String {
        self.text + "# EOF\n"
    }
}

/// A label's value, escaped, in one line.
fn escaped(value: &str) -> String {
    foreign(value).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_labels_that_no_name_can_leave() {
        let mut text = Exposition::new("a");
        let evil = "x\"} 1\nb 2\u{1b}[2J\\";
        let labels = vec![("by", evil.to_owned())];
        text.family("b_bytes", Metric::Counter, "Bytes", [(labels, 3.0)]);
        text.family("c", Metric::Gauge, "Ratio", [(Vec::new(), f64::NAN)]);
        assert_eq!(
            text.finish(),
            "# TYPE a_b_bytes counter\n# HELP a_b_bytes Bytes\n\
             a_b_bytes_total{by=\"x\\\"} 1\\\\nb 2\\\\u001b[2J\\\\\"} 3\n\
             # TYPE a_c gauge\n# HELP a_c Ratio\na_c NaN\n# EOF\n"
        );
    }
}
