//! The form of a scheme on a sampled drive.

use std::sync::Arc;

use super::SchemeSpec;

impl SchemeSpec {
    /// Whether it goes by requests and their neighbourhood, and not by pages.
    pub fn goes_by_requests(&self) -> bool {
        self.host.goes_by_requests()
    }

    /// The same scheme, under the same name, for a sampled drive of whose pages each stands for `one_of`: 500 pages of
    /// the drive are 500 / `one_of` there.
    pub fn sampled(&self, one_of: u32) -> SchemeSpec {
        let host = self.host.sampled(one_of);
        SchemeSpec {
            host: host.unwrap_or_else(|| Arc::clone(&self.host)),
            ..self.clone()
        }
    }

    /// Reason that it cannot be sampled, if it cannot.
    pub fn unsampled(&self) -> Option<&'static str> {
        self.host.unsampled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> SchemeSpec {
        text.parse().unwrap()
    }

    fn settings(spec: &SchemeSpec) -> String {
        format!("{:?}", spec.host)
    }

    #[test]
    fn pages_are_counted_in_those_of_the_sample() {
        let cases = [
            (
                "pcstream:samples=400,table=64MiB",
                4,
                "pcstream:samples=100,table=16MiB",
            ),
            ("pcstream*:samples=3", 8, "pcstream*:samples=1,table=8MiB"),
            ("midas", 32, "midas:sample=3"),
            ("midas", 1, "midas:sample=100"),
            ("sepbit:classes=5", 64, "sepbit:classes=5"),
            ("pcstream-fcfs", 64, "pcstream-fcfs"),
        ];
        for (whole, one_of, equal) in cases {
            let sampled = spec(whole).sampled(one_of);
            assert_eq!(
                settings(&sampled),
                settings(&spec(equal)),
                "{whole} at 1/{one_of}"
            );
        }
    }

    #[test]
    fn what_a_sampled_scheme_is_called_is_what_was_asked_for() {
        let whole = spec("pcstream+gc:samples=400,tenants=2");
        let sampled = whole.sampled(16);
        assert_eq!(sampled.name(), whole.name());
        assert_eq!(sampled.parameters, whole.parameters);
        assert_eq!(
            (sampled.relocation, sampled.tenants),
            (whole.relocation, whole.tenants)
        );
    }
}
