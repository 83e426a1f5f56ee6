//! Cost of a stream to a drive.

use serde::{Deserialize, Serialize};

use crate::{config::Config, profile::Profile};

/// Resources of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCost {
    /// Buffer memory for data on their way to the flash.
    pub buffer_bytes: u64,
    /// The part of the buffer that must outlive a loss of power: capacitors must have the energy to
    /// write it.
    pub protected_bytes: u64,
    /// Flash in the unit that the stream keeps open.
    pub open_unit_bytes: u64,
}

/// Resources of a drive's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCosts {
    /// Streams the host may name, the default one included.
    pub host_streams: u16,
    /// Resources of each.
    pub host: StreamCost,
    /// Streams only garbage collection writes.
    pub internal_streams: u16,
    /// Resources of each.
    pub internal: StreamCost,
}

impl StreamCosts {
    /// The costs of a drive whose units are striped over `dies_per_unit` dies, each of which is
    /// programmed `program_bytes` at a time (planes and bits per cell included).
    ///
    /// A host stream's data are acknowledged when they are in the buffer. To be written at the
    /// speed of all its dies, the stream needs room for the open stripe there, one program
    /// operation for each die, and none of that may be lost with the power. What an
    /// internal stream writes still lies in the unit it came from, which is erased only after; its
    /// buffer needs no energy, and since nobody waits for it, may be as small as one program
    /// operation (FAST'19, host-visible against internal streams).
    pub fn new(config: &Config, dies_per_unit: u32, program_bytes: u64) -> StreamCosts {
        let stripe_bytes = u64::from(dies_per_unit) * program_bytes;
        let open_unit_bytes = config.unit_bytes();
        StreamCosts {
            host_streams: config.host_streams,
            host: StreamCost {
                buffer_bytes: stripe_bytes,
                protected_bytes: stripe_bytes,
                open_unit_bytes,
            },
            internal_streams: config.internal_streams,
            internal: StreamCost {
                buffer_bytes: program_bytes,
                protected_bytes: 0,
                open_unit_bytes,
            },
        }
    }

    /// Buffer memory of all streams.
    pub fn buffer_bytes(&self) -> u64 {
        self.sum(|cost| cost.buffer_bytes)
    }

    /// Buffer memory of all streams that must outlive a loss of power.
    pub fn protected_bytes(&self) -> u64 {
        self.sum(|cost| cost.protected_bytes)
    }

    /// Flash in the units that all streams keep open.
    pub fn open_unit_bytes(&self) -> u64 {
        self.sum(|cost| cost.open_unit_bytes)
    }

    fn sum(&self, of: fn(&StreamCost) -> u64) -> u64 {
        u64::from(self.host_streams) * of(&self.host)
            + u64::from(self.internal_streams) * of(&self.internal)
    }
}

impl Profile {
    /// The cost of the drive's streams. Where the profile has no `[timing]`, a die is taken to
    /// program one page at a time.
    pub fn stream_costs(&self, config: &Config) -> StreamCosts {
        let page_bytes = u64::from(self.geometry.page_bytes);
        let program_bytes = self
            .timing
            .map_or(page_bytes, |timing| timing.program_bytes());
        StreamCosts::new(config, self.layout().dies_per_unit, program_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(name: &str, timed: bool) -> StreamCosts {
        let mut profile = Profile::shipped(name).unwrap();
        profile.timing = profile.timing.filter(|_| timed);
        profile.stream_costs(&profile.resolve(name).unwrap())
    }

    #[test]
    fn a_host_stream_holds_a_stripe_and_an_internal_one_nothing_that_could_be_lost() {
        // PM963: units of 384 pages on each of 64 dies; 8 streams of either kind; a program
        // operation takes two planes' 16 KiB in each of a word line's three pages.
        let costs = costs("pm963", true);
        let program_bytes = 2 * 3 * 16_384;
        assert_eq!(costs.host.buffer_bytes, 64 * program_bytes);
        assert_eq!(costs.host.protected_bytes, 64 * program_bytes);
        assert_eq!(costs.internal.buffer_bytes, program_bytes);
        assert_eq!(costs.internal.protected_bytes, 0);
        assert_eq!(costs.internal.open_unit_bytes, 64 * 384 * 4096);
        assert_eq!(costs.protected_bytes(), 8 * 64 * program_bytes);
        assert_eq!(costs.buffer_bytes(), 8 * 65 * program_bytes);
        assert_eq!(costs.open_unit_bytes(), 16 * 64 * 384 * 4096);
    }

    #[test]
    fn a_unit_on_one_die_without_timing_needs_a_buffer_of_one_page() {
        let costs = costs("pcstream-emulator", false);
        assert_eq!(costs.host.protected_bytes, 4096);
    }
}
