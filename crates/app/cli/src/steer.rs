//! `anabranch steer`: a scheme at work on a real drive.

mod arguments;
mod hints;
mod kept;
mod metrics;
mod shadow;
mod told;
mod watched;

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use anabranch_compare::read_text;
use anabranch_placement::{DeviceHalf, SchemeSpec};
use anabranch_report::{message, printable};
use anabranch_ssd::{Config, StreamId};
use anabranch_steer::{
    BEAT, Drive, Guard, NoWriters, Options, Placer, Pulse, Server, Writers, Written, give_up,
    nvme::usage::listed, own_mounts, stay_in_memory,
};
use anabranch_trace::WholeFile;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

pub use arguments::{EXAMPLE, SteerArguments};

use crate::{
    failure::{Failure, INTERRUPTED, Result},
    metrics::Metrics,
    output::{is_standard_output, print},
    say,
};
use arguments::{Metadata, Shadow as Wanted};
use kept::Kept;
use shadow::{Counted, Shadow};
use told::Told;
use watched::Watched;

/// How often signals are looked for (our choice).
const TICK: Duration = Duration::from_millis(50);
/// How often the line is drawn, and the drive asked what it counts (our choice).
const EVERY: Duration = Duration::from_secs(1);
/// A queue that is silent for longer is no sign of life: one without work looks up every second (our choice).
const STUCK: Duration = Duration::from_secs(3);
/// The largest drive that is modelled unasked (our choice).
const MODELLED_BYTES: u64 = 64 << 30;
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
    shadow: Option<Shadow>,
    watched: Option<Watched>,
    kept: Kept,
    metrics: Option<Metrics>,
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
        give_up(device).map_err(Failure::usage)?;
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
    let guard = guard.map_err(Failure::work)?;
    // Before any file is opened: what is written in one mount namespace cannot be named in another.
    own_mounts().map_err(|error| {
        Failure::work(anyhow::anyhow!(
            "steering needs root: run it with sudo ({error})"
        ))
    })?;
    let pulse = live(guard)?;
    begin(arguments, device, &pulse)
}

/// Starts the server, and serves; `pulse` is where its pulse is felt.
fn begin(arguments: &SteerArguments, device: &Path, pulse: &OnceLock<Pulse>) -> Result {
    let spec = SchemeSpec::read(&arguments.scheme, &read_text).map_err(Failure::usage)?;
    if spec.needs_future() {
        return Err(Failure::usage(spec.refused()));
    }
    if !(0.0..=4.0).contains(&arguments.spare) {
        return Err(Failure::wrong_use(
            "--spare is a share of the drive's size, from 0 to 4",
        ));
    }
    if !arguments.tenants.tenant.is_empty() {
        anabranch_probe::control_groups().map_err(Failure::usage)?;
    }
    let create = |path: &Option<PathBuf>| path.as_ref().map(WholeFile::create).transpose();
    let files = Files {
        json: create(&arguments.output)?,
        page: create(&arguments.html)?,
    };
    let drive = Drive::open(device).map_err(Failure::usage)?;
    let plan = plan(arguments, spec, &drive)?;
    let mut placer = placer(&plan, &drive, arguments.spare)?;
    let sharers = drive.sharers(&plan.handles);
    let is_shared = |handle: &&u16| sharers.iter().any(|(_, shared)| shared.contains(handle));
    let free = plan.handles.iter().filter(|one| !is_shared(one)).count();
    for (neighbour, handles) in &sharers {
        say::line(&printable(&sharing(neighbour, handles, free)));
    }
    let kept = Kept::read(arguments.lifetimes.as_deref())?;
    placer.recall(kept.known());
    let shadow = if wants_shadow(arguments, &drive) {
        Some(start_shadow(arguments, &plan, &drive, &mut placer)?)
    } else {
        None
    };
    let metrics = arguments.metrics;
    let metrics = metrics.map(|address| Metrics::start(address, None));
    let metrics = metrics.transpose()?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::work)?;
    let options = options(arguments, &plan);
    let mut watched = None;
    let server = Server::start(drive, placer, &options, |block, took_over| {
        if arguments.unwatched {
            watched::forget(block);
            return Arc::new(NoWriters);
        }
        let generations = !arguments.generations.no_generations;
        match Watched::start(block, took_over, &arguments.tenants.tenant, generations) {
            Ok(found) => watched.insert(found).writers(),
            Err(error) => unwatched(&error),
        }
    });
    let server = server.map_err(Failure::usage)?;
    // What is allocated from here on stays as well.
    stay_in_memory().map_err(Failure::work)?;
    let _ = pulse.set(server.pulse());
    let seen = Seen {
        plan: &plan,
        shadow,
        watched,
        kept,
        metrics,
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

fn plan(arguments: &SteerArguments, spec: SchemeSpec, drive: &Drive) -> Result<Plan> {
    let handles = arguments.handles.as_ref();
    let handles = handles.map_or_else(|| drive.handles().to_vec(), |handles| handles.0.clone());
    let foreign = |handle: &&u16| !drive.handles().contains(handle);
    if drive.directive() == anabranch_steer::Directive::Placement
        && let Some(handle) = handles.iter().find(foreign)
    {
        return Err(Failure::wrong_use(format!(
            "{} has no placement identifier {handle}; it has {:?}",
            drive.title(),
            drive.handles()
        )));
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

/// What follows from a namespace that writes to some of our handles, too; `free` of ours are shared with none.
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
fn placer(plan: &Plan, drive: &Drive, spare: f64) -> Result<Placer> {
    let (config, kind) = shadow::model(drive, plan.streams, spare);
    let host = plan
        .spec
        .host(&config, DeviceHalf::Relocation(kind), None)
        .map_err(Failure::usage)?;
    Ok(Placer::new(host.into_assign(), plan.metadata.map(StreamId)))
}

fn wants_shadow(arguments: &SteerArguments, drive: &Drive) -> bool {
    match arguments.shadow {
        Wanted::On => true,
        Wanted::Off => false,
        Wanted::Auto => drive.abilities().bytes <= MODELLED_BYTES,
    }
}

fn start_shadow(
    arguments: &SteerArguments,
    plan: &Plan,
    drive: &Drive,
    placer: &mut Placer,
) -> Result<Shadow> {
    let all = plan.streams + u16::from(plan.metadata.is_some());
    let (config, kind) = shadow::model(drive, all, arguments.spare);
    let (shadow, witness) = Shadow::start(config, kind)?;
    placer.watch(witness);
    Ok(shadow)
}

fn options(arguments: &SteerArguments, plan: &Plan) -> Options {
    let processors = thread::available_parallelism().map_or(1, |count| count.get().min(4) as u16);
    Options {
        handles: plan.handles.clone(),
        queues: arguments.queues.unwrap_or(processors),
        depth: arguments.depth,
        copy: arguments.copy,
        accept_contents: arguments.yes,
    }
}

/// Tells the guard that the process lives, as long as its queues do once there are any: programs that wait for one that
/// does not are served by the next.
fn live(guard: Guard) -> Result<Arc<OnceLock<Pulse>>> {
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
    thread.spawn(beat).map_err(Failure::work)?;
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
        shadow,
        watched,
        mut kept,
        metrics,
    } = seen;
    let before = server.drive().written();
    say::line(&printable(&greeting(&server, plan)));
    if let Some(metrics) = &metrics {
        say::note(&format!("metrics at http://{}/metrics", metrics.address()));
    }
    let view = view();
    let began = Instant::now();
    let (mut drawn, mut asked, mut waits) = (began, 0, false);
    let mut drive = None;
    loop {
        thread::sleep(TICK);
        server.tend().map_err(Failure::work)?;
        // The first asks for the end, the second insists.
        asked += signals.pending().count();
        if asked > 0 && ends(&mut server, asked, &mut waits)? {
            break;
        }
        kept.tend(&server);
        if drawn.elapsed() >= EVERY {
            drawn = Instant::now();
            drive = told::since(server.drive().written(), before);
            view.set_message(told::line(server.counters(), drive, shadow.as_ref()));
            if let Some(metrics) = &metrics {
                let shadow = shadow.as_ref().map(Shadow::now);
                let told = told(&server, plan, began, drive, watched.as_ref(), shadow);
                metrics.show(metrics::text(&told));
                metrics.show_report(told.json().to_string());
            }
        }
    }
    view.finish_and_clear();
    drive = told::since(server.drive().written(), before).or(drive);
    let is_kept = kept.keep(&server);
    server.placer().unwatch();
    let shadow = shadow.map(Shadow::finish);
    let end = told(&server, plan, began, drive, watched.as_ref(), shadow);
    watched.map_or(Ok(()), Watched::end)?;
    tell(arguments, &end, files)?;
    is_kept
}

/// What is told of this moment.
fn told<'a>(
    server: &'a Server,
    plan: &'a Plan,
    began: Instant,
    drive: Option<Written>,
    watched: Option<&Watched>,
    shadow: Option<(Counted, u64, Config)>,
) -> Told<'a> {
    let (tenants, limitations) = watched.map(Watched::tenants).unwrap_or_default();
    Told {
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
    }
}

/// Tells the end: into the files, and on standard output, where a page stands alone.
fn tell(arguments: &SteerArguments, end: &Told<'_>, files: Files) -> Result {
    let json = end.json();
    if let Some(mut file) = files.json {
        writeln!(file, "{json:#}").map_err(Failure::work)?;
        file.finish()?;
    }
    let is_page = arguments.html.as_deref().is_some_and(is_standard_output);
    if arguments.json {
        print(&format!("{json:#}\n"))?;
    } else if !is_page {
        print(&end.text())?;
    }
    if let Some(mut file) = files.page {
        let page = anabranch_report::steered_page(json).map_err(Failure::work)?;
        file.write_all(page.as_bytes()).map_err(Failure::work)?;
        file.finish()?;
    }
    Ok(())
}

/// Whether it has ended, since somebody asked for it; the second time it is left as it is.
fn ends(server: &mut Server, asked: usize, waits: &mut bool) -> Result<bool> {
    if asked > 1 {
        return Err(Failure {
            status: INTERRUPTED,
            error: None,
        });
    }
    let has_ended = server.stop().map_err(Failure::work)?;
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
    if std::io::stderr().is_terminal() {
        ProgressBar::new_spinner().with_style(
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        )
    } else {
        ProgressBar::hidden()
    }
}
