//! A digest of what a trace holds: bits that flip on a disk or on a wire change figures, and no
//! decoder notices.
//!
//! Records are digested in blocks, so that whoever reads the beginning of a trace alone can check what
//! he has read. A record's bytes are its fields, little-endian, in the order of the columns; a word of
//! a column is its place in the list of words. The tables' bytes are their keys and texts, each behind
//! its length.

use std::fmt;
use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::io::Io;

/// Records of a block: those of a row group that this program writes. Our choice.
const BLOCK_ROWS: u64 = super::ROW_GROUP_ROWS as u64;
/// Records that are digested at a time, of which a block has a whole number. Our choice: their bytes stay in the
/// first-level cache.
const CHUNK_ROWS: usize = 256;
/// The algorithm of the digests. A later version may know another.
const ALGORITHM: &str = "xxh3-64";

/// The digests that a trace holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digests {
    algorithm: String,
    block_rows: u64,
    tables: String,
    blocks: Vec<String>,
}

impl Digests {
    /// The digests of tables, as texts under their keys, and of blocks of records.
    pub(super) fn new<'a>(
        texts: impl IntoIterator<Item = (&'a str, &'a str)>,
        blocks: Blocks,
    ) -> Digests {
        Digests {
            algorithm: ALGORITHM.into(),
            block_rows: BLOCK_ROWS,
            tables: of_texts(texts),
            blocks: blocks.finish(),
        }
    }

    /// A sentence where the tables differ from those that were written; `None` if they do not.
    pub(super) fn fault<'a>(
        &self,
        texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Option<&'static str> {
        match (self.algorithm.as_str(), self.block_rows) {
            (ALGORITHM, BLOCK_ROWS) => {}
            _ => return Some("their digest is of a kind that this program does not know"),
        }
        (of_texts(texts) != self.tables)
            .then_some("they are not those that were written: their digest is another")
    }
}

fn of_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut hasher = XxHash3_64::new();
    for text in texts.into_iter().flat_map(|(key, text)| [key, text]) {
        hasher.write(&(text.len() as u64).to_le_bytes());
        hasher.write(text.as_bytes());
    }
    digits(&hasher)
}

fn digits(hasher: &XxHash3_64) -> String {
    format!("{:016x}", hasher.finish())
}

/// Bytes of a record in its digest.
const RECORD_BYTES: usize = 39;

/// A record's bytes. Each field has a place of its own, so that a record is appended at once.
fn bytes_of(io: &Io) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[0..8].copy_from_slice(&io.time_ns.to_le_bytes());
    bytes[8] = io.operation as u8;
    bytes[9..17].copy_from_slice(&io.offset_bytes.to_le_bytes());
    bytes[17..25].copy_from_slice(&io.length_bytes.to_le_bytes());
    bytes[25..29].copy_from_slice(&io.context.0.to_le_bytes());
    bytes[29..33].copy_from_slice(&io.file.0.to_le_bytes());
    bytes[33] = io.hint as u8;
    bytes[34] = u8::from(io.hint_granted);
    bytes[35..39].copy_from_slice(&io.tenant.to_le_bytes());
    bytes
}

/// Computes the digests of records as they pass.
#[derive(Default)]
pub(super) struct Blocks {
    hasher: XxHash3_64,
    chunk: Vec<u8>,
    rows: u64,
    done: Vec<String>,
}

impl Blocks {
    pub(super) fn add(&mut self, mut ios: &[Io]) {
        while !ios.is_empty() {
            let room = CHUNK_ROWS - (self.rows as usize) % CHUNK_ROWS;
            let (now, later) = ios.split_at(room.min(ios.len()));
            for io in now {
                self.chunk.extend_from_slice(&bytes_of(io));
            }
            self.rows += now.len() as u64;
            if now.len() == room {
                self.hasher.write(&self.chunk);
                self.chunk.clear();
            }
            if self.rows == BLOCK_ROWS {
                self.close();
            }
            ios = later;
        }
    }

    /// Ends a block that is not full, if one was begun.
    fn close(&mut self) {
        let mut hasher = std::mem::take(&mut self.hasher);
        hasher.write(&self.chunk);
        self.chunk.clear();
        self.rows = 0;
        self.done.push(digits(&hasher));
    }

    fn finish(mut self) -> Vec<String> {
        if self.rows > 0 {
            self.close();
        }
        self.done
    }
}

/// Compares records as they are read with the digests in the trace.
#[derive(Debug)]
pub(super) struct Check {
    expected: Vec<String>,
    blocks: Blocks,
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl Check {
    pub(super) fn new(digests: Digests) -> Check {
        Check {
            expected: digests.blocks,
            blocks: Blocks::default(),
        }
    }

    /// Takes records as they are read. Fails with the first row of a block that ends among them and differs from what
    /// was written.
    pub(super) fn add(&mut self, ios: &[Io]) -> Result<(), u64> {
        let before = self.blocks.done.len();
        self.blocks.add(ios);
        self.compare(before)
    }

    /// Whether records were taken of a block that has not ended yet.
    pub(super) fn is_within_block(&self) -> bool {
        self.blocks.rows > 0
    }

    /// Ends the comparison after the last record. Fails as [`Check::add`].
    pub(super) fn finish(&mut self) -> Result<(), u64> {
        let before = self.blocks.done.len();
        if self.is_within_block() {
            self.blocks.close();
        }
        self.compare(before)?;
        let done = self.blocks.done.len();
        if done == self.expected.len() {
            Ok(())
        } else {
            Err(done as u64 * BLOCK_ROWS)
        }
    }

    fn compare(&self, before: usize) -> Result<(), u64> {
        let new = self.blocks.done.iter().enumerate().skip(before);
        let mut wrong = new.filter(|(place, digest)| self.expected.get(*place) != Some(digest));
        let first = wrong.next().map(|(place, _)| place as u64 * BLOCK_ROWS);
        first.map_or(Ok(()), Err)
    }
}
