//! `anabranch run`: a program on a fresh drive, every scheme fed while it runs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anabranch_compare::{NamedDrive, Origin, Running, Sampling, one_drive, one_sampled, samples};
use anabranch_disk::{
    DiskError, Drive, DriveOptions, FileSystemKind, Namespace, Workload, status_code,
};
use anabranch_placement::SchemeSpec;
use anabranch_replay::Comparison;
use anabranch_report::foreign;
use anabranch_trace::Sample;
use nix::sys::statvfs::statvfs;
use serde_json::{Value, json};

use super::{
    capture::{Capturing, Recorded},
    end::{End, Patience},
    interrupt::Interrupt,
    output::{Voice, note_above},
    stages::{Stage, Stages, fit, list_wanted},
    view::View,
};
use crate::{
    answer::AnswerArguments,
    arguments::RunArguments,
    comparison::{keep, live_schemes, publish},
    failure::{Failure, INTERRUPTED, Result},
    rate::NO_AUTO,
    say, tenants,
    workloads::workloads,
};

/// Runs the program and prints the result of every scheme for its writes.
pub fn run(arguments: &RunArguments) -> Result {
    if list_wanted(arguments) {
        return workloads(&AnswerArguments {
            json: arguments.comparison.publish.json,
            output: arguments.comparison.publish.output.clone(),
            tables: arguments.comparison.publish.tables,
        });
    }
    let stages = Stages::of(arguments)?;
    let arguments = &fit(arguments)?;
    let plan = Plan::check(arguments)?;
    // Before any thread starts: only what comes later lives in the namespace.
    let namespace = Namespace::enter().map_err(Failure::work)?;
    if let Some(error) = namespace.ungrouped() {
        say::note(&format!(
            "no control group for what the program starts ({error}): what makes a mount namespace of its own, as containers do, can outlive this run"
        ));
    }
    let mut live = Live::start(&plan, namespace, arguments)?;
    let voice = Voice::open(arguments.log.as_deref(), live.view.terminal())?;
    let end = live.follow_all(&stages, &voice, &mut Patience::of(arguments))?;
    let unmounted = live.unmount()?;
    live.view.clear();
    voice.finish();
    let bytes = plan.model.config.logical_bytes();
    let recorded = live.capturing.finish(
        bytes,
        plan.file_system.name(),
        &stages.invocation,
        Some(plan.drive.clone()),
    );
    live.running.name(recorded.tables.contexts.clone());
    let result = live.running.finish(
        config(&end, &plan, &recorded),
        recorded.tables.capture.lost_events,
    );
    // Who asks for tenants is told which wrote nothing. A run without is quiet: what is not seen is in its result.
    if !arguments.capture.tenants.tenant.is_empty() {
        let capture = &recorded.tables.capture;
        tenants::told(&capture.tenants, &capture.limitations, "").for_each(|line| say::note(&line));
    }
    let seen_nothing = result.as_ref().is_ok_and(is_void);
    let is_void = seen_nothing && end.has_failed();
    if seen_nothing && !is_void && !stages.knows_the_drive() {
        say::note(
            "the program was not told where the drive is: {dir} in its arguments and the variable \
             ANABRANCH_DIR name it, --chdir starts it there",
        );
    }
    if !is_void || arguments.trace.is_some() {
        plan.keep(recorded)?;
    }
    let results = [result?];
    if is_void {
        keep(&results, &arguments.comparison.publish)?;
    } else {
        publish(&results, &arguments.comparison.publish)?;
    }
    unmounted.map_err(Failure::work)?;
    end.conclude(is_void, bytes)
}

/// The drive that every scheme gets, whole or sampled, and the samples.
fn sampled(arguments: &RunArguments, whole: &NamedDrive) -> Result<(NamedDrive, Vec<Sample>)> {
    let options = &arguments.comparison.options;
    let rate = match options.sample {
        None => return Ok((whole.clone(), Vec::new())),
        Some(Sampling::Rate(rate)) => rate,
        Some(Sampling::Auto) => {
            return Err(Failure::wrong_use(format!("--sample {NO_AUTO}")));
        }
    };
    let drive = one_sampled(&arguments.drive, &Origin::default(), rate)?;
    let page_bytes = drive.page_bytes();
    let samples = samples(rate, page_bytes, None, options.seed, options.samples)?;
    Ok((drive, samples))
}

/// The settings that decided the result, besides the drive and the schemes.
fn config(end: &End, plan: &Plan, recorded: &Recorded) -> BTreeMap<String, Value> {
    let mut config = BTreeMap::from([
        ("verb".to_owned(), json!("run")),
        ("capture".to_owned(), json!(recorded.tables.capture)),
        ("exit_status".to_owned(), json!(status_code(end.status))),
        ("interrupted".to_owned(), Value::Bool(end.was_interrupted)),
    ]);
    if let Some(trace) = &plan.trace {
        config.insert("trace".to_owned(), json!(trace.display().to_string()));
    }
    config
}

/// Whether no scheme ever had to collect garbage, so that its table would be ones and zeros.
fn is_void(result: &Comparison) -> bool {
    result.schemes.iter().all(|scheme| scheme.erased_units == 0)
}

/// The plan of a run, checked before anything is made.
struct Plan {
    file_system: FileSystemKind,
    specs: Vec<SchemeSpec>,
    model: NamedDrive,
    /// The drive that every scheme has, and the samples of the writes that it sees.
    sampled: (NamedDrive, Vec<Sample>),
    /// The path at which the trace is kept; `None` if it is not.
    trace: Option<PathBuf>,
    /// Whether `-t` names the path.
    is_named: bool,
    /// The drive as the trace carries it.
    drive: Value,
}

impl Plan {
    fn check(arguments: &RunArguments) -> Result<Plan> {
        let one = "a live run has one drive: keep its trace with -t, and replay that on many";
        let (model, recorded) = one_drive(&arguments.drive, &Origin::default(), one)?;
        let plan = Plan {
            file_system: arguments.file_system.parse().map_err(Failure::usage)?,
            specs: live_schemes(&arguments.comparison)?,
            sampled: sampled(arguments, &model)?,
            model,
            drive: recorded.note(),
            trace: arguments.trace_file(),
            is_named: arguments.trace.is_some(),
        };
        anabranch_probe::check().map_err(Failure::work)?;
        Ok(plan)
    }

    /// Keeps the trace, and prints where.
    fn keep(&self, recorded: Recorded) -> Result {
        let Some(trace) = &self.trace else {
            return Ok(());
        };
        let older = recorded.keep(trace)?;
        if self.is_named && older.is_none() {
            return Ok(());
        }
        let older = older.map_or_else(String::new, |older| {
            format!(" (the older one is now {})", older.display())
        });
        say::note(&format!("the trace is in {}{older}", trace.display()));
        Ok(())
    }
}

/// A drive at work, watched, with schemes that are fed with its requests.
struct Live {
    drive: Drive,
    running: Running,
    capturing: Capturing,
    interrupt: Interrupt,
    view: View,
}

impl Live {
    /// Makes the drive, and its file system while the probe watches.
    fn start(plan: &Plan, namespace: Namespace, arguments: &RunArguments) -> Result<Live> {
        let mut interrupt = Interrupt::watch()?;
        let options = DriveOptions {
            bytes: plan.model.config.logical_bytes(),
            file_system: plan.file_system,
            backing_dir: arguments.backing.clone(),
        };
        let mut drive = Drive::create(namespace, &options).map_err(drive_failure)?;
        let running = Running::start(
            &plan.specs,
            &plan.sampled.0,
            &arguments.comparison.options(),
            &anabranch_replay::Start::default(),
            &plan.sampled.1,
            &[],
        )?;
        let device = drive.device().path();
        let capturing =
            Capturing::start(device, &arguments.capture, Vec::new(), plan.trace.as_ref())?;
        format(&mut drive, &mut interrupt)?;
        let view = View::new(plan.specs.len());
        Ok(Live {
            drive,
            running,
            capturing,
            interrupt,
            view,
        })
    }

    /// Feeds the schemes until all stages and everything they started have ended. Answers with the end of the first
    /// stage that did not end well, otherwise of the last.
    fn follow_all(
        &mut self,
        stages: &Stages,
        voice: &Voice,
        patience: &mut Patience,
    ) -> Result<End> {
        let (mut end, mut workload) = self.follow(&stages.first, voice, patience)?;
        for stage in &stages.others {
            if end.is_good() {
                (end, workload) = self.follow(stage, voice, patience)?;
            }
        }
        if let Some(stage) = &stages.teardown {
            let last;
            (last, workload) = self.follow(stage, voice, patience)?;
            if end.is_good() {
                end = last;
            }
        }
        for left in workload.end_stragglers() {
            let line = format!(
                "ended what the program left running: {} ({}); --wait follows such programs to their end, --until 10m \
                 for a time",
                foreign(&left.name),
                left.pid
            );
            note_above(&self.view.terminal(), &line);
        }
        Ok(end)
    }

    /// Feeds the schemes until a program has ended, and the processes it left running if those are waited for.
    fn follow(
        &mut self,
        stage: &Stage,
        voice: &Voice,
        patience: &mut Patience,
    ) -> Result<(End, Workload)> {
        let directory = stage.starts_on_drive.then(|| self.drive.mount_point());
        let started = Workload::spawn_in(&stage.command, &self.drive, directory, voice.output()?);
        let mut workload = started.map_err(Failure::usage)?;
        let (mut was_interrupted, mut least_free, mut ended) = (false, 1.0_f64, None);
        let status = loop {
            self.capturing.poll(|names, ios| {
                self.running.learn(names);
                self.running.feed(ios);
            })?;
            self.view.draw(&self.running, self.capturing.lost_events());
            least_free = least_free.min(free_share(self.drive.mount_point()));
            if let Some(source) = self.interrupt.came() {
                was_interrupted = true;
                workload.interrupt(source);
            }
            match ended {
                None => ended = workload.try_wait().map_err(Failure::work)?,
                Some(status) if was_interrupted || !patience.lingers() => break status,
                Some(status) if self.drive.namespace().processes().is_empty() => break status,
                Some(_) => {}
            }
            if ended.is_none() {
                patience.end(&mut workload);
            }
        };
        tracing::info!(stage = stage.what, %status, was_interrupted, "ended");
        let end = End {
            what: stage.what,
            status,
            was_interrupted,
            was_stopped: patience.is_up(),
            least_free,
        };
        Ok((end, workload))
    }

    /// Unmounts the drive and feeds the last requests, since XFS discards only when it is unmounted. The inner result
    /// is that of unmounting; its error does not keep the table back.
    fn unmount(&mut self) -> Result<Result<(), DiskError>> {
        if self.drive.uncover().map_err(Failure::work)? {
            let place = self.drive.mount_point().display();
            let line = format!(
                "the program mounted something over {place}: what was written there did not reach the drive"
            );
            note_above(&self.view.terminal(), &line);
        }
        self.drive.sync().map_err(Failure::work)?;
        let unmounted = self.drive.unmount();
        self.capturing.drain(|names, ios| {
            self.running.learn(names);
            self.running.feed(ios);
        })?;
        Ok(unmounted)
    }
}

/// The free share of a file system, root's reserve included; 1 where it cannot be read.
fn free_share(directory: &Path) -> f64 {
    statvfs(directory).map_or(1.0, |found| {
        found.blocks_free() as f64 / found.blocks().max(1) as f64
    })
}

/// Formats the drive. Ctrl-C reaches mkfs as well, which then fails through no fault of the drive.
fn format(drive: &mut Drive, interrupt: &mut Interrupt) -> Result {
    let formatted = drive.format_and_mount().map_err(Failure::work);
    match interrupt.came() {
        Some(_) => Err(Failure {
            status: INTERRUPTED,
            error: Some(anyhow::anyhow!("interrupted before the program began")),
        }),
        None => formatted,
    }
}

fn drive_failure(error: DiskError) -> Failure {
    match error {
        DiskError::TooSmall { .. } => Failure::usage(error),
        _ => Failure::work(error),
    }
}
