//! Writing a state while the drive is served.

use std::{
    hash::Hasher as _,
    io::{self, BufWriter, Write},
};

use anabranch_ssd::state::StateError;
use twox_hash::XxHash3_64;

use super::{Form, Header, Mark, Output, Piece, VERSION};
use crate::{drive::Drive, target::Target};

/// Pages copied, and changes looked at, under one lock (our choice: 256 KiB of the mapping, or twice that
/// where ages are kept).
const SLICE: u32 = 1 << 16;
/// Slices of changes after which twice as much is copied under one lock, if there are more still (our
/// choice).
const PATIENT_ROUNDS: u32 = 64;

/// Writes the state to a new file, and makes it safe. The drive is locked for a slice at a time. The
/// last lock is held for what has changed since the one before, which is a slice unless hosts change
/// the mapping faster than it is copied, and for what is not of each page: the units, and what the
/// relocation has learned.
pub(super) fn write(
    target: &Target,
    file: Box<dyn Output>,
    header: impl Fn(&Mark) -> Header,
) -> Result<Mark, StateError> {
    let mut out = Out {
        file: BufWriter::new(file),
        hasher: XxHash3_64::with_seed(0),
    };
    let copied = copy(target, &mut out, header);
    if copied.is_err() {
        target.drive().end_copy();
    }
    let mark = copied?;
    out.finish().map_err(StateError::Write)?;
    Ok(mark)
}

fn copy(
    target: &Target,
    out: &mut Out,
    header: impl Fn(&Mark) -> Header,
) -> Result<Mark, StateError> {
    let (pages, ages) = {
        let mut drive = target.drive();
        drive.begin_copy();
        let (_, ages) = drive.mapping(0..1);
        (drive.config().logical_pages, !ages.is_empty())
    };
    let mut slice = line(&Form {
        version: VERSION,
        ages,
    })?;
    let mut first = 0;
    while first < pages {
        let end = pages.min(first.saturating_add(SLICE));
        {
            let mut drive = target.drive();
            changes(&mut drive, first, SLICE, &mut slice);
            run(&drive, first, end, &mut slice);
        }
        out.take(target, &mut slice)?;
        first = end;
    }
    for round in 0_u32.. {
        // Where more changes in between than is copied, ever more is copied at a time.
        let most = SLICE << (round / PATIENT_ROUNDS).min(15);
        let mark = {
            let mut drive = target.drive();
            match changes(&mut drive, pages, most, &mut slice) {
                true => Some(rest(target, &mut drive, &header, &mut slice)?),
                false => None,
            }
        };
        out.take(target, &mut slice)?;
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

fn begin(slice: &mut Vec<u8>, piece: Piece, numbers: [u32; 2]) {
    words(slice, &[piece as u32]);
    words(slice, &numbers);
}

fn words(slice: &mut Vec<u8>, words: &[u32]) {
    let begin = slice.len();
    slice.resize(begin + 4 * words.len(), 0);
    for (slot, word) in slice[begin..].chunks_exact_mut(4).zip(words) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
}

fn run(drive: &Drive, first: u32, end: u32, slice: &mut Vec<u8>) {
    let (places, ages) = drive.mapping(first..end);
    begin(slice, Piece::Run, [first, end - first]);
    words(slice, places);
    words(slice, ages);
}

/// What has changed of the pages before `copied`; the others are still to be copied. Answers whether
/// that was all.
fn changes(drive: &mut Drive, copied: u32, most: u32, slice: &mut Vec<u8>) -> bool {
    let (mut pages, all) = drive.changed(most);
    pages.retain(|&page| page < copied);
    if !pages.is_empty() {
        begin(slice, Piece::Changes, [pages.len() as u32, 0]);
        words(slice, &pages);
        let mut ages = Vec::new();
        for &page in &pages {
            let (place, age) = drive.mapping(page..page + 1);
            words(slice, place);
            ages.extend_from_slice(age);
        }
        words(slice, &ages);
    }
    all
}

fn rest(
    target: &Target,
    drive: &mut Drive,
    header: impl Fn(&Mark) -> Header,
    slice: &mut Vec<u8>,
) -> Result<Mark, StateError> {
    drive.end_copy();
    let mark = Mark::of(target, drive);
    let mut bytes = line(&header(&mark))?;
    drive.save_around(&mut bytes)?;
    let length = bytes.len() as u64;
    begin(slice, Piece::Rest, [length as u32, (length >> 32) as u32]);
    slice.append(&mut bytes);
    Ok(mark)
}

/// The file, and the checksum of what was written to it.
struct Out {
    file: BufWriter<Box<dyn Output>>,
    hasher: XxHash3_64,
}

impl Out {
    fn take(&mut self, target: &Target, slice: &mut Vec<u8>) -> Result<(), StateError> {
        target.saved_at_once(slice.len() as u64);
        self.hasher.write(slice);
        let written = self.file.write_all(slice);
        slice.clear();
        written.map_err(StateError::Write)
    }

    fn finish(mut self) -> io::Result<()> {
        self.file.write_all(&self.hasher.finish().to_le_bytes())?;
        self.file.into_inner()?.sync()
    }
}
