//! Figures as a monitoring system reads them: OpenMetrics text, encoded by `prometheus-client`.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text::encode},
    metrics::MetricType,
    registry::Registry,
};

use crate::foreign;

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The value only rises.
    Counter,
    /// The value rises and falls.
    Gauge,
}

impl Metric {
    fn kind(self) -> MetricType {
        match self {
            Metric::Counter => MetricType::Counter,
            Metric::Gauge => MetricType::Gauge,
        }
    }

    fn encode(self, value: f64, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
        match self {
            Metric::Counter => encoder.encode_counter::<NoLabelSet, _, f64>(&value, None),
            Metric::Gauge => encoder.encode_gauge(&value),
        }
    }
}

/// Labels of a value: pairs of name and text. The text may come from elsewhere.
pub type Labels = Vec<(&'static str, String)>;

/// A metric with a value for each set of labels.
#[derive(Debug)]
struct MetricFamily {
    name: &'static str,
    metric: Metric,
    help: &'static str,
    values: Vec<(Labels, f64)>,
}

/// A set of metrics whose names share a prefix.
#[derive(Debug)]
pub struct Exposition {
    prefix: &'static str,
    families: Vec<MetricFamily>,
}

impl Exposition {
    /// An empty set; every metric's name will begin with `prefix`.
    pub fn new(prefix: &'static str) -> Exposition {
        Exposition {
            prefix,
            families: Vec::new(),
        }
    }

    /// Adds a metric with a value for each set of labels.
    pub fn family(
        &mut self,
        name: &'static str,
        metric: Metric,
        help: &'static str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let safe = |(mut labels, value): (Labels, f64)| {
            for (_, text) in &mut labels {
                *text = escaped(text);
            }
            (labels, value)
        };
        self.families.push(MetricFamily {
            name,
            metric,
            help,
            values: values.into_iter().map(safe).collect(),
        });
    }

    /// The text of all metrics.
    pub fn finish(self) -> String {
        let mut registry = Registry::with_prefix(self.prefix);
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.families {
            let kind = family.metric.kind();
            let mut each = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            for (labels, value) in &family.values {
                // The library writes an empty set as `{}`.
                if labels.is_empty() {
                    family.metric.encode(*value, &mut each)?;
                } else {
                    let mut labelled = each.encode_family(labels)?;
                    family.metric.encode(*value, &mut labelled)?;
                }
            }
        }
        Ok(())
    }
}

/// A label's value, escaped, in one line. The library writes values as they are.
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
            "# HELP a_b_bytes Bytes\n# TYPE a_b_bytes counter\n\
             a_b_bytes_total{by=\"x\\\"} 1\\\\nb 2\\\\u001b[2J\\\\\"} 3.0\n\
             # HELP a_c Ratio\n# TYPE a_c gauge\na_c NaN\n# EOF\n"
        );
    }
}
