//! Small timed drives, and what is known of them without simulating.

mod collecting;

use std::{
    collections::HashMap,
    ops::{Deref, DerefMut},
};

use anabranch_ssd::{
    Config, DeviceError, PageRange, StreamId,
    relocate::{Relocate, RelocationKind},
    time::{Issue, Layout, Request, TimedDevice, Timing, TimingError},
};

pub const PAGE_BYTES: u64 = 4096;

/// So many logical pages in units of `pages_per_unit`, and `spare` units more than they fill.
pub fn config(logical_pages: u32, pages_per_unit: u32, spare: u32) -> Config {
    Config {
        page_bytes: PAGE_BYTES as u32,
        host_streams: 2,
        internal_streams: 4,
        seed: 1,
        ..Config::new(
            logical_pages,
            pages_per_unit,
            logical_pages.div_ceil(pages_per_unit) + spare,
        )
    }
}

/// One plane of 16 KiB; a page crosses a channel in 10.24 us.
pub fn timing() -> Timing {
    Timing {
        read_ns: 50_000,
        program_ns: 500_000,
        erase_ns: 3_000_000,
        channel_bytes_per_second: 400_000_000,
        planes: 1,
        flash_page_bytes: 16_384,
        pages_per_word_line: 1,
        write_buffer_bytes: 4 << 20,
        buffer_ns: 1000,
        power_loss_protection: false,
        suspend_ns: None,
    }
}

pub const PAGE_TRANSFER_NS: u64 = 10_240;

/// A read of one page from an idle die.
pub const SERVICE_NS: u64 = 50_000 + PAGE_TRANSFER_NS;

pub fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    let error = (measured / expected - 1.0).abs();
    assert!(
        error < tolerance,
        "measured {measured}, expected {expected}"
    );
}

pub fn layout(channels: u32, dies_per_channel: u32) -> Layout {
    Layout {
        channels,
        dies_per_channel,
        dies_per_unit: channels * dies_per_channel,
    }
}

pub fn closed(queue_depth: u32) -> Issue {
    Issue::Closed { queue_depth }
}

pub fn open() -> Issue {
    Issue::Open {
        time_scale: 1.0,
        queue_depth: 1024,
        collect_after_idle_ns: None,
    }
}

/// A device that takes time, and the relocation that it is driven with.
#[derive(Debug)]
pub struct Timed {
    device: TimedDevice,
    relocation: Box<dyn Relocate>,
}

impl Timed {
    pub fn new(
        config: &Config,
        timing: Timing,
        layout: Layout,
        drive: Issue,
        kind: RelocationKind,
    ) -> Result<Timed, TimingError> {
        let relocation = kind.build(config);
        let device = TimedDevice::new(config.clone(), timing, layout, drive, &*relocation)?;
        Ok(Timed { device, relocation })
    }

    pub fn submit(&mut self, arrival_ns: u64, request: Request) -> Result<(), DeviceError> {
        let Timed { device, relocation } = self;
        device.submit(&mut **relocation, arrival_ns, request)
    }
}

impl Deref for Timed {
    type Target = TimedDevice;

    fn deref(&self) -> &TimedDevice {
        &self.device
    }
}

impl DerefMut for Timed {
    fn deref_mut(&mut self) -> &mut TimedDevice {
        &mut self.device
    }
}

pub fn device(config: &Config, timing: Timing, layout: Layout, drive: Issue) -> Timed {
    Timed::new(config, timing, layout, drive, RelocationKind::Gc).unwrap()
}

pub fn write(device: &mut Timed, first: u32, count: u32) {
    let request = Request::Write {
        pages: PageRange::new(first, count),
        stream: StreamId::DEFAULT,
    };
    device.submit(0, request).unwrap();
}

pub fn read(device: &mut Timed, arrival_ns: u64, first: u32, count: u32) {
    let pages = PageRange::new(first, count);
    device.submit(arrival_ns, Request::Read { pages }).unwrap();
}

/// Writes the whole drive once, lets it come to rest, and measures anew.
pub fn fill(device: &mut Timed) {
    let pages = device.device().config().logical_pages;
    for first in (0..pages).step_by(32) {
        write(device, first, 32.min(pages - first));
    }
    device.drain();
    device.restart_report();
}

/// Answers in a slot, of `requests` that are spread anew over `dies` each time they are served:
/// the mean number of busy dies in the steady state. All services take one slot and begin
/// together, so that the state is how many requests wait at each die, and from slot to slot each
/// busy die gives one away. Exact, by repeated application of the transitions.
pub fn busy_dies(requests: u8, dies: usize) -> f64 {
    let mut states = HashMap::from([(sorted(vec![requests; 1], dies), 1.0)]);
    for _ in 0..400 {
        let mut next: HashMap<Vec<u8>, f64> = HashMap::new();
        for (state, share) in &states {
            let moved = state.iter().filter(|&&waiting| waiting > 0).count();
            let served: Vec<u8> = state
                .iter()
                .map(|waiting| waiting.saturating_sub(1))
                .collect();
            let ways = dies.pow(moved as u32);
            for way in 0..ways {
                let mut state = served.clone();
                let mut rest = way;
                for _ in 0..moved {
                    state[rest % dies] += 1;
                    rest /= dies;
                }
                *next.entry(sorted(state, dies)).or_default() += share / ways as f64;
            }
        }
        states = next;
    }
    let busy = |state: &Vec<u8>| state.iter().filter(|&&waiting| waiting > 0).count() as f64;
    states
        .iter()
        .map(|(state, share)| busy(state) * share)
        .sum()
}

fn sorted(mut state: Vec<u8>, dies: usize) -> Vec<u8> {
    state.resize(dies, 0);
    state.sort_unstable();
    state
}
