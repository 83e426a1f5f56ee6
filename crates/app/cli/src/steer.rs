//! `anabranch steer`: a scheme at work on a real drive.

mod arguments;
mod collect;
mod compare;
mod hints;
mod kept_models;
mod lifetimes;
mod metrics;
mod outputs;
mod paired;
mod report;
mod session;
mod shadow;
mod worth;
mod writers;

use std::{
    path::Path,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use anabranch_compare::{check_endurance, read_text};
use anabranch_nvme_host::usage::listed;
use anabranch_placement::{DeviceHalf, SchemeSpec, Site};
use anabranch_report::{message, printable};
use anabranch_ssd::StreamId;
use anabranch_steer::{
    BEAT, Guard, NoWriters, Placer, Pulse, Server, ServerOptions, SteeredDrive, Writers, give_up,
    own_mounts, stay_in_memory,
};
use anabranch_trace::Rate;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

pub use arguments::{EXAMPLE, SteerArguments};
pub use worth::verdict_of_set;

use crate::{
    error::{CommandError, Result},
    metrics::Metrics,
    say,
};
use arguments::{Metadata, SPARE};
use collect::{HostCollects, Start};
use compare::KeptComparison;
use kept_models::KeptModels;
use lifetimes::Lifetimes;
use outputs::ReportFiles;
use report::ReportLimits;
use session::Session;
use shadow::{Extent, Shadow};
use writers::Watched;

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
    let spec = scheme(arguments)?;
    check_endurance(&arguments.endurance, None)?;
    if !arguments.tenants.tenant.is_empty() {
        anabranch_probe::control_groups().map_err(CommandError::usage)?;
    }
    let files = ReportFiles::create(arguments)?;
    let drive = SteeredDrive::open(device).map_err(CommandError::usage)?;
    arguments
        .spare
        .map_or(Ok(()), |spare| shadow::check_spare(&drive, spare))?;
    let models = KeptModels::new(arguments.models.as_deref(), drive.title());
    let (plan, mut placer, collects) = placed(arguments, spec, &drive, &models)?;
    report_sharers(&drive, &plan.handles);
    let lifetimes = Lifetimes::read(arguments.lifetimes.as_deref())?;
    placer.restore_lifetimes(lifetimes.known());
    let (bytes, unit_bytes) = (drive.abilities().bytes, shadow::unit_bytes(&drive));
    let extent = Extent::of(arguments.shadow, bytes, unit_bytes);
    let comparison = KeptComparison::asked(arguments, &drive, plan.spec.name(), &plan.handles)?;
    let shadow = start_shadow(arguments, &plan, &drive, &mut placer, extent, &models)?;
    let limits = ReportLimits {
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
    let session = Session {
        before: server.drive().written(),
        server,
        plan: &plan,
        limits,
        shadow,
        models,
        watched,
        lifetimes,
        metrics,
        comparison,
        collects,
        began: Instant::now(),
    };
    session.serve(arguments, &mut signals, files)
}

/// The scheme that was asked for.
fn scheme(arguments: &SteerArguments) -> Result<SchemeSpec> {
    let collected = collect::collected_spec(arguments)?;
    let text = collected.as_ref().unwrap_or(&arguments.scheme);
    let spec = SchemeSpec::read(text, &read_text).map_err(CommandError::usage)?;
    if spec.needs_future() {
        return Err(CommandError::usage(spec.refused()));
    }
    if collected.is_none() {
        spec.leaves_collection_to_the_drive()
            .map_err(CommandError::usage)?;
    }
    Ok(spec)
}

/// The scheme's plan and placer, and the host that collects, if it is to and can.
fn placed(
    arguments: &SteerArguments,
    mut spec: SchemeSpec,
    drive: &SteeredDrive,
    models: &KeptModels,
) -> Result<(Plan, Placer, Option<HostCollects>)> {
    if spec.collection().is_some() {
        let plan = plan(arguments, spec, drive, Metadata::Scheme)?;
        match collect::start(arguments, &plan, drive, models)? {
            Start::Host(host, placer) => {
                say::print_note(&host.cost());
                return Ok((plan, *placer, Some(*host)));
            }
            Start::Drive(why) => say::line(&printable(&format!(
                "the drive goes on collecting, and the scheme's host half places: {why}"
            ))),
        }
        spec = plan.spec.with_relocation(shadow::relocation(drive));
    }
    let metadata = arguments.metadata.unwrap_or(Metadata::Apart);
    let plan = plan(arguments, spec, drive, metadata)?;
    let placer = placer(&plan, drive, arguments.spare.unwrap_or(SPARE))?;
    Ok((plan, placer, None))
}

/// Schemes by address work all the same.
fn unwatched(error: &anabranch_probe::ProbeError) -> Arc<dyn Writers> {
    say::line(&format!(
        "nobody tells who writes, so no scheme can go by it: {}",
        message(&error.to_string())
    ));
    Arc::new(NoWriters)
}

fn plan(
    arguments: &SteerArguments,
    spec: SchemeSpec,
    drive: &SteeredDrive,
    metadata: Metadata,
) -> Result<Plan> {
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
    let apart = metadata == Metadata::Apart && handles.len() >= FEW_HANDLES;
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
    let site = Site::new(&model.config, DeviceHalf::Relocation(model.kind));
    let halves = plan.spec.build(&site).map_err(CommandError::usage)?;
    Ok(Placer::new(
        halves.into_assign(),
        plan.metadata.map(StreamId),
    ))
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
    let model = shadow::model(drive, all, arguments.spare.unwrap_or(SPARE), rate);
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
