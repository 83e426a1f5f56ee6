//! A flash whose requests come as they come: a drive that is served.
//!
//! [`TimedDevice`](super::TimedDevice) has the trace's requests one after the other and lets time
//! pass until the next may be issued. Here time passes by itself, and whoever asked is told of each
//! request's end by the name he gave it.

use super::{Flash, Layout, Timing, events::NEVER, pending::Kind, timing::Shape};
use crate::{config::Config, error::TimingError};

impl Flash {
    /// The flash of a device that somebody else drives: it watches the device, and is told of
    /// requests after the device has carried them out.
    ///
    /// # Errors
    /// When the device, the timing or the layout make no sense.
    pub fn live(config: &Config, timing: Timing, layout: Layout) -> Result<Flash, TimingError> {
        config.validate()?;
        let shape = Shape::new(config, timing, layout)?;
        Ok(Flash::new(shape, config.physical_units))
    }

    /// Lets time pass until `now_ns`, which never goes back.
    pub fn pass(&mut self, now_ns: u64) {
        self.pass_until(now_ns);
        self.now = self.now.max(now_ns);
    }

    /// When something happens next; `None` if nothing is under way.
    pub fn next_ns(&self) -> Option<u64> {
        let next = self.next_at();
        (next < NEVER).then_some(next)
    }

    /// The host wrote pages, just now. `tag`, if not 0, is named when the write is answered.
    pub fn wrote(&mut self, tag: u64, pages: u32) {
        self.named(tag, |flash, now| flash.answer(Kind::Write, now, pages));
    }

    /// The host discarded pages.
    pub fn discarded(&mut self, tag: u64, pages: u32) {
        self.named(tag, |flash, now| flash.answer(Kind::Discard, now, pages));
    }

    /// The host reads `pages` pages. Those of them that lie in units are at `places` (unit, page).
    pub fn reads(&mut self, tag: u64, pages: u32, places: &[(u32, u32)]) {
        self.named(tag, |flash, now| flash.read(Kind::Read, now, pages, places));
    }

    /// The host flushes what it wrote.
    pub fn flushes(&mut self, tag: u64) {
        self.named(tag, Flash::flush);
    }

    /// The tags of the requests answered since the last call, in order.
    pub fn answered(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.requests.finished)
    }

    pub(super) fn named(&mut self, tag: u64, request: impl FnOnce(&mut Flash, u64)) {
        self.requests.tag = tag;
        request(self, self.now);
        self.requests.tag = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, PageRange, StreamId, profile::Profile, relocate::RelocationKind};

    #[test]
    fn requests_are_answered_by_name_when_their_time_has_come() {
        let profile = Profile::shipped("fdp-8ruh").unwrap();
        let (config, timing) = (profile.resolve("x").unwrap(), profile.timing.unwrap());
        let flash = Flash::live(&config, timing, profile.layout()).unwrap();
        let mut relocation = RelocationKind::Mixed.build(&config);
        let mut device = Device::watched(config, &*relocation, flash).unwrap();
        let pages = PageRange::new(0, 4096);
        device.write(&mut *relocation, pages, StreamId(0)).unwrap();
        device.observer_mut().wrote(7, 4096);
        assert!(device.observer_mut().answered().is_empty());
        // Writes are answered from the buffer, or when they have room there.
        while let Some(next) = device.observer().next_ns() {
            device.observer_mut().pass(next);
        }
        assert_eq!(device.observer_mut().answered(), [7]);
        let began = device.observer().next_ns().unwrap_or(1_000_000_000);
        device.observer_mut().pass(began);
        let place = device.locate(0).unwrap();
        device.observer_mut().reads(8, 1, &[place]);
        device.observer_mut().pass(began + timing.read_ns - 1);
        assert!(device.observer_mut().answered().is_empty());
        device.observer_mut().pass(began + 1_000_000);
        assert_eq!(device.observer_mut().answered(), [8]);
    }
}
