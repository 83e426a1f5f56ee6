//! Models of the steered drive, fed with the same writes: in the streams the scheme chose, and all in one stream with copies
//! apart, as on a drive that nobody steers. A large drive is modelled by samples of its pages.

#[cfg(test)]
mod agreement;
mod model;

use std::{
    io::{Read, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anabranch_compare::{SAMPLES, leaves_enough, samples};
use anabranch_replay::{Drawn, SampledWaf};
use anabranch_report::bytes;
use anabranch_ssd::{
    Config, Counters, Device, DeviceError, PageRange, StreamId,
    relocate::{Relocate, RelocationKind},
    state::StateError,
};
use anabranch_steer::{PAGE_BYTES, Witness};
use anabranch_trace::{Rate, Sample};

use super::{
    arguments::Shadow as Wanted,
    kept_models::{KeptHost, KeptModels},
};
use crate::error::{CommandError, Result};
use model::small;
pub use model::{Model, check_spare, model, one_stream, relocation, unit_bytes};

/// Requests that may wait for the models (our choice); those that find no room are not modelled, and counted.
const WAITING: usize = 1 << 16;
/// The time for which requests gather before the models look at them (our choice).
const GATHERED: Duration = Duration::from_millis(5);

/// The largest drive that is modelled whole unasked (our choice).
const WHOLE_BYTES: u64 = 64 << 30;
/// Bytes of memory that both models hold for a page, about.
const MODEL_BYTES_A_PAGE: u64 = 20;
/// Bytes of memory that the samples of a larger drive hold together, where their units keep enough pages (our choice).
const SAMPLED_BYTES: u64 = 100 << 20;
/// The number that chooses the pages of the first sample (our choice).
const HASH: u64 = 0;

/// The part of a drive that is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it, or samples of it at a rate.
    At(Rate),
    /// Nothing: that was asked for.
    Nothing,
    /// Nothing: samples whose units keep enough pages would hold so many bytes of memory.
    TooLarge(u64),
}

impl Extent {
    /// Decides it from what was asked for, the drive's size and its reclaim unit.
    pub fn of(wanted: Wanted, drive_bytes: u64, unit_bytes: u64) -> Extent {
        match wanted {
            Wanted::Off => return Extent::Nothing,
            Wanted::On => return Extent::At(Rate::WHOLE),
            Wanted::Auto if drive_bytes <= WHOLE_BYTES => return Extent::At(Rate::WHOLE),
            Wanted::Auto => {}
        }
        let unit_pages = unit_bytes / PAGE_BYTES;
        let memory = |rate: Rate| {
            let pages = u64::from(SAMPLES) * drive_bytes / PAGE_BYTES / u64::from(rate.pages());
            pages * MODEL_BYTES_A_PAGE
        };
        let rates = (0..=20).filter_map(|bits| Rate::one_of(1 << bits));
        let works: Vec<Rate> = rates
            .filter(|rate| leaves_enough(unit_pages, *rate))
            .collect();
        let coarsest = works.last().copied().unwrap_or(Rate::WHOLE);
        let finest = works
            .into_iter()
            .find(|rate| memory(*rate) <= SAMPLED_BYTES);
        let rate = finest.unwrap_or(coarsest);
        // As much as the largest whole drive's.
        if memory(rate) > WHOLE_BYTES / PAGE_BYTES * MODEL_BYTES_A_PAGE {
            return Extent::TooLarge(memory(rate));
        }
        Extent::At(rate)
    }

    /// A sentence on the reason that there is no model, where none was to be left out.
    pub fn limitation(self) -> Option<String> {
        let Extent::TooLarge(memory_bytes) = self else {
            return None;
        };
        Some(format!(
            "the drive is larger than {}, and samples of it would take {} of memory: no model of it is fed, and there is no \
             verdict on what steering saves; `--shadow on` feeds one of the whole drive",
            bytes(WHOLE_BYTES),
            bytes(memory_bytes)
        ))
    }
}

/// A decision of a scheme about pages of a model, by the sample's number.
enum Seen {
    Wrote(usize, PageRange, StreamId),
    Discarded(usize, PageRange),
}

/// Counts of a model: means of the samples, in pages of the whole drive.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Modelled {
    pub host_pages: u64,
    pub copied_pages: u64,
    pub waf: Option<f64>,
    /// Half the width of the interval meant to hold the whole drive's WAF in 95 of 100 cases; nothing where all of it is
    /// modelled.
    pub error: Option<f64>,
}

impl Modelled {
    fn of(each: &[Counters], drawn: Drawn) -> Modelled {
        let one_of = u64::from(drawn.sample);
        let mean = |of: fn(&Counters) -> u64| {
            each.iter().map(of).sum::<u64>() * one_of / each.len().max(1) as u64
        };
        let wafs: Vec<f64> = each.iter().filter_map(Counters::waf).collect();
        let mean_waf = wafs.iter().sum::<f64>() / wafs.len() as f64;
        Modelled {
            host_pages: mean(|counters| counters.host_pages),
            copied_pages: mean(|counters| counters.copied_pages),
            waf: (!wafs.is_empty()).then_some(mean_waf),
            error: SampledWaf::new(wafs, drawn).error,
        }
    }
}

/// Counts of both models.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// All writes in one stream.
    pub baseline: Modelled,
    /// Writes in the streams the scheme chose.
    pub steered: Modelled,
    /// The share of flash writes that steering saves, and half the width of its interval, over samples each of which both
    /// models have; the latter is 0 where all of the drive is modelled.
    pub saved: Option<(f64, f64)>,
}

impl Counted {
    fn of(baseline: &[Counters], steered: &[Counters], drawn: Drawn) -> Counted {
        let pairs = steered.iter().zip(baseline);
        let shares: Vec<f64> = pairs
            .filter_map(|(with, without)| Some(1.0 - with.waf()? / without.waf()?))
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let is_known = !shares.is_empty();
        // What units of few pages do, they do to both.
        let unit_pages = u32::MAX;
        let error = SampledWaf::new(
            shares,
            Drawn {
                unit_pages,
                ..drawn
            },
        )
        .error;
        Counted {
            baseline: Modelled::of(baseline, drawn),
            steered: Modelled::of(steered, drawn),
            saved: is_known.then_some((mean, error.unwrap_or(0.0))),
        }
    }
}

/// The models at work on a thread of their own.
pub struct Shadow {
    counted: Arc<Mutex<Counted>>,
    missed: Arc<AtomicU64>,
    thread: JoinHandle<Vec<Pair>>,
    model: Model,
}

struct Feeder {
    sender: SyncSender<Seen>,
    missed: Arc<AtomicU64>,
    samples: Vec<Sample>,
}

impl Witness for Feeder {
    fn wrote(&mut self, pages: PageRange, stream: StreamId) {
        self.feed(pages, |number, pages| Seen::Wrote(number, pages, stream));
    }

    fn discarded(&mut self, pages: PageRange) {
        self.feed(pages, Seen::Discarded);
    }
}

impl Feeder {
    fn feed(&self, pages: PageRange, seen: impl Fn(usize, PageRange) -> Seen) {
        for (number, kept) in kept_pages(&self.samples, pages) {
            if self.sender.try_send(seen(number, kept)).is_err() {
                self.missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The pages that each sample keeps of some, with the sample's number.
fn kept_pages(samples: &[Sample], pages: PageRange) -> impl Iterator<Item = (usize, PageRange)> {
    let first = u64::from(pages.first);
    let end = first + u64::from(pages.count);
    let numbered = samples.iter().enumerate();
    numbered.filter_map(move |(number, sample)| {
        let (first, end) = sample.kept(first, end)?;
        Some((number, PageRange::new(small(first), small(end - first))))
    })
}

impl Shadow {
    /// Models of a drive, those that were kept if there are any, and what is to watch the scheme for them.
    pub fn start(mut model: Model, kept: &KeptModels) -> Result<(Shadow, Box<dyn Witness>)> {
        let (one, apart) = one_stream(&model.config, model.kind);
        let samples = samples(model.rate, small(PAGE_BYTES), None, HASH, None)
            .map_err(CommandError::usage)?;
        let pair = |_: &Sample| {
            let steered = ModelledDrive::new(&model.config, model.kind)?;
            Ok([ModelledDrive::new(&one, apart)?, steered])
        };
        let drives = match kept.take(&model, samples.len())? {
            Some(drives) => drives,
            None => samples.iter().map(pair).collect::<Result<Vec<Pair>>>()?,
        };
        let seen_pages: u64 = drives
            .iter()
            .map(|pair| pair[0].counters().host_pages)
            .sum();
        // Pages of a sample have the size of those that they stand for.
        model.kept_bytes =
            seen_pages / drives.len().max(1) as u64 * u64::from(model.config.page_bytes);
        let drawn = Drawn {
            sample: model.rate.pages(),
            trace: 1,
            unit_pages: model.config.pages_per_unit,
        };
        let (sender, receiver) = sync_channel(WAITING);
        let counted = Arc::new(Mutex::new(Counted::default()));
        let missed = Arc::new(AtomicU64::new(0));
        let publish = Arc::clone(&counted);
        let thread = thread::Builder::new()
            .name("shadow".to_owned())
            .spawn(move || follow(&receiver, drives, drawn, &publish))
            .map_err(CommandError::work)?;
        let feeder = Feeder {
            sender,
            missed: Arc::clone(&missed),
            samples,
        };
        let shadow = Shadow {
            counted,
            missed,
            thread,
            model,
        };
        Ok((shadow, Box::new(feeder)))
    }

    /// The models' counts so far.
    pub fn counted(&self) -> Counted {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts so far, the requests missed, and the drive modelled.
    pub fn now(&self) -> (Counted, u64, Model) {
        let missed = self.missed.load(Ordering::Relaxed);
        (self.counted(), missed, self.model.clone())
    }

    /// Lets the models come to the end, and keeps them beside that of a host that collects; the witness must be gone. With the
    /// counts comes the outcome of keeping.
    pub fn finish(
        self,
        kept: &KeptModels,
        host: Option<&KeptHost>,
    ) -> ((Counted, u64, Model), Result) {
        let (counted, missed) = (self.counted, self.missed);
        let is_kept = match self.thread.join() {
            Ok(drives) => kept.keep(&self.model, &drives, host),
            Err(_) => Err(CommandError::work(anyhow::anyhow!("the models are lost"))),
        };
        let counted = *counted.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = (counted, missed.load(Ordering::Relaxed), self.model);
        (seen, is_kept)
    }
}

/// The models of a sample: all writes in one stream, and in the streams the scheme chose.
pub type Pair = [ModelledDrive; 2];

/// A modelled drive, and what says where its copies go.
pub struct ModelledDrive {
    device: Device,
    relocation: Box<dyn Relocate>,
}

impl ModelledDrive {
    /// Makes a new drive.
    pub fn new(config: &Config, kind: RelocationKind) -> Result<ModelledDrive> {
        let relocation = kind.build(config);
        let device = Device::new(config.clone(), &*relocation).map_err(CommandError::usage)?;
        Ok(ModelledDrive { device, relocation })
    }

    /// Reads one that was saved; `None` where it is of another configuration.
    pub fn load(
        from: &mut dyn Read,
        config: &Config,
        kind: RelocationKind,
    ) -> Result<Option<ModelledDrive>, StateError> {
        let mut relocation = kind.build(config);
        let device = Device::load(from, &mut *relocation)?;
        let is_same = device.config() == config;
        Ok(is_same.then_some(ModelledDrive { device, relocation }))
    }

    /// Writes it.
    pub fn save(&self, to: &mut dyn Write) -> Result<(), StateError> {
        self.device.save(&*self.relocation, to)
    }

    /// Its counts so far.
    pub fn counters(&self) -> &Counters {
        self.device.counters()
    }

    /// Writes pages to a stream.
    pub fn write(&mut self, pages: PageRange, stream: StreamId) -> Result<(), DeviceError> {
        self.device.write(&mut *self.relocation, pages, stream)
    }
}

fn follow(
    seen: &Receiver<Seen>,
    mut drives: Vec<Pair>,
    drawn: Drawn,
    counted: &Mutex<Counted>,
) -> Vec<Pair> {
    let publish = |drives: &[Pair]| {
        let of = |at: usize| -> Vec<Counters> {
            drives.iter().map(|pair| *pair[at].counters()).collect()
        };
        *counted.lock().unwrap_or_else(PoisonError::into_inner) =
            Counted::of(&of(0), &of(1), drawn);
    };
    // Models that were kept have counts.
    publish(&drives);
    while let Ok(next) = seen.recv() {
        take(&mut drives, next);
        let mut taken = 0;
        for next in seen.try_iter().take(WAITING) {
            take(&mut drives, next);
            taken += 1;
        }
        publish(&drives);
        // A queue that sends to a thread which waits must wake it, with each write. Where more has come than can wait,
        // there is no time for a rest.
        if taken < WAITING {
            thread::sleep(GATHERED);
        }
    }
    drives
}

/// Has the models of a sample do what was decided. A model refuses only what is beyond its drive, and no request is.
fn take(drives: &mut [Pair], seen: Seen) {
    let _ = match seen {
        Seen::Wrote(number, pages, stream) => {
            let [baseline, steered] = &mut drives[number];
            let written = baseline.write(pages, StreamId::DEFAULT);
            written.and_then(|()| steered.write(pages, stream))
        }
        Seen::Discarded(number, pages) => {
            let [baseline, steered] = &mut drives[number];
            let discarded = baseline.device.discard(pages);
            discarded.and_then(|()| steered.device.discard(pages))
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_modelled_whole_by_samples_or_not_at_all() {
        const MIB: u64 = 1 << 20;
        let extent = |wanted, bytes| Extent::of(wanted, bytes, 64 * MIB);
        let rate = |one_of| Extent::At(Rate::one_of(one_of).unwrap());
        assert_eq!(extent(Wanted::Auto, WHOLE_BYTES), rate(1));
        assert_eq!(extent(Wanted::On, 8 << 40), rate(1));
        assert_eq!(extent(Wanted::Off, 8 << 40), Extent::Nothing);
        // 2^28 pages: four samples of 2^20 at 1/256 take 80 MiB.
        assert_eq!(extent(Wanted::Auto, 1 << 40), rate(256));
        // Of 16,384 pages a unit must keep sixteen.
        assert_eq!(extent(Wanted::Auto, 8 << 40), rate(1024));
        assert_eq!(Extent::of(Wanted::Auto, 8 << 40, 8 << 30), rate(2048));
        assert_eq!(extent(Wanted::Auto, 8 << 40).limitation(), None);
        // A unit of an odd number of pages cannot be sampled.
        let odd = Extent::of(Wanted::Auto, 1 << 40, 4096 * 4095);
        let words = odd.limitation().unwrap();
        assert!(
            words.contains("larger than 64.00 GiB") && words.contains("`--shadow on`"),
            "{words}"
        );
        assert!(words.contains("20.00 GiB of memory"), "{words}");
    }

    fn nowhere() -> KeptModels {
        KeptModels::new(None, String::new())
    }

    /// Counts of the models of a drive of 512 units after writes that a sixteenth of the pages get most of, in a stream of their
    /// own.
    fn modelled(rate: Rate) -> Counted {
        let one_of = rate.pages();
        let mut config = Config {
            page_bytes: 4096 * one_of,
            host_streams: 2,
            ..Config::new((1 << 18) / one_of, 512 / one_of, 560)
        };
        let kind = RelocationKind::Fdp;
        config.internal_streams = kind.internal_streams(&config);
        let model = Model {
            config,
            kind,
            rate,
            kept_bytes: 0,
        };
        let (shadow, mut witness) = Shadow::start(model, &nowhere()).unwrap();
        let mut state = 1_u64;
        for step in 0..1_u64 << 20 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let drawn = (state >> 33) as u32;
            let is_hot = step % 8 != 0;
            let page = drawn % (1 << if is_hot { 14 } else { 18 });
            witness.wrote(PageRange::new(page, 1), StreamId(u16::from(is_hot)));
            // The test waits for the models, as a server would not.
            while step % 4096 == 0 && shadow.missed.load(Ordering::Relaxed) == 0 && step > 0 {
                let seen = shadow.counted().baseline.host_pages;
                if seen + (1 << 15) * u64::from(one_of) >= step {
                    break;
                }
                thread::yield_now();
            }
        }
        drop(witness);
        let ((counted, missed, _), is_kept) = shadow.finish(&nowhere(), None);
        is_kept.unwrap();
        assert_eq!(missed, 0);
        counted
    }

    #[test]
    fn samples_tell_what_the_whole_drive_does_within_their_errors() {
        let whole = modelled(Rate::WHOLE);
        let sampled = modelled(Rate::one_of(16).unwrap());
        assert_eq!((whole.steered.error, whole.baseline.error), (None, None));
        for (whole, sampled) in [
            (whole.steered, sampled.steered),
            (whole.baseline, sampled.baseline),
        ] {
            let off = (whole.waf.unwrap() - sampled.waf.unwrap()).abs();
            assert!(off <= sampled.error.unwrap(), "{whole:?} {sampled:?}");
            let pages = sampled.host_pages.abs_diff(whole.host_pages);
            assert!(pages * 50 < whole.host_pages, "{whole:?} {sampled:?}");
        }
        let ((saved, none), (mean, error)) = (whole.saved.unwrap(), sampled.saved.unwrap());
        assert!(saved > 0.05 && none == 0.0, "{whole:?}");
        assert!(
            (saved - mean).abs() <= error + 0.02,
            "{whole:?} {sampled:?}"
        );
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
        let mut model = ModelledDrive::new(&one, kind).unwrap();
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
