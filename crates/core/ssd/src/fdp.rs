//! Flexible Data Placement: the device as a host sees it through placement identifiers.
//!
//! [`FdpDevice`] is what an NVMe front end needs of an endurance group with Flexible Data Placement
//! enabled: everything but the bytes of commands and log pages. The rules are those of the NVM
//! Express Base Specification 2.2, §8.1.10 and the log pages and commands it names; sections of
//! that document are meant below.
//!
//! ```
//! use anabranch_ssd::{
//!     PageRange,
//!     fdp::{FdpDevice, FdpOptions, PlacementIdentifier},
//!     profile::Profile,
//! };
//!
//! let drive = Profile::shipped("fdp-8ruh")?.resolve("fdp-8ruh")?;
//! let mut device = FdpDevice::new(&drive, &FdpOptions::default())?;
//! // The placement handles 0 and 1 of namespace 1 are reclaim unit handles 2 and 5.
//! device.create_namespace(1, &[2, 5])?;
//! device.write(1, PageRange::new(0, 100), Some(PlacementIdentifier(1)))?;
//! assert_eq!(device.statistics().host_bytes, 100 * 4096);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod configuration;
mod error;
mod events;
mod namespaces;
mod placement;
mod recorder;
mod saved;
mod statistics;
mod status;

pub use configuration::{FdpConfiguration, FdpOptions, HandleType};
pub use error::FdpError;
pub use events::{
    EVENTS_KEPT, EventDetail, EventLocation, FdpEvent, FdpEventKind, FdpEventKinds, FdpEvents,
};
pub use namespaces::HandleUsage;
pub use placement::PlacementIdentifier;
use recorder::Recorder;
pub use statistics::FdpStatistics;
pub use status::UnitStatus;

use crate::{
    config::Config,
    counters::Counters,
    device::Device,
    error::Inconsistency,
    observe::Observe,
    relocate::fdp::{Fdp, internal_streams},
    types::{PageRange, StreamId},
};
use namespaces::Namespaces;

/// Treatment of the units that handles reference when the controller is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AtReset {
    /// They go on being filled: a drive that protects its buffers from power loss.
    #[default]
    Keep,
    /// They are closed before they are full, and an event (2h) is recorded for each handle.
    Close,
}

/// A device whose host places data by reclaim unit handle and reclaim group.
///
/// Of the device's host streams, `handles` in a row are the handles of one reclaim group: handle
/// `h` in group `g` is stream `g × handles + h`. `O` watches the flash, as it does a [`Device`].
#[derive(Debug)]
pub struct FdpDevice<O: Observe = ()> {
    device: Device<O>,
    relocation: Fdp<Recorder>,
    configuration: FdpConfiguration,
    namespaces: Namespaces,
    /// The group that each handle's writes without a directive go to while its unit there has room.
    chosen_group: Vec<u32>,
    /// The device's counters when the statistics were last cleared.
    cleared_at: Counters,
    /// Time on the device's clock, in milliseconds, before which no unit reaches the time limit.
    next_limit_ms: u64,
}

impl FdpDevice {
    /// An empty device. Its internal streams are those its handles' types need, whatever `drive`
    /// says.
    ///
    /// # Errors
    /// When `drive` describes a device that cannot be, or placement identifiers cannot tell its groups and handles
    /// apart.
    pub fn new(drive: &Config, options: &FdpOptions) -> Result<FdpDevice, FdpError> {
        FdpDevice::watched(drive, options, ())
    }
}

impl<O: Observe> FdpDevice<O> {
    /// An empty device whose flash operations `observer` is told of.
    ///
    /// # Errors
    /// When `drive` describes a device that cannot be, or placement identifiers cannot tell its groups and handles
    /// apart.
    pub fn watched(
        drive: &Config,
        options: &FdpOptions,
        observer: O,
    ) -> Result<FdpDevice<O>, FdpError> {
        let config = Config {
            internal_streams: internal_streams(drive),
            ..drive.clone()
        };
        config.validate()?;
        let configuration = FdpConfiguration::of(&config, options)?;
        let relocation = Fdp::heard_by(Recorder::new(&config), &config);
        Ok(FdpDevice {
            device: Device::watched(config, &relocation, observer)?,
            relocation,
            namespaces: Namespaces::new(&configuration),
            chosen_group: vec![0; usize::from(configuration.handles)],
            cleared_at: Counters::default(),
            next_limit_ms: 0,
            configuration,
        })
    }

    /// The device that the placement identifiers lead to.
    pub fn device(&self) -> &Device<O> {
        &self.device
    }

    /// The observer of the flash operations, to be asked or told more.
    pub fn observer_mut(&mut self) -> &mut O {
        self.device.observer_mut()
    }

    /// The FDP configuration: one entry of log page 20h.
    pub fn configuration(&self) -> &FdpConfiguration {
        &self.configuration
    }

    /// The stream of a handle in a reclaim group.
    pub fn stream(&self, group: u32, handle: u16) -> StreamId {
        StreamId(group as u16 * self.configuration.handles + handle)
    }

    /// Reclaim group and handle of a host stream.
    pub fn location(&self, stream: StreamId) -> EventLocation {
        self.relocation.listener.location(stream)
    }

    /// Creates a namespace. Its placement handles 0, 1, … stand for the reclaim unit `handles` listed; if the list is
    /// empty, the controller picks one handle.
    ///
    /// # Errors
    /// When the namespace exists, there are too many, or the list is not one of the device's
    /// handles, each at most once.
    pub fn create_namespace(&mut self, namespace: u32, handles: &[u16]) -> Result<(), FdpError> {
        self.namespaces.create(namespace, handles)
    }

    /// Uses only the first `handles` handles from now on, as an FDP configuration without the others would.
    ///
    /// # Errors
    /// When a namespace exists.
    pub fn use_handles(&mut self, handles: u16) -> Result<(), FdpError> {
        let handles = handles.clamp(1, self.configuration.handles);
        self.namespaces.limit(handles)
    }

    /// Deletes a namespace. The front end must discard its data itself.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn delete_namespace(&mut self, namespace: u32) -> Result<(), FdpError> {
        self.namespaces.delete(namespace)
    }

    /// Returns the use of each handle, in order (log page 21h).
    pub fn usage(&self) -> Vec<HandleUsage> {
        self.namespaces.usage()
    }

    /// The host writes a run of pages. With a placement identifier they go where it says; an invalid identifier is
    /// recorded (event 3h), and the write treated as one without. A write without goes to placement handle 0, in the
    /// reclaim group with the most room.
    ///
    /// A reclaim group full of valid data continues in another (the device's counters count `misplaced_pages`).
    ///
    /// # Errors
    /// When there is no such namespace, or [`Device::write`] fails.
    pub fn write(
        &mut self,
        namespace: u32,
        pages: PageRange,
        placement: Option<PlacementIdentifier>,
    ) -> Result<(), FdpError> {
        let stream = self.place(namespace, placement)?;
        Ok(self.device.write(&mut self.relocation, pages, stream)?)
    }

    /// The host writes single pages, in order, to one placement, as [`FdpDevice::write`] does.
    ///
    /// # Errors
    /// When there is no such namespace, or [`Device::write_scattered`] fails.
    pub fn write_scattered(
        &mut self,
        namespace: u32,
        pages: &[u32],
        placement: Option<PlacementIdentifier>,
    ) -> Result<(), FdpError> {
        let stream = self.place(namespace, placement)?;
        Ok(self
            .device
            .write_scattered(&mut self.relocation, pages, stream)?)
    }

    /// The host discards a run of pages.
    ///
    /// # Errors
    /// When the run leaves the drive, or the drive is read-only.
    pub fn discard(&mut self, pages: PageRange) -> Result<(), FdpError> {
        Ok(self.device.discard(pages)?)
    }

    /// Each placement identifier's handle goes on with an empty reclaim unit (I/O Management
    /// Send, Reclaim Unit Handle Update). One whose unit is empty keeps it. Where a unit had room
    /// left, event 0h says how much.
    ///
    /// # Errors
    /// When there are too many identifiers or one is invalid (then nothing is done), or the drive
    /// is read-only.
    pub fn update(
        &mut self,
        namespace: u32,
        placements: &[PlacementIdentifier],
    ) -> Result<(), FdpError> {
        // Those of the FDP configuration in use, as log page 20h tells them.
        let all = self.configuration.groups * u32::from(self.namespaces.usable_handles());
        let most = all.min(self.configuration.max_placement_identifiers.into()) as u16;
        if placements.len() > usize::from(most) {
            return Err(FdpError::TooManyIdentifiers {
                identifiers: placements.len(),
                most,
            });
        }
        let resolve = |&placement| {
            let found = self.find(namespace, placement)?;
            Ok((placement, found.ok_or(FdpError::Invalid(placement))?))
        };
        let streams: Result<Vec<_>, FdpError> = placements.iter().map(resolve).collect();
        for (placement, stream) in streams? {
            let unwritten = self.device.finish_unit(stream)?;
            if unwritten > 0 {
                let page_bytes = u64::from(self.device.config().page_bytes);
                let detail = EventDetail::Unwritten {
                    bytes: u64::from(unwritten) * page_bytes,
                };
                let event = FdpEvent {
                    placement: Some(placement),
                    namespace: Some(namespace),
                    detail,
                    ..FdpEvent::new(FdpEventKind::NotFullyWritten)
                };
                self.relocation.listener.record(stream, event);
            }
        }
        Ok(())
    }

    /// The reclaim unit of each placement handle in each reclaim group, in the order of a Reclaim
    /// Unit Handle Status: by placement handle, then by group.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn status(&self, namespace: u32) -> Result<Vec<UnitStatus>, FdpError> {
        let mut units = Vec::new();
        for (placement_handle, &handle) in (0..).zip(self.namespaces.handles(namespace)?) {
            for group in 0..self.configuration.groups {
                units.extend(self.unit_status(placement_handle, group, handle));
            }
        }
        Ok(units)
    }

    /// The three counters of log page 22h, since they were last cleared.
    pub fn statistics(&self) -> FdpStatistics {
        let since = self.device.counters().since(&self.cleared_at);
        FdpStatistics::of(&since, self.device.config())
    }

    /// The events of log page 23h.
    pub fn events(&self) -> &FdpEvents {
        self.relocation.listener.events()
    }

    /// The kinds of events that are recorded of a handle; none until the host enables some.
    ///
    /// # Errors
    /// When there is no such namespace, or it has no such placement handle.
    pub fn enabled_events(
        &self,
        namespace: u32,
        placement_handle: u16,
    ) -> Result<FdpEventKinds, FdpError> {
        let handle = self.namespaces.handle(namespace, placement_handle)?;
        Ok(self.relocation.listener.enabled(handle))
    }

    /// Enables or disables recording of events of a handle, in all reclaim groups and for all
    /// namespaces that share it (feature 1Eh).
    ///
    /// # Errors
    /// When there is no such namespace, or it has no such placement handle.
    pub fn enable_events(
        &mut self,
        namespace: u32,
        placement_handle: u16,
        kinds: FdpEventKinds,
        enable: bool,
    ) -> Result<(), FdpError> {
        let handle = self.namespaces.handle(namespace, placement_handle)?;
        self.relocation.listener.enable(handle, kinds, enable);
        Ok(())
    }

    /// Clears statistics and events, as a change of the FDP feature (1Dh) does.
    pub fn clear(&mut self) {
        self.cleared_at = *self.device.counters();
        self.relocation.listener.clear();
    }

    /// Performs a controller level reset. An event (2h) is recorded for each handle whose unit it closes. Afterwards no
    /// kind of event is enabled: the host must enable them again (§8.1.10).
    ///
    /// # Errors
    /// When the drive is read-only and units were to be closed.
    pub fn reset(&mut self, units: AtReset) -> Result<(), FdpError> {
        if units == AtReset::Close {
            for stream in (0..self.device.config().host_streams).map(StreamId) {
                if self.device.finish_unit(stream)? > 0 {
                    let event = FdpEvent::new(FdpEventKind::ResetModifiedHandles);
                    self.relocation.listener.record(stream, event);
                }
            }
        }
        self.relocation.listener.disable_all();
        Ok(())
    }

    /// Checks that the device is consistent; for tests.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn verify(&self) -> Result<(), Inconsistency> {
        self.device.verify()
    }
}
