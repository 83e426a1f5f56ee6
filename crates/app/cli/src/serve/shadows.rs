//! Shadow drives: what schemes would have made of the writes that hosts send, each on a drive of its own, sampled or whole.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anabranch_compare::{
    ComparedDrive, ComparisonOptions, Running, Sampling, TraceOrigin, one_sampled, read_text,
    samples, schemes,
};
use anabranch_nvme::{
    More,
    drive::{Hint, Listen, ServedDrive},
};
use anabranch_placement::Names;
use anabranch_replay::{Drawn, Progress, Start};
use anabranch_report::Exposition;
use anabranch_ssd::{Config, PageRange};
use anabranch_trace::{Context, ContextId, ContextKind, Io, Operation, Rate, Sample};
use anabranch_watch::{SchemeView, Track, Written, scheme_metrics};
use serde::Serialize;

use super::arguments::ServeArguments;
use crate::error::{CommandError, Result};

/// Requests that are handed on together, and how often before hosts wait for the schemes (our choice: some 5 MiB).
const BATCH: usize = 1024;
const BATCHES: usize = 64;
/// Period between two looks at the shadow drives' counters (our choice).
const EVERY: Duration = Duration::from_secs(1);

/// Results of a drive's shadow drives for the writes of its hosts.
#[derive(Debug, Serialize)]
pub struct Shadowed {
    /// Pages of which one was kept.
    pub rate: Rate,
    /// Pages of an erase unit in the sample.
    pub unit_pages: u32,
    pub schemes: Vec<SchemeView>,
}

/// Shadow drives at work, on a thread of their own.
pub struct Shadows {
    thread: JoinHandle<Running>,
    told: Arc<ShadowReport>,
}

/// Figures that shadow drives report while hosts write.
#[derive(Debug)]
pub struct ShadowReport {
    drive: ComparedDrive,
    /// Each scheme, with a track for each of its samples.
    tracks: Mutex<Vec<(String, Vec<Track>)>>,
}

impl ShadowReport {
    /// Drives that hold what the served one holds, and count from now on.
    fn new(drive: ComparedDrive, running: &Running) -> ShadowReport {
        let begun = |progress: &Progress| {
            let mut track = Track::default();
            track.go_on(written(progress, &drive.config));
            track
        };
        let all = running.counted().into_iter();
        let tracks = all.map(|(name, each)| (name, each.iter().map(begun).collect()));
        ShadowReport {
            tracks: Mutex::new(tracks.collect()),
            drive,
        }
    }

    fn tracks(&self) -> MutexGuard<'_, Vec<(String, Vec<Track>)>> {
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in how far they are.
    fn advance(&self, running: &Running) {
        let config = &self.drive.config;
        for ((_, tracks), (_, each)) in self.tracks().iter_mut().zip(running.counted()) {
            for (track, progress) in tracks.iter_mut().zip(&each) {
                track.advance(written(progress, config), config.logical_bytes());
            }
        }
    }

    /// Reads the schemes' results, as of a second ago or less.
    pub fn shadowed(&self) -> Shadowed {
        let unit_pages = self.drive.config.pages_per_unit;
        let rate = self.drive.rate();
        let drawn = Drawn {
            sample: rate.pages(),
            trace: 1,
            unit_pages,
        };
        let tracks = self.tracks();
        let view =
            |(name, tracks): &(String, Vec<Track>)| SchemeView::new(name.clone(), tracks, drawn);
        Shadowed {
            rate,
            unit_pages,
            schemes: tracks.iter().map(view).collect(),
        }
    }
}

/// Renders their figures for a monitoring system.
pub fn metrics(told: Arc<ShadowReport>) -> More {
    Arc::new(move || {
        let shadowed = told.shadowed();
        let mut text = Exposition::new("anabranch_shadow");
        let schemes = shadowed.schemes.iter().map(|scheme| (Vec::new(), scheme));
        scheme_metrics(&mut text, &schemes.collect::<Vec<_>>());
        text.finish()
    })
}

/// Requests, and the names that are new in them.
#[derive(Debug, Default)]
struct Batch {
    contexts: Vec<Context>,
    ios: Vec<Io>,
}

impl Shadows {
    /// Begins those that were asked for, with the drive's data, and has the drive report later writes to them.
    pub fn start(arguments: &ServeArguments, drive: &mut ServedDrive) -> Result<Option<Shadows>> {
        if arguments.shadow.is_empty() {
            return Ok(None);
        }
        let rate = arguments.sample.unwrap_or(Rate::WHOLE);
        let shadow = one_sampled(&arguments.drive, &TraceOrigin::default(), rate)?;
        let options = ComparisonOptions {
            schemes: arguments.shadow.clone(),
            sample: Some(Sampling::Rate(rate)),
            seed: arguments.seed,
            ..ComparisonOptions::default()
        };
        let specs = schemes(&options, false, &read_text)?;
        if let Some(bound) = specs.iter().find(|spec| spec.needs_future()) {
            return Err(CommandError::usage(bound.refused()));
        }
        let drawn = samples(
            rate,
            shadow.page_bytes(),
            None,
            arguments.seed,
            arguments.samples,
        )?;
        let drawn = if rate == Rate::WHOLE {
            Vec::new()
        } else {
            drawn
        };
        let mut running =
            Running::start(&specs, &shadow, &options, &Start::default(), &drawn, &[])?;
        let page_bytes = drive.config().page_bytes;
        held(drive, |ios| running.feed(ios));
        running.drain();
        let (sender, receiver) = sync_channel(BATCHES);
        let listener = Listener {
            page_bytes: u64::from(page_bytes),
            samples: running.told_samples().to_vec(),
            contexts: BTreeMap::new(),
            batch: Batch::default(),
            sender,
        };
        let thread = thread::Builder::new().name("shadows".to_owned());
        let told = Arc::new(ShadowReport::new(shadow, &running));
        let telling = Arc::clone(&told);
        let thread = thread.spawn(move || perform(running, &receiver, &telling));
        drive.listen(Some(Box::new(listener)));
        Ok(Some(Shadows {
            thread: thread.map_err(CommandError::work)?,
            told,
        }))
    }

    /// Shares the figures that they report meanwhile.
    pub fn report(&self) -> Arc<ShadowReport> {
        Arc::clone(&self.told)
    }

    /// Ends them once they have taken all writes reported to them; the drive's listener must be gone.
    pub fn end(self) -> Result<Shadowed> {
        let failed = || {
            CommandError::work(anyhow::anyhow!(
                "a shadow drive could not go on: a defect of anabranch, please report it"
            ))
        };
        // What a thread panicked of has been told.
        let running = self.thread.join().map_err(|_| failed())?;
        if running.has_failed() {
            return Err(failed());
        }
        Ok(self.told.shadowed())
    }
}

fn written(progress: &Progress, config: &Config) -> Written {
    let page_bytes = u64::from(config.page_bytes);
    Written {
        host_page_bytes: progress.counters.host_pages * page_bytes,
        copied_bytes: progress.counters.copied_pages * page_bytes,
    }
}

/// Lists the data that a drive holds, as writes in the order of addresses.
fn held(drive: &ServedDrive, mut feed: impl FnMut(&[Io])) {
    let page_bytes = u64::from(drive.config().page_bytes);
    let mut batch = Vec::with_capacity(BATCH);
    for page in (0..drive.config().logical_pages).filter(|page| drive.locate(*page).is_some()) {
        batch.push(Io::write(u64::from(page) * page_bytes, page_bytes));
        if batch.len() == BATCH {
            feed(&batch);
            batch.clear();
        }
    }
    feed(&batch);
}

fn perform(mut running: Running, batches: &Receiver<Batch>, told: &ShadowReport) -> Running {
    let mut looked = Instant::now();
    loop {
        let left = EVERY.saturating_sub(looked.elapsed());
        match batches.recv_timeout(left) {
            Ok(batch) => {
                if !batch.contexts.is_empty() {
                    running.learn(Names::of_rows(0, &[], &batch.contexts));
                }
                running.feed(&batch.ios);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if looked.elapsed() >= EVERY {
            told.advance(&running);
            looked = Instant::now();
        }
    }
    running.drain();
    told.advance(&running);
    running
}

/// Hands on what the shadow drives look at.
#[derive(Debug)]
struct Listener {
    page_bytes: u64,
    /// Empty where all is looked at.
    samples: Vec<Sample>,
    /// Contexts of hints, by kind and number.
    contexts: BTreeMap<(u8, u16), ContextId>,
    batch: Batch,
    sender: SyncSender<Batch>,
}

impl Listener {
    fn take(&mut self, operation: Operation, context: ContextId, pages: PageRange) {
        let io = Io {
            operation,
            context,
            ..Io::write(
                u64::from(pages.first) * self.page_bytes,
                u64::from(pages.count) * self.page_bytes,
            )
        };
        let is_kept = |sample: &Sample| sample.apply(&io).is_some();
        if pages.count == 0 || !(self.samples.is_empty() || self.samples.iter().any(is_kept)) {
            return;
        }
        self.batch.ios.push(io);
        if self.batch.ios.len() == BATCH {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        // Shadow drives that have failed tell so at the end.
        let _ = self.sender.send(std::mem::take(&mut self.batch));
    }

    /// The context of what a host says of a write; the unknown one where it says nothing.
    fn context(&mut self, hint: Hint) -> ContextId {
        let (kind, number, what) = match hint {
            Hint::None => return ContextId::UNKNOWN,
            Hint::Stream(number) => (1, number, "stream"),
            Hint::Placement(number) => (2, number, "placement identifier"),
            Hint::Assigned(stream) => (3, stream.0, "stream"),
        };
        let next = ContextId(self.contexts.len() as u32 + 1);
        let context = *self.contexts.entry((kind, number)).or_insert(next);
        if context == next {
            let signature = u64::from(kind) << 16 | u64::from(number);
            let role = format!("{what} {number}");
            let row = Context::new(next, signature, ContextKind::Application, role);
            self.batch.contexts.push(row);
        }
        context
    }
}

impl Listen for Listener {
    fn written(&mut self, hint: Hint, pages: PageRange) {
        let context = self.context(hint);
        self.take(Operation::Write, context, pages);
    }

    fn discarded(&mut self, pages: PageRange) {
        self.take(Operation::Discard, ContextId::UNKNOWN, pages);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.hand_on();
    }
}
