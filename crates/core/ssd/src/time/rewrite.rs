//! A timed device whose host collects: it reads survivors and writes them anew while its requests go on.
//!
//! Whoever collects lets time pass step by step ([`TimedDevice::step_to_turn`]) and looks between the steps for reads and
//! rewrites that have ended ([`TimedDevice::ended`]). The drive cannot tell them from other requests: they take their turn
//! in its dies, its channels and its write buffer. They have no latency, and no place in the host's queue depth.

use super::{NEVER, TimedDevice, pending::Kind};
use crate::{error::DeviceError, relocate::Relocate, types::StreamId};

impl TimedDevice {
    /// Lets the next thing happen unless a request that arrives then may be issued now. Answers whether it may.
    pub fn step_to_turn(&mut self, arrival_ns: u64) -> bool {
        if self.begun.is_some() {
            return true;
        }
        let arrival = self.arrival(arrival_ns);
        let flash = self.device.observer_mut();
        let next = flash.next_at();
        let is_early = arrival.is_some_and(|arrival| next <= arrival);
        let is_full = flash.requests.outstanding() >= self.queue_depth && next < NEVER;
        if is_early || is_full {
            flash.step();
            return false;
        }
        true
    }

    /// Lets the next thing happen. Answers whether there was one.
    pub fn step(&mut self) -> bool {
        let flash = self.device.observer_mut();
        let is_busy = flash.next_at() < NEVER;
        flash.step();
        is_busy
    }

    /// Whether somebody waits for the drive.
    pub fn is_awaited(&self) -> bool {
        self.begun.is_some() || self.device.observer().requests.outstanding() > 0
    }

    /// Reads survivors, just now. `tag`, which is not 0, names the read once it has ended.
    pub fn read_survivors(&mut self, tag: u64, pages: &[u32]) {
        self.places.clear();
        for &page in pages {
            self.places.extend(self.device.locate(page));
        }
        let flash = self.device.observer_mut();
        let (count, places) = (pages.len() as u32, &self.places);
        flash.named(tag, |flash, now| {
            flash.read(Kind::Rewrite, now, count, places)
        });
    }

    /// Writes survivors anew, just now, to a stream. `tag`, which is not 0, names the rewrite once it has ended.
    ///
    /// # Errors
    /// When the device refuses a page.
    pub fn rewrite(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        tag: u64,
        pages: &[u32],
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        self.device.observer_mut().rewriting = true;
        let written = self.device.write_scattered(relocation, pages, stream);
        let flash = self.device.observer_mut();
        flash.rewriting = false;
        let count = pages.len() as u32;
        flash.named(tag, |flash, now| flash.answer(Kind::Rewrite, now, count));
        written
    }

    /// The reads and rewrites that have ended since the last call, by their tags, in order.
    pub fn ended(&mut self) -> Vec<u64> {
        self.device.observer_mut().answered()
    }

    /// Closes a stream's open unit, as [`Device::finish_unit`](crate::Device::finish_unit).
    ///
    /// # Errors
    /// When there is no such host stream.
    pub fn finish_unit(&mut self, stream: StreamId) -> Result<u32, DeviceError> {
        self.device.finish_unit(stream)
    }
}
