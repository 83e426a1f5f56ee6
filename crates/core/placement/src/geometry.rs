//! The properties of a drive that a scheme knows.

use anabranch_ssd::Config;

/// The properties of a drive that a scheme must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostGeometry {
    /// Logical pages of the drive.
    pub logical_pages: u32,
    /// Bytes in a page, at least 1.
    pub page_bytes: u32,
    /// Streams the host may name, at least 1.
    pub host_streams: u16,
    /// Streams only garbage collection writes: `host_streams..host_streams + internal_streams`.
    pub internal_streams: u16,
    /// Pages in a reclaim unit.
    pub pages_per_unit: u32,
    /// Number of reclaim units.
    pub physical_units: u32,
}

impl HostGeometry {
    /// The properties of a drive that a scheme must know, with all of the drive's internal streams.
    pub fn of(drive: &Config) -> HostGeometry {
        HostGeometry {
            logical_pages: drive.logical_pages,
            page_bytes: drive.page_bytes,
            host_streams: drive.host_streams,
            internal_streams: drive.internal_streams,
            pages_per_unit: drive.pages_per_unit,
            physical_units: drive.physical_units,
        }
    }

    /// A drive of this geometry as it would be sold: greedy victims, one reclaim group, no faults.
    pub fn drive(&self) -> Config {
        Config {
            page_bytes: self.page_bytes,
            host_streams: self.host_streams,
            internal_streams: self.internal_streams,
            ..Config::new(self.logical_pages, self.pages_per_unit, self.physical_units)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A drive with eight host streams and eight internal ones.
    pub(crate) const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 10_000,
        page_bytes: 4096,
        host_streams: 8,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };
}
