//! A foreign trace's bytes, a window at a time.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr;

use super::error::ImportError;
use super::unpack::{Source, unpack};
use crate::error::TraceError;
use crate::open::open_readable;

/// Bytes of an input held in memory. Our choice: the window holds a binary record of the largest
/// size (64 bytes and 65,535 of payload) and stays in the second-level cache.
const WINDOW_BYTES: usize = 128 << 10;

/// Bytes a line may have. Our choice: the longest of any format, a home directory's record of FIU
/// with a digest for each 512 bytes of a large request, has some KiB.
pub(super) const LINE_BYTES: usize = 64 << 10;

/// Bytes shown of a line that is too long.
const SHOWN_BYTES: usize = 100;

/// Bytes from which a format is guessed.
const HEAD_BYTES: usize = 64 << 10;

/// Position of a tar archive's mark in the file, and the mark (POSIX.1-1988, `ustar`, field
/// `magic`).
const TAR_MARK: (usize, &[u8]) = (257, b"ustar");

/// The byte-order marks of UTF-8 and UTF-16 (Unicode 15, section 23.8).
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Units of UTF-16 that are looked at, of which three in four have to be ASCII. Our choice: names may be in other
/// letters.
const UTF_16_UNITS: usize = 64;

/// The bytes of one foreign trace: a file or any [`Read`], plain or packed by gzip or zstd.
pub struct Input {
    path: PathBuf,
    source: Source,
    packed_bytes: Arc<AtomicU64>,
    window: Box<[u8]>,
    start: usize,
    end: usize,
}

/// A line of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A whole line, without its end.
    Whole(&'a [u8]),
    /// The beginning of a line longer than [`LINE_BYTES`].
    TooLong(Vec<u8>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Input {
    /// Opens a file or a pipe.
    ///
    /// # Errors
    /// [`TraceError::Open`], [`TraceError::NotAFile`], [`TraceError::Empty`], [`TraceError::Read`],
    /// and [`ImportError::Packed`] for what is packed by something else than gzip or zstd.
    pub fn open(path: impl AsRef<Path>) -> Result<Input, ImportError> {
        let path = path.as_ref();
        let (file, _) = open_readable(path)?;
        Input::new(path, file)
    }

    /// Takes bytes from any reader; errors call it `path`.
    ///
    /// # Errors
    /// As [`Input::open`], once the first bytes are read.
    pub fn new(
        path: impl AsRef<Path>,
        read: impl Read + Send + 'static,
    ) -> Result<Input, ImportError> {
        let path = path.as_ref();
        let (source, packed_bytes) = unpack(path, read)?;
        let mut input = Input {
            path: path.into(),
            source,
            packed_bytes,
            window: vec![0; WINDOW_BYTES].into(),
            start: 0,
            end: 0,
        };
        let head = input.head()?;
        if head.is_empty() {
            return Err(TraceError::Empty { path: path.into() }.into());
        }
        if is_utf_16(head) {
            return Err(ImportError::Packed {
                path: path.into(),
                what: "a text in UTF-16",
                with: "iconv -f UTF-16 -t UTF-8",
            });
        }
        let (at, mark) = TAR_MARK;
        if head.get(at..at + mark.len()) == Some(mark) {
            return Err(ImportError::Packed {
                path: path.into(),
                what: "a tar archive",
                with: "tar -xOf",
            });
        }
        if head.starts_with(UTF_8_MARK) {
            input.consume(UTF_8_MARK.len());
        }
        Ok(input)
    }

    /// The name that errors use for the input.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes read so far of the input as stored, packed or not.
    pub fn packed_bytes(&self) -> u64 {
        self.packed_bytes.load(Ordering::Relaxed)
    }

    /// The first bytes of the input, or all where there are fewer. Later reads still see them.
    pub(super) fn head(&mut self) -> Result<&[u8], ImportError> {
        while self.end - self.start < HEAD_BYTES && self.more()? {}
        let head = self.unread();
        Ok(head.get(..HEAD_BYTES).unwrap_or(head))
    }

    /// The bytes in the window that were not taken yet.
    pub(super) fn unread(&self) -> &[u8] {
        self.window.get(self.start..self.end).unwrap_or_default()
    }

    /// Takes bytes off the window.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Reads on into the window. Answers `false` at the end, and when the window is full of bytes
    /// not taken.
    pub(super) fn more(&mut self) -> Result<bool, ImportError> {
        if self.start > 0 {
            self.window.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let space = self.window.get_mut(self.end..).unwrap_or_default();
        if space.is_empty() {
            return Ok(false);
        }
        loop {
            match self.source.read(space) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let path = self.path.clone();
                    // What a disk says is something else.
                    let damaged = matches!(
                        source.kind(),
                        io::ErrorKind::UnexpectedEof
                            | io::ErrorKind::InvalidData
                            | io::ErrorKind::InvalidInput
                    );
                    let error = if damaged {
                        let reason =
                            format!("what is packed in it is cut off or not whole ({source})");
                        TraceError::Damaged { path, reason }
                    } else {
                        TraceError::Read { path, source }
                    };
                    return Err(error.into());
                }
            }
        }
    }

    /// Fills the window up to `bytes`. Answers `false` when the input ends before that.
    pub(super) fn fill(&mut self, bytes: usize) -> Result<bool, ImportError> {
        while self.end - self.start < bytes {
            if !self.more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the next line, without its end; `None` when there are no more.
    pub(super) fn next_line(&mut self) -> Result<Option<Line<'_>>, ImportError> {
        let mut looked_at = 0;
        let length = loop {
            let unread = self.unread();
            let new = unread.get(looked_at..).unwrap_or_default();
            if let Some(at) = memchr(b'\n', new) {
                break looked_at + at;
            }
            looked_at = unread.len();
            if looked_at > LINE_BYTES {
                return self.pass_long_line().map(Some);
            }
            if !self.more()? {
                if looked_at == 0 {
                    return Ok(None);
                }
                break looked_at;
            }
        };
        let from = self.start;
        self.consume(length + 1);
        let line = self.window.get(from..from + length).unwrap_or_default();
        if line.len() > LINE_BYTES {
            return Ok(Some(Line::TooLong(shown(line))));
        }
        Ok(Some(Line::Whole(bare(line))))
    }

    fn pass_long_line(&mut self) -> Result<Line<'static>, ImportError> {
        let beginning = shown(self.unread());
        let mut is_padding = true;
        loop {
            let unread = self.unread();
            let end = memchr(b'\n', unread);
            let line = unread.get(..end.unwrap_or(unread.len())).unwrap_or(unread);
            is_padding &= line.iter().all(|byte| *byte == 0);
            let passed = end.map_or(unread.len(), |end| end + 1);
            self.consume(passed);
            if end.is_some() || !self.more()? {
                break;
            }
        }
        Ok(if is_padding {
            Line::Whole(b"")
        } else {
            Line::TooLong(beginning)
        })
    }
}

/// Whether bytes begin with the mark of UTF-16 and a text in it: nearly all characters of a trace are ASCII, so that
/// every other byte is zero. Numbers of page 65,279 in a binary trace have the mark's bytes, and more zeros.
fn is_utf_16(head: &[u8]) -> bool {
    let Some(zero) = UTF_16_MARKS.iter().position(|mark| head.starts_with(mark)) else {
        return false;
    };
    // The first mark is that of the order in which the upper byte, which is zero, comes second.
    let units = head
        .get(2..)
        .unwrap_or_default()
        .chunks_exact(2)
        .take(UTF_16_UNITS);
    let is_ascii =
        |unit: &&[u8]| matches!((zero, *unit), (0, [lower, 0]) | (1, [0, lower]) if *lower != 0);
    let ascii = units.clone().filter(is_ascii);
    let (ascii, all) = (ascii.count(), units.count());
    all > 0 && 4 * ascii >= 3 * all
}

/// A line without a carriage return and the zeros that pad it: a file that was made long before it was filled, or
/// whose end a crash left unwritten, ends with zeros.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    let zeros = line.iter().rev().take_while(|byte| **byte == 0).count();
    let zeros_before = line.iter().take_while(|byte| **byte == 0).count();
    let line = line
        .get(zeros_before..line.len() - zeros)
        .unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn shown(line: &[u8]) -> Vec<u8> {
    line.get(..SHOWN_BYTES).unwrap_or(line).to_vec()
}

#[cfg(test)]
mod tests;
