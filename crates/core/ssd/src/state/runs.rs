//! Runs of numbers, as bytes: each with its length before it and a checksum behind.

use std::{
    hash::Hasher as _,
    io::{self, Read, Write},
};

use twox_hash::XxHash3_64;

use super::error::StateError;

/// Bytes turned into numbers, and back, at a time (our choice).
const CHUNK_BYTES: usize = 1 << 16;

/// A number with a fixed form of little-endian bytes.
pub(crate) trait Word: Copy {
    const BYTES: usize;
    fn put(self, bytes: &mut [u8]);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! word {
    ($($number:ty),*) => {$(
        impl Word for $number {
            const BYTES: usize = size_of::<$number>();

            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> $number {
                let mut word = [0; size_of::<$number>()];
                word.copy_from_slice(bytes);
                <$number>::from_le_bytes(word)
            }
        }
    )*};
}

word!(u8, u16, u32, u64);

/// Bound of a run's length.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// Exactly so many numbers: its memory is taken at once.
    Exactly(u64),
    /// No more than so many: its memory grows as they arrive.
    AtMost(u64),
}

/// Writes runs.
pub(crate) struct RunWriter<W> {
    to: W,
    hasher: XxHash3_64,
}

impl<W: Write> RunWriter<W> {
    pub(crate) fn new(to: W) -> RunWriter<W> {
        RunWriter {
            to,
            hasher: XxHash3_64::with_seed(0),
        }
    }

    /// Writes bytes that the next checksum covers.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.hasher.write(bytes);
        self.to.write_all(bytes).map_err(StateError::Write)
    }

    /// Writes the checksum of what was written since the last one.
    pub(crate) fn seal(&mut self) -> Result<(), StateError> {
        let checksum = std::mem::replace(&mut self.hasher, XxHash3_64::with_seed(0)).finish();
        self.to
            .write_all(&checksum.to_le_bytes())
            .map_err(StateError::Write)
    }

    pub(crate) fn run<T: Word>(&mut self, numbers: &[T]) -> Result<(), StateError> {
        self.numbers(numbers.iter().copied())
    }

    /// A run of numbers as they come.
    pub(crate) fn numbers<T: Word>(
        &mut self,
        mut numbers: impl ExactSizeIterator<Item = T>,
    ) -> Result<(), StateError> {
        self.raw(&(numbers.len() as u64).to_le_bytes())?;
        let mut buffer = vec![0; CHUNK_BYTES];
        while numbers.len() > 0 {
            let count = numbers.len().min(CHUNK_BYTES / T::BYTES);
            let bytes = &mut buffer[..count * T::BYTES];
            for (slot, number) in bytes.chunks_exact_mut(T::BYTES).zip(&mut numbers) {
                number.put(slot);
            }
            self.raw(bytes)?;
        }
        self.seal()
    }

    pub(crate) fn finish(mut self) -> Result<(), StateError> {
        self.to.flush().map_err(StateError::Write)
    }
}

/// Reads runs, and takes no more memory than their bytes or the length asked for justify.
pub(crate) struct RunReader<R> {
    from: R,
    hasher: XxHash3_64,
}

impl<R: Read> RunReader<R> {
    pub(crate) fn new(from: R) -> RunReader<R> {
        RunReader {
            from,
            hasher: XxHash3_64::with_seed(0),
        }
    }

    fn fill(&mut self, bytes: &mut [u8], part: &'static str) -> Result<(), StateError> {
        self.from
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => StateError::Truncated(part),
                _ => StateError::Read(error),
            })
    }

    /// Reads bytes that the next checksum covers.
    pub(crate) fn raw(&mut self, bytes: &mut [u8], part: &'static str) -> Result<(), StateError> {
        self.fill(bytes, part)?;
        self.hasher.write(bytes);
        Ok(())
    }

    /// Checks the checksum of what was read since the last one.
    pub(crate) fn seal(&mut self, part: &'static str) -> Result<(), StateError> {
        let expected = std::mem::replace(&mut self.hasher, XxHash3_64::with_seed(0)).finish();
        let mut found = [0; 8];
        self.fill(&mut found, part)?;
        if u64::from_le_bytes(found) == expected {
            return Ok(());
        }
        Err(StateError::Damaged(format!(
            "the checksum of {part} does not match"
        )))
    }

    /// Reads `count` bytes into memory that grows as they arrive.
    pub(crate) fn bytes(&mut self, count: u64, part: &'static str) -> Result<Vec<u8>, StateError> {
        let mut bytes = Vec::new();
        self.grow(&mut bytes, count, part)?;
        Ok(bytes)
    }

    pub(crate) fn run<T: Word>(
        &mut self,
        length: Length,
        part: &'static str,
    ) -> Result<Vec<T>, StateError> {
        let mut count = [0; 8];
        self.raw(&mut count, part)?;
        let count = u64::from_le_bytes(count);
        let mut numbers = Vec::new();
        match length {
            Length::Exactly(expected) if count == expected => {
                reserve(&mut numbers, count, part)?;
            }
            Length::AtMost(most) if count <= most => {}
            _ => {
                return Err(StateError::Damaged(format!(
                    "{count} numbers are not how many {part} can have"
                )));
            }
        }
        self.grow(&mut numbers, count, part)?;
        self.seal(part)?;
        Ok(numbers)
    }

    fn grow<T: Word>(
        &mut self,
        numbers: &mut Vec<T>,
        count: u64,
        part: &'static str,
    ) -> Result<(), StateError> {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut left = count;
        while left > 0 {
            let now = left.min((CHUNK_BYTES / T::BYTES) as u64);
            let bytes = &mut buffer[..now as usize * T::BYTES];
            self.raw(bytes, part)?;
            numbers
                .try_reserve(now as usize)
                .map_err(|_| StateError::Memory {
                    bytes: count.saturating_mul(T::BYTES as u64),
                    part,
                })?;
            numbers.extend(bytes.chunks_exact(T::BYTES).map(T::get));
            left -= now;
        }
        Ok(())
    }

    /// Checks that nothing follows.
    pub(crate) fn finish(mut self) -> Result<(), StateError> {
        match self.from.read_exact(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(StateError::Read(error)),
            Ok(()) => Err(StateError::Damaged("bytes follow its end".to_owned())),
        }
    }
}

fn reserve<T>(numbers: &mut Vec<T>, count: u64, part: &'static str) -> Result<(), StateError> {
    let too_much = StateError::Memory {
        bytes: count.saturating_mul(size_of::<T>() as u64),
        part,
    };
    match usize::try_from(count) {
        Ok(count) if numbers.try_reserve_exact(count).is_ok() => Ok(()),
        _ => Err(too_much),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_length_than_was_asked_for_is_refused() {
        let mut bytes = Vec::new();
        RunWriter::new(&mut bytes).run(&[7_u32, 8, 9]).unwrap();
        let read = |length| RunReader::new(&bytes[..]).run::<u32>(length, "a run");
        for length in [Length::Exactly(3), Length::AtMost(3), Length::AtMost(9)] {
            assert_eq!(read(length).unwrap(), [7, 8, 9], "{length:?}");
        }
        for length in [Length::Exactly(2), Length::Exactly(4), Length::AtMost(2)] {
            let refused = read(length);
            assert!(matches!(refused, Err(StateError::Damaged(_))), "{length:?}");
        }
    }
}
