//! The translation layer behind one owner: where pages go, and what that costs.
//!
//! A synchronous value. It knows pages, streams and placement identifiers, and nothing of
//! connections or bytes.

mod changes;
mod fdp;
mod listen;
mod namespaces;
mod placement;
mod reconcile;
mod streams;
mod watch;

use anabranch_ssd::{
    Config, Counters, Device, Inconsistency, PageRange, StreamCounters, StreamId,
    fdp::FdpDevice,
    state::StateError,
    streams::{Scope, StreamTable},
    time::Flash,
};

pub use fdp::MOST_HANDLES;
pub(crate) use fdp::status as fdp_status;
pub use listen::Listen;
pub use placement::{Perform, Placement};
pub use watch::Watch;

use crate::{completion::Status, namespace::Namespaces};

/// The device of a drive whose streams are the host's or a scheme's.
pub type StreamDevice = Device<Watch>;

/// Placement hint of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// A stream identifier (Streams Directive).
    Stream(u16),
    /// A placement identifier (Data Placement Directive).
    Placement(u16),
    /// A stream of the drive, by its number: of a front end that keeps streams itself (SCSI).
    Assigned(StreamId),
}

/// Directives of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// None: the host says nothing, and a scheme may decide for it.
    Plain,
    /// The Streams Directive.
    Streams,
    /// Flexible Data Placement.
    Fdp,
}

/// A drive's translation layer, and the namespaces that lie on it.
#[derive(Debug)]
pub struct ServedDrive {
    kind: Kind,
    namespaces: Namespaces,
    /// The FDP configuration that is enabled, if any is.
    configuration: Option<u8>,
    listener: Option<Box<dyn Listen>>,
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one, for the whole time"
)]
enum Kind {
    /// Streams of the host (with a table) or of a scheme (without).
    Streams {
        device: StreamDevice,
        placement: Box<dyn Placement>,
        table: Option<StreamTable>,
    },
    Fdp(FdpDevice<Watch>),
}

impl ServedDrive {
    /// Makes a drive on which a scheme places the writes.
    pub fn plain(device: StreamDevice, placement: Box<dyn Placement>) -> ServedDrive {
        ServedDrive::of(Kind::Streams {
            device,
            placement,
            table: None,
        })
    }

    /// Makes a drive with the Streams Directive: identifiers of each host's own, or `shared` by all.
    /// Writes without an identifier go where `placement` says, and so do copies.
    pub fn streams(
        device: StreamDevice,
        placement: Box<dyn Placement>,
        shared: bool,
    ) -> ServedDrive {
        let table = StreamTable::new(device.config().host_streams - 1);
        let table = if shared {
            table.sharing_identifiers()
        } else {
            table
        };
        ServedDrive::of(Kind::Streams {
            device,
            placement,
            table: Some(table),
        })
    }

    /// Makes a drive with Flexible Data Placement.
    pub fn fdp(device: FdpDevice<Watch>) -> ServedDrive {
        ServedDrive::of(Kind::Fdp(device))
    }

    fn of(kind: Kind) -> ServedDrive {
        let none = Namespaces::new(0, 0, 0);
        let mut drive = ServedDrive {
            kind,
            namespaces: none,
            configuration: Some(0),
            listener: None,
        };
        drive.namespaces = drive.no_namespaces(0);
        drive
    }

    /// Sets the listener to writes and discards; `None` removes it.
    pub fn listen(&mut self, listener: Option<Box<dyn Listen>>) {
        self.listener = listener;
    }

    /// The device, of either kind.
    #[inline]
    fn device(&self) -> &StreamDevice {
        match &self.kind {
            Kind::Streams { device, .. } => device,
            Kind::Fdp(fdp) => fdp.device(),
        }
    }

    /// The observers of the device's flash.
    fn watch_mut(&mut self) -> &mut Watch {
        match &mut self.kind {
            Kind::Streams { device, .. } => device.observer_mut(),
            Kind::Fdp(fdp) => fdp.observer_mut(),
        }
    }

    /// Directives that the drive has.
    pub fn mode(&self) -> Mode {
        match &self.kind {
            Kind::Streams { table: None, .. } => Mode::Plain,
            Kind::Streams { .. } => Mode::Streams,
            Kind::Fdp(_) => Mode::Fdp,
        }
    }

    /// Configuration of the device.
    pub fn config(&self) -> &Config {
        self.device().config()
    }

    /// The device's counters.
    pub fn counters(&self) -> &Counters {
        self.device().counters()
    }

    /// Counters of each stream: the host's, then the internal ones.
    pub fn stream_counters(&self) -> &[StreamCounters] {
        self.device().stream_counters()
    }

    /// Pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        self.device().mapped_pages()
    }

    /// Looks up a page's place: its unit, and the page in that; `None` where it holds nothing.
    #[inline]
    pub fn locate(&self, page: u32) -> Option<(u32, u32)> {
        self.device().locate(page)
    }

    /// The drive's flash, where time is simulated.
    pub fn flash(&self) -> Option<&Flash> {
        self.device().observer().flash.as_deref()
    }

    /// The drive's flash, to report requests and the time to.
    pub fn flash_mut(&mut self) -> Option<&mut Flash> {
        self.watch_mut().flash.as_deref_mut()
    }

    /// The stream whose unit holds a page.
    pub fn stream_of(&self, page: u32) -> Option<u16> {
        let stream = self.device().stream_of(page);
        stream.map(|stream| stream.0)
    }

    /// Units of a reclaim group that are free.
    pub fn free_units(&self, group: u32) -> u32 {
        self.device().free_units(group)
    }

    /// Whether so many units have failed that the drive takes no more writes.
    pub fn is_read_only(&self) -> bool {
        self.device().is_read_only()
    }

    /// Erases of the unit erased most, and of the one erased least.
    pub fn erases(&self) -> (u32, u32) {
        let erases = self.device().erases();
        let most = erases.iter().max().copied().unwrap_or(0);
        (most, erases.iter().min().copied().unwrap_or(0))
    }

    /// Writes pages of a namespace for a host.
    ///
    /// # Errors
    /// A status of write protection when the drive is read-only; an internal error when the pages
    /// lie beyond it.
    #[inline]
    pub fn write(&mut self, scope: Scope, hint: Hint, pages: PageRange) -> Result<(), Status> {
        let (mapped, host) = (self.mapped_pages(), self.counters().host_pages);
        let written = match &mut self.kind {
            Kind::Streams {
                device,
                placement,
                table,
            } => match (hint, table) {
                (Hint::Stream(identifier), Some(table)) => {
                    let driven = (device, placement.relocation_mut());
                    streams::write(driven, table, (scope, identifier), pages)
                }
                (Hint::Assigned(stream), _) => {
                    let written = device.write(placement.relocation_mut(), pages, stream);
                    written.map_err(|error| status(&error))
                }
                _ => placement::write(device, &mut **placement, pages),
            },
            Kind::Fdp(device) => fdp::write(device, scope.namespace, hint, pages),
        };
        if let Some(namespace) = self.namespaces.get(scope.namespace) {
            let written = self.counters().host_pages - host;
            namespace.changed(mapped, self.mapped_pages(), written);
        }
        if let Some(listener) = self.listener.as_mut().filter(|_| written.is_ok()) {
            listener.written(hint, pages);
        }
        written
    }

    /// Discards pages, all of one namespace, for a host.
    ///
    /// # Errors
    /// As [`ServedDrive::write`].
    pub fn discard(&mut self, pages: PageRange) -> Result<(), Status> {
        self.record_discarded(pages);
        let mapped = self.mapped_pages();
        let discarded = match &mut self.kind {
            Kind::Streams {
                device, placement, ..
            } => placement::discard(device, &mut **placement, pages),
            Kind::Fdp(device) => device.discard(pages).map_err(|error| fdp::status(&error)),
        };
        let now = self.mapped_pages();
        if let Some(namespace) = self.namespaces.at(pages.first).filter(|_| now != mapped) {
            namespace.changed(mapped, now, 0);
        }
        if let Some(listener) = self.listener.as_mut().filter(|_| discarded.is_ok()) {
            listener.discarded(pages);
        }
        discarded
    }

    /// Closes the stream identifiers of a namespace that is formatted.
    pub fn close_streams(&mut self, namespace: u32) {
        if let Some(table) = self.table_mut() {
            table.close_namespace(namespace);
        }
    }

    /// Releases the streams of a namespace that a host holds.
    pub fn release_streams(&mut self, scope: Scope) {
        if let Some(table) = self.table_mut() {
            table.release_all(scope);
        }
    }

    /// Disables the events of Flexible Data Placement: the last controller was reset or lost.
    pub fn forget_events(&mut self) {
        if let Kind::Fdp(device) = &mut self.kind {
            // It cannot fail: with `Keep` no unit is touched.
            let _ = device.reset(anabranch_ssd::fdp::AtReset::Keep);
        }
    }

    /// Sets the device's time; reclaim units' limits run by it.
    pub fn advance(&mut self, now_ms: u64) {
        if let Kind::Fdp(device) = &mut self.kind {
            // Only a read-only drive refuses, and then no limit matters.
            let _ = device.advance(now_ms);
        }
    }

    /// Sets the time of events, as the host gives it.
    pub fn set_timestamp(&mut self, timestamp_ms: u64) {
        if let Kind::Fdp(device) = &mut self.kind {
            device.set_timestamp(timestamp_ms);
        }
    }

    /// The table of streams, where the drive has the Streams Directive.
    pub fn table(&self) -> Option<&StreamTable> {
        match &self.kind {
            Kind::Streams { table, .. } => table.as_ref(),
            Kind::Fdp(_) => None,
        }
    }

    /// The table of streams, to be changed.
    pub fn table_mut(&mut self) -> Option<&mut StreamTable> {
        match &mut self.kind {
            Kind::Streams { table, .. } => table.as_mut(),
            Kind::Fdp(_) => None,
        }
    }

    /// The device with Flexible Data Placement, if it is one.
    pub fn as_fdp(&self) -> Option<&FdpDevice<Watch>> {
        match &self.kind {
            Kind::Fdp(device) => Some(device),
            Kind::Streams { .. } => None,
        }
    }

    /// The device with Flexible Data Placement, to be changed.
    pub fn as_fdp_mut(&mut self) -> Option<&mut FdpDevice<Watch>> {
        match &mut self.kind {
            Kind::Fdp(device) => Some(device),
            Kind::Streams { .. } => None,
        }
    }

    /// Counters when the FDP statistics were last cleared; zero for a drive without.
    pub fn cleared_at(&self) -> Counters {
        self.as_fdp()
            .map_or_else(Counters::default, |fdp| *fdp.cleared_at())
    }

    /// Checks that the device is consistent; for tests.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn verify(&self) -> Result<(), Inconsistency> {
        self.device().verify()
    }
}

/// The status of what a device refuses.
pub(crate) fn status(error: &anabranch_ssd::DeviceError) -> Status {
    match error {
        anabranch_ssd::DeviceError::ReadOnly { .. } => Status::WRITE_PROTECTED,
        anabranch_ssd::DeviceError::OutOfRange { .. } => Status::LBA_OUT_OF_RANGE,
        _ => Status::INTERNAL,
    }
}

/// Pages that bytes touch.
pub fn touched(at: u64, length: u64, page_bytes: u32) -> PageRange {
    let page = u64::from(page_bytes);
    let first = at / page;
    let end = at.saturating_add(length).div_ceil(page);
    PageRange::new(first as u32, end.saturating_sub(first) as u32)
}

/// Pages that lie within bytes.
pub fn covered(at: u64, length: u64, page_bytes: u32) -> PageRange {
    let page = u64::from(page_bytes);
    let first = at.div_ceil(page);
    let end = at.saturating_add(length) / page;
    PageRange::new(first as u32, end.saturating_sub(first) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_touch_more_pages_than_they_cover() {
        assert_eq!(touched(512, 4096, 4096), PageRange::new(0, 2));
        assert_eq!(covered(512, 4096, 4096), PageRange::new(1, 0));
        assert_eq!(covered(512, 8192, 4096), PageRange::new(1, 1));
        assert_eq!(touched(4096, 4096, 4096), PageRange::new(1, 1));
        assert_eq!(covered(4096, 4096, 4096), PageRange::new(1, 1));
        assert_eq!(touched(4096, 0, 4096), PageRange::new(1, 0));
    }
}
