//! A device with Flexible Data Placement, saved and made again.

use super::{FdpConfiguration, FdpDevice, FdpOptions, Namespaces, Recorder};
use crate::{
    counters::Counters,
    observe::Observe,
    relocate::fdp::Fdp,
    state::{SavedDrive, StateError},
};

impl<O: Observe> FdpDevice<O> {
    /// Writes the device, as [`Device::save`](crate::Device::save) does. With
    /// [`FdpDevice::cleared_at`] it is all that outlives a power cycle: events, and which of them are
    /// recorded, do not; namespaces are the front end's.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn save(&self, to: impl std::io::Write) -> Result<(), StateError> {
        self.device.save(&self.relocation, to)
    }

    /// The same without the mapping, as [`Device::save_around`](crate::Device::save_around).
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn save_around(&self, to: impl std::io::Write) -> Result<(), StateError> {
        self.device.save_around(&self.relocation, to)
    }

    /// The device's counters when the statistics were last cleared.
    pub fn cleared_at(&self) -> &Counters {
        &self.cleared_at
    }

    /// The device that was saved, without namespaces and with nothing under way.
    ///
    /// # Errors
    /// When the mapping contradicts itself, the relocation was another's, or the counters are less
    /// than when they were cleared.
    pub fn resume(
        saved: SavedDrive,
        options: &FdpOptions,
        cleared_at: Counters,
        observer: O,
    ) -> Result<FdpDevice<O>, StateError> {
        let config = saved.config().clone();
        let configuration = FdpConfiguration::of(&config, options)
            .map_err(|error| StateError::Inconsistent(error.to_string()))?;
        let now = saved.counters();
        let later = now.host_pages >= cleared_at.host_pages
            && now.copied_pages >= cleared_at.copied_pages
            && now.erased_units >= cleared_at.erased_units;
        if !later {
            return Err(StateError::Inconsistent(
                "its counters are less than when they were cleared".to_owned(),
            ));
        }
        let mut relocation = Fdp::heard_by(Recorder::new(&config), &config);
        let device = saved.resume(&mut relocation, observer)?;
        Ok(FdpDevice {
            namespaces: Namespaces::new(&configuration),
            chosen_group: vec![0; usize::from(configuration.handles)],
            cleared_at,
            next_limit_ms: 0,
            device,
            relocation,
            configuration,
        })
    }
}
