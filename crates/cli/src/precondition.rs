//! `anabranch precondition`: a drive made old, kept in a file.

use std::{fs::File, io::BufReader, path::Path};

use anabranch_replay::{Pattern, Precondition, Steady};
use anabranch_ssd::{Device, RelocationKind, SavedDrive};
use anabranch_trace::WholeFile;

use crate::{
    arguments::{Overwrites, PreconditionArguments},
    comparison::print,
    drives::{Size, drives, share},
    failure::{Failure, Outcome},
    progress,
};

/// Makes a drive old and writes it to a file that appears whole or not at all.
pub fn precondition(arguments: &PreconditionArguments) -> Outcome {
    let grid = drives(&arguments.drive, Size::Unknown)?;
    let [drive] = grid.as_slice() else {
        return Err(Failure::say(
            "a file holds one drive: give each option one value",
        ));
    };
    let mut config = drive.config.clone();
    config.seed = arguments.seed;
    let fill = share(&arguments.fill)?;
    let plan = Precondition {
        fill_pages: (f64::from(config.logical_pages) * fill) as u32,
        pattern: match arguments.pattern {
            Overwrites::Sequential => Pattern::Sequential,
            Overwrites::Random => Pattern::Random,
        },
        most_capacities: arguments.capacities,
        seed: arguments.seed,
    };
    let mut file = WholeFile::create(&arguments.output)?;
    let relocation = RelocationKind::Mixed.build(&config);
    let mut device = Device::new(config, relocation).map_err(Failure::usage)?;
    let bar = progress::bar("preconditioning");
    let aged = plan.apply(&mut device, |share| {
        bar.set_position((share * 1000.0) as u64)
    });
    bar.finish_and_clear();
    let steady = aged.map_err(Failure::work)?;
    device.save(&mut file).map_err(|error| {
        Failure::work(anyhow::anyhow!("{}: {error}", arguments.output.display()))
    })?;
    file.finish()?;
    print(&told(&device, &steady, &arguments.output))
}

fn told(device: &Device, steady: &Steady, path: &Path) -> String {
    let (config, counters, wear) = (device.config(), device.counters(), device.wear());
    let bytes = |pages: u64| anabranch_report::bytes(pages * u64::from(config.page_bytes));
    let verdict = match steady {
        Steady::Yes => "yes (the last five windows of half a capacity agree within 10 %)".into(),
        Steady::No(words) => format!("NO - {words}"),
    };
    format!(
        "{}: a drive of {} that holds {}\nwritten: {} = {:.2} capacities, WAF {}\nerases: {} to {} a unit\n\
         steady state: {verdict}\n",
        path.display(),
        bytes(u64::from(config.logical_pages)),
        bytes(device.mapped_pages()),
        bytes(counters.host_pages),
        counters.host_pages as f64 / f64::from(config.logical_pages),
        anabranch_report::ratio(counters.waf()),
        wear.least_erases,
        wear.most_erases,
    )
}

/// Reads a drive that was kept in a file.
pub fn open(path: &Path) -> Outcome<SavedDrive> {
    let fail = |error: &dyn std::fmt::Display| {
        Failure::say(format!("saved drive {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| fail(&error))?;
    SavedDrive::read(BufReader::new(file)).map_err(|error| fail(&error))
}
