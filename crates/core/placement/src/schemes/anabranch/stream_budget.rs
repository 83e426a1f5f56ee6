//! The streams and the units that there are.

use anabranch_ssd::StreamId;

use super::classes::MOST_CLASSES;
use crate::geometry::HostGeometry;

/// The streams and the units of a drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamBudget {
    pub host_streams: u16,
    pub internal_streams: u16,
    pub pages_per_unit: u32,
    spare_units: u32,
}

impl StreamBudget {
    pub fn new(geometry: &HostGeometry) -> StreamBudget {
        let data_units = geometry.logical_pages / geometry.pages_per_unit.max(1);
        StreamBudget {
            host_streams: geometry.host_streams.max(1),
            internal_streams: geometry.internal_streams,
            pages_per_unit: geometry.pages_per_unit,
            spare_units: geometry.physical_units.saturating_sub(data_units),
        }
    }

    /// The same streams and units on a miniature whose units have so many pages.
    pub fn shrunk(self, pages_per_unit: u32) -> StreamBudget {
        StreamBudget {
            pages_per_unit,
            ..self
        }
    }

    pub fn count(&self) -> u16 {
        self.host_streams.saturating_add(self.internal_streams)
    }

    /// As many classes as asked for, if there are streams and units for them: an open unit is
    /// half empty in the mean, and all of them together shall not take more than half of the
    /// spare room; two are always allowed.
    pub fn classes(&self, wanted: u32) -> u8 {
        let by_units = self.spare_units.max(2);
        let most = (MOST_CLASSES as u32).min(self.host_streams.into());
        wanted.min(by_units).clamp(1, most) as u8
    }

    /// As many classes as there are streams and units for.
    pub fn most_classes(&self) -> u8 {
        self.classes(MOST_CLASSES as u32)
    }

    pub fn streams(&self) -> impl Iterator<Item = StreamId> + use<> {
        (0..self.count()).map(StreamId)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;

    pub fn budget(host_streams: u16, internal_streams: u16) -> StreamBudget {
        StreamBudget::new(&HostGeometry {
            host_streams,
            internal_streams,
            ..DRIVE
        })
    }

    #[test]
    fn classes_are_no_more_than_streams_and_spare_units() {
        // 64 pages are 8 units of the 12.
        assert_eq!(budget(8, 0).classes(6), 4);
        assert_eq!(budget(3, 0).classes(6), 3);
        let tight = StreamBudget::new(&HostGeometry {
            physical_units: 9,
            ..DRIVE
        });
        assert_eq!(tight.classes(6), 2);
        assert_eq!(tight.classes(0), 1);
    }
}
