//! `anabranch run`: a program on a fresh drive, every scheme fed while it runs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anabranch_compare::{
    ComparedDrive, Running, Sampling, TraceOrigin, add_endurance, check_endurance, complete,
    one_drive, one_sampled, samples,
};
use anabranch_disk::{
    DiskError, Drive, DriveOptions, FileSystemKind, MountNamespace, Workload, status_code,
};
use anabranch_placement::SchemeSpec;
use anabranch_replay::Comparison;
use anabranch_report::foreign;
use anabranch_trace::{Sample, Tables};
use nix::sys::statvfs::statvfs;
use serde_json::{Value, json};

use super::{
    capture::{Capturing, Recorded},
    end::{End, Patience},
    interrupt::Interrupt,
    output::{Voice, note_above},
    stages::{WorkloadStep, WorkloadSteps, fit, list_wanted},
    view::View,
};
use crate::{
    answer::AnswerArguments,
    arguments::RunArguments,
    comparison::{keep, live_schemes, publish},
    error::{CommandError, INTERRUPTED, Result, all},
    output::is_standard_output,
    progress::Bar,
    rate::NO_AUTO,
    say,
    source::open,
    tenants,
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
    let stages = WorkloadSteps::of(arguments)?;
    let arguments = &fit(arguments)?;
    let plan = Plan::check(arguments)?;
    // Before any thread starts: only what comes later lives in the namespace.
    let namespace = enter()?;
    let mut live = Live::start(&plan, namespace, arguments)?;
    let voice = Voice::open(arguments.log.as_deref(), live.view.terminal())?;
    let end = live.follow_all(&stages, &voice, &mut Patience::of(arguments))?;
    let unmounted = live.unmount();
    live.view.clear();
    voice.finish();
    let bytes = plan.model.config.logical_bytes();
    let recorded = live.capturing.finish(
        bytes,
        plan.file_system.name(),
        &stages.invocation,
        Some(plan.drive.clone()),
        &mut live.interrupt,
    );
    live.running.name(&recorded.tables);
    let result = live.running.finish(
        config(&end, &plan, &recorded),
        recorded.tables.capture.lost_events,
    );
    // Who asks for tenants is told which wrote nothing. A run without is quiet: what is not seen is in its result.
    if !arguments.capture.tenants.tenant.is_empty() {
        let capture = &recorded.tables.capture;
        tenants::report_lines(&capture.tenants, &capture.limitations, "")
            .for_each(|line| say::print_note(&line));
    }
    let seen_nothing = result.as_ref().is_ok_and(is_void);
    let wrote_nothing = seen_nothing && names_no_file(&recorded.tables);
    let is_void = wrote_nothing || seen_nothing && end.has_failed();
    // An end that is not good has a line of its own, which says that nothing is compared.
    if wrote_nothing && end.is_good() {
        say::print_note(&wrote_nothing_words(stages.knows_the_drive()));
    } else if seen_nothing && !is_void && !stages.knows_the_drive() {
        say::print_note(&format!(
            "the program was not told where the drive is: {DRIVE}"
        ));
    }
    // IMPORTANT: each by itself. The disk may be full by now, and the program ran for hours: a trace that cannot be
    // written costs the bound, which comes of the recording, and no other figure.
    let is_kept = !is_void || arguments.trace.is_some();
    let kept = if is_kept { plan.keep(recorded) } else { Ok(()) };
    let trace = plan.trace.as_deref().filter(|_| kept.is_ok() && !is_void);
    let published = result.map_err(CommandError::from).and_then(|mut result| {
        if let Err(error) = add_endurance(&mut result, &arguments.endurance, &plan.model) {
            say::print_note(&error.to_string());
        }
        // Who interrupts a run waits for no more replays: a replay of its trace shows the same.
        let trace = trace.filter(|trace| !is_standard_output(trace) && !end.was_interrupted);
        if let Some(trace) = trace {
            complete_from(&mut result, trace, arguments);
        }
        let publish = if is_void { keep } else { publish };
        publish(&[result], &arguments.comparison.publish)
    });
    all([published, kept, unmounted, end.conclude(is_void, bytes)])
}

/// Enters the mount namespace of the program.
fn enter() -> Result<MountNamespace> {
    let namespace = MountNamespace::enter().map_err(CommandError::work)?;
    if let Some(error) = namespace.ungrouped() {
        say::print_note(&format!(
            "no control group for what the program starts ({error}): what makes a mount namespace of its own, as \
             containers do, can outlive this run"
        ));
    }
    Ok(namespace)
}

/// The ways by which a program learns where the drive is.
const DRIVE: &str =
    "{dir} in its arguments and the variable ANABRANCH_DIR name it, --chdir starts it there";

/// Whether no program wrote a file on the drive: what was written is the file system's own.
fn names_no_file(tables: &Tables) -> bool {
    tables.files.iter().all(|file| file.name.is_empty())
}

fn wrote_nothing_words(knows_the_drive: bool) -> String {
    let nothing = "the program wrote nothing to the drive, so that there is nothing to compare";
    if knows_the_drive {
        format!("{nothing}: it was told where the drive is, but no file was written there")
    } else {
        format!("{nothing}; it was not told where the drive is: {DRIVE}")
    }
}

/// Completes the answer from the recording. The run is done: where that fails, its own result is what there is.
fn complete_from(result: &mut Comparison, trace: &Path, arguments: &RunArguments) {
    let options = arguments.comparison.options();
    let completed = open(trace, None, false).and_then(|source| {
        Ok(complete(
            result,
            &options,
            &arguments.endurance,
            &source,
            &mut Bar::default(),
        )?)
    });
    if let Err(failure) = completed
        && let Some(error) = failure.error
    {
        say::print_note(&format!("nothing more from the recording: {error:#}"));
    }
}

/// The drive that every scheme gets, whole or sampled, and the samples.
fn sampled(
    arguments: &RunArguments,
    whole: &ComparedDrive,
) -> Result<(ComparedDrive, Vec<Sample>)> {
    let options = &arguments.comparison.options;
    let rate = match options.sample {
        None => return Ok((whole.clone(), Vec::new())),
        Some(Sampling::Rate(rate)) => rate,
        Some(Sampling::Auto) => {
            return Err(CommandError::wrong_use(format!("--sample {NO_AUTO}")));
        }
    };
    let drive = one_sampled(&arguments.drive, &TraceOrigin::default(), rate)?;
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
    model: ComparedDrive,
    /// The drive that every scheme has, and the samples of the writes that it sees.
    sampled: (ComparedDrive, Vec<Sample>),
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
        let (model, recorded) = one_drive(&arguments.drive, &TraceOrigin::default(), one)?;
        check_endurance(&arguments.endurance, Some(&model))?;
        let plan = Plan {
            file_system: arguments.file_system.parse().map_err(CommandError::usage)?,
            specs: live_schemes(&arguments.comparison)?,
            sampled: sampled(arguments, &model)?,
            model,
            drive: recorded.to_json(),
            trace: arguments.trace_file(),
            is_named: arguments.trace.is_some(),
        };
        anabranch_probe::check().map_err(CommandError::work)?;
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
        say::print_note(&format!("the trace is in {}{older}", trace.display()));
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
    fn start(plan: &Plan, namespace: MountNamespace, arguments: &RunArguments) -> Result<Live> {
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
        let capturing = Capturing::start(
            device,
            &arguments.capture,
            Vec::new(),
            plan.trace.as_ref(),
            &mut interrupt,
        )?;
        format(&mut drive, &mut interrupt)?;
        say::print_note("recording from now");
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
        stages: &WorkloadSteps,
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
        stage: &WorkloadStep,
        voice: &Voice,
        patience: &mut Patience,
    ) -> Result<(End, Workload)> {
        let directory = stage.starts_on_drive.then(|| self.drive.mount_point());
        let started = Workload::spawn_in(&stage.command, &self.drive, directory, voice.output()?);
        let mut workload = started.map_err(CommandError::usage)?;
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
                None => ended = workload.try_wait().map_err(CommandError::work)?,
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

    /// Unmounts the drive and feeds the last requests, since XFS discards only when it is unmounted.
    fn unmount(&mut self) -> Result {
        let uncovered = self.drive.uncover();
        if let Ok(true) = uncovered {
            let place = self.drive.mount_point().display();
            let line = format!(
                "the program mounted something over {place}: what was written there did not reach the drive"
            );
            note_above(&self.view.terminal(), &line);
        }
        let synced = self.drive.sync();
        let unmounted = self.drive.unmount();
        let drained = self.capturing.drain(|names, ios| {
            self.running.learn(names);
            self.running.feed(ios);
        });
        all([
            uncovered.map(drop).map_err(CommandError::work),
            synced.map_err(CommandError::work),
            unmounted.map_err(CommandError::work),
            drained,
        ])
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
    let formatted = drive.format_and_mount().map_err(CommandError::work);
    match interrupt.came() {
        Some(_) => Err(CommandError {
            status: INTERRUPTED,
            error: Some(anyhow::anyhow!("interrupted before the program began")),
        }),
        None => formatted,
    }
}

fn drive_failure(error: DiskError) -> CommandError {
    match error {
        DiskError::TooSmall { .. } => CommandError::usage(error),
        _ => CommandError::work(error),
    }
}

#[cfg(test)]
mod tests {
    use anabranch_trace::{Capture, Context, File};

    use super::*;

    #[test]
    fn a_program_that_wrote_no_file_is_told_how_to_name_the_drive() {
        let tables = |names: &[&str]| Tables {
            contexts: vec![Context::unknown()],
            files: names
                .iter()
                .map(|name| File {
                    name: (*name).to_owned(),
                    ..File::default()
                })
                .collect(),
            capture: Capture::default(),
        };
        assert!(names_no_file(&tables(&["", ""])));
        assert!(!names_no_file(&tables(&["", "db"])));
        let words = wrote_nothing_words(false);
        assert!(words.contains("wrote nothing to the drive") && words.contains("{dir}"));
        assert!(!wrote_nothing_words(true).contains("{dir}"));
    }
}
