//! The drive to serve: new, aged, or as it was left.

use std::path::Path;

use anabranch_compare::{ComparedDrive, TraceOrigin, aged_drives, load, one_drive, open_saved};
use anabranch_nvme::{
    Checkpoint, Found, Tally, Totals,
    drive::{Placement, ServedDrive, Watch},
    store::Store,
};
use anabranch_ssd::{
    Config, Device, fdp::FdpDevice, profile::Profile, relocate::RelocationKind, state::SavedDrive,
    time::Flash,
};

use super::{
    arguments::{ServeArguments, ServeMode, Time},
    namespaces, placed,
};
use crate::error::{CommandError, Result};

/// Everything a target is made of.
pub struct Built {
    pub name: String,
    pub drive: ServedDrive,
    pub store: Store,
    pub totals: Totals,
    pub checkpoint: Option<Checkpoint>,
    /// Lines for people on the drive's origin.
    pub told: Vec<String>,
}

/// The way in which the drive places writes.
struct Plan {
    mode: ServeMode,
    profile: Profile,
    /// Mode and scheme in words, as the state names them.
    words: String,
    config: Config,
    /// The placement of writes; `None` for a drive with FDP.
    placement: Option<Box<dyn Placement>>,
}

/// Builds the drive, and its contents and state, as far as there are any.
pub fn build(arguments: &ServeArguments) -> Result<Built> {
    let profile_name = one(&arguments.drive.profiles)?;
    let profile = load(profile_name)?;
    let aged = arguments.drive_file.as_deref();
    let aged = aged.map(open_saved).transpose()?;
    let named = named(arguments, aged.as_ref())?;
    let plan = plan(arguments, profile, &named.config)?;
    let checkpoint = arguments
        .state_file()
        .map(|path| Checkpoint::at(&path, &plan.words));
    let found = match &checkpoint {
        Some(checkpoint) => checkpoint.read().map_err(CommandError::usage)?,
        None => None,
    };
    // What an aged drive held before it was ours has no contents, and is not to be given up for that.
    let aged_once = found
        .as_ref()
        .map_or(aged.is_some(), |found| found.header.aged);
    let checkpoint = checkpoint.map(|checkpoint| checkpoint.of_aged(aged_once));
    let killed = checkpoint.as_ref().is_some_and(Checkpoint::was_killed);
    let new = found.is_none();
    let store = store(arguments.data_file(), plan.config.logical_bytes())?;
    let mut told = Vec::new();
    let mut tally = Tally::default();
    if let Some(found) = &found {
        tally = found.header.tally;
        if tally.cleared_host_bytes == 0 {
            // States of older versions keep the moment of clearing in whole pages alone.
            let pages = found.header.cleared_at.host_pages;
            let cleared = pages * u64::from(plan.config.page_bytes);
            tally.cleared_host_bytes = cleared.min(tally.host_bytes());
        }
        told.push(format!(
            "the drive goes on with {} written before",
            anabranch_report::bytes(tally.host_bytes())
        ));
    }
    let watch = watch(arguments, &named, &plan.config)?;
    let header = found.as_ref().map(|found| found.header.clone());
    let drive = drive(plan, found, aged, arguments, watch)?;
    let mut drive = match header {
        Some(header) => header.namespaces(drive).map_err(CommandError::usage)?,
        None => namespaces::new(drive, arguments.namespaces.as_ref(), arguments.block_bytes)?,
    };
    if store.is_file() && (killed || new) {
        told.extend(reconcile(&mut drive, &store, killed, !aged_once)?);
    }
    tally.power_cycles += 1;
    tally.unsafe_shutdowns += u64::from(killed);
    Ok(Built {
        name: name(arguments, profile_name),
        totals: Totals::after(tally),
        drive,
        store,
        checkpoint,
        told,
    })
}

fn one(profiles: &[String]) -> Result<&str> {
    match profiles {
        [] => Ok(anabranch_compare::DEFAULT_PROFILE),
        [one] => Ok(one),
        _ => Err(CommandError::wrong_use(
            "one drive is served: give one --device",
        )),
    }
}

fn named(arguments: &ServeArguments, aged: Option<&SavedDrive>) -> Result<ComparedDrive> {
    let one = "one drive is served: give each option one value";
    let mut drive = match (aged, arguments.drive_file.as_deref()) {
        (Some(saved), Some(path)) => {
            let grid = aged_drives(&arguments.drive, path, saved.config())?;
            let [drive] =
                <[ComparedDrive; 1]>::try_from(grid).map_err(|_| CommandError::wrong_use(one))?;
            drive
        }
        _ => one_drive(&arguments.drive, &TraceOrigin::default(), one)?.0,
    };
    drive.config.seed = arguments.seed;
    Ok(drive)
}

fn plan(arguments: &ServeArguments, profile: Profile, config: &Config) -> Result<Plan> {
    let mode = arguments.mode.unwrap_or(match profile.fdp {
        Some(_) if arguments.scsi.is_none() => ServeMode::Fdp,
        _ => ServeMode::Streams,
    });
    let plain = mode == ServeMode::Plain;
    if !plain && arguments.scheme != "baseline" {
        return Err(CommandError::wrong_use(
            "--scheme assigns streams where the host does not: it goes with --mode plain",
        ));
    }
    match mode {
        ServeMode::Fdp => {
            if profile.fdp.is_none() {
                return Err(CommandError::wrong_use(format!(
                    "device profile {} has no [fdp]: serve it with --mode streams",
                    one(&arguments.drive.profiles)?
                )));
            }
            Ok(Plan {
                mode,
                profile,
                words: "fdp".to_owned(),
                config: config.clone(),
                placement: None,
            })
        }
        ServeMode::Streams => streams(arguments, profile, config),
        ServeMode::Plain => {
            let spec = placed::scheme(&arguments.scheme)?;
            let config = spec.drive(config);
            Ok(Plan {
                mode,
                profile,
                words: format!("plain {}", spec.name()),
                placement: Some(placed::place(&spec, &config)?),
                config,
            })
        }
    }
}

fn streams(arguments: &ServeArguments, profile: Profile, config: &Config) -> Result<Plan> {
    let kind: RelocationKind = arguments.relocation;
    let config = Config {
        internal_streams: kind.internal_streams(config),
        ..config.clone()
    };
    if config.host_streams < 2 {
        return Err(CommandError::wrong_use(
            "--mode streams needs a drive with at least 2 streams (--streams)",
        ));
    }
    Ok(Plan {
        mode: ServeMode::Streams,
        profile,
        words: format!("streams {kind}"),
        placement: Some(Box::new(kind.build(&config))),
        config,
    })
}

fn drive(
    plan: Plan,
    found: Option<Found>,
    aged: Option<SavedDrive>,
    arguments: &ServeArguments,
    watch: Watch,
) -> Result<ServedDrive> {
    if let Some(found) = &found {
        same(&plan, found)?;
    }
    let Some(mut placement) = plan.placement else {
        let options = plan.profile.fdp.map(|fdp| fdp.options());
        let options = options.unwrap_or_default();
        let device = match found {
            None if aged.is_some() => {
                return Err(CommandError::wrong_use(
                    "--drive begins no FDP drive: leave it out",
                ));
            }
            None => {
                FdpDevice::watched(&plan.config, &options, watch).map_err(CommandError::usage)?
            }
            Some(found) => FdpDevice::resume(found.drive, &options, found.header.cleared_at, watch)
                .map_err(CommandError::usage)?,
        };
        return Ok(ServedDrive::fdp(device));
    };
    let relocation = placement.relocation_mut();
    let device = match (found, aged) {
        (Some(found), _) => found
            .drive
            .resume(relocation, watch)
            .map_err(CommandError::usage)?,
        (None, Some(aged)) => aged
            .age(plan.config, relocation, watch)
            .map_err(CommandError::usage)?,
        (None, None) => Device::watched(plan.config, relocation, watch)?,
    };
    Ok(match plan.mode {
        ServeMode::Streams => ServedDrive::streams(device, placement, arguments.shared_streams),
        ServeMode::Plain | ServeMode::Fdp => ServedDrive::plain(device, placement),
    })
}

/// The clock of a drive that takes time.
fn watch(arguments: &ServeArguments, named: &ComparedDrive, config: &Config) -> Result<Watch> {
    if arguments.time == Time::Off {
        return Ok(Watch::default());
    }
    let timing = named.timing.ok_or_else(|| {
        CommandError::wrong_use(format!(
            "device profile {} has no [timing]: --time on needs to know how long its flash takes",
            named.profile
        ))
    })?;
    let flash = Flash::live(config, timing, named.layout).map_err(CommandError::usage)?;
    Ok(Watch::timed(flash))
}

/// Whether the state is of the drive that was asked for.
fn same(plan: &Plan, found: &Found) -> Result {
    if found.header.placement != plan.words {
        return Err(CommandError::wrong_use(format!(
            "the state is of a drive with \"{}\", not \"{}\": ask for the same, or name another \
             --state",
            found.header.placement, plan.words
        )));
    }
    let (kept, asked) = (found.drive.config(), &plan.config);
    let internal = match plan.mode {
        // What an FDP device has of them follows from its handles.
        ServeMode::Fdp => kept.internal_streams,
        _ => asked.internal_streams,
    };
    let asked = Config {
        internal_streams: internal,
        ..asked.clone()
    };
    if *kept == asked {
        Ok(())
    } else {
        Err(CommandError::wrong_use(
            "the state is of another drive: ask for the same device and options, or name another \
             --state",
        ))
    }
}

fn store(data: Option<&Path>, bytes: u64) -> Result<Store> {
    match data {
        None => Ok(Store::memory(bytes)),
        Some(data) => Store::file(data, bytes).map_err(CommandError::usage),
    }
}

/// The translation layer learns from the contents what its state lacks.
fn reconcile(
    drive: &mut ServedDrive,
    store: &Store,
    killed: bool,
    give_up: bool,
) -> Result<Option<String>> {
    let data = store.data().map_err(CommandError::work)?;
    let (written, discarded) = drive.reconcile(&data, give_up).map_err(|status| {
        CommandError::work(anyhow::anyhow!(
            "the drive cannot take in its contents: status {:?}",
            status.code()
        ))
    })?;
    Ok((killed || written + discarded > 0).then(|| {
        let why = if killed {
            "the drive was not stopped"
        } else {
            "the drive is new, its contents are not"
        };
        format!("{why}: {written} pages taken in, {discarded} given up")
    }))
}

fn name(arguments: &ServeArguments, profile: &str) -> String {
    let stem = Path::new(profile).file_stem().unwrap_or_default();
    let own = || format!("nqn.2026-01.local.anabranch:{}", stem.to_string_lossy());
    arguments.nqn.clone().unwrap_or_else(own)
}
