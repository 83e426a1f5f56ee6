//! The most memory that a batch takes.

use anabranch_compare::{CompareError, ComparedDrive, Result, SAMPLES};
use anabranch_placement::SchemeSpec;
use anabranch_replay::Lane;

use crate::trace_survey::Seen;

/// Bytes of a lane's device for each page of its flash, in tenths (measured: docs/device.md).
const DEVICE_TENTHS: u64 = 87;
/// Bytes of a lane's scheme for each logical page: more than any scheme of the catalogue takes
/// (measured on the shipped trace: `oracle` 20, the next 12).
const SCHEME_BYTES: u64 = 24;
/// Bytes that knowledge of the future takes, for each page written and for each logical page
/// (`Foresight`).
const FUTURE_WRITTEN_BYTES: u64 = 4;
const FUTURE_LOGICAL_BYTES: u64 = 24;
/// Bytes of a renumbered range; there are no more of them than pages, nor than requests, and the
/// list may be twice as long while it grows (`Renumber`).
const RANGE_BYTES: u64 = 24;
/// Bytes that packing takes for each page (`Pack`: its number, and a free list; twice, while the
/// pages are counted).
const PACK_BYTES: u64 = 16;
/// Requests on their way, decoding, and the program itself (64 batches of 8,192 requests of some 60
/// bytes; our choice with room to spare).
const BASE_BYTES: u64 = 96 << 20;

/// The parts of a batch that decide its memory, besides the drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs<'a> {
    pub(crate) drive: &'a ComparedDrive,
    pub(crate) seen: &'a Seen,
    pub(crate) fills: bool,
    pub(crate) packs: bool,
    /// Number of samples of the drive, where it is given.
    pub(crate) samples: Option<u32>,
    /// The drive's name in messages.
    pub(crate) label: &'a str,
}

impl Needs<'_> {
    /// Bytes of memory for a lane of each scheme.
    pub(crate) fn bytes(&self, specs: &[SchemeSpec]) -> Result<u64> {
        let config = &self.drive.config;
        let flash = u64::from(config.physical_units) * u64::from(config.pages_per_unit);
        let logical = u64::from(config.logical_pages);
        let lane = flash * DEVICE_TENTHS / 10 + logical * SCHEME_BYTES;
        let mut lanes = 0;
        for spec in specs {
            // A host that collects has a model and a rehearsal beside the drive.
            let drives = if spec.collection().is_some() { 3 } else { 1 };
            lanes += drives
                * Lane::trials(spec, config)
                    .map_err(CompareError::usage)?
                    .len() as u64;
        }
        // Each sample has drives of its own.
        let (samples, whole) = match self.drive.thinned {
            None => (1, logical),
            Some(thinned) => (
                u64::from(self.samples.unwrap_or(SAMPLES)),
                thinned.logical_pages,
            ),
        };
        let written = self.seen.written_bytes / u64::from(config.page_bytes.max(1));
        let future = if specs.iter().any(SchemeSpec::needs_future) {
            written * FUTURE_WRITTEN_BYTES + logical * FUTURE_LOGICAL_BYTES
        } else {
            0
        };
        let numbers = if self.fills {
            2 * RANGE_BYTES * self.seen.requests.min(whole)
        } else {
            0
        };
        let pack = if self.packs { whole * PACK_BYTES } else { 0 };
        Ok(BASE_BYTES + samples * (lanes * lane + future) + numbers + pack)
    }
}
