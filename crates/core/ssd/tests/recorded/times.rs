//! Drives with time: requests that wait for turns, and a flash that somebody else drives.

use anabranch_ssd::{
    Config, Device, PageRange, StreamId,
    relocate::RelocationKind,
    state::SavedDrive,
    time::{Flash, Issue, Layout, Request, TimedDevice, Timing},
};

use crate::{Sum, drawn, driven::Driven, hold, one_of, workload::Random};

const DRIVES: u32 = 120;
const REQUESTS: u32 = 160;

fn timing(random: &mut Random, config: &Config) -> Timing {
    let planes = one_of(random, &[1, 2]);
    let flash_page_bytes = one_of(random, &[4096, 16_384]);
    let pages_per_word_line = one_of(random, &[1, 1, 3]);
    let program_bytes = u64::from(planes * flash_page_bytes * pages_per_word_line);
    let least = program_bytes * u64::from(config.host_streams);
    Timing {
        read_ns: 40_000 + u64::from(random.below(20_000)),
        program_ns: 200_000 + u64::from(random.below(500_000)),
        erase_ns: 1_000_000 + u64::from(random.below(3_000_000)),
        channel_bytes_per_second: one_of(random, &[100_000_000, 400_000_000, 1_200_000_000]),
        planes,
        flash_page_bytes,
        pages_per_word_line,
        write_buffer_bytes: least * one_of(random, &[1, 1, 2, 8])
            + u64::from(random.below(3) * config.page_bytes / 2),
        buffer_ns: one_of(random, &[0, 1000, 7000]),
        power_loss_protection: random.below(2) == 0,
        suspend_ns: one_of(random, &[None, Some(20_000)]),
    }
}

fn layout(random: &mut Random) -> Layout {
    let (channels, dies_per_channel) = one_of(random, &[(1, 1), (2, 1), (2, 2), (4, 1), (3, 2)]);
    let dies = channels * dies_per_channel;
    Layout {
        channels,
        dies_per_channel,
        dies_per_unit: one_of(random, &[1, dies, dies, dies.div_ceil(2)]),
    }
}

fn issue(random: &mut Random) -> Issue {
    match random.below(3) {
        0 => Issue::Closed {
            queue_depth: 1 + random.below(12),
        },
        _ => Issue::Open {
            time_scale: one_of(random, &[1.0, 0.5, 3.0]),
            queue_depth: one_of(random, &[1, 4, 1024]),
            collect_after_idle_ns: one_of(random, &[None, Some(1_000_000), Some(50_000_000)]),
        },
    }
}

/// A drive that does not fail, so that requests go on.
fn lasting(random: &mut Random) -> Config {
    let mut config = drawn(random);
    config.wear.retire_at_rating = false;
    config.faults.factory_bad_units = 0;
    config
}

fn pages(random: &mut Random, config: &Config) -> PageRange {
    let first = random.below(config.logical_pages);
    PageRange::new(
        first,
        1 + random.below((config.logical_pages - first).min(24)),
    )
}

fn submit(
    device: &mut TimedDevice,
    relocation: &mut dyn anabranch_ssd::relocate::Relocate,
    random: &mut Random,
    arrival_ns: u64,
) -> Result<(), anabranch_ssd::DeviceError> {
    let config = device.device().config().clone();
    let pages = pages(random, &config);
    let stream = StreamId(random.below(u32::from(config.host_streams)) as u16);
    let request = match random.below(20) {
        0..9 => Request::Write { pages, stream },
        9..16 => Request::Read { pages },
        16 => Request::Discard { pages },
        17 => Request::Flush,
        18 => Request::Read {
            pages: PageRange::new(pages.first, config.logical_pages),
        },
        _ => {
            device.write_part(relocation, arrival_ns, pages, stream)?;
            let pages = self::pages(random, &config);
            device.write_part(relocation, arrival_ns, pages, StreamId(0))?;
            device.end_write();
            return Ok(());
        }
    };
    device.submit(relocation, arrival_ns, request)
}

/// A device with time: a new one, or one that another has aged.
fn made(
    random: &mut Random,
    config: &Config,
    kind: RelocationKind,
    relocation: &mut dyn anabranch_ssd::relocate::Relocate,
) -> Result<TimedDevice, String> {
    let (timing, layout, issue) = (timing(random, config), layout(random), issue(random));
    if random.below(3) > 0 {
        let new = TimedDevice::new(config.clone(), timing, layout, issue, relocation);
        return new.map_err(|error| error.to_string());
    }
    let mut before = Driven::new(config, kind).unwrap();
    let all = PageRange::new(0, config.logical_pages);
    for _ in 0..3 {
        let _ = before.write(all, StreamId(0));
    }
    let saved = SavedDrive::read(&before.saved()[..]).unwrap();
    let aged = TimedDevice::aged(saved, config.clone(), timing, layout, issue, relocation);
    aged.map_err(|error| error.to_string())
}

fn run(random: &mut Random, kind: RelocationKind) -> String {
    let config = lasting(random);
    let mut relocation = kind.build(&config);
    let mut device = match made(random, &config, kind, &mut *relocation) {
        Ok(device) => device,
        Err(error) => return format!("{kind}: {error}"),
    };
    let mut sum = Sum::default();
    let mut arrival_ns = 0;
    for at in 0..REQUESTS {
        arrival_ns += u64::from(match random.below(30) {
            0 => random.below(400_000_000),
            1..5 => 0,
            _ => random.below(600_000),
        });
        sum.take(submit(&mut device, &mut *relocation, random, arrival_ns));
        sum.take((device.now_ns(), device.device().counters()));
        match at {
            60 => {
                device.restart_report();
                arrival_ns = 0;
            }
            110 => sum.take((device.report(), device.set_issue(issue(random)))),
            _ => {}
        }
    }
    sum.take(device.report());
    device.drain();
    sum.take(device.device().saved_counts());
    let report = device.report();
    sum.take((
        &report,
        report.work.busy_ns(),
        report.work.collection_busy_ns(),
    ));
    format!(
        "{kind}: {} ns, {} reads to {} ns, {} writes to {} ns, {} erases, {} suspensions, {}",
        report.elapsed_ns,
        report.latency.read.requests,
        report.latency.read.max_ns,
        report.latency.write.requests,
        report.latency.write.max_ns,
        report.work.erases.operations,
        report.suspensions,
        sum.text()
    )
}

/// Counters of a device, whole and by stream.
trait SavedCounts {
    fn saved_counts(&self) -> String;
}

impl SavedCounts for Device<Flash> {
    fn saved_counts(&self) -> String {
        format!("{:?} {:?}", self.counters(), self.stream_counters())
    }
}

#[test]
fn requests_take_the_time_they_took() {
    let mut random = Random(2);
    let kinds = RelocationKind::ALL;
    let lines: Vec<String> = (0..DRIVES)
        .map(|at| run(&mut random, kinds[at as usize % kinds.len()]))
        .collect();
    hold("times", &lines);
}

fn live(random: &mut Random, kind: RelocationKind) -> String {
    let config = lasting(random);
    let (timing, layout) = (timing(random, &config), layout(random));
    let flash = match Flash::live(&config, timing, layout) {
        Ok(flash) => flash,
        Err(error) => return format!("{kind}: {error}"),
    };
    let relocation = kind.build(&config);
    let device = Device::watched(config.clone(), &*relocation, flash).unwrap();
    let mut drive = Driven { device, relocation };
    let (mut sum, mut now_ns, mut answered) = (Sum::default(), 0, 0);
    for tag in 1..=u64::from(REQUESTS) {
        let pages = pages(random, &config);
        let stream = StreamId(random.below(u32::from(config.host_streams)) as u16);
        match random.below(8) {
            0..3 if drive.write(pages, stream).is_ok() => {
                drive.observer_mut().wrote(tag, pages.count);
            }
            3..6 => {
                let places: Vec<_> = (pages.first..pages.first + pages.count)
                    .filter_map(|page| drive.locate(page))
                    .collect();
                drive.observer_mut().reads(tag, pages.count, &places);
            }
            6 if drive.discard(pages).is_ok() => drive.observer_mut().discarded(tag, pages.count),
            _ => drive.observer_mut().flushes(tag),
        }
        now_ns += u64::from(random.below(700_000));
        let flash = drive.observer_mut();
        sum.take(flash.next_ns());
        flash.pass(now_ns);
        let told = flash.answered();
        answered += told.len();
        sum.take(told);
    }
    while let Some(next_ns) = drive.observer().next_ns() {
        drive.observer_mut().pass(next_ns);
        let told = drive.observer_mut().answered();
        answered += told.len();
        sum.take((next_ns, told));
    }
    format!("{kind}: {answered} answered, {}", sum.text())
}

#[test]
fn a_flash_that_is_served_answers_when_it_did() {
    let mut random = Random(3);
    let kinds = RelocationKind::ALL;
    let lines: Vec<String> = (0..60)
        .map(|at| live(&mut random, kinds[at % kinds.len()]))
        .collect();
    hold("live", &lines);
}
