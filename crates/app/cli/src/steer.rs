//! `anabranch steer`: a scheme at work on a real drive.

mod arguments;
mod compare;
mod hints;
mod kept_models;
mod lifetimes;
mod metrics;
mod paired;
mod report;
mod shadow;
mod worth;
mod writers;

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use anabranch_compare::{check_endurance, read_text};
use anabranch_nvme_host::{Written, usage::listed};
use anabranch_placement::{DeviceHalf, SchemeSpec};
use anabranch_report::{message, printable};
use anabranch_ssd::StreamId;
use anabranch_steer::{
    BEAT, Guard, NoWriters, Placer, Pulse, Server, ServerOptions, SteeredDrive, Writers, give_up,
    own_mounts, stay_in_memory,
};
use anabranch_trace::{Rate, WholeFile};
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

pub use arguments::{EXAMPLE, SteerArguments};

use crate::{
    error::{CommandError, INTERRUPTED, Result},
    metrics::Metrics,
    output::{is_standard_output, print},
    say,
};
use arguments::Metadata;
use compare::KeptComparison;
use kept_models::KeptModels;
use lifetimes::Lifetimes;
use report::{Limits, SteerReport};
use shadow::{Counted, Extent, Model, Shadow};
use writers::Watched;

/// Between two checks for signals (our choice).
const TICK: Duration = Duration::from_millis(50);
/// Between two draws of the line, and reads of the drive's counts (our choice).
const EVERY: Duration = Duration::from_secs(1);
/// A queue that is silent for longer is no sign of life: one without work looks up every second (our choice).
const STUCK: Duration = Duration::from_secs(3);
/// From so many handles on, metadata has one of its own (our choice).
const FEW_HANDLES: usize = 3;

/// The drive's handles, and what they are for.
struct Plan {
    spec: SchemeSpec,
    handles: Vec<u16>,
    /// Streams that the scheme may name.
    streams: u16,
    metadata: Option<u16>,
}

/// Whoever sees the writes.
struct Seen<'a> {
    plan: &'a Plan,
    limits: Limits,
    shadow: Option<Shadow>,
    models: KeptModels,
    watched: Option<Watched>,
    lifetimes: Lifetimes,
    metrics: Option<Metrics>,
    comparison: Option<KeptComparison>,
}

/// The files that the end is written to, made before the drive is touched.
struct Files {
    json: Option<WholeFile>,
    page: Option<WholeFile>,
}

/// Steers a drive until it is told to stop.
pub fn steer(arguments: &SteerArguments) -> Result {
    let Some(device) = &arguments.device else {
        return hints::set(arguments);
    };
    if arguments.give_up {
        give_up(device).map_err(CommandError::usage)?;
        say::line(&printable(&format!("{} is given up", device.display())));
        return Ok(());
    }
    let limit = arguments.watchdog;
    // Before any thread.
    let guard = Guard::start(Duration::from_secs(limit), || {
        say::error(&format!(
            "the server was silent for {limit} s and was killed: start the command again, programs wait for it"
        ));
    });
    let guard = guard.map_err(CommandError::work)?;
    // Before any file is opened: what is written in one mount namespace cannot be named in another.
    own_mounts().map_err(|error| {
        CommandError::work(anyhow::anyhow!(
            "steering needs root: run it with sudo ({error})"
        ))
    })?;
    let guard = Arc::new(guard);
    let pulse = live(Arc::clone(&guard))?;
    begin(arguments, device, guard, &pulse)
}

/// Starts the server, and serves; `pulse` is where its pulse is felt.
fn begin(
    arguments: &SteerArguments,
    device: &Path,
    guard: Arc<Guard>,
    pulse: &OnceLock<Pulse>,
) -> Result {
    let spec = SchemeSpec::read(&arguments.scheme, &read_text).map_err(CommandError::usage)?;
    if spec.needs_future() {
        return Err(CommandError::usage(spec.refused()));
    }
    spec.leaves_collection_to_the_drive()
        .map_err(CommandError::usage)?;
    check_endurance(&arguments.endurance, None)?;
    if !arguments.tenants.tenant.is_empty() {
        anabranch_probe::control_groups().map_err(CommandError::usage)?;
    }
    let create = |path: &Option<PathBuf>| path.as_ref().map(WholeFile::create).transpose();
    let files = Files {
        json: create(&arguments.output)?,
        page: create(&arguments.html)?,
    };
    let drive = SteeredDrive::open(device).map_err(CommandError::usage)?;
    let plan = plan(arguments, spec, &drive)?;
    let mut placer = placer(&plan, &drive, arguments.spare)?;
    report_sharers(&drive, &plan.handles);
    let lifetimes = Lifetimes::read(arguments.lifetimes.as_deref())?;
    placer.restore_lifetimes(lifetimes.known());
    let (bytes, unit_bytes) = (drive.abilities().bytes, shadow::unit_bytes(&drive));
    let extent = Extent::of(arguments.shadow, bytes, unit_bytes);
    let models = KeptModels::new(arguments.models.as_deref(), drive.title());
    let comparison = KeptComparison::asked(arguments, &drive, plan.spec.name(), &plan.handles)?;
    let shadow = start_shadow(arguments, &plan, &drive, &mut placer, extent, &models)?;
    let limits = Limits {
        is_counted_with_others: drive.is_counted_with_others(),
        unmodelled: extent.limitation(),
        endurance: arguments.endurance.clone(),
    };
    let started = arguments.metrics.map(|at| Metrics::start(at, None));
    let metrics = started.transpose()?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CommandError::work)?;
    let options = options(arguments, &plan);
    let mut watched = None;
    let server = Server::start(drive, placer, &options, Some(guard), |block, took_over| {
        if arguments.unwatched {
            writers::forget(block);
            return Arc::new(NoWriters);
        }
        let generations = !arguments.generations.no_generations;
        match Watched::start(block, took_over, &arguments.tenants.tenant, generations) {
            Ok(found) => watched.insert(found).writers(),
            Err(error) => unwatched(&error),
        }
    });
    let server = server.map_err(CommandError::usage)?;
    // What is allocated from here on stays as well.
    stay_in_memory().map_err(CommandError::work)?;
    let _ = pulse.set(server.pulse());
    let seen = Seen {
        plan: &plan,
        limits,
        shadow,
        models,
        watched,
        lifetimes,
        metrics,
        comparison,
    };
    serve(arguments, server, seen, &mut signals, files)
}

/// Schemes by address work all the same.
fn unwatched(error: &anabranch_probe::ProbeError) -> Arc<dyn Writers> {
    say::line(&format!(
        "nobody tells who writes, so no scheme can go by it: {}",
        message(&error.to_string())
    ));
    Arc::new(NoWriters)
}

fn plan(arguments: &SteerArguments, spec: SchemeSpec, drive: &SteeredDrive) -> Result<Plan> {
    let handles = arguments.handles.as_ref();
    let handles = handles.map_or_else(|| drive.handles().to_vec(), |handles| handles.0.clone());
    let foreign = |handle: &&u16| !drive.handles().contains(handle);
    if drive.directive() == anabranch_steer::Directive::Placement
        && let Some(handle) = handles.iter().find(foreign)
    {
        return Err(CommandError::wrong_use(format!(
            "{} has no placement identifier {handle}; it has {:?}",
            drive.title(),
            drive.handles()
        )));
    }
    if handles.len() < 2 && arguments.compare_every.is_some() {
        let words = "--compare-every: with one handle there is nothing to compare";
        return Err(CommandError::wrong_use(words.to_owned()));
    }
    let count = u16::try_from(handles.len()).unwrap_or(u16::MAX);
    let apart = arguments.metadata == Metadata::Apart && handles.len() >= FEW_HANDLES;
    Ok(Plan {
        spec,
        handles,
        streams: count - u16::from(apart),
        metadata: apart.then(|| count - 1),
    })
}

/// Reports the namespaces that write to some of these handles, too.
fn report_sharers(drive: &SteeredDrive, handles: &[u16]) {
    let sharers = drive.sharers(handles);
    let is_shared = |handle: &&u16| sharers.iter().any(|(_, shared)| shared.contains(handle));
    let free = handles.iter().filter(|one| !is_shared(one)).count();
    for (neighbour, shared) in &sharers {
        say::line(&printable(&sharing(neighbour, shared, free)));
    }
}

/// Words on a namespace that writes to some of our handles, too; `free` of ours are shared with none.
fn sharing(neighbour: &Path, handles: &[u16], free: usize) -> String {
    let (noun, them) = match handles.len() {
        1 => ("handle", "it"),
        _ => ("handles", "them"),
    };
    let leave_out = match free {
        0 | 1 => String::new(),
        _ => format!("`--handles` leaves {them} out; "),
    };
    let handles = listed(handles.iter().copied());
    let neighbour = neighbour.display();
    format!(
        "note: {neighbour} writes to the same reclaim units as {noun} {handles} here: data of both mix there. {leave_out}a namespace made with `nvme create-ns --phndls` has its own"
    )
}

/// The host half of the scheme, on the drive as far as it is known: what a drive keeps spare it does not tell.
fn placer(plan: &Plan, drive: &SteeredDrive, spare: f64) -> Result<Placer> {
    let model = shadow::model(drive, plan.streams, spare, Rate::WHOLE);
    let host = plan
        .spec
        .host(&model.config, DeviceHalf::Relocation(model.kind), None)
        .map_err(CommandError::usage)?;
    Ok(Placer::new(host.into_assign(), plan.metadata.map(StreamId)))
}

fn start_shadow(
    arguments: &SteerArguments,
    plan: &Plan,
    drive: &SteeredDrive,
    placer: &mut Placer,
    extent: Extent,
    models: &KeptModels,
) -> Result<Option<Shadow>> {
    let Extent::At(rate) = extent else {
        return Ok(None);
    };
    let all = plan.streams + u16::from(plan.metadata.is_some());
    let model = shadow::model(drive, all, arguments.spare, rate);
    let (shadow, witness) = Shadow::start(model, models)?;
    placer.watch(witness);
    Ok(Some(shadow))
}

fn options(arguments: &SteerArguments, plan: &Plan) -> ServerOptions {
    let processors = thread::available_parallelism().map_or(1, |count| count.get().min(4) as u16);
    ServerOptions {
        handles: plan.handles.clone(),
        queues: arguments.queues.unwrap_or(processors),
        depth: arguments.depth,
        copy: arguments.copy,
        accept_contents: arguments.yes,
        accept_writes: arguments.take_over,
    }
}

/// Tells the guard that the process lives, as long as its queues do once there are any: programs that wait for one that
/// does not are served by the next.
fn live(guard: Arc<Guard>) -> Result<Arc<OnceLock<Pulse>>> {
    let pulse: Arc<OnceLock<Pulse>> = Arc::default();
    let felt = pulse.clone();
    let beat = move || {
        loop {
            let is_stuck = felt.get().is_some_and(|pulse| pulse.silence() > STUCK);
            if !is_stuck && guard.beat().is_err() {
                say::line("the watchdog was killed: nobody ends this server if it gets stuck");
                return;
            }
            thread::sleep(BEAT);
        }
    };
    let thread = thread::Builder::new().name("watchdog".to_owned());
    thread.spawn(beat).map_err(CommandError::work)?;
    Ok(pulse)
}

/// Waits until the end is asked for and possible.
fn serve(
    arguments: &SteerArguments,
    mut server: Server,
    seen: Seen<'_>,
    signals: &mut Signals,
    files: Files,
) -> Result {
    let Seen {
        plan,
        limits,
        shadow,
        models,
        watched,
        mut lifetimes,
        metrics,
        mut comparison,
    } = seen;
    models.forget()?;
    let before = server.drive().written();
    say::line(&printable(&greeting(&server, plan)));
    if let Some(metrics) = &metrics {
        say::print_note(&format!("metrics at http://{}/metrics", metrics.address()));
    }
    let view = view();
    let began = Instant::now();
    let (mut drawn, mut asked, mut waits) = (began, 0, false);
    let mut drive = None;
    loop {
        thread::sleep(TICK);
        server.tend().map_err(CommandError::work)?;
        // The first asks for the end, the second insists.
        asked += signals.pending().count();
        if asked > 0 && ends(&mut server, asked, &mut waits)? {
            break;
        }
        lifetimes.tend(&server);
        if drawn.elapsed() >= EVERY {
            drawn = Instant::now();
            let written = server.drive().written();
            drive = report::since(written, before);
            if let Some(comparison) = &mut comparison {
                comparison.serve(&server, began.elapsed(), written);
            }
            view.set_message(report::line(server.counters(), drive, shadow.as_ref()));
            if let Some(metrics) = &metrics {
                let shadow = shadow.as_ref().map(Shadow::now);
                let mut report = report_of(&server, plan, began, drive, watched.as_ref(), shadow);
                report.judge(&limits, comparison.as_ref().map(|kept| &kept.log));
                metrics.show(metrics::text(&report));
                metrics.show_report(report.json().to_string());
            }
        }
    }
    view.finish_and_clear();
    drive = report::since(server.drive().written(), before).or(drive);
    let is_kept = lifetimes.keep(&server);
    server.placer().unwatch();
    let (shadow, are_kept) = shadow.map(|shadow| shadow.finish(&models)).unzip();
    let are_pairs_kept = comparison.as_mut().map(KeptComparison::keep);
    let mut end = report_of(&server, plan, began, drive, watched.as_ref(), shadow);
    end.judge(&limits, comparison.as_ref().map(|kept| &kept.log));
    let is_told = give_all(arguments, &end.json(), &end.text(), files, print);
    let is_unwatched = watched.map_or(Ok(()), Watched::end);
    is_told
        .and(is_unwatched)
        .and(is_kept)
        .and(are_kept.unwrap_or(Ok(())))
        .and(are_pairs_kept.unwrap_or(Ok(())))
}

/// The report of this moment.
fn report_of<'a>(
    server: &'a Server,
    plan: &'a Plan,
    began: Instant,
    drive: Option<Written>,
    watched: Option<&Watched>,
    shadow: Option<(Counted, u64, Model)>,
) -> SteerReport<'a> {
    let (tenants, limitations) = watched.map(Watched::tenants).unwrap_or_default();
    SteerReport {
        server,
        steered: began.elapsed(),
        scheme: plan.spec.name(),
        handles: &plan.handles,
        metadata: plan.metadata,
        drive,
        handover: watched.map(Watched::counts),
        tenants,
        limitations,
        shadow,
        verdict: None,
        stands: Vec::new(),
        comparison: None,
    }
}

/// Gives the report: on standard output, where a page stands alone, and into the files. Each is given whatever became of the
/// others; the error is the first.
fn give_all(
    arguments: &SteerArguments,
    json: &serde_json::Value,
    text: &str,
    files: Files,
    print: impl FnOnce(&str) -> Result,
) -> Result {
    let is_page = arguments.html.as_deref().is_some_and(is_standard_output);
    let printed = if arguments.json {
        print(&format!("{json:#}\n"))
    } else if is_page {
        Ok(())
    } else {
        print(text)
    };
    let put = |file: Option<WholeFile>, path: &Option<PathBuf>, text: Result<String>| {
        let (Some(mut file), Some(path)) = (file, path) else {
            return Ok(());
        };
        file.write_all(text?.as_bytes()).map_err(|error| {
            CommandError::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
        })?;
        Ok(file.finish()?)
    };
    let written = put(files.json, &arguments.output, Ok(format!("{json:#}\n")));
    let page = files.page.is_some().then(|| {
        let page = anabranch_report::steered_page(json.clone());
        page.map_err(CommandError::work)
    });
    let page = put(
        files.page,
        &arguments.html,
        page.unwrap_or(Ok(String::new())),
    );
    printed.and(written).and(page)
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
        say::line(&format!(
            "{} is in use: it ends when it is unmounted; a second signal leaves it as it is, and programs wait until it \
             is steered again",
            server.block_device().display()
        ));
    }
    Ok(has_ended)
}

fn greeting(server: &Server, plan: &Plan) -> String {
    let drive = server.drive();
    let (queues, depth) = server.queues();
    let data = match plan
        .metadata
        .and_then(|own| plan.handles.get(usize::from(own)))
    {
        Some(own) => format!("handles {:?}, {own} of them for metadata", plan.handles),
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

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, ffi::OsStr};

    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct SteerCommandLine {
        #[command(flatten)]
        steer: SteerArguments,
    }

    #[test]
    fn a_full_disk_takes_neither_the_printed_report_nor_the_other_file_along() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("page.html");
        let words = ["steer", "--device=/dev/ng0n1", "-o", "/dev/full", "--html"];
        let words = words.iter().map(OsStr::new).chain([page.as_os_str()]);
        let arguments = SteerCommandLine::parse_from(words).steer;
        let files = Files {
            json: Some(WholeFile::create("/dev/full").unwrap()),
            page: Some(WholeFile::create(&page).unwrap()),
        };
        let report = serde_json::json!({
            "schema": anabranch_report::STEERED_SCHEMA,
            "config": {
                "verb": "steer", "scheme": "dac", "queues": 1, "depth": 1, "zero_copy": true, "directive": "fdp",
            },
            "drive": {
                "model": "A", "serial": "1", "bytes": 4096, "host_bytes": null, "media_bytes": null, "waf": null,
            },
            "handles": [],
            "written_bytes": 0, "read_bytes": 0, "discarded_bytes": 0, "zeroed_bytes": 0, "unplaced_bytes": 0,
            "writes": 0, "split_writes": 0, "flushes": 0, "errors": 0, "repeated_commands": 0, "unknown_pages": 0,
            "metadata_pages": 0, "handover": null, "shadow": null,
        });
        let mut printed = String::new();
        let given = give_all(&arguments, &report, "told\n", files, |text| {
            printed.push_str(text);
            Ok(())
        });
        let error = given.unwrap_err().error.unwrap().to_string();
        assert!(error.contains("/dev/full"), "{error}");
        assert_eq!(printed, "told\n");
        assert!(page.exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_takes_neither_the_printed_report_nor_the_other_file_along() {
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        std::fs::create_dir(&gone).unwrap();
        let (lost, kept) = (gone.join("report.json"), directory.path().join("page.html"));
        let words = ["steer", "--device=/dev/ng0n1", "-o", "--html"].map(OsStr::new);
        let [verb, device, output, html] = words;
        let words = [
            verb,
            device,
            output,
            lost.as_os_str(),
            html,
            kept.as_os_str(),
        ];
        let arguments = SteerCommandLine::parse_from(words).steer;
        let create = |path: &PathBuf| Some(WholeFile::create(path).unwrap());
        let files = Files {
            json: create(&lost),
            page: create(&kept),
        };
        std::fs::remove_dir_all(&gone).unwrap();
        let printed = RefCell::new(String::new());
        let no_report = serde_json::json!({ "schema": 0 });
        let given = give_all(&arguments, &no_report, "told\n", files, |text| {
            printed.borrow_mut().push_str(text);
            Ok(())
        });
        let error = given.unwrap_err().error.unwrap().to_string();
        assert!(error.contains("report.json"), "{error}");
        assert_eq!(*printed.borrow(), "told\n");
        // Of what is no report there is no page, and no file in its place.
        assert!(!kept.exists());
    }
}
