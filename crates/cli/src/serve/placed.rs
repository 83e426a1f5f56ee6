//! A scheme of the catalogue, as a served drive holds it.

use anabranch_compare::read_text;
use anabranch_nvme::drive::{Placed, Placement};
use anabranch_placement::{HostGeometry, SchemeSpec, Write};
use anabranch_replay::Sides;
use anabranch_ssd::{Config, PageRange, Relocate, StreamId};
use anabranch_trace::{ContextId, FileId, WriteHint};

use crate::failure::{Failure, Outcome};

/// Both halves of a scheme. Of a write over the network it sees where it goes and how long it is,
/// no more: no context, no file, no hint.
#[derive(Debug)]
struct AtTheDrive(Sides);

impl Placement for AtTheDrive {
    fn relocation(&self) -> &dyn Relocate {
        &self.0
    }

    fn relocation_mut(&mut self) -> &mut dyn Relocate {
        &mut self.0
    }

    fn assign(&mut self, pages: PageRange, now_pages: u64) -> StreamId {
        self.0.assign_mut().assign(&Write {
            pages,
            context: ContextId::default(),
            file: FileId::default(),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages,
        })
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.0.assign_mut().discard(pages, now_pages);
    }

    fn goes_by_page(&self) -> bool {
        self.0.assign().goes_by_page()
    }
}

/// A scheme by its name.
pub fn scheme(name: &str) -> Outcome<SchemeSpec> {
    let spec = SchemeSpec::read(name, &read_text).map_err(Failure::usage)?;
    match spec.needs_future() {
        true => Err(Failure::usage(spec.refused())),
        false => Ok(spec),
    }
}

/// The drive as a scheme has it: with its own rule for victims, and those of the internal streams
/// that it uses.
pub fn drive_of(spec: &SchemeSpec, config: &Config) -> Config {
    Config {
        victim_rule: spec.victim_rule().unwrap_or(config.victim_rule),
        internal_streams: spec.internal_streams(config),
        ..config.clone()
    }
}

/// A scheme on a drive that [`drive_of`] made for it.
pub fn place(spec: &SchemeSpec, config: &Config) -> Outcome<Placed> {
    let geometry = HostGeometry {
        logical_pages: config.logical_pages,
        page_bytes: config.page_bytes,
        host_streams: config.host_streams,
        internal_streams: config.internal_streams,
        pages_per_unit: config.pages_per_unit,
        physical_units: config.physical_units,
    };
    let built = spec.build_both(&geometry, None).map_err(Failure::usage)?;
    Ok(Placed::by(Box::new(AtTheDrive(Sides::new(built, config)))))
}
