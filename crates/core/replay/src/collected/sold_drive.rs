//! The drive as sold: a black box that takes tagged writes and discards, and relocates by its own rule.

use anabranch_placement::Collection;
use anabranch_ssd::{
    Config, Device, DeviceError, PageRange, StreamId,
    relocate::{Relocate, RelocationKind},
    time::{Request, TimedDevice},
};

use super::CollectError;
use crate::{any_device::AnyDevice, clock::Clock, draw::Draw};

/// A drive as sold, and the disturbances between it and the host.
#[derive(Debug)]
pub(super) struct SoldDrive {
    device: AnyDevice,
    relocation: Box<dyn Relocate>,
    draw: Draw,
    /// Pages written that were not this host's.
    foreign_pages: u64,
    tenant: Option<Tenant>,
    /// Writes under way, of which the drive may take any next.
    under_way: Vec<(u32, StreamId)>,
    most_under_way: usize,
    /// All that was sent, for tests.
    #[cfg(test)]
    pub(super) sent: Vec<Sent>,
}

/// A command of the host to the drive.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent {
    Write(u32, StreamId),
    Discard(PageRange),
}

/// Another host on the same drive, which overwrites its pages at random.
#[derive(Debug)]
struct Tenant {
    pages: PageRange,
    /// Its writes for each of ours.
    rate: f64,
    due: f64,
}

/// The relocation of a drive as sold: one unit of copies for all handles, and one for each handle that is persistently
/// isolated.
pub(crate) fn relocation_of(drive: &Config) -> RelocationKind {
    if drive.persistently_isolated > 0 {
        RelocationKind::Fdp
    } else {
        RelocationKind::Gc
    }
}

impl SoldDrive {
    pub(super) fn new(
        drive: &Config,
        clock: Option<&Clock>,
        collection: &Collection,
    ) -> Result<SoldDrive, CollectError> {
        let tenant = tenant(drive, collection);
        let tenant_pages = tenant.as_ref().map_or(0, |tenant| tenant.pages.count);
        let kind = relocation_of(drive);
        let mut config = Config {
            internal_streams: kind.internal_streams(drive),
            logical_pages: drive.logical_pages.saturating_add(tenant_pages),
            ..drive.clone()
        };
        // The other host has room of its own, with as much spare as ours.
        let more = u64::from(tenant_pages) * u64::from(drive.physical_units)
            / u64::from(drive.logical_units().max(1))
            / u64::from(drive.pages_per_unit.max(1));
        config.physical_units = config.physical_units.saturating_add(more as u32);
        let (relocation, seed) = (kind.build(&config), drive.seed);
        let device = match clock {
            None => AnyDevice::Counted(Box::new(Device::new(config, &*relocation)?)),
            Some(Clock {
                timing,
                layout,
                issue,
            }) => {
                let device = TimedDevice::new(config, *timing, *layout, *issue, &*relocation)?;
                AnyDevice::Timed(Box::new(device))
            }
        };
        Ok(SoldDrive {
            device,
            relocation,
            draw: Draw::new(seed ^ 0xd157_ab1e),
            foreign_pages: 0,
            tenant,
            under_way: Vec::new(),
            most_under_way: collection.jitter as usize,
            #[cfg(test)]
            sent: Vec::new(),
        })
    }

    pub(super) fn device(&self) -> &AnyDevice {
        &self.device
    }

    /// The device, where requests take time.
    pub(super) fn timed(&mut self) -> Option<&mut TimedDevice> {
        match &mut self.device {
            AnyDevice::Counted(_) => None,
            AnyDevice::Timed(timed) => Some(timed),
        }
    }

    /// Lets the next thing happen unless a request that arrives then may be issued. Answers whether it may.
    pub(super) fn step_to_turn(&mut self, time_ns: u64) -> bool {
        self.timed().is_none_or(|timed| timed.step_to_turn(time_ns))
    }

    /// Lets the next thing happen. Answers whether there was one.
    pub(super) fn step(&mut self) -> bool {
        self.timed().is_some_and(TimedDevice::step)
    }

    /// Writes survivors anew. `tag` names the rewrite, where requests take time.
    pub(super) fn rewrite(
        &mut self,
        tag: u64,
        pages: &[u32],
        handle: StreamId,
    ) -> Result<(), DeviceError> {
        match &mut self.device {
            AnyDevice::Counted(_) => self.write(0, pages, handle),
            AnyDevice::Timed(timed) => timed.rewrite(&mut *self.relocation, tag, pages, handle),
        }
    }

    /// Issues a write that has no pages yet.
    pub(super) fn begin_write(&mut self, time_ns: u64) {
        if let AnyDevice::Timed(timed) = &mut self.device {
            timed.begin_write(&mut *self.relocation, time_ns);
        }
    }

    /// Lets time pass until nothing is under way.
    pub(super) fn drain(&mut self) {
        self.device.drain();
    }

    pub(super) fn end_write(&mut self) {
        self.device.end_write();
    }

    pub(super) fn wait_for(&mut self, time_ns: u64, request: Request) -> Result<(), DeviceError> {
        self.device
            .wait_for(&mut *self.relocation, time_ns, request)
    }

    /// Pages written that were not this host's.
    pub(super) fn foreign_pages(&self) -> u64 {
        self.foreign_pages
    }

    /// Writes under way.
    pub(super) fn under_way(&self) -> u64 {
        self.under_way.len() as u64
    }

    /// Pages that hold data which are not this host's.
    pub(super) fn foreign_mapped_pages(&self) -> u64 {
        let pages = |tenant: &Tenant| u64::from(tenant.pages.count);
        self.tenant.as_ref().map_or(0, pages)
    }

    /// State before the host came: the other host's data, and units begun.
    pub(super) fn before(&mut self, phase: f64) -> Result<(), DeviceError> {
        if let Some(tenant) = &self.tenant {
            let pages = tenant.pages;
            self.foreign_pages += u64::from(pages.count);
            self.device
                .write(&mut *self.relocation, 0, pages, StreamId::DEFAULT)?;
        }
        let config = self.device.config().clone();
        let begun = (f64::from(config.pages_per_unit) * phase) as u32;
        let begun = PageRange::new(0, begun.min(config.logical_pages));
        if begun.count > 0 {
            for stream in (0..config.host_streams).map(StreamId) {
                self.foreign_pages += u64::from(begun.count);
                self.device.write(&mut *self.relocation, 0, begun, stream)?;
            }
            self.device.discard(&mut *self.relocation, 0, begun)?;
        }
        Ok(())
    }

    /// Writes pages, in order, with a handle.
    pub(super) fn write(
        &mut self,
        time_ns: u64,
        pages: &[u32],
        handle: StreamId,
    ) -> Result<(), DeviceError> {
        #[cfg(test)]
        self.sent
            .extend(pages.iter().map(|&page| Sent::Write(page, handle)));
        if self.most_under_way == 0 {
            self.device
                .write_scattered(&mut *self.relocation, time_ns, pages, handle)?;
        } else {
            for &page in pages {
                self.under_way.push((page, handle));
                if self.under_way.len() > self.most_under_way {
                    self.take_any()?;
                }
            }
        }
        self.write_of_tenant(pages.len())
    }

    /// Performs a write under way, any one but those whose page an earlier one writes.
    fn take_any(&mut self) -> Result<(), DeviceError> {
        let drawn = self.draw.below(self.under_way.len() as u32) as usize;
        let page = self.under_way[drawn].0;
        let first = self.under_way.iter().position(|one| one.0 == page);
        let (page, handle) = self.under_way.remove(first.unwrap_or(drawn));
        self.device
            .write_scattered(&mut *self.relocation, 0, &[page], handle)
    }

    fn write_of_tenant(&mut self, ours: usize) -> Result<(), DeviceError> {
        let Some(tenant) = &mut self.tenant else {
            return Ok(());
        };
        tenant.due += tenant.rate * ours as f64;
        while tenant.due >= 1.0 {
            tenant.due -= 1.0;
            let page = tenant.pages.first + self.draw.below(tenant.pages.count);
            self.foreign_pages += 1;
            self.device.write(
                &mut *self.relocation,
                0,
                PageRange::new(page, 1),
                StreamId::DEFAULT,
            )?;
        }
        Ok(())
    }

    /// Waits for the writes under way.
    pub(super) fn settle(&mut self) -> Result<(), DeviceError> {
        for (page, handle) in std::mem::take(&mut self.under_way) {
            self.device
                .write_scattered(&mut *self.relocation, 0, &[page], handle)?;
        }
        Ok(())
    }

    /// Updates a handle: what is written with it next begins a unit.
    pub(super) fn update(&mut self, handle: StreamId) -> Result<(), DeviceError> {
        self.settle()?;
        self.device.finish_unit(handle).map(drop)
    }

    pub(super) fn discard(&mut self, time_ns: u64, pages: PageRange) -> Result<(), DeviceError> {
        self.settle()?;
        #[cfg(test)]
        self.sent.push(Sent::Discard(pages));
        self.device.discard(&mut *self.relocation, time_ns, pages)
    }
}

fn tenant(drive: &Config, collection: &Collection) -> Option<Tenant> {
    let share = collection.tenant;
    let count = (f64::from(drive.logical_pages) * share) as u32;
    (count > 0).then(|| Tenant {
        pages: PageRange::new(drive.logical_pages, count),
        rate: share / (1.0 - share),
        due: 0.0,
    })
}
