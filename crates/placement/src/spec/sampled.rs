//! The form of a scheme on a sampled drive.

use super::SchemeSpec;

impl SchemeSpec {
    /// Whether it goes by requests and their neighbourhood, and not by pages.
    pub fn goes_by_requests(&self) -> bool {
        self.host.goes_by_requests()
    }

    /// Why it cannot be sampled, if it cannot.
    pub fn unsampled(&self) -> Option<&'static str> {
        self.host.unsampled()
    }
}
