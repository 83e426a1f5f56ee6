//! A drive that is being steered, until it is told to stop.

use std::{
    io::IsTerminal as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anabranch_nvme_host::Written;
use anabranch_steer::Server;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::iterator::Signals;

use super::{
    Plan,
    arguments::SteerArguments,
    collect::HostCollects,
    compare::KeptComparison,
    kept_models::KeptModels,
    lifetimes::Lifetimes,
    metrics,
    outputs::{ReportFiles, give_all},
    report::{self, ReportLimits, SteerReport},
    shadow::{Counted, Model, Shadow},
    writers::Watched,
};
use crate::{
    error::{CommandError, INTERRUPTED, Result},
    metrics::Metrics,
    output::print,
    say,
};

/// Between two checks for signals (our choice).
const TICK: Duration = Duration::from_millis(50);
/// Between two draws of the line, and reads of the drive's counts (our choice).
const EVERY: Duration = Duration::from_secs(1);

/// A server, and whoever sees the writes.
pub struct Session<'a> {
    pub server: Server,
    pub plan: &'a Plan,
    pub limits: ReportLimits,
    pub shadow: Option<Shadow>,
    pub models: KeptModels,
    pub watched: Option<Watched>,
    pub lifetimes: Lifetimes,
    pub metrics: Option<Metrics>,
    pub comparison: Option<KeptComparison>,
    pub collects: Option<HostCollects>,
    pub began: Instant,
    /// The drive's counts when it began.
    pub before: Option<Written>,
}

impl Session<'_> {
    /// Waits until the end is asked for and possible.
    ///
    /// # Errors
    /// Those of the server and of the files.
    pub fn serve(
        mut self,
        arguments: &SteerArguments,
        signals: &mut Signals,
        files: ReportFiles,
    ) -> Result {
        self.models.forget()?;
        say::line(&greeting(&self.server, self.plan));
        if let Some(metrics) = &self.metrics {
            say::print_note(&format!("metrics at http://{}/metrics", metrics.address()));
        }
        let view = view();
        let (mut drawn, mut asked, mut waits) = (self.began, 0, false);
        let mut drive = None;
        loop {
            thread::sleep(TICK);
            self.server.tend().map_err(CommandError::work)?;
            // The first asks for the end, the second insists.
            asked += signals.pending().count();
            if asked > 0 && ends(&mut self.server, asked, &mut waits)? {
                break;
            }
            self.lifetimes.tend(&self.server);
            if drawn.elapsed() >= EVERY {
                drawn = Instant::now();
                drive = self.observe()?;
                let counters = self.server.counters();
                view.set_message(report::line(counters, drive, self.shadow.as_ref()));
            }
        }
        view.finish_and_clear();
        self.end(drive, arguments, files)
    }

    /// Looks at the drive's counts once in a while, and shows those of this moment. Answers with the drive's since the begin.
    fn observe(&mut self) -> Result<Option<Written>> {
        let written = self.server.drive().written();
        let drive = report::since(written, self.before);
        if let Some(comparison) = &mut self.comparison {
            comparison.serve(&self.server, self.began.elapsed(), written);
        }
        if let Some(host) = &mut self.collects {
            let half = self.shadow.as_ref().map(Shadow::counted);
            if let Some(words) = host.judge(&self.server, drive, half.as_ref())? {
                say::line(&words);
            }
        }
        if let Some(metrics) = &self.metrics {
            let report = self.report(drive, self.shadow.as_ref().map(Shadow::now));
            metrics.show(metrics::text(&report));
            metrics.show_report(report.json().to_string());
        }
        Ok(drive)
    }

    /// The server has stopped: keeps what is to be kept, and gives the report.
    fn end(
        mut self,
        drive: Option<Written>,
        arguments: &SteerArguments,
        files: ReportFiles,
    ) -> Result {
        let drive = report::since(self.server.drive().written(), self.before).or(drive);
        let is_kept = self.lifetimes.keep(&self.server);
        self.server.placer().unwatch();
        let host = self.collects.as_ref().map(|host| host.kept(&self.server));
        let host = host.transpose()?.flatten();
        let finished = self.shadow.take();
        let finished = finished.map(|shadow| shadow.finish(&self.models, host.as_ref()));
        let (shadow, are_kept) = finished.unzip();
        let are_pairs_kept = self.comparison.as_mut().map(KeptComparison::keep);
        let report = self.report(drive, shadow);
        let is_told = give_all(arguments, &report.json(), &report.text(), files, print);
        drop(report);
        let is_unwatched = self.watched.map_or(Ok(()), Watched::end);
        is_told
            .and(is_unwatched)
            .and(is_kept)
            .and(are_kept.unwrap_or(Ok(())))
            .and(are_pairs_kept.unwrap_or(Ok(())))
    }

    /// The report of this moment.
    fn report(
        &self,
        drive: Option<Written>,
        shadow: Option<(Counted, u64, Model)>,
    ) -> SteerReport<'_> {
        let watched = self.watched.as_ref();
        let (tenants, limitations) = watched.map(Watched::tenants).unwrap_or_default();
        let half = shadow.as_ref().map(|(counted, _, _)| counted);
        let collects = self.collects.as_ref();
        let mut report = SteerReport {
            server: &self.server,
            steered: self.began.elapsed(),
            scheme: self.plan.spec.name(),
            handles: &self.plan.handles,
            metadata: self.plan.metadata,
            drive,
            handover: watched.map(Watched::counts),
            tenants,
            limitations,
            collected: collects.map(|host| host.counts(&self.server, drive, half)),
            shadow,
            verdict: None,
            stands: Vec::new(),
            comparison: None,
        };
        report.judge(&self.limits, self.comparison.as_ref().map(|kept| &kept.log));
        report
    }
}

/// Whether it has ended, since somebody asked for it; the second time it is left as it is.
fn ends(server: &mut Server, asked: usize, waits: &mut bool) -> Result<bool> {
    if asked > 1 {
        return Err(CommandError {
            status: INTERRUPTED,
            error: None,
        });
    }
    let has_ended = server.stop().map_err(CommandError::work)?;
    if !has_ended && !*waits {
        *waits = true;
        let block = server.block_device();
        say::line(&format!(
            "{} is in use{}: it ends when it is let go; a second signal leaves it as it is, and programs wait until it \
             is steered again",
            block.display(),
            users(&block)
        ));
    }
    Ok(has_ended)
}

/// Mounts, volumes and arrays that use a block device.
fn users(block: &Path) -> String {
    let Ok(found) = anabranch_doctor::device("/".as_ref(), block) else {
        return String::new();
    };
    let mounts = found.mounts.iter().map(|mount| mount.place.clone());
    let users: Vec<String> = mounts.chain(found.holders).collect();
    if users.is_empty() {
        return String::new();
    }
    format!(" by {}", users.join(", "))
}

fn greeting(server: &Server, plan: &Plan) -> String {
    let drive = server.drive();
    let (queues, depth) = server.queues();
    let data = match plan
        .metadata
        .and_then(|own| plan.handles.get(usize::from(own)))
    {
        Some(own) => format!("handles {:?}, metadata in {own}", plan.handles),
        None => format!("handles {:?}", plan.handles),
    };
    format!(
        "{} {} as {}: {} by {}, {data}; {}, {queues} queues of {depth}",
        if server.took_over() {
            "going on with"
        } else {
            "steering"
        },
        drive.title(),
        server.block_device().display(),
        plan.spec.name(),
        drive.directive().name(),
        if server.is_zero_copy() {
            "zero copy"
        } else {
            "copied"
        },
    )
}

fn view() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
