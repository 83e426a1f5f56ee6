//! A device and the relocation that it is driven with.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::ops::{Deref, DerefMut};

use anabranch_ssd::{
    Config, ConfigError, Device, DeviceError, Observe, PageRange, StreamId,
    relocate::{Relocate, RelocationKind},
};

#[derive(Debug)]
pub struct Driven<O: Observe = ()> {
    pub device: Device<O>,
    pub relocation: Box<dyn Relocate>,
}

impl Driven {
    pub fn new(config: &Config, kind: RelocationKind) -> Result<Driven, ConfigError> {
        let relocation = kind.build(config);
        let device = Device::new(config.clone(), &*relocation)?;
        Ok(Driven { device, relocation })
    }
}

impl<O: Observe> Driven<O> {
    pub fn write(&mut self, pages: PageRange, stream: StreamId) -> Result<(), DeviceError> {
        self.device.write(&mut *self.relocation, pages, stream)
    }

    pub fn write_scattered(&mut self, pages: &[u32], stream: StreamId) -> Result<(), DeviceError> {
        let Driven { device, relocation } = self;
        device.write_scattered(&mut **relocation, pages, stream)
    }

    /// Saved state of both.
    pub fn saved(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let saved = self.device.save(&*self.relocation, &mut bytes);
        saved.unwrap();
        bytes
    }
}

impl<O: Observe> Deref for Driven<O> {
    type Target = Device<O>;

    fn deref(&self) -> &Device<O> {
        &self.device
    }
}

impl<O: Observe> DerefMut for Driven<O> {
    fn deref_mut(&mut self) -> &mut Device<O> {
        &mut self.device
    }
}
