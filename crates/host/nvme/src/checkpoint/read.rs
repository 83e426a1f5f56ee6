//! Reading a state. What is read is not believed: memory is taken as bytes arrive, and but for version 1, whose
//! parts have checksums of their own, the checksum of the whole file is compared before anything is made of it.

use std::io::{self, BufRead, BufReader, Read};

use anabranch_ssd::state::{SavedDrive, StateError};

use super::{
    FIRST_IN_PIECES, Form, Found, Header, Input, MOST_HEADER, Piece, VERSION,
    ahead::{Ahead, read_ahead},
};

/// Bytes for which memory is taken at a time (our choice).
const CHUNK: usize = 1 << 18;

pub(super) fn read(mut file: Box<dyn Input>) -> Result<Found, StateError> {
    if let Some(found) = read_ahead(&mut *file, |file| In { file }.found())? {
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
struct In<'a> {
    file: Ahead<'a>,
}

impl In<'_> {
    /// Reads its pieces; `None` if it is of the first version.
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
        let (mapping, rest) = self.mapping(has_ages)?;
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

    /// All pieces: the mapping, in as much memory as it needs, and all else.
    fn mapping(&mut self, has_ages: bool) -> Result<(Mapping, Vec<u8>), StateError> {
        let mut mapping = Mapping {
            has_ages,
            ..Mapping::default()
        };
        loop {
            let (kind, numbers) = (self.word()?, [self.word()?, self.word()?]);
            if kind == Piece::Run as u32 {
                self.run(&mut mapping, numbers)?;
            } else if kind == Piece::Changes as u32 {
                self.changes(&mut mapping, numbers[0])?;
            } else if kind == Piece::Rest as u32 {
                // It was taken by doubling, and a drive keeps it.
                mapping.places.shrink_to_fit();
                mapping.ages.shrink_to_fit();
                let rest = self.bytes(u64::from(numbers[0]) | u64::from(numbers[1]) << 32)?;
                return Ok((mapping, rest));
            } else {
                return Err(damaged("it has a piece that is none"));
            }
        }
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

/// The mapping as far as it was read.
#[derive(Debug, Default)]
struct Mapping {
    places: Vec<u32>,
    ages: Vec<u32>,
    has_ages: bool,
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Seek, SeekFrom};

    use super::*;

    const RUN: u32 = 1 << 16;

    /// The pieces of so many runs, places and ages, with nothing else.
    fn pieces(runs: u32) -> Vec<u8> {
        let mut words = Vec::new();
        for run in 0..runs {
            words.extend([Piece::Run as u32, run * RUN, RUN]);
            words.extend(0..2 * RUN);
        }
        words.extend([Piece::Rest as u32, 0, 0]);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_mapping_takes_as_much_memory_as_it_needs() {
        for runs in [3, 5, 9] {
            let read = read_ahead(&pieces(runs)[..], |file| In { file }.mapping(true));
            let (mapping, _) = read.unwrap();
            let pages = (runs * RUN) as usize;
            for words in [&mapping.places, &mapping.ages] {
                assert_eq!(words.len(), pages);
                assert!(
                    words.capacity() <= pages + pages / 16,
                    "{}",
                    words.capacity()
                );
            }
        }
    }

    /// A file that cannot be read to its end.
    struct Failing(Cursor<Vec<u8>>);

    impl Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let left = (300 << 10) - self.0.position() as usize;
            match left {
                0 => Err(io::Error::other("a sector is gone")),
                left => self.0.read(&mut into[..left.min(8192)]),
            }
        }
    }

    impl Seek for Failing {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn what_fails_in_reading_ahead_is_told_as_it_is() {
        let form = Form {
            version: VERSION,
            ages: true,
        };
        let mut bytes = serde_json::to_vec(&form).unwrap();
        bytes.push(b'\n');
        bytes.extend(pieces(2));
        assert!(bytes.len() > 1 << 20);
        let file = Failing(Cursor::new(bytes));
        let error = read(Box::new(file)).unwrap_err();
        let StateError::Read(error) = error else {
            panic!("{error}")
        };
        assert_eq!(error.to_string(), "a sector is gone");
    }
}
