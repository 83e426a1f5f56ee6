//! Log pages 20h to 23h: Flexible Data Placement (§5.1.12.1.28 to .31).

use anabranch_ssd::fdp::{FdpConfiguration, FdpEvent, HandleType, HandleUsage};

use super::{Request, identify::ENDURANCE_GROUP};
use crate::{completion::Status, drive::Watch, namespace::MOST_NAMESPACES, wire::put};

/// FDP Configuration Valid.
const VALID: u8 = 1 << 7;
/// Bytes of an event, and of the log's header.
const EVENT: usize = 64;
/// Flags of an event: placement identifier, namespace and location are valid.
const HAS_PLACEMENT: u8 = 1;
const HAS_NAMESPACE: u8 = 1 << 1;
const HAS_LOCATION: u8 = 1 << 2;

impl Request<'_> {
    fn fdp<T>(
        &self,
        read: impl FnOnce(&anabranch_ssd::fdp::FdpDevice<Watch>) -> T,
    ) -> Result<T, Status> {
        // The log specific identifier is the endurance group.
        if (self.command.dword(11) >> 16) as u16 != ENDURANCE_GROUP {
            return Err(Status::INVALID_FIELD);
        }
        let drive = self.target.drive();
        if drive.fdp_configuration().is_none() {
            return Err(Status::FDP_DISABLED);
        }
        let device = drive.as_fdp().ok_or(Status::INVALID_LOG_PAGE)?;
        Ok(read(device))
    }

    /// FDP Configurations (20h), of which one may be enabled.
    pub(super) fn fdp_configurations(&self) -> Result<Vec<u8>, Status> {
        const HEADER: usize = 16;
        if (self.command.dword(11) >> 16) as u16 != ENDURANCE_GROUP {
            return Err(Status::INVALID_FIELD);
        }
        let drive = self.target.drive();
        let device = drive.as_fdp().ok_or(Status::INVALID_LOG_PAGE)?;
        let handles = drive.fdp_handles();
        let mut page = vec![0; HEADER];
        for &handles in &handles {
            page.extend(descriptor(device.configuration(), handles));
        }
        // Their number is 0's based.
        let count = handles.len().saturating_sub(1) as u16;
        put(&mut page, 0, &count.to_le_bytes());
        let size = page.len() as u32;
        put(&mut page, 4, &size.to_le_bytes());
        Ok(page)
    }

    /// Reclaim Unit Handle Usage (21h).
    pub(super) fn fdp_usage(&self) -> Result<Vec<u8>, Status> {
        self.fdp(|device| {
            let usage = device.usage();
            let mut page = vec![0; 8 + 8 * usage.len()];
            put(&mut page, 0, &(usage.len() as u16).to_le_bytes());
            for (index, usage) in usage.iter().enumerate() {
                let code = match usage {
                    HandleUsage::Unused => 0,
                    HandleUsage::HostSpecified => 1,
                    HandleUsage::ControllerSpecified => 2,
                };
                put(&mut page, 8 + 8 * index, &[code]);
            }
            page
        })
    }

    /// FDP Statistics (22h): HBMW, MBMW and MBE.
    pub(super) fn fdp_statistics(&self) -> Result<Vec<u8>, Status> {
        self.fdp(|device| {
            let statistics = device.statistics();
            let mut page = vec![0; 64];
            put(&mut page, 0, &statistics.host_bytes.to_le_bytes());
            put(&mut page, 16, &statistics.media_bytes.to_le_bytes());
            put(&mut page, 32, &statistics.erased_bytes.to_le_bytes());
            page
        })
    }

    /// FDP Events (23h): the host's or the controller's.
    pub(super) fn fdp_events(&self) -> Result<Vec<u8>, Status> {
        // Log specific parameter: FDP Event Report Type.
        let of_host = self.command.dword(10) >> 8 & 1 != 0;
        self.fdp(|device| {
            let events: Vec<FdpEvent> = if of_host {
                device.events().host().copied().collect()
            } else {
                device.events().controller().copied().collect()
            };
            let mut page = vec![0; EVENT];
            put(&mut page, 0, &(events.len() as u32).to_le_bytes());
            events.iter().for_each(|event| page.extend(encode(event)));
            page
        })
    }
}

/// A configuration with the device's first handles.
fn descriptor(configuration: &FdpConfiguration, handles: u16) -> Vec<u8> {
    const DESCRIPTOR: usize = 64;
    let types = configuration.handle_types.iter().take(handles.into());
    // Descriptors are of whole 8 bytes (our choice, as other emulators have it).
    let size = (DESCRIPTOR + 4 * types.len()).next_multiple_of(8);
    let mut page = vec![0; size];
    put(&mut page, 0, &(size as u16).to_le_bytes());
    put(&mut page, 2, &[configuration.group_bits & 0xf | VALID]);
    put(&mut page, 4, &configuration.groups.to_le_bytes());
    put(&mut page, 8, &handles.to_le_bytes());
    let all = configuration.groups * u32::from(handles);
    let most = (all.max(1) - 1).min(u16::MAX.into()) as u16;
    put(&mut page, 10, &most.to_le_bytes());
    // As many namespaces as the controller has (NN), where the device would have more.
    let namespaces = configuration.namespaces.min(MOST_NAMESPACES);
    put(&mut page, 12, &namespaces.to_le_bytes());
    put(&mut page, 16, &configuration.unit_bytes.to_le_bytes());
    let limit = configuration.time_limit_seconds;
    put(&mut page, 24, &limit.to_le_bytes());
    for (index, kind) in types.enumerate() {
        let code = match kind {
            HandleType::InitiallyIsolated => 1,
            HandleType::PersistentlyIsolated => 2,
        };
        put(&mut page, DESCRIPTOR + 4 * index, &[code]);
    }
    page
}

fn encode(event: &FdpEvent) -> [u8; EVENT] {
    let mut bytes = [0; EVENT];
    let flag = |present, flag| if present { flag } else { 0 };
    let flags = flag(event.placement.is_some(), HAS_PLACEMENT)
        | flag(event.namespace.is_some(), HAS_NAMESPACE)
        | flag(event.location.is_some(), HAS_LOCATION);
    put(&mut bytes, 0, &[event.kind.code(), flags]);
    if let Some(placement) = event.placement {
        put(&mut bytes, 2, &placement.0.to_le_bytes());
    }
    // 48 bits of milliseconds, as in the Timestamp feature.
    put(&mut bytes, 4, &event.timestamp_ms.to_le_bytes()[..6]);
    if let Some(namespace) = event.namespace {
        put(&mut bytes, 12, &namespace.to_le_bytes());
    }
    if let Some(location) = event.location {
        put(&mut bytes, 32, &(location.group as u16).to_le_bytes());
        put(&mut bytes, 34, &[location.handle as u8]);
    }
    // What the unit had room for, or what was moved, has no field but the vendor's (our choice).
    let detail = match event.detail {
        anabranch_ssd::fdp::EventDetail::None => 0,
        anabranch_ssd::fdp::EventDetail::Unwritten { bytes }
        | anabranch_ssd::fdp::EventDetail::Moved { bytes } => bytes,
    };
    put(&mut bytes, 40, &detail.to_le_bytes());
    bytes
}
