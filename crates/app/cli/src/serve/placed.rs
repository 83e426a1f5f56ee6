//! A scheme of the catalogue, as a served drive holds it.

use anabranch_compare::read_text;
use anabranch_nvme::drive::{Perform, Placement};
use anabranch_placement::{Policy, SchemeSpec, Write};
use anabranch_ssd::{Config, DeviceError, PageRange, relocate::Relocate};
use anabranch_trace::{ContextId, FileId, WriteHint};

use crate::error::{CommandError, Result};

/// A scheme that sees the address and length of a write, as the network gives them, no more: no
/// context, no file, no hint, and so no names either.
#[derive(Debug)]
struct OfTheNetwork(Policy);

impl Placement for OfTheNetwork {
    fn relocation(&self) -> &dyn Relocate {
        self.0.relocation()
    }

    fn relocation_mut(&mut self) -> &mut dyn Relocate {
        self.0.relocation_mut()
    }

    fn place(
        &mut self,
        pages: PageRange,
        now_pages: u64,
        perform: Perform<'_>,
    ) -> Result<(), DeviceError> {
        let write = Write {
            pages,
            context: ContextId::default(),
            file: FileId::default(),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages,
        };
        self.0.place(&write, |relocation, part, stream| {
            perform(relocation, part.pages, stream)
        })
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.0.discard(pages, now_pages);
    }
}

pub fn scheme(name: &str) -> Result<SchemeSpec> {
    let spec = SchemeSpec::read(name, &read_text).map_err(CommandError::usage)?;
    spec.leaves_collection_to_the_drive()
        .map_err(CommandError::usage)?;
    if spec.needs_future() {
        Err(CommandError::usage(spec.refused()))
    } else {
        Ok(spec)
    }
}

/// A scheme on a drive that [`SchemeSpec::drive`] made for it.
pub fn place(spec: &SchemeSpec, config: &Config) -> Result<Box<dyn Placement>> {
    let policy = spec.policy(config, None).map_err(CommandError::usage)?;
    Ok(Box::new(OfTheNetwork(policy)))
}
