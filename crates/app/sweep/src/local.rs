//! A sweep on the cores of one machine.

use std::{
    collections::VecDeque,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use anabranch_compare::{CompareError, CompareErrorKind, Result, Watch};

use tracing::{debug, info, warn};

use crate::{
    batch::Batch,
    finished::{Finished, keep, load_survey, save_survey},
    grid::Grid,
    plan::{Failures, Plan},
    run::run,
    trace_survey::{Look, Seen, survey_trace},
    traces::local_traces,
};

/// The time between two questions to the reporter whether to go on (our choice).
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The limits of a sweep's workers.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Number of batches that are worked on at the same time.
    pub workers: NonZeroUsize,
    /// The most cells of a batch.
    pub cells: usize,
    /// The most bytes of memory that one worker may take.
    pub memory_bytes: u64,
}

/// Hears how a sweep goes on. A cell is reported when its row is on disk.
pub trait Reporter: Send {
    /// Called before anything is replayed, with the plan and so the memory that a worker takes at
    /// most.
    fn planned(&mut self, _plan: &Plan) {}

    /// Called when `done` of `all` traces were looked at.
    fn looked(&mut self, _done: usize, _all: usize) {}

    /// Called when a batch is on disk, or has failed.
    fn done(&mut self, _done: &Done<'_>) {}

    /// Whether to end the sweep now; asked many times a second.
    fn is_over(&self) -> bool {
        false
    }
}

/// A batch that is on disk, or has failed.
#[derive(Debug)]
pub struct Done<'a> {
    /// The cells that were replayed together.
    pub batch: &'a Batch,
    /// The reason of its failure; `None` if it is on disk.
    pub fault: Option<&'a CompareError>,
}

/// The outcome of a sweep.
#[derive(Debug, Default)]
pub struct Sweep {
    /// Number of cells of the grid.
    pub cells: usize,
    /// Number of cells that were done before.
    pub finished_before: usize,
    /// Number of cells that were done now.
    pub done: usize,
    /// The cells that could not be done, and why.
    pub failed: Failures,
}

/// Performs the unfinished part of a grid on threads.
///
/// # Errors
/// When there can be no plan, when a file cannot be written, or when `reporter` ends the sweep.
pub fn local(
    grid: &Grid,
    directory: &Path,
    limits: &Limits,
    reporter: &mut dyn Reporter,
) -> Result<Sweep> {
    let traces = local_traces(&grid.traces)?;
    let lengths = |trace: String| {
        let length = std::fs::metadata(&trace).map_or(0, |metadata| metadata.len());
        (trace, length)
    };
    let traces: Vec<(String, u64)> = traces.into_iter().map(lengths).collect();
    let looks = grid.looks(&traces)?;
    let (seen, unseen) = look_at(&looks, directory, limits, reporter)?;
    let finished = Finished::read(directory)?;
    let plan = grid.plan(&seen, &finished, limits.cells, limits.memory_bytes)?;
    reporter.planned(&plan);
    for (cell, fault) in &plan.impossible {
        warn!(cell, %fault, "cell failed");
    }
    let mut sweep = Sweep {
        cells: plan.cells,
        finished_before: plan.finished,
        failed: unseen.into_iter().chain(plan.impossible).collect(),
        ..Sweep::default()
    };
    let work = |batch: &Batch, watch: &mut dyn Watch| {
        run(batch, &PathBuf::from(&batch.common.trace), watch)
    };
    let mut left = plan.batches;
    while !left.is_empty() {
        let mut again = Vec::new();
        spread(
            left,
            limits.workers,
            reporter,
            &work,
            |batch, result, reporter| {
                again.extend(sweep.keep_batch(directory, &batch, result, reporter)?);
                Ok(())
            },
        )?;
        left = again;
    }
    sweep.failed.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(sweep)
}

impl Sweep {
    /// Writes the result of a batch. Answers with the batches to try instead, if it failed.
    fn keep_batch(
        &mut self,
        directory: &Path,
        batch: &Batch,
        result: Result<Vec<u8>>,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Batch>> {
        match result {
            Ok(file) => {
                keep(directory, batch, &file)?;
                self.done += batch.schemes.len();
                debug!(batch = batch.name(), "done");
                reporter.done(&Done { batch, fault: None });
            }
            Err(fault) if fault.kind == CompareErrorKind::Interrupted => return Err(fault),
            Err(fault) if batch.schemes.len() > 1 => {
                info!(batch = batch.name(), %fault, "batch failed: its cells one by one");
                return Ok(batch.singles());
            }
            Err(fault) => {
                warn!(cell = batch.name(), %fault, "cell failed");
                reporter.done(&Done {
                    batch,
                    fault: Some(&fault),
                });
                self.failed.push((batch.name(), fault));
            }
        }
        Ok(Vec::new())
    }
}

/// Looks at every trace that was not looked at before. Answers with those that cannot be read.
fn look_at(
    looks: &[Look],
    directory: &Path,
    limits: &Limits,
    reporter: &mut dyn Reporter,
) -> Result<(Vec<Seen>, Failures)> {
    let mut unseen = Vec::new();
    let mut all: Vec<Option<Seen>> = looks
        .iter()
        .map(|look| load_survey(directory, look))
        .collect();
    let missing = |(place, seen): (usize, &Option<Seen>)| seen.is_none().then_some(place);
    let left: Vec<usize> = all.iter().enumerate().filter_map(missing).collect();
    let mut done = looks.len() - left.len();
    let work = |&place: &usize, watch: &mut dyn Watch| match looks.get(place) {
        Some(asked) => survey_trace(asked, Path::new(&asked.trace), watch),
        None => Err(CompareError::interrupted()),
    };
    spread(
        left,
        limits.workers,
        reporter,
        &work,
        |place, seen, reporter| {
            match (seen, all.get_mut(place), looks.get(place)) {
                (Ok(seen), Some(slot), Some(asked)) => {
                    save_survey(directory, asked, &seen)?;
                    *slot = Some(seen);
                }
                (Err(fault), _, Some(asked)) if fault.kind != CompareErrorKind::Interrupted => {
                    warn!(trace = asked.trace, %fault, "trace cannot be read");
                    unseen.push((asked.trace.clone(), fault));
                }
                (Err(fault), ..) => return Err(fault),
                (Ok(_), ..) => {}
            }
            done += 1;
            reporter.looked(done, looks.len());
            Ok(())
        },
    )?;
    Ok((all.into_iter().flatten().collect(), unseen))
}

/// The flag that a worker checks between two batches of requests.
struct Flag<'a>(&'a Mutex<bool>);

impl Watch for Flag<'_> {
    fn done(&mut self, _share: f64) -> Result {
        if *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Err(CompareError::interrupted())
        } else {
            Ok(())
        }
    }
}

/// Performs `tasks` on threads. The result of each is passed to `collect` on this thread, in the
/// order in which they end. The first error of `collect` ends all of them.
fn spread<T: Send, R: Send>(
    tasks: Vec<T>,
    workers: NonZeroUsize,
    reporter: &mut dyn Reporter,
    work: &(dyn Fn(&T, &mut dyn Watch) -> Result<R> + Sync),
    mut collect: impl FnMut(T, Result<R>, &mut dyn Reporter) -> Result,
) -> Result {
    let tasks = Mutex::new(VecDeque::from(tasks));
    let over = Mutex::new(false);
    let end = || *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..workers.get() {
            let (sender, tasks, over) = (sender.clone(), &tasks, &over);
            scope.spawn(move || {
                let next = || {
                    tasks
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front()
                };
                while let Some(task) = next() {
                    let result = work(&task, &mut Flag(over));
                    let interrupted =
                        matches!(&result, Err(fault) if fault.kind == CompareErrorKind::Interrupted);
                    if sender.send((task, result)).is_err() || interrupted {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut outcome = Ok(());
        loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok((task, result)) if outcome.is_ok() => {
                    outcome = collect(task, result, reporter);
                }
                Ok(_) | Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if outcome.is_ok() && reporter.is_over() {
                outcome = Err(CompareError::interrupted());
            }
            if outcome.is_err() {
                end();
            }
        }
        outcome
    })
}
