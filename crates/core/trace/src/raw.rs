//! Raw page numbers: little-endian u32, one write of one 4 KiB page each, and nothing else.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::io::Io;
use crate::open::open_readable;

/// Bytes of a page. The file has no header that could say otherwise.
const PAGE_BYTES: u64 = 4096;

/// Bytes of a page number.
const NUMBER_BYTES: usize = size_of::<u32>();

/// Bytes read at a time: 4,096 page numbers. Our choice: the requests that they become stay in a core's cache.
const CHUNK_BYTES: u64 = 16 << 10;

/// Reads a file of raw page numbers, or a pipe, a chunk at a time.
#[derive(Debug)]
pub struct RawReader {
    path: PathBuf,
    /// The input; `None` after the end, or an error.
    file: Option<File>,
    pages: Option<u64>,
    bytes: Vec<u8>,
    read_bytes: u64,
}

impl RawReader {
    /// Opens a file or pipe of page numbers.
    ///
    /// # Errors
    /// [`TraceError::Open`], [`TraceError::NotAFile`] for a directory, [`TraceError::Empty`],
    /// [`TraceError::RawLength`] when the length is no multiple of 4.
    pub fn open(path: impl AsRef<Path>) -> Result<RawReader, TraceError> {
        let path = path.as_ref();
        let (file, length_bytes) = open_readable(path)?;
        let reader = RawReader {
            path: path.into(),
            file: Some(file),
            pages: length_bytes.map(|bytes| bytes / NUMBER_BYTES as u64),
            bytes: Vec::with_capacity(CHUNK_BYTES as usize),
            read_bytes: 0,
        };
        match length_bytes {
            Some(bytes) if bytes % NUMBER_BYTES as u64 != 0 => Err(reader.uneven(bytes)),
            _ => Ok(reader),
        }
    }

    /// Number of pages in the whole file; `None` for a pipe.
    pub fn pages(&self) -> Option<u64> {
        self.pages
    }

    /// Puts the next few thousand writes into `ios`, in place of what was there. Answers `false`
    /// when there are no more, and `ios` is then empty.
    ///
    /// # Errors
    /// [`TraceError::Read`]; [`TraceError::RawLength`] when a pipe ends within a number, or a
    /// file was cut while it was read. The reader is at its end then.
    pub fn read_batch(&mut self, ios: &mut Vec<Io>) -> Result<bool, TraceError> {
        ios.clear();
        let done = self.read_chunk(ios);
        if !matches!(done, Ok(true)) {
            self.file = None;
        }
        done
    }

    fn read_chunk(&mut self, ios: &mut Vec<Io>) -> Result<bool, TraceError> {
        let Some(file) = &mut self.file else {
            return Ok(false);
        };
        self.bytes.clear();
        let read = file.take(CHUNK_BYTES).read_to_end(&mut self.bytes);
        let filled = read.map_err(|source| TraceError::Read {
            path: self.path.clone(),
            source,
        })?;
        self.read_bytes += filled as u64;
        let (numbers, rest) = self.bytes.as_chunks::<NUMBER_BYTES>();
        if !rest.is_empty() {
            return Err(self.uneven(self.read_bytes));
        }
        ios.extend(
            numbers
                .iter()
                .map(|&number| write_of(u32::from_le_bytes(number))),
        );
        Ok(filled > 0)
    }

    fn uneven(&self, length_bytes: u64) -> TraceError {
        TraceError::RawLength {
            path: self.path.clone(),
            length_bytes,
        }
    }
}

fn write_of(page: u32) -> Io {
    Io::write(u64::from(page) * PAGE_BYTES, PAGE_BYTES)
}

#[cfg(test)]
mod tests;
