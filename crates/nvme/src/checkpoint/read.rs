//! Reading a state. What is read is not believed: memory is taken as bytes arrive, and the checksum of
//! the whole file is compared before anything is made of it.

use std::io::{self, BufRead, BufReader, Read};

use anabranch_ssd::state::{SavedDrive, StateError};

use super::{
    FIRST_IN_PIECES, Form, Found, Header, Input, MOST_HEADER, Piece, VERSION,
    ahead::{Ahead, read_ahead},
};

/// Bytes for which memory is taken at a time (our choice).
const CHUNK: usize = 1 << 18;

/// Reads the state in a file.
pub(super) fn read(mut file: Box<dyn Input>) -> Result<Found, StateError> {
    let found = read_ahead(&mut *file, |file| In { file }.found());
    if let Some(found) = found.map_err(StateError::Read)?? {
        return Ok(found);
    }
    file.rewind().map_err(StateError::Read)?;
    first_version(file)
}

/// A line of JSON, and a whole drive.
fn first_version(file: Box<dyn Input>) -> Result<Found, StateError> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let read = reader.by_ref().take(MOST_HEADER as u64);
    let read = { read }.read_until(b'\n', &mut line);
    read.map_err(StateError::Read)?;
    Ok(Found {
        header: json(&line)?,
        drive: SavedDrive::read(reader)?,
    })
}

fn json<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T, StateError> {
    serde_json::from_slice(line).map_err(|error| StateError::Inconsistent(error.to_string()))
}

fn damaged(what: &str) -> StateError {
    StateError::Damaged(what.to_owned())
}

/// The file.
struct In {
    file: Ahead,
}

impl In {
    /// What is in it; `None` if it is of the first version.
    fn found(mut self) -> Result<Option<Found>, StateError> {
        let form: Form = json(&self.line()?)?;
        match form.version {
            FIRST_IN_PIECES..=VERSION => self.pieces(form.ages).map(Some),
            1 => Ok(None),
            found => Err(StateError::Version {
                found,
                known: VERSION,
            }),
        }
    }

    fn line(&mut self) -> Result<Vec<u8>, StateError> {
        let mut line = Vec::new();
        let read = self.file.by_ref().take(MOST_HEADER as u64);
        { read }
            .read_until(b'\n', &mut line)
            .map_err(StateError::Read)?;
        Ok(line)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), StateError> {
        let filled = self.file.read_exact(bytes);
        filled.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => StateError::Truncated("its pieces"),
            _ => StateError::Read(error),
        })
    }

    fn word(&mut self) -> Result<u32, StateError> {
        let mut word = [0; 4];
        self.fill(&mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    /// Bytes, in memory that grows as they arrive.
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, StateError> {
        let (mut bytes, mut left) = (Vec::new(), length);
        while left > 0 {
            let now = left.min(CHUNK as u64);
            let begin = bytes.len();
            bytes.resize(begin + now as usize, 0);
            self.fill(&mut bytes[begin..])?;
            left -= now;
        }
        Ok(bytes)
    }

    /// Words, behind those there are.
    fn words(&mut self, count: u32, words: &mut Vec<u32>) -> Result<(), StateError> {
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let mut left = count as usize;
        while left > 0 {
            let there = self.file.fill_buf().map_err(StateError::Read)?;
            let now = left.min(there.len() / 4);
            words.extend(there[..4 * now].chunks_exact(4).map(word));
            self.file.consume(4 * now);
            left -= now;
            if now == 0 {
                // It lies in two chunks, or the file has ended.
                words.push(self.word()?);
                left -= 1;
            }
        }
        Ok(())
    }

    fn pieces(mut self, has_ages: bool) -> Result<Found, StateError> {
        let mut mapping = Mapping {
            has_ages,
            ..Mapping::default()
        };
        let rest = loop {
            let (kind, numbers) = (self.word()?, [self.word()?, self.word()?]);
            if kind == Piece::Run as u32 {
                self.run(&mut mapping, numbers)?;
            } else if kind == Piece::Changes as u32 {
                self.changes(&mut mapping, numbers[0])?;
            } else if kind == Piece::Rest as u32 {
                break self.bytes(u64::from(numbers[0]) | u64::from(numbers[1]) << 32)?;
            } else {
                return Err(damaged("it has a piece that is none"));
            }
        };
        let mut found = [0; 8];
        self.fill(&mut found)?;
        if self.file.read(&mut [0]).map_err(StateError::Read)? > 0 {
            return Err(damaged("bytes follow its end"));
        }
        if self.file.checksum() != Some(u64::from_le_bytes(found)) {
            return Err(damaged("its checksum does not match"));
        }
        let end = rest.iter().position(|&byte| byte == b'\n');
        let end = end.ok_or_else(|| damaged("it has no header"))?;
        let header: Header = json(&rest[..end])?;
        let drive = SavedDrive::read_around(&rest[end + 1..], mapping.places, mapping.ages)?;
        Ok(Found { header, drive })
    }

    fn run(&mut self, mapping: &mut Mapping, [first, count]: [u32; 2]) -> Result<(), StateError> {
        if first as usize != mapping.places.len() {
            return Err(damaged("its runs are not in order"));
        }
        self.words(count, &mut mapping.places)?;
        if mapping.has_ages {
            self.words(count, &mut mapping.ages)?;
        }
        Ok(())
    }

    fn changes(&mut self, mapping: &mut Mapping, count: u32) -> Result<(), StateError> {
        let (mut pages, mut places, mut ages) = (Vec::new(), Vec::new(), Vec::new());
        self.words(count, &mut pages)?;
        self.words(count, &mut places)?;
        if mapping.has_ages {
            self.words(count, &mut ages)?;
        }
        for (index, &page) in pages.iter().enumerate() {
            let slot = mapping.places.get_mut(page as usize);
            *slot.ok_or_else(|| damaged("it changes a page it has not"))? = places[index];
            if let (Some(slot), Some(&age)) = (mapping.ages.get_mut(page as usize), ages.get(index))
            {
                *slot = age;
            }
        }
        Ok(())
    }
}

/// What was read of the mapping.
#[derive(Debug, Default)]
struct Mapping {
    places: Vec<u32>,
    ages: Vec<u32>,
    has_ages: bool,
}
