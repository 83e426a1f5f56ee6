//! The Streams Directive as a host uses it (Base §8.1.8).

use crate::{Completion, Entry, Host, Result, Transfer, error::protocol, number};

/// Directive types (Base §8.1.8, figure "Directive Types").
const IDENTIFY: u8 = 0;
const STREAMS: u8 = 1;

/// The data of Return Parameters (Base §8.1.8.3.2.1), 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamParameters {
    /// MSL, bytes 1:0: streams that may be open in the subsystem.
    pub most: u16,
    /// NSSA, bytes 3:2: streams of the subsystem that are available.
    pub available: u16,
    /// NSSO, bytes 5:4: streams of the subsystem that are open from the pool.
    pub open: u16,
    /// NSSC, byte 6: bit 0 shared identifiers, bit 1 host identifiers must not be zero.
    pub capability: u8,
    /// SWS, bytes 19:16: stream write size, in logical blocks.
    pub write_blocks: u32,
    /// SGS, bytes 21:20: stream granularity size, in stream write sizes.
    pub granularity: u16,
    /// NSA, bytes 23:22: streams allocated to this namespace.
    pub allocated: u16,
    /// NSO, bytes 25:24: streams open in this namespace.
    pub own_open: u16,
}

impl Host {
    /// Enables or disables a directive: Directive Send, Identify, Enable Directive (Base
    /// §8.1.8.2.2.1), with ENDIR in dword 12 bit 0 and the directive's type in bits 15:8.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn enable_directive(&mut self, kind: u8, enable: bool) -> Result<Completion> {
        let entry = Entry::directive(true, IDENTIFY, 1, 0, 0)
            .dword(12, u32::from(enable) | u32::from(kind) << 8);
        self.admin.run(entry, Transfer::None)
    }

    /// Enables or disables the Streams Directive.
    ///
    /// # Errors
    /// When the command fails.
    pub fn enable_streams(&mut self, enable: bool) -> Result<()> {
        let entry = Entry::directive(true, IDENTIFY, 1, 0, 0)
            .dword(12, u32::from(enable) | u32::from(STREAMS) << 8);
        self.admin
            .succeed("enable streams", entry, Transfer::None)
            .map(|_| ())
    }

    /// Reads the directives as bitmaps: supported, enabled, persistent (Identify, Return
    /// Parameters, Base §8.1.8.2.1.1: bytes 31:0, 63:32, 95:64 of 4096).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn directives(&mut self) -> Result<(u32, u32, u32)> {
        let data = self.receive(Entry::directive(false, IDENTIFY, 1, 0, 4096), 4096)?;
        let map = |at| number(&data, at, 4) as u32;
        Ok((map(0), map(32), map(64)))
    }

    /// Reads the parameters of streams (Return Parameters).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn stream_parameters(&mut self) -> Result<StreamParameters> {
        let data = self.receive(Entry::directive(false, STREAMS, 1, 0, 32), 32)?;
        Ok(StreamParameters {
            most: number(&data, 0, 2) as u16,
            available: number(&data, 2, 2) as u16,
            open: number(&data, 4, 2) as u16,
            capability: number(&data, 6, 1) as u8,
            write_blocks: number(&data, 16, 4) as u32,
            granularity: number(&data, 20, 2) as u16,
            allocated: number(&data, 22, 2) as u16,
            own_open: number(&data, 24, 2) as u16,
        })
    }

    /// Reads the open streams' identifiers (Get Status, Base §8.1.8.3.2.2): a count, then the
    /// identifiers.
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn open_streams(&mut self) -> Result<Vec<u16>> {
        let data = self.receive(Entry::directive(false, STREAMS, 2, 0, 4096), 4096)?;
        let count = number(&data, 0, 2) as usize;
        Ok((1..=count)
            .map(|place| number(&data, 2 * place, 2) as u16)
            .collect())
    }

    /// Allocates streams (Allocate Resources, Base §8.1.8.3.2.3): their number in dword 12 bits
    /// 15:0; granted in dword 0.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn allocate_streams(&mut self, requested: u16) -> Result<Completion> {
        let entry = Entry::directive(false, STREAMS, 3, 0, 0).dword(12, u32::from(requested));
        self.admin.run(entry, Transfer::None)
    }

    /// Releases a stream's identifier (Release Identifier, Base §8.1.8.3.3.1).
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn release_stream(&mut self, identifier: u16) -> Result<Completion> {
        self.admin.run(
            Entry::directive(true, STREAMS, 1, identifier, 0),
            Transfer::None,
        )
    }

    /// Releases the namespace's streams (Release Resources, Base §8.1.8.3.3.2).
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn release_streams(&mut self) -> Result<Completion> {
        self.admin
            .run(Entry::directive(true, STREAMS, 2, 0, 0), Transfer::None)
    }

    fn receive(&mut self, entry: Entry, bytes: usize) -> Result<Vec<u8>> {
        let data = self
            .admin
            .succeed("directive receive", entry, Transfer::In(bytes))?
            .data;
        if data.len() == bytes {
            Ok(data)
        } else {
            protocol(format!(
                "directive receive: {} of {bytes} bytes",
                data.len()
            ))
        }
    }
}
