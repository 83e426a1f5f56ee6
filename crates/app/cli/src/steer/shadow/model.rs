//! The drive that is modelled: its size, its reclaim unit and its spare.

use anabranch_ssd::{Config, ConfigError, relocate::RelocationKind};
use anabranch_steer::{Directive, PAGE_BYTES, SteeredDrive};
use anabranch_trace::Rate;

use crate::error::{CommandError, Result};

/// A reclaim unit where the drive does not say (our choice).
const UNIT_BYTES: u64 = 64 << 20;

/// A model of a drive.
#[derive(Debug, Clone)]
pub struct Model {
    /// The drive modelled; of a sampled one, a sample.
    pub config: Config,
    pub kind: RelocationKind,
    pub rate: Rate,
    /// Host bytes that models of earlier starts had seen.
    pub kept_bytes: u64,
}

/// The drive that nobody steers: of the same flash, with copies in a stream of their own. FDP's relocation has that already.
pub fn one_stream(config: &Config, kind: RelocationKind) -> (Config, RelocationKind) {
    if kind == RelocationKind::Fdp {
        return (config.clone(), kind);
    }
    let one = Config {
        host_streams: 1,
        internal_streams: 1,
        ..config.clone()
    };
    (one, RelocationKind::Gc)
}

/// A model of a drive: its size and reclaim unit are the drive's own, its spare is what it is said to be. At a rate, a
/// page stands for several.
pub fn model(drive: &SteeredDrive, streams: u16, spare: f64, rate: Rate) -> Model {
    let mut model = model_of(sizes(drive), relocation(drive), streams, spare, rate);
    // A drive of a few units has room to collect, whatever the default comes to.
    let fewest = model.config.logical_units().saturating_add(4);
    model.config.physical_units = model.config.physical_units.max(fewest);
    model
}

/// Refuses spare that is too little for any drive, as a replay does.
///
/// # Errors
/// When it is.
pub fn check_spare(drive: &SteeredDrive, spare: f64) -> Result {
    let model = model_of(sizes(drive), relocation(drive), 1, spare, Rate::WHOLE);
    match model.config.validate() {
        Err(error @ ConfigError::TooFewUnits { .. }) => {
            let percent = 100.0 * spare;
            Err(CommandError::wrong_use(format!(
                "--spare {percent}%: {error}"
            )))
        }
        _ => Ok(()),
    }
}

/// The model of a drive of a size and a reclaim unit, in bytes, with copies of a kind.
pub fn model_of(
    (bytes, unit_bytes): (u64, u64),
    kind: RelocationKind,
    streams: u16,
    spare: f64,
    rate: Rate,
) -> Model {
    let (pages, one_of) = (bytes / PAGE_BYTES, u64::from(rate.pages()));
    let pages_per_unit = (unit_bytes / PAGE_BYTES).max(1);
    let physical_pages = (pages as f64 * (1.0 + spare)) as u64;
    let mut config = Config {
        page_bytes: small(PAGE_BYTES * one_of),
        host_streams: streams,
        ..Config::new(
            small(pages.div_ceil(one_of)),
            small((pages_per_unit / one_of).max(1)),
            small(physical_pages.div_ceil(pages_per_unit)),
        )
    };
    config.internal_streams = kind.internal_streams(&config);
    Model {
        config,
        kind,
        rate,
        kept_bytes: 0,
    }
}

/// Bytes of a drive and of its reclaim unit.
fn sizes(drive: &SteeredDrive) -> (u64, u64) {
    (drive.abilities().bytes, unit_bytes(drive))
}

/// The kind of copies that a drive makes.
pub fn relocation(drive: &SteeredDrive) -> RelocationKind {
    match drive.directive() {
        Directive::Placement => RelocationKind::Fdp,
        Directive::Streams => RelocationKind::Mixed,
    }
}

/// The reclaim unit of a drive.
pub fn unit_bytes(drive: &SteeredDrive) -> u64 {
    drive.unit_bytes().unwrap_or(UNIT_BYTES)
}

/// A number in 32 bits; the largest of these where it has more.
pub fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
