//! Timing of the flash: the `[timing]` section of a profile, and the durations that follow from it.

use serde::{Deserialize, Serialize};

use crate::{config::Config, error::TimingError};

/// The longest that any single time of a drive may be (our choice: no flash takes ten seconds).
const LONGEST_NS: u64 = 10_000_000_000;

/// The slowest a channel may be (our choice: an asynchronous ONFI 1.0 bus moves 10 MB/s).
const SLOWEST_BYTES_PER_SECOND: u64 = 1_000_000;

/// Timing of a drive's flash, and the size of its controller's buffer. Unknown keys are errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Sensing: from the cells into a die's register. All planes sense at once.
    pub read_ns: u64,
    /// One program operation: on all planes of a die, all pages of a word line.
    pub program_ns: u64,
    /// Erasing the blocks of one unit that lie in one die.
    pub erase_ns: u64,
    /// Bytes a second that a channel moves between the controller and one of its dies.
    pub channel_bytes_per_second: u64,
    /// Planes of a die; they work together (multi-plane operations of the ONFI standard).
    pub planes: u32,
    /// Bytes in a flash page: what one plane senses at once.
    pub flash_page_bytes: u32,
    /// Flash pages of a word line programmed in one operation: 3 where TLC is programmed in one
    /// shot; 1, and so when not given, where each page is programmed by itself.
    #[serde(default = "one")]
    pub pages_per_word_line: u32,
    /// Bytes of host data that the controller holds until they are programmed.
    pub write_buffer_bytes: u64,
    /// Time until a request that needs no flash is answered: a buffered write or read, a discard, a
    /// flush of what is safe already.
    pub buffer_ns: u64,
    /// Whether the write buffer survives a loss of power, so that a flush need not wait.
    pub power_loss_protection: bool,
    /// If given, a host read interrupts a program or erase operation, and begins after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend_ns: Option<u64>,
}

fn one() -> u32 {
    1
}

impl Timing {
    /// Bytes that one program operation writes.
    pub fn program_bytes(&self) -> u64 {
        u64::from(self.planes)
            .saturating_mul(u64::from(self.flash_page_bytes))
            .saturating_mul(u64::from(self.pages_per_word_line))
    }
}

/// The arrangement of the flash: channels, dies, and how units are striped over dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Channels of the device. Die `d` is on channel `d mod channels`.
    pub channels: u32,
    /// Dies that share a channel's transfers.
    pub dies_per_channel: u32,
    /// Dies a unit is striped over: unit `u` lies on the set `u mod (dies / dies_per_unit)` of
    /// neighbouring dies, and its program operations take the dies of the set in turn.
    pub dies_per_unit: u32,
}

impl Layout {
    /// Dies of the device.
    pub fn dies(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.dies_per_channel)
    }
}

/// Durations derived from the timing, the layout and the device, with sizes in pages of the translation
/// layer.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) timing: Timing,
    pub(super) page_bytes: u64,
    pub(super) pages_per_unit: u32,
    /// Pages sensed together: one flash page of each plane.
    pub(super) row_pages: u32,
    /// Pages programmed together.
    pub(super) program_pages: u32,
    pub(super) programs_per_unit: u32,
    pub(super) channels: u32,
    pub(super) dies: u32,
    pub(super) dies_per_unit: u32,
    pub(super) die_sets: u32,
    pub(super) buffer_pages: u64,
    /// Time between two points at which a long transfer can be interrupted.
    pub(super) chunk_ns: u64,
    /// Time to move pages over a channel, indexed by the number of pages.
    transfer_ns: Vec<u64>,
}

impl Shape {
    pub(super) fn new(
        config: &Config,
        timing: Timing,
        layout: Layout,
    ) -> Result<Shape, TimingError> {
        check_ranges(&timing, &layout)?;
        let dies = layout.dies();
        if !dies.is_multiple_of(u64::from(layout.dies_per_unit)) {
            return Err(TimingError::Stripes {
                dies_per_unit: layout.dies_per_unit,
                dies,
            });
        }
        let row_bytes = u64::from(timing.planes) * u64::from(timing.flash_page_bytes);
        let page_bytes = u64::from(config.page_bytes.max(1));
        if !row_bytes.is_multiple_of(page_bytes) {
            return Err(TimingError::Row {
                page_bytes: config.page_bytes,
                row_bytes,
            });
        }
        let needed = timing.program_bytes() * u64::from(config.host_streams);
        if timing.write_buffer_bytes < needed {
            return Err(TimingError::Buffer {
                write_buffer_bytes: timing.write_buffer_bytes,
                host_streams: config.host_streams,
                program_bytes: timing.program_bytes(),
            });
        }
        Ok(Shape::of(config, timing, layout, row_bytes / page_bytes))
    }

    fn of(config: &Config, timing: Timing, layout: Layout, row_pages: u64) -> Shape {
        let page_bytes = u64::from(config.page_bytes.max(1));
        let program_pages = row_pages * u64::from(timing.pages_per_word_line);
        let transfer_ns: Vec<u64> = (0..=program_pages)
            .map(|pages| {
                let bytes = u128::from(pages * page_bytes);
                let rate = u128::from(timing.channel_bytes_per_second);
                (bytes * 1_000_000_000).div_ceil(rate) as u64
            })
            .collect();
        let chunk_pages = (u64::from(timing.flash_page_bytes) / page_bytes).max(1);
        let dies = layout.dies() as u32;
        Shape {
            timing,
            page_bytes,
            pages_per_unit: config.pages_per_unit,
            row_pages: row_pages as u32,
            program_pages: program_pages as u32,
            programs_per_unit: config.pages_per_unit.div_ceil(program_pages as u32),
            channels: layout.channels,
            dies,
            dies_per_unit: layout.dies_per_unit,
            die_sets: dies / layout.dies_per_unit,
            buffer_pages: timing.write_buffer_bytes / page_bytes,
            chunk_ns: transfer_ns[chunk_pages as usize].max(1),
            transfer_ns,
        }
    }

    /// The die a unit's program operations begin with.
    #[inline]
    pub(super) fn first_die(&self, unit: u32) -> u32 {
        unit % self.die_sets * self.dies_per_unit
    }

    /// The die that holds a program operation of a unit.
    #[inline]
    pub(super) fn die(&self, unit: u32, program: u32) -> u32 {
        self.first_die(unit) + program % self.dies_per_unit
    }

    /// Time to move `pages` pages, at most a program operation's, over a channel.
    #[inline]
    pub(super) fn transfer_ns(&self, pages: u32) -> u64 {
        self.transfer_ns[pages as usize]
    }
}

fn check_ranges(timing: &Timing, layout: &Layout) -> Result<(), TimingError> {
    let suspend_ns = timing.suspend_ns.unwrap_or(0);
    let fastest = 1_000_000_000_000;
    let most = u64::from(u16::MAX);
    for (name, value, least, most) in [
        ("read_ns", timing.read_ns, 1, LONGEST_NS),
        ("program_ns", timing.program_ns, 1, LONGEST_NS),
        ("erase_ns", timing.erase_ns, 1, LONGEST_NS),
        ("buffer_ns", timing.buffer_ns, 0, LONGEST_NS),
        ("suspend_ns", suspend_ns, 0, LONGEST_NS),
        (
            "channel_bytes_per_second",
            timing.channel_bytes_per_second,
            SLOWEST_BYTES_PER_SECOND,
            fastest,
        ),
        ("planes", u64::from(timing.planes), 1, 64),
        (
            "flash_page_bytes",
            u64::from(timing.flash_page_bytes),
            512,
            1 << 20,
        ),
        (
            "pages_per_word_line",
            u64::from(timing.pages_per_word_line),
            1,
            8,
        ),
        ("channels", u64::from(layout.channels), 1, most),
        (
            "dies_per_channel",
            u64::from(layout.dies_per_channel),
            1,
            most,
        ),
        ("dies", layout.dies(), 1, most),
        ("dies_per_unit", u64::from(layout.dies_per_unit), 1, most),
    ] {
        if !(least..=most).contains(&value) {
            return Err(TimingError::Range {
                name,
                value,
                least,
                most,
            });
        }
    }
    Ok(())
}
