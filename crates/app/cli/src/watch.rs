//! `anabranch watch`: devices in use, observed for as long as one likes.

mod arguments;
mod clock;
mod device;
mod drive_counters;
mod model;
mod report;
mod self_cost;
mod state_file;
mod traces;

use std::{
    io::{self, IsTerminal as _},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anabranch_compare::{bytes, share};
use anabranch_probe::{give_back_freed_memory, share_one_heap};
use anabranch_watch::{Budget, DeviceState, Excess, Keep, Limits, SCHEMA, Snapshot};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};

pub use arguments::{EXAMPLE, WatchArguments};

use crate::{
    block::Block,
    error::{CommandError, Result},
    readiness, say,
};
use device::{Attach, Watched};
use model::ShadowPlan;
use report::WatchReport;
use self_cost::Cost;
use state_file::StateFile;
use traces::Traces;

/// Wait of a look for events: the pace of everything (our choice).
const PACE: Duration = Duration::from_millis(50);
/// Interval between saves of the state (our choice: a killed watcher sees that much anew).
const STATE_EVERY: Duration = Duration::from_secs(300);
/// Memory for a device unless it is said, and for the first two (our choice: a probe with its ring takes 44 MiB
/// in the kernel).
const MEMORY_BYTES: u64 = 128 << 20;
const LEAST_MEMORY_BYTES: u64 = 256 << 20;
/// The share of the memory that shadow drives are planned to take (our choice: the rest is of the probes, and of
/// what grows with contexts and files).
const PLANNED: u64 = 2;

/// Watches devices until it is told to stop.
pub fn watch(arguments: &WatchArguments) -> Result {
    // Attaching, on a thread of its own, needs megabytes for a moment.
    share_one_heap();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CommandError::work)?;
    let is_ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&is_ended)).map_err(CommandError::work)?;
    }
    let plan = ShadowPlan::of(arguments)?;
    let limits = limits(arguments)?;
    let attach = attach(arguments, is_ended)?;
    let keep = keep(arguments)?;
    let blocks = arguments.devices.iter().map(|path| Block::find(path));
    let blocks = blocks.collect::<Result<Vec<Block>>>()?;
    each_once(&blocks)?;
    let state = StateFile::open(arguments.state.as_deref(), &blocks)?;
    anabranch_probe::check().map_err(CommandError::work)?;
    let mut told = WatchReport::begin(arguments)?;
    let most_bytes = limits
        .memory_bytes
        .map(|most| most / PLANNED / blocks.len() as u64);
    let mut watch = Watch {
        devices: Vec::new(),
        plan,
        attach,
        budget: Budget::new(limits),
        is_coarsest: false,
        cost: Cost::new(),
        began: Instant::now(),
        state,
    };
    for block in blocks {
        let kept = watch.state.take(&block, &watch.plan, arguments.sample);
        let is_own = |kept: &&DeviceState| kept.drive == watch.plan.drive_options();
        let asked = arguments.sample;
        let asked = asked.or(kept.as_ref().filter(is_own).map(|kept| kept.rate));
        let drive = watch.plan.fitting(block.bytes, asked, most_bytes)?;
        let rate = drive.rate();
        if asked.is_some_and(|asked| asked != rate) {
            say::print_note(&format!(
                "{}: --memory lets it be sampled at {rate} at the finest",
                block.path.display()
            ));
        }
        let traces = arguments.traces.as_deref();
        let traces = traces.map(|directory| Traces::new(directory, &block.name, keep));
        let device = Watched::start(block, &watch.plan, rate, kept, traces, &watch.attach)?;
        watch.devices.push(device);
    }
    fits(&limits, &watch.devices)?;
    readiness::announce()?;
    // What ends the watching early does not take state and traces along.
    let watched = watch.go_on(arguments, &mut signals, &mut told);
    let last = watch.end()?;
    watched?;
    told.end(&last, &watch.devices)
}

fn limits(arguments: &WatchArguments) -> Result<Limits> {
    let each = MEMORY_BYTES * arguments.devices.len() as u64;
    let memory_bytes = match &arguments.memory {
        Some(memory) => bytes(memory)?,
        None => each.max(LEAST_MEMORY_BYTES),
    };
    Ok(Limits {
        cpu: arguments
            .cpu
            .as_deref()
            .map(share_of_processor)
            .transpose()?,
        memory_bytes: Some(memory_bytes),
    })
}

/// Refuses a share that cannot be kept: looking at requests costs something at every rate.
fn share_of_processor(text: &str) -> Result<f64> {
    match share(text)? {
        share if share > 0.0 => Ok(share),
        _ => Err(CommandError::wrong_use(format!(
            "--cpu {text}: watching takes some of a processor at every rate: 1% works, or leave it out"
        ))),
    }
}

/// Refuses a budget that no sample can keep, because the probes alone take most of it.
fn fits(limits: &Limits, devices: &[Watched]) -> Result {
    let probes: u64 = devices.iter().map(Watched::probe_bytes).sum();
    match limits.memory_bytes {
        Some(most) if probes > most / PLANNED => Err(CommandError::wrong_use(format!(
            "--memory: of {} the kernel takes {} for the probes; {}MiB works, or less with a smaller --ring",
            anabranch_report::bytes(most),
            anabranch_report::bytes(probes),
            (probes * PLANNED).div_ceil(1 << 20)
        ))),
        _ => Ok(()),
    }
}

fn attach(arguments: &WatchArguments, is_ended: Arc<AtomicBool>) -> Result<Attach> {
    let ring_bytes = u32::try_from(bytes(&arguments.ring)?)
        .map_err(|_| CommandError::wrong_use("--ring is at most 2GiB"))?;
    Ok(Attach {
        is_ended,
        hints: !arguments.no_hints,
        generations: !arguments.generations.no_generations,
        ring_bytes,
    })
}

fn keep(arguments: &WatchArguments) -> Result<Keep> {
    if let Some(directory) = &arguments.traces
        && !directory.is_dir()
    {
        return Err(CommandError::wrong_use(format!(
            "--traces {}: there is no such directory; `mkdir -p` makes it",
            directory.display()
        )));
    }
    Ok(Keep {
        age_s: arguments.keep.map(|age| age.as_secs().max(1)),
        bytes: arguments.max.as_deref().map(bytes).transpose()?,
    })
}

fn each_once(blocks: &[Block]) -> Result {
    for (at, block) in blocks.iter().enumerate() {
        if blocks[..at].iter().any(|other| other.name == block.name) {
            return Err(CommandError::wrong_use(format!(
                "{} is named twice",
                block.path.display()
            )));
        }
    }
    Ok(())
}

/// Devices at work.
struct Watch {
    devices: Vec<Watched>,
    plan: ShadowPlan,
    attach: Attach,
    budget: Budget,
    is_coarsest: bool,
    cost: Cost,
    began: Instant,
    state: StateFile,
}

impl Watch {
    /// Watches until its time is up, or somebody says so.
    fn go_on(
        &mut self,
        arguments: &WatchArguments,
        signals: &mut Signals,
        told: &mut WatchReport,
    ) -> Result {
        let (mut looked, mut kept) = (Instant::now(), Instant::now());
        // The end of a terminal ends what was begun on it; a service has none.
        let has_terminal = io::stdin().is_terminal();
        let mut is_heard = told.report(&self.snapshot(), &self.devices)?;
        loop {
            self.devices.iter_mut().try_for_each(Watched::poll)?;
            let came: Vec<i32> = signals.pending().collect();
            let is_up = |lasts| self.began.elapsed() >= lasts;
            let ends = |signal: &i32| *signal != SIGHUP || has_terminal;
            if !is_heard || came.iter().any(ends) || arguments.lasts.is_some_and(is_up) {
                return Ok(());
            }
            if !came.is_empty() {
                self.devices.iter_mut().for_each(Watched::rotate);
            }
            if !came.is_empty() || kept.elapsed() >= STATE_EVERY {
                kept = Instant::now();
                self.keep_state();
            }
            if looked.elapsed() >= arguments.every {
                looked = Instant::now();
                is_heard = self.sample(told)?;
            }
            thread::sleep(PACE);
        }
    }

    /// A moment's snapshot, and what follows from it. Answers whether anybody can still be told.
    fn sample(&mut self, told: &mut WatchReport) -> Result<bool> {
        let (attach, plan) = (&self.attach, &self.plan);
        let mut is_resized = false;
        for device in &mut self.devices {
            is_resized |= device.tend(plan, attach)?;
        }
        if is_resized {
            // A state of the size before is refused at the next start.
            self.keep_state();
        }
        let snapshot = self.snapshot();
        let is_heard = told.report(&snapshot, &self.devices)?;
        match self.budget.judge(&snapshot.own) {
            Some(excess) if !self.is_coarsest => self.coarsen(excess)?,
            _ => {}
        }
        Ok(is_heard)
    }

    /// Halves the rates, and says so.
    fn coarsen(&mut self, excess: Excess) -> Result {
        let why = match excess {
            Excess::Cpu(cpu) => format!(
                "{:.2} % of a processor is more than --cpu allows",
                100.0 * cpu
            ),
            Excess::Memory(bytes) => {
                format!(
                    "{} is more than --memory allows",
                    anabranch_report::bytes(bytes)
                )
            }
        };
        self.is_coarsest = true;
        for device in &mut self.devices {
            let before = device.rate();
            if let Some(rate) = device.coarsen(&self.plan)? {
                self.is_coarsest = false;
                let path = device.block.path.display();
                say::print_note(&format!(
                    "{why}: {path} is sampled at {rate} from now on, {before} before"
                ));
            }
        }
        // What building the new drives took is not what watching takes, nor what the old ones left.
        give_back_freed_memory();
        let _ = self.cost.sample(0);
        if self.is_coarsest {
            say::print_note(&format!(
                "{why}, and no coarser sample tells anything: fewer --scheme, --samples or devices take less"
            ));
        }
        Ok(())
    }

    /// Keeps the state; where that fails it is told, and watching goes on.
    fn keep_state(&mut self) {
        let (devices, plan) = (&mut self.devices, &self.plan);
        self.state.keep(|| {
            devices
                .iter_mut()
                .map(|device| device.state(plan))
                .collect()
        });
        give_back_freed_memory();
    }

    /// The last snapshot, to the last page. State and traces are kept of all devices, whatever one of them meets.
    fn end(&mut self) -> Result<Snapshot> {
        let mut polled = Ok(());
        for device in &mut self.devices {
            polled = polled.and(device.poll());
            device.drain();
        }
        let last = self.snapshot();
        self.devices.iter_mut().for_each(Watched::rotate);
        self.keep_state();
        polled.map(|()| last)
    }

    fn snapshot(&mut self) -> Snapshot {
        let kernel_bytes = self.devices.iter().map(Watched::probe_bytes).sum();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Snapshot {
            schema: SCHEMA,
            unix_s: since.map_or(0, |since| since.as_secs()),
            watched_s: self.began.elapsed().as_secs_f64(),
            devices: self
                .devices
                .iter_mut()
                .map(|device| device.view(&self.plan))
                .collect(),
            own: self.cost.sample(kernel_bytes),
        }
    }
}
