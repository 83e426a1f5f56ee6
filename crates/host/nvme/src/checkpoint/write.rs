//! Writing a state while the drive is served.
//!
//! ```text
//! begin to record changes of the mapping
//! for each slice of pages, under a lock of its own:
//!     copy recorded changes of the pages before it, at most a slice of them
//!     copy where its own pages lie
//! until the recorded changes are used up, each time under a lock of its own:
//!     copy as many changes as a slice; ever more where hosts are faster
//! under the lock that used them up: stop recording, copy all that is not of each page
//! append the checksum, and make the file safe
//! ```

use std::{
    hash::Hasher as _,
    io::{self, Write},
    sync::MutexGuard,
    thread,
};

use anabranch_ssd::state::StateError;
use twox_hash::XxHash3_64;

use super::{Form, Header, Mark, Output, Piece, Source, VERSION};
use crate::drive::ServedDrive;

/// Pages copied, and changes looked at, under one lock (our choice: 256 KiB of the mapping, or twice that
/// where ages are kept).
const SLICE: u32 = 1 << 16;
/// Slices of changes after which twice as much is copied under one lock, if there are more still (our
/// choice).
const PATIENT_ROUNDS: u32 = 64;

/// Writes the state to a new file, and makes it safe. If hosts are `served`, they come first. The drive is locked for a
/// slice at a time. The last lock is held for the changes since the one before, which are a slice unless hosts change
/// the mapping faster than it is copied, and for the state that is not of each page: the units, and the relocation's.
pub(super) fn write(
    source: Source<'_>,
    served: bool,
    file: Box<dyn Output>,
    header: impl Fn(&Mark) -> Header,
) -> Result<Mark, StateError> {
    let mut out = Out {
        file,
        hasher: XxHash3_64::with_seed(0),
        buffer: Vec::new(),
    };
    let copied = copy(source, served, &mut out, header);
    if copied.is_err() {
        source.drive().end_copy();
    }
    let mark = copied?;
    out.finish().map_err(StateError::Write)?;
    Ok(mark)
}

fn copy(
    source: Source<'_>,
    served: bool,
    out: &mut Out,
    header: impl Fn(&Mark) -> Header,
) -> Result<Mark, StateError> {
    let (pages, ages) = {
        let mut drive = source.drive();
        drive.begin_copy();
        (drive.config().logical_pages, drive.keeps_ages())
    };
    // A drive of a single slice keeps nobody waiting.
    let served = served && pages > SLICE;
    let form = Form {
        version: VERSION,
        ages,
    };
    out.write(&line(&form)?).map_err(StateError::Write)?;
    // All memory that a slice takes, so that none is allocated under the lock.
    let mut slice = Slice::default();
    slice.words.reserve(4 * SLICE as usize);
    slice.ages.reserve(if ages { SLICE as usize } else { 0 });
    let mut first = 0;
    while first < pages {
        let end = pages.min(first.saturating_add(SLICE));
        {
            let mut drive = locked(source, served);
            changes(&mut drive, first, SLICE, &mut slice);
            run(&drive, first, end, &mut slice);
        }
        out.take(source, &mut slice)?;
        first = end;
    }
    for round in 0_u32.. {
        // Hosts may change the mapping faster than it is copied: ever more is copied at a time.
        let most = SLICE << (round / PATIENT_ROUNDS).min(15);
        let mark = {
            let mut drive = locked(source, served);
            if changes(&mut drive, pages, most, &mut slice) {
                Some(write_end(source, &mut drive, &header, &mut slice)?)
            } else {
                None
            }
        };
        out.take(source, &mut slice)?;
        if let Some(mark) = mark {
            return Ok(mark);
        }
    }
    Err(StateError::Inconsistent("it never rests".to_owned()))
}

fn line(value: &impl serde::Serialize) -> Result<Vec<u8>, StateError> {
    let line = serde_json::to_vec(value);
    let mut line = line.map_err(|error| StateError::Inconsistent(error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}

/// The drive, locked. While it is served, the processor is left to others first: whoever waits for the drive comes
/// before the next slice, and where threads share a processor, this one rarely loses it with the drive locked.
fn locked(source: Source<'_>, served: bool) -> MutexGuard<'_, ServedDrive> {
    if served {
        thread::yield_now();
    }
    source.drive()
}

/// A slice of the state, copied under one lock. Its form is the fastest to copy into: words, then bytes.
#[derive(Debug, Default)]
struct Slice {
    words: Vec<u32>,
    /// Ages that follow the words of a piece; empty between pieces.
    ages: Vec<u32>,
    bytes: Vec<u8>,
}

impl Slice {
    fn begin(&mut self, piece: Piece, [first, second]: [u32; 2]) {
        self.words.extend([piece as u32, first, second]);
    }
}

fn run(drive: &ServedDrive, first: u32, end: u32, slice: &mut Slice) {
    slice.begin(Piece::Run, [first, end - first]);
    drive.mapping(first..end, &mut slice.words, &mut slice.ages);
    slice.words.append(&mut slice.ages);
}

/// Copies changes of the pages before `copied`; the others are still to be copied. Returns whether
/// that was all.
fn changes(drive: &mut ServedDrive, copied: u32, most: u32, slice: &mut Slice) -> bool {
    let (mut pages, all) = drive.changed(most);
    pages.retain(|&page| page < copied);
    if !pages.is_empty() {
        slice.begin(Piece::Changes, [pages.len() as u32, 0]);
        slice.words.extend_from_slice(&pages);
        for &page in &pages {
            drive.mapping(page..page + 1, &mut slice.words, &mut slice.ages);
        }
        slice.words.append(&mut slice.ages);
    }
    all
}

fn write_end(
    source: Source<'_>,
    drive: &mut ServedDrive,
    header: impl Fn(&Mark) -> Header,
    slice: &mut Slice,
) -> Result<Mark, StateError> {
    drive.end_copy();
    let mark = Mark::of(drive, source.totals);
    let mut bytes = line(&header(&mark))?;
    drive.save_around(&mut bytes)?;
    let length = bytes.len() as u64;
    slice.begin(Piece::Rest, [length as u32, (length >> 32) as u32]);
    slice.bytes = bytes;
    Ok(mark)
}

/// The file, and the checksum of what was written to it.
struct Out {
    file: Box<dyn Output>,
    hasher: XxHash3_64,
    buffer: Vec<u8>,
}

impl Out {
    fn take(&mut self, source: Source<'_>, slice: &mut Slice) -> Result<(), StateError> {
        let bytes = 4 * slice.words.len() + slice.bytes.len();
        source.saved_at_once(bytes as u64);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(4 * slice.words.len(), 0);
        for (bytes, word) in buffer.chunks_exact_mut(4).zip(&slice.words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        buffer.append(&mut slice.bytes);
        slice.words.clear();
        let written = self.write(&buffer);
        self.buffer = buffer;
        written.map_err(StateError::Write)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.write(bytes);
        self.file.write_all(bytes)
    }

    fn finish(mut self) -> io::Result<()> {
        self.file.write_all(&self.hasher.finish().to_le_bytes())?;
        self.file.sync()
    }
}
