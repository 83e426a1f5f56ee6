//! The drive that a host models, and the handles of its streams.

use anabranch_placement::{Collection, SchemeSpec};
use anabranch_ssd::{Config, StreamId};

use crate::cannot_collect::CannotCollect;

/// The model of a drive on which a host collects: whole schemes place and collect on it. It has `host-spare` units fewer, and
/// of the drive's handles some are for copies.
///
/// # Errors
/// When no host can collect there: too few handles, too few units, or a drive that leaves streams unheeded.
pub fn model_of(
    spec: &SchemeSpec,
    collection: &Collection,
    drive: &Config,
) -> Result<Config, CannotCollect> {
    let scheme = || spec.name().to_owned();
    if drive.streams_off_permille < 1000 {
        return Err(CannotCollect::Unheeded { scheme: scheme() });
    }
    let (handles, groups) = (drive.handles(), drive.reclaim_groups.max(1));
    let copies = collection.copy_handles(handles);
    let offered = Config {
        internal_streams: copies.saturating_mul(groups as u16),
        ..drive.clone()
    };
    let copies = spec.internal_streams(&offered) / groups as u16;
    if copies >= handles {
        return Err(CannotCollect::NoHandle {
            scheme: scheme(),
            handles,
            copies,
        });
    }
    let believed = f64::from(drive.pages_per_unit) * (1.0 + collection.size_error);
    let pages_per_unit = (believed.round() as u32).max(1);
    let physical = u64::from(drive.physical_units) * u64::from(drive.pages_per_unit);
    let units = (physical / u64::from(pages_per_unit)) as u32;
    let plain = Config::new(drive.logical_pages, pages_per_unit, units);
    let model = Config {
        page_bytes: drive.page_bytes,
        physical_units: units.saturating_sub(collection.spare.saturating_mul(groups)),
        host_streams: (handles - copies) * groups as u16,
        internal_streams: copies * groups as u16,
        victim_rule: spec.victim_rule().unwrap_or(drive.victim_rule),
        chips: drive.chips,
        gc_start_free_units: drive.gc_start_free_units,
        gc_stop_free_units: drive.gc_stop_free_units,
        seed: drive.seed,
        reclaim_groups: groups,
        ..plain
    };
    let least = model.least_physical_units();
    if u64::from(model.physical_units) < least {
        return Err(CannotCollect::NoRoom {
            scheme: scheme(),
            units: drive.physical_units,
            model: model.physical_units,
            least,
        });
    }
    Ok(model)
}

/// The handle for each stream of the model: those of rewrites are the last of each reclaim group.
pub fn handles_of(model: &Config) -> Vec<StreamId> {
    let groups = model.reclaim_groups as u16;
    let (own, copies) = (model.handles(), model.internal_streams / groups);
    let each = own + copies;
    let host = (0..model.host_streams).map(|stream| stream / own * each + stream % own);
    let internal =
        (0..model.internal_streams).map(|stream| stream / copies * each + own + stream % copies);
    host.chain(internal).map(StreamId).collect()
}

/// Bytes of memory of a drive that is modelled with [places](anabranch_ssd::Keeps::Places) and no ages.
pub fn memory_bytes(config: &Config) -> u64 {
    let physical = u64::from(config.physical_units) * u64::from(config.pages_per_unit);
    4 * (u64::from(config.logical_pages) + physical)
}
