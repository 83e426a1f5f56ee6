//! The three counters of log page 22h.

use serde::{Deserialize, Serialize};

use crate::{config::Config, counters::Counters};

/// Counts of written and erased data. The log page's fields stop at their largest value; these come from
/// 64-bit counts of pages and never get there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FdpStatistics {
    /// Bytes the host wrote (HBMW).
    pub host_bytes: u128,
    /// Bytes of user data written to the media, by the host and by the controller (MBMW). What a
    /// unit closed early leaves unwritten is no user data, and is not counted (§5.1.12.1.30; some
    /// emulators count it).
    pub media_bytes: u128,
    /// Bytes erased (MBE): whole reclaim units.
    pub erased_bytes: u128,
}

impl FdpStatistics {
    pub(super) fn of(counters: &Counters, config: &Config) -> FdpStatistics {
        let page_bytes = u128::from(config.page_bytes);
        FdpStatistics {
            host_bytes: u128::from(counters.host_pages) * page_bytes,
            media_bytes: u128::from(counters.media_pages()) * page_bytes,
            erased_bytes: u128::from(counters.erased_units) * u128::from(config.unit_bytes()),
        }
    }

    /// Write amplification: media bytes over host bytes; `None` before the first write.
    pub fn waf(&self) -> Option<f64> {
        (self.host_bytes > 0).then(|| self.media_bytes as f64 / self.host_bytes as f64)
    }
}
