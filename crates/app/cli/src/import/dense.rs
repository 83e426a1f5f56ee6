//! Renumbering of sparse addresses to dense ones, volume after volume.

use std::{collections::BTreeMap, path::Path};

use anabranch_replay::Renumber;
use anabranch_trace::{
    Io, Scratch, Tables, Writer,
    foreign::{Importer, Survey},
};
use indicatif::ProgressBar;

use crate::error::{CommandError, Result};

/// Bytes of the pages that are numbered: the mapping unit of nearly every drive.
const PAGE_BYTES: u32 = 4096;

/// The largest drive that a trace is renumbered to: 1 PiB (our choice; more than any drive has). Addresses beyond it
/// would be sums that do not fit 64 bits, and tables that do not fit the memory.
const MOST_BYTES: u64 = 1 << 50;

/// The result of renumbering.
pub struct Dense {
    /// Bytes of the drive that the trace now fills.
    pub device_bytes: u64,
    /// Requests left out, since they named only pages that are never written.
    pub left_out: u64,
}

/// Writes all requests of an importer with dense addresses: the pages that each volume ever writes, in address order
/// and without holes, volume after volume.
///
/// The addresses are known only after the last request. Until then the requests are in a file
/// without a name beside the output, which also lets a pipe be renumbered. Memory grows with the number of
/// separate areas that are written, 24 bytes each.
pub fn write(
    importer: &mut Importer,
    output: &Path,
    bar: &ProgressBar,
    share: impl Fn(&Importer) -> f64,
) -> Result<(Survey, Dense)> {
    let writer = Writer::scratch(output)?;
    let (survey, mut tables, writer) = super::write(importer, writer, bar, share, None)?;
    let mut sparse = writer.keep(&tables)?;
    let mut volumes = Volumes::learn(&mut sparse)?;
    tables.capture.device_bytes = volumes.lay_out().ok_or_else(|| {
        CommandError::wrong_use(format!(
            "the pages that are ever written fill more than {MOST_BYTES} bytes, which no drive has: addresses are damaged \
             or hashes, or in another unit"
        ))
    })?;
    let left_out = volumes.apply(&mut sparse, output, &tables)?;
    let dense = Dense {
        device_bytes: tables.capture.device_bytes,
        left_out,
    };
    Ok((survey, dense))
}

/// The written pages of every volume.
struct Volumes(BTreeMap<u32, Volume>);

struct Volume {
    numbers: Renumber,
    /// Bytes of the volumes before this one.
    before_bytes: u64,
}

impl Volumes {
    fn learn(sparse: &mut Scratch) -> Result<Volumes> {
        let mut volumes = BTreeMap::new();
        let mut reader = sparse.reader()?;
        let mut ios = Vec::new();
        while reader.read_batch(&mut ios)? {
            for io in &ios {
                let volume = volumes.entry(io.tenant).or_insert_with(|| Volume {
                    numbers: Renumber::new(PAGE_BYTES),
                    before_bytes: 0,
                });
                volume.numbers.learn(io);
            }
        }
        Ok(Volumes(volumes))
    }

    /// Lays the volumes side by side. Answers their bytes together; `None` for more than [`MOST_BYTES`].
    fn lay_out(&mut self) -> Option<u64> {
        let mut bytes = 0_u64;
        for volume in self.0.values_mut() {
            volume.before_bytes = bytes;
            let pages = volume.numbers.finish_learning();
            bytes = bytes.saturating_add(pages.saturating_mul(u64::from(PAGE_BYTES)));
        }
        (bytes <= MOST_BYTES).then_some(bytes)
    }

    /// Writes the requests with their new addresses. Answers how many were left out.
    fn apply(&self, sparse: &mut Scratch, output: &Path, tables: &Tables) -> Result<u64> {
        let mut reader = sparse.reader()?;
        let mut writer = Writer::create(output)?;
        let (mut ios, mut pieces, mut left_out) = (Vec::new(), Vec::new(), 0);
        while reader.read_batch(&mut ios)? {
            for io in &ios {
                self.place(io, &mut pieces);
                left_out += u64::from(pieces.is_empty());
                writer.push_all(&pieces)?;
            }
        }
        writer.finish(tables)?;
        Ok(left_out)
    }

    fn place(&self, io: &Io, pieces: &mut Vec<Io>) {
        pieces.clear();
        let Some(volume) = self.0.get(&io.tenant) else {
            return;
        };
        volume.numbers.apply(io, |piece| {
            let is_flush = piece.length_bytes == 0;
            let before_bytes = if is_flush { 0 } else { volume.before_bytes };
            pieces.push(Io {
                offset_bytes: piece.offset_bytes + before_bytes,
                ..piece
            });
        });
    }
}
