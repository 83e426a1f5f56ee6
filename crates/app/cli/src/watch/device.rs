//! One device that is watched: its probe, its shadow drives, and what was asked of it.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use anabranch_placement::Names;
use anabranch_probe::{
    FoldLimits, Probe, ProbeOptions, Untold, give_back_freed_memory, symbolise, unnamed,
};
use anabranch_replay::Source;
use anabranch_trace::{Capture, Context, Io, Operation, Rate, Tables};
use anabranch_watch::{Answer, ContextLabels, ContextNumbers, DeviceState, DeviceView, Load};

use super::{
    drive_counters::DriveCounters,
    model::{Kept, Model, ShadowPlan},
    traces::Traces,
};
use crate::{
    attaching,
    block::Block,
    error::{CommandError, Result},
    kernel::said_by_kernel,
    say,
};

/// Contexts a snapshot lists of a device (our choice: what a person looks through).
const CONTEXTS: usize = 32;
/// Files kept apart (our choice: some 6 MiB).
const MOST_FILES: usize = 1 << 16;

/// Attachment to devices.
#[derive(Debug, Clone)]
pub struct Attach {
    /// Whether the watching is to end, before a probe is attached as well.
    pub is_ended: Arc<AtomicBool>,
    pub hints: bool,
    pub generations: bool,
    pub ring_bytes: u32,
}

/// A device at work.
pub struct Watched {
    pub block: Block,
    probe: Option<Probe>,
    model: Model,
    numbers: ContextNumbers,
    /// Files of the present probe that schemes were told of.
    files: usize,
    naming: Option<JoinHandle<(Vec<Context>, u64)>>,
    /// Calls whose files could not be read for their names.
    unnamed: u64,
    /// Contexts whose addresses were given to be named.
    named: usize,
    source: Source,
    /// Counts of the present probe that were not reported yet, as far as `source` has them.
    untold: Untold,
    /// Events that earlier probes lost, and requests beyond the device's end.
    lost_before: u64,
    /// Events lost before the trace at work was begun.
    lost_at_rotation: u64,
    /// The kernel's count of bytes written when the present probe began, and what was written before that.
    kernel_mark: Option<u64>,
    kernel_before: u64,
    traces: Option<Traces>,
    /// Counters of the drive itself, where it has them.
    truth: Option<DriveCounters>,
    pub labels: ContextLabels,
    batch: Vec<Io>,
    /// The size with which it came back and has no shadow drive; said once.
    unfit_bytes: Option<u64>,
}

impl Watched {
    /// Attaches to a device, and goes on with what was kept of it.
    pub fn start(
        block: Block,
        plan: &ShadowPlan,
        rate: Rate,
        state: Option<DeviceState>,
        traces: Option<Traces>,
        attach: &Attach,
    ) -> Result<Watched> {
        let mut numbers = ContextNumbers::default();
        let (mut kept, mut source) = (Kept::default(), Source::default());
        if let Some(state) = state {
            // Row 0 is there.
            numbers.restore(state.contexts);
            source = state.source;
            kept = Kept {
                survey: state.survey,
                schemes: state.schemes,
                is_whole: state.rate == Rate::WHOLE,
            };
        }
        let drive = plan.drive(block.bytes, rate)?;
        plan.check_endurance(&drive)?;
        let mut watched = Watched {
            model: Model::start(plan, drive, &kept, numbers.table())?,
            block,
            probe: None,
            files: 0,
            naming: None,
            unnamed: 0,
            named: numbers.table().len(),
            numbers,
            lost_before: source.lost_events,
            lost_at_rotation: source.lost_events,
            kernel_mark: None,
            kernel_before: source.write_bytes,
            source,
            untold: Untold::default(),
            traces,
            truth: None,
            labels: ContextLabels::default(),
            batch: Vec::new(),
            unfit_bytes: None,
        };
        watched.attach(attach)?;
        say::print_note(&format!("watching {}", watched.block.path.display()));
        Ok(watched)
    }

    fn attach(&mut self, attach: &Attach) -> Result {
        let defaults = ProbeOptions::new(&self.block.path);
        let options = ProbeOptions {
            hints: attach.hints,
            generations: attach.generations,
            ring_bytes: attach.ring_bytes,
            fold: FoldLimits {
                max_files: MOST_FILES,
                ..defaults.fold
            },
            ..defaults
        };
        let is_ended = || attach.is_ended.load(Ordering::Relaxed);
        self.probe = Some(attaching::attach(options, is_ended)?);
        self.untold = Untold::default();
        self.tell_only_sampled();
        self.kernel_mark = self.block.written_bytes();
        // Counted from when it was first attached to: a drive's logs outlive its being away.
        self.truth = DriveCounters::again(self.truth.take(), &self.block);
        self.numbers.forget_probe();
        self.files = 0;
        give_back_freed_memory();
        Ok(())
    }

    /// Has the kernel leave out what no shadow drive looks at. A trace holds all there is.
    fn tell_only_sampled(&mut self) {
        let Some(probe) = &mut self.probe else {
            return;
        };
        match &self.traces {
            Some(_) => probe.tell_only(&[]),
            None => probe.tell_only(&self.model.told_samples()),
        }
    }

    /// Counts what the kernel has left out since.
    fn count_untold(&mut self) {
        let Some(probe) = &self.probe else {
            return;
        };
        let untold = probe.untold();
        let new = untold.since(self.untold);
        self.untold = untold;
        self.source.records += new.requests;
        self.source.write_bytes += new.write_bytes;
        self.source.discarded_bytes += new.discarded_bytes;
        self.source.read_bytes += new.read_bytes;
        self.source.flushes += new.flushes;
    }

    /// Takes what has happened since.
    pub fn poll(&mut self) -> Result {
        let Some(probe) = &mut self.probe else {
            return Ok(());
        };
        self.batch.clear();
        let batch = &mut self.batch;
        let taken = probe.drain(&mut |io| batch.push(io));
        taken.map_err(CommandError::work)?;
        self.count_untold();
        self.take()?;
        if self.traces.as_ref().is_some_and(Traces::is_due) {
            self.rotate();
        }
        Ok(())
    }

    /// Hands on what was taken.
    fn take(&mut self) -> Result {
        let Some(probe) = self.probe.as_ref().filter(|_| !self.batch.is_empty()) else {
            return Ok(());
        };
        let contexts = probe.contexts_from(self.numbers.known());
        let contexts = self.numbers.learn(contexts);
        let files = probe.files_from(self.files);
        let first = u32::try_from(self.files).unwrap_or(u32::MAX);
        self.model.learn(Names::of_rows(first, files, &contexts));
        self.files += files.len();
        let bytes = self.block.bytes;
        // A device that has just grown may bring requests beyond the end that is known.
        let is_within = |io: &Io| {
            io.operation == Operation::Flush
                || io.offset_bytes.saturating_add(io.length_bytes) <= bytes
        };
        let all = self.batch.len();
        self.batch.retain(is_within);
        self.lost_before += (all - self.batch.len()) as u64;
        for io in &mut self.batch {
            io.context = self.numbers.number_of(io.context);
            self.source.count(io);
        }
        if let Some(traces) = &mut self.traces {
            traces.push(&self.batch);
        }
        self.model.feed(&self.batch)
    }

    /// Looks whether the device is there: one that went is let go of, one that came back is attached to again. Answers
    /// whether it has another size now.
    pub fn tend(&mut self, plan: &ShadowPlan, attach: &Attach) -> Result<bool> {
        match &self.probe {
            Some(_) if !self.block.is_there() => self.let_go().map(|()| false),
            Some(_) => Ok(false),
            None => match self.block.back().filter(|block| self.has_room(plan, block)) {
                None => Ok(false),
                Some(block) => {
                    let before = std::mem::replace(&mut self.block, block);
                    if self.attach(attach).is_err() {
                        // Gone again, it may be: tried anew at the next look.
                        self.block = before;
                        return Ok(false);
                    }
                    say::print_note(&format!("{} is back", self.block.path.display()));
                    if before.bytes == self.block.bytes {
                        Ok(false)
                    } else {
                        self.resize(plan, before.bytes).map(|()| true)
                    }
                }
            },
        }
    }

    /// Whether the device that is back has a size that shadow drives can have. One that has not stays away, and the
    /// others are watched on.
    fn has_room(&mut self, plan: &ShadowPlan, block: &Block) -> bool {
        if block.bytes == self.block.bytes {
            return true;
        }
        let unfit = plan.fitting(block.bytes, Some(self.rate()), None).err();
        if let Some(Some(why)) = unfit.as_ref().map(|failure| &failure.error)
            && self.unfit_bytes.replace(block.bytes) != Some(block.bytes)
        {
            say::print_note(&format!("{} is not watched: {why}", block.path.display()));
        }
        unfit.is_none()
    }

    /// Begins new shadow drives, as large as the device is by now, with what lives below its end. What was counted was
    /// on drives of another size.
    fn resize(&mut self, plan: &ShadowPlan, before_bytes: u64) -> Result {
        let bytes = self.block.bytes;
        let mut kept = self.model.kept();
        kept.schemes.clear();
        kept.survey.cut(bytes);
        let drive = plan.fitting(bytes, Some(self.rate()), None)?;
        self.model = Model::start(plan, drive, &kept, self.numbers.table())?;
        self.tell_only_sampled();
        // The new schemes are told all names.
        self.files = 0;
        say::print_note(&format!(
            "{} has {} now and had {}: its shadow drives begin anew with what lives, and count from now on",
            self.block.path.display(),
            anabranch_report::bytes(bytes),
            anabranch_report::bytes(before_bytes)
        ));
        Ok(())
    }

    fn let_go(&mut self) -> Result {
        self.poll()?;
        // Numbers of files are the probe's: a trace holds those of one.
        self.rotate();
        if let Some(probe) = self.probe.take() {
            self.lost_before += probe.lost_events();
        }
        // Its own count went with it.
        self.kernel_before = self.source.write_bytes;
        self.kernel_mark = None;
        say::print_note(&format!(
            "{} is gone, or another than before: what was seen stays, and it is watched again when it is back",
            self.block.path.display()
        ));
        Ok(())
    }

    /// Ends the trace at work, and begins another with the next request.
    pub fn rotate(&mut self) {
        let Some(mut traces) = self.traces.take() else {
            return;
        };
        let files = self
            .probe
            .as_ref()
            .map_or(&[][..], |probe| probe.files_from(0));
        traces.rotate(|| Tables {
            contexts: self.numbers.table().to_vec(),
            files: files.to_vec(),
            capture: Capture {
                device_bytes: self.block.bytes,
                kernel: said_by_kernel("osrelease"),
                host: said_by_kernel("hostname"),
                lost_events: self.lost_events() - self.lost_at_rotation,
                limitations: self.limitations(),
                ..Capture::default()
            },
        });
        self.traces = Some(traces);
        give_back_freed_memory();
        self.lost_at_rotation = self.lost_events();
    }

    /// Waits until all that was seen is performed.
    pub fn drain(&mut self) {
        self.model.drain();
    }

    /// Goes on at half the rate; answers what it is then, unless there is no coarser one that tells anything.
    pub fn coarsen(&mut self, plan: &ShadowPlan) -> Result<Option<Rate>> {
        let rate = Rate::one_of(self.rate().pages().saturating_mul(2));
        let drive = rate.and_then(|rate| plan.drive(self.block.bytes, rate).ok());
        let Some(drive) = drive else {
            return Ok(None);
        };
        let kept = self.model.kept();
        self.model = Model::start(plan, drive, &kept, self.numbers.table())?;
        self.tell_only_sampled();
        // The new schemes are told all names.
        self.files = 0;
        Ok(rate)
    }

    /// One page of how many.
    pub fn rate(&self) -> Rate {
        self.model.drive().rate()
    }

    /// State kept over a restart.
    pub fn state(&mut self, plan: &ShadowPlan) -> DeviceState {
        let kept = self.model.kept();
        let path = self.block.path.display().to_string();
        let mut state = DeviceState::new(self.block.identity.clone(), path, self.block.bytes);
        state.rate = self.rate();
        state.seed = plan.seed();
        state.drive = plan.drive_options();
        state.schemes = kept.schemes;
        state.source = self.source;
        state.source.lost_events = self.lost_events();
        state.contexts = self.numbers.table().to_vec();
        state.survey = kept.survey;
        state
    }

    fn lost_events(&self) -> u64 {
        self.lost_before + self.probe.as_ref().map_or(0, Probe::lost_events)
    }

    fn limitations(&self) -> Vec<String> {
        let probe = self.probe.as_ref().map(Probe::limitations);
        let known = probe.into_iter().flatten();
        known.chain(unnamed(self.unnamed)).collect()
    }

    /// Names of calls, of contexts that are new: on a thread of its own, for programs are large.
    fn name_contexts(&mut self) {
        if let Some(done) = self.naming.take_if(|naming| naming.is_finished()) {
            // One that panicked leaves addresses without names.
            let (named, unnamed) = done.join().unwrap_or_default();
            self.numbers.name(named);
            self.unnamed += unnamed;
        }
        let table = self.numbers.table();
        if self.naming.is_none() && table.len() > self.named {
            let mut new = table[self.named..].to_vec();
            self.named = table.len();
            let naming = thread::Builder::new().name("symbols".to_owned());
            let spawned = naming.spawn(move || {
                let unnamed = symbolise(&mut new, &mut || true);
                (new, unnamed)
            });
            self.naming = spawned.ok();
        }
    }

    fn kernel_write_bytes(&self) -> Option<u64> {
        let mark = self.kernel_mark?;
        let since = self.block.written_bytes()?.checked_sub(mark)?;
        Some(self.kernel_before + since)
    }

    /// Memory the kernel holds for its probe.
    pub fn probe_bytes(&self) -> u64 {
        self.probe.as_ref().map_or(0, Probe::kernel_bytes)
    }

    /// The known state.
    pub fn view(&mut self, plan: &ShadowPlan) -> DeviceView {
        self.name_contexts();
        let (schemes, filled) = self.model.sample();
        let mut source = self.source;
        let most = schemes.iter().map(|scheme| scheme.host_page_bytes).max();
        source.host_page_bytes = most.unwrap_or(0);
        source.lost_events = self.lost_events();
        source.capacities_written = source.host_page_bytes as f64 / self.block.bytes.max(1) as f64;
        let details = self.model.survey().details(self.numbers.table());
        let mut contexts = details.contexts;
        let listed: u64 = contexts.iter().map(|context| context.written_bytes).sum();
        self.labels
            .update(&contexts, listed + details.unlisted_bytes);
        let unlisted = contexts.split_off(contexts.len().min(CONTEXTS));
        let unlisted_bytes = unlisted.iter().map(|context| context.written_bytes);
        let drive = self.model.drive();
        let seconds = source.lasted_s();
        let endurance = plan.endurance(drive, &source);
        let load = Load {
            capacities: source.capacities_written,
            seconds,
            endurance: endurance.as_ref(),
        };
        DeviceView {
            device: shown(&self.block.path),
            kind: self.block.seen.words().to_owned(),
            is_watched: self.probe.is_some(),
            device_bytes: self.block.bytes,
            rate: drive.rate(),
            unit_pages: drive.config.pages_per_unit,
            source,
            kernel_write_bytes: self.kernel_write_bytes(),
            filled,
            answer: Answer::of(&schemes, load),
            schemes,
            unlisted_contexts: details.unlisted_contexts + unlisted.len() as u64,
            unlisted_bytes: details.unlisted_bytes + unlisted_bytes.sum::<u64>(),
            contexts,
            drive: self.truth.as_ref().and_then(DriveCounters::sample),
            limitations: self.limitations(),
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
