//! A file that a thread of its own reads ahead, and sums up meanwhile.

use std::{
    hash::Hasher as _,
    io::{self, BufRead, Read},
    sync::mpsc::{self, Receiver, Sender, SyncSender},
    thread,
};

use twox_hash::XxHash3_64;

/// Bytes read at a time (our choice).
const CHUNK: usize = 1 << 18;
/// Chunks that are read ahead (our choice).
const MOST_AHEAD: usize = 4;
/// Bytes at the end of a file that its checksum does not cover: the checksum's own.
const UNCOVERED: usize = size_of::<u64>();

/// What the thread has to tell.
enum Told {
    /// So many bytes of a chunk.
    Bytes(Vec<u8>, usize),
    /// The checksum of all bytes but the last [`UNCOVERED`].
    End(u64),
    Failed(io::Error),
}

/// The file's bytes, in order.
pub(super) struct Ahead {
    told: Receiver<Told>,
    /// Where the memory of chunks goes back to.
    spent: Sender<Vec<u8>>,
    chunk: Vec<u8>,
    /// What is left of the chunk.
    from: usize,
    to: usize,
    checksum: Option<u64>,
}

impl Ahead {
    /// The checksum of all bytes but the last eight, once the end was read.
    pub(super) fn checksum(&self) -> Option<u64> {
        self.checksum
    }
}

/// Lets `consume` have what is in the file, which it need not read to the end.
pub(super) fn read_ahead<T>(
    file: &mut (impl Read + Send + ?Sized),
    consume: impl FnOnce(Ahead) -> T,
) -> io::Result<T> {
    thread::scope(|scope| {
        let (tell, told) = mpsc::sync_channel(MOST_AHEAD);
        let (spent, empty) = mpsc::channel();
        let thread = thread::Builder::new().name("nvme-state".to_owned());
        thread.spawn_scoped(scope, move || read(file, &tell, &empty))?;
        Ok(consume(Ahead {
            told,
            spent,
            chunk: Vec::new(),
            from: 0,
            to: 0,
            checksum: None,
        }))
    })
}

/// Reads and tells until the file ends or nobody listens any more.
fn read(file: &mut (impl Read + ?Sized), tell: &SyncSender<Told>, empty: &Receiver<Vec<u8>>) {
    let mut sum = Sum {
        hasher: XxHash3_64::with_seed(0),
        held: Vec::new(),
    };
    loop {
        let mut chunk = empty.try_recv().unwrap_or_default();
        chunk.resize(CHUNK, 0);
        let told = match fill(file, &mut chunk) {
            Err(error) => Told::Failed(error),
            Ok(0) => Told::End(sum.hasher.finish()),
            Ok(length) => {
                sum.take(&chunk[..length]);
                Told::Bytes(chunk, length)
            }
        };
        let is_last = !matches!(told, Told::Bytes(..));
        if tell.send(told).is_err() || is_last {
            return;
        }
    }
}

/// Reads until the memory is full or the file ends.
fn fill(file: &mut (impl Read + ?Sized), memory: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < memory.len() {
        match file.read(&mut memory[length..]) {
            Ok(0) => break,
            Ok(now) => length += now,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// The checksum of all bytes but the last ones, which are held back until others follow.
struct Sum {
    hasher: XxHash3_64,
    held: Vec<u8>,
}

impl Sum {
    fn take(&mut self, bytes: &[u8]) {
        let (first, last) = bytes.split_at(bytes.len().saturating_sub(UNCOVERED));
        let before = (self.held.len() + last.len()).saturating_sub(UNCOVERED);
        self.hasher.write(&self.held[..before]);
        self.held.drain(..before);
        self.hasher.write(first);
        self.held.extend_from_slice(last);
    }
}

impl BufRead for Ahead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.from == self.to && self.checksum.is_none() {
            match self.told.recv() {
                Ok(Told::Bytes(chunk, length)) => {
                    // Where the thread has ended it needs no memory any more.
                    let _ = self.spent.send(std::mem::replace(&mut self.chunk, chunk));
                    (self.from, self.to) = (0, length);
                }
                Ok(Told::End(checksum)) => self.checksum = Some(checksum),
                Ok(Told::Failed(error)) => return Err(error),
                Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(&self.chunk[self.from..self.to])
    }

    fn consume(&mut self, count: usize) {
        self.from = self.to.min(self.from + count);
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_and_all_but_the_last_eight_are_summed_up() {
        let lengths = [
            0,
            1,
            7,
            8,
            9,
            CHUNK - 1,
            CHUNK,
            CHUNK + 1,
            CHUNK + 7,
            CHUNK + 8,
            9 * CHUNK + 9,
        ];
        for length in lengths {
            let bytes: Vec<u8> = (0..length).map(|at| (at * at / 7) as u8).collect();
            let (found, checksum) = read_ahead(&mut &bytes[..], |mut ahead| {
                let mut found = Vec::new();
                ahead.read_to_end(&mut found).unwrap();
                (found, ahead.checksum())
            })
            .unwrap();
            let covered = &bytes[..length.saturating_sub(UNCOVERED)];
            assert!(found == bytes, "{length}");
            assert_eq!(checksum, Some(XxHash3_64::oneshot(covered)), "{length}");
        }
    }

    #[test]
    fn who_stops_listening_ends_the_reading() {
        let first = read_ahead(&mut io::repeat(7), |mut ahead| {
            ahead.fill_buf().map(<[u8]>::len)
        });
        assert_eq!(first.unwrap().unwrap(), CHUNK);
    }
}
