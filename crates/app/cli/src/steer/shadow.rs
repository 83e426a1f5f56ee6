//! Models of the steered drive, fed with the same writes: in the streams the scheme chose, and all in one stream with copies
//! apart, as on a drive that nobody steers.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use anabranch_report::bytes;
use anabranch_ssd::{
    Config, Counters, Device, DeviceError, PageRange, StreamId,
    relocate::{Relocate, RelocationKind},
};
use anabranch_steer::{Directive, PAGE_BYTES, SteeredDrive, Witness};

use super::arguments::Shadow as Wanted;
use crate::error::{CommandError, Result};

/// Requests that may wait for the models (our choice); those that find no room are not modelled, and counted.
const WAITING: usize = 1 << 16;
/// A reclaim unit where the drive does not say (our choice).
const UNIT_BYTES: u64 = 64 << 20;

/// The largest drive that is modelled unasked (our choice).
pub const MODELLED_BYTES: u64 = 64 << 30;
/// Bytes of memory that both models hold for a page, about.
const MODEL_BYTES_A_PAGE: u64 = 20;

/// A sentence on the reason that `--shadow auto` makes no model of a drive of this size; `None` where it makes one, or where the
/// option decides.
pub fn unmodelled(wanted: Wanted, drive_bytes: u64) -> Option<String> {
    let is_left_out = wanted == Wanted::Auto && drive_bytes > MODELLED_BYTES;
    is_left_out.then(|| {
        format!(
            "the drive is larger than {}, so no model of it is fed, and there is no verdict on what steering saves: \
             `--shadow on` feeds one, in {} of memory",
            bytes(MODELLED_BYTES),
            bytes(drive_bytes / PAGE_BYTES * MODEL_BYTES_A_PAGE)
        )
    })
}

/// A decision of a scheme.
enum Seen {
    Wrote(PageRange, StreamId),
    Discarded(PageRange),
}

/// Counts of both models.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// All writes in one stream.
    pub baseline: Counters,
    /// Writes in the streams the scheme chose.
    pub steered: Counters,
}

/// The models at work on a thread of their own.
pub struct Shadow {
    counted: Arc<Mutex<Counted>>,
    missed: Arc<AtomicU64>,
    thread: JoinHandle<()>,
    config: Config,
}

struct Feeder {
    sender: SyncSender<Seen>,
    missed: Arc<AtomicU64>,
}

impl Witness for Feeder {
    fn wrote(&mut self, pages: PageRange, stream: StreamId) {
        self.feed(Seen::Wrote(pages, stream));
    }

    fn discarded(&mut self, pages: PageRange) {
        self.feed(Seen::Discarded(pages));
    }
}

impl Feeder {
    fn feed(&self, seen: Seen) {
        if self.sender.try_send(seen).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Shadow {
    /// Models of `config`, and what is to watch the scheme for them.
    pub fn start(config: Config, kind: RelocationKind) -> Result<(Shadow, Box<dyn Witness>)> {
        let (one, apart) = one_stream(&config, kind);
        let models = [Model::new(&one, apart)?, Model::new(&config, kind)?];
        let (sender, receiver) = sync_channel(WAITING);
        let counted = Arc::new(Mutex::new(Counted::default()));
        let missed = Arc::new(AtomicU64::new(0));
        let publish = Arc::clone(&counted);
        let thread = thread::Builder::new()
            .name("shadow".to_owned())
            .spawn(move || follow(&receiver, models, &publish))
            .map_err(CommandError::work)?;
        let feeder = Feeder {
            sender,
            missed: Arc::clone(&missed),
        };
        let shadow = Shadow {
            counted,
            missed,
            thread,
            config,
        };
        Ok((shadow, Box::new(feeder)))
    }

    /// The models' counts so far.
    pub fn counted(&self) -> Counted {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts so far, the requests missed, and the drive modelled.
    pub fn now(&self) -> (Counted, u64, Config) {
        let missed = self.missed.load(Ordering::Relaxed);
        (self.counted(), missed, self.config.clone())
    }

    /// Lets the models come to the end; the witness must be gone.
    pub fn finish(self) -> (Counted, u64, Config) {
        let (counted, missed) = (self.counted, self.missed);
        let _ = self.thread.join();
        let counted = *counted.lock().unwrap_or_else(PoisonError::into_inner);
        (counted, missed.load(Ordering::Relaxed), self.config)
    }
}

/// A modelled drive, and what says where its copies go.
struct Model {
    device: Device,
    relocation: Box<dyn Relocate>,
}

impl Model {
    fn new(config: &Config, kind: RelocationKind) -> Result<Model> {
        let relocation = kind.build(config);
        let device = Device::new(config.clone(), &*relocation).map_err(CommandError::usage)?;
        Ok(Model { device, relocation })
    }

    fn write(&mut self, pages: PageRange, stream: StreamId) -> Result<(), DeviceError> {
        self.device.write(&mut *self.relocation, pages, stream)
    }
}

fn follow(
    seen: &Receiver<Seen>,
    [mut baseline, mut steered]: [Model; 2],
    counted: &Mutex<Counted>,
) {
    while let Ok(next) = seen.recv() {
        // A model refuses only what is beyond its drive, and no request is.
        let _ = match next {
            Seen::Wrote(pages, stream) => baseline
                .write(pages, StreamId::DEFAULT)
                .and_then(|()| steered.write(pages, stream)),
            Seen::Discarded(pages) => baseline
                .device
                .discard(pages)
                .and_then(|()| steered.device.discard(pages)),
        };
        *counted.lock().unwrap_or_else(PoisonError::into_inner) = Counted {
            baseline: *baseline.device.counters(),
            steered: *steered.device.counters(),
        };
    }
}

/// The drive that nobody steers: of the same flash, with copies in a stream of their own. FDP's relocation has that already.
fn one_stream(config: &Config, kind: RelocationKind) -> (Config, RelocationKind) {
    if kind == RelocationKind::Fdp {
        return (config.clone(), kind);
    }
    let one = Config {
        host_streams: 1,
        internal_streams: 1,
        ..config.clone()
    };
    (one, RelocationKind::Gc)
}

/// A model of a drive: its size and reclaim unit are the drive's own, its spare is what it is said to be.
pub fn model(drive: &SteeredDrive, streams: u16, spare: f64) -> (Config, RelocationKind) {
    let page_bytes = PAGE_BYTES;
    let bytes = drive.abilities().bytes;
    let unit_bytes = drive.unit_bytes().unwrap_or(UNIT_BYTES);
    let pages_per_unit = (unit_bytes / page_bytes).max(1);
    let logical_pages = bytes / page_bytes;
    let physical = (logical_pages as f64 * (1.0 + spare)) as u64;
    let fewest = logical_pages.div_ceil(pages_per_unit) + 4;
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let kind = match drive.directive() {
        Directive::Placement => RelocationKind::Fdp,
        Directive::Streams => RelocationKind::Mixed,
    };
    let mut config = Config {
        page_bytes: small(page_bytes),
        host_streams: streams,
        ..Config::new(
            small(logical_pages),
            small(pages_per_unit),
            small(physical.div_ceil(pages_per_unit).max(fewest)),
        )
    };
    config.internal_streams = kind.internal_streams(&config);
    (config, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_too_large_for_a_model_unasked_is_reported_with_the_memory_that_one_needs() {
        assert_eq!(unmodelled(Wanted::Auto, MODELLED_BYTES), None);
        assert_eq!(unmodelled(Wanted::Off, 8 << 40), None);
        assert_eq!(unmodelled(Wanted::On, 8 << 40), None);
        let words = unmodelled(Wanted::Auto, 8 << 40).unwrap();
        assert!(
            words.contains("64.00 GiB") && words.contains("`--shadow on`"),
            "{words}"
        );
        assert!(words.contains("40.00 GiB of memory"), "{words}");
    }

    #[test]
    fn the_drive_that_nobody_steers_keeps_copies_apart_from_new_data() {
        let config = Config {
            host_streams: 8,
            ..Config::new(1024, 64, 24)
        };
        let (one, kind) = one_stream(&config, RelocationKind::Mixed);
        assert_eq!((kind, one.host_streams), (RelocationKind::Gc, 1));
        assert_eq!(one.physical_units, config.physical_units);
        let mut model = Model::new(&one, kind).unwrap();
        // Even pages are written again and again; odd ones stay, and are copied.
        for page in (0..1024).chain((0..4096).map(|step| step % 512 * 2)) {
            model
                .write(PageRange::new(page, 1), StreamId::DEFAULT)
                .unwrap();
        }
        assert_eq!(model.device.stream_of(1), Some(StreamId(1)));
        assert_eq!(model.device.stream_of(1022), Some(StreamId::DEFAULT));
        let (same, kind) = one_stream(&config, RelocationKind::Fdp);
        assert_eq!((kind, same.host_streams), (RelocationKind::Fdp, 8));
    }
}
