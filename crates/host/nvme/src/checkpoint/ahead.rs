//! A file that a thread of its own reads ahead, and sums up meanwhile; where the system refuses a thread, it is read
//! without.

use std::{
    hash::Hasher as _,
    io::{self, BufRead, Read},
    mem,
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

/// Outcome of reading the next chunk.
enum NextChunk {
    /// A chunk, and its bytes that were read.
    Bytes(Vec<u8>, usize),
    /// The checksum of all bytes but the last [`UNCOVERED`].
    End(u64),
    Failed(io::Error),
}

/// The file's bytes, in order.
pub(super) struct Ahead<'a> {
    source: Source<'a>,
    chunk: Vec<u8>,
    /// Bounds of the chunk's unread rest.
    from: usize,
    to: usize,
    checksum: Option<u64>,
}

/// The reading thread.
enum Source<'a> {
    /// The thread; the memory of chunks goes back to it.
    Thread(Receiver<NextChunk>, Sender<Vec<u8>>),
    Here(Box<Chunks<'a>>),
}

impl<'a> Ahead<'a> {
    fn of(source: Source<'a>) -> Ahead<'a> {
        Ahead {
            source,
            chunk: Vec::new(),
            from: 0,
            to: 0,
            checksum: None,
        }
    }

    /// The checksum of all bytes but the last eight, once the end was read.
    pub(super) fn checksum(&self) -> Option<u64> {
        self.checksum
    }
}

/// Lets `consume` have what is in the file, which it need not read to the end.
pub(super) fn read_ahead<T>(file: impl Read + Send, consume: impl FnOnce(Ahead<'_>) -> T) -> T {
    read_by(
        thread::Builder::new().name("nvme-ahead".to_owned()),
        file,
        consume,
    )
}

/// The same, by a thread that is built so.
fn read_by<T>(
    thread: thread::Builder,
    mut file: impl Read + Send,
    consume: impl FnOnce(Ahead<'_>) -> T,
) -> T {
    let chunks = Box::new(Chunks {
        file: &mut file,
        hasher: XxHash3_64::with_seed(0),
        held: Vec::new(),
    });
    thread::scope(|scope| {
        let (tell, told) = mpsc::sync_channel(MOST_AHEAD);
        let (spent, empty) = mpsc::channel();
        // The thread is given the file once there is one, so that it is still here if there is none.
        let (give, given) = mpsc::channel::<Box<Chunks<'_>>>();
        let reader = thread.spawn_scoped(scope, move || {
            if let Ok(chunks) = given.recv() {
                chunks.send_all(&tell, &empty);
            }
        });
        let source = match reader {
            Ok(_) => give.send(chunks).map_or_else(
                |refused| Source::Here(refused.0),
                |()| Source::Thread(told, spent),
            ),
            Err(_) => Source::Here(chunks),
        };
        consume(Ahead::of(source))
    })
}

/// The file in chunks, which are summed up: all bytes but the last ones, which are held back until others follow.
struct Chunks<'a> {
    file: &'a mut (dyn Read + Send),
    hasher: XxHash3_64,
    held: Vec<u8>,
}

impl Chunks<'_> {
    /// Reads and sends chunks until the file ends or nobody receives them any more.
    fn send_all(mut self, tell: &SyncSender<NextChunk>, empty: &Receiver<Vec<u8>>) {
        loop {
            let told = self.next(empty.try_recv().unwrap_or_default());
            let is_last = !matches!(told, NextChunk::Bytes(..));
            if tell.send(told).is_err() || is_last {
                return;
            }
        }
    }

    /// The next chunk, in the memory of another.
    fn next(&mut self, mut chunk: Vec<u8>) -> NextChunk {
        chunk.resize(CHUNK, 0);
        match fill(self.file, &mut chunk) {
            Err(error) => NextChunk::Failed(error),
            Ok(0) => NextChunk::End(self.hasher.finish()),
            Ok(length) => {
                self.sum(&chunk[..length]);
                NextChunk::Bytes(chunk, length)
            }
        }
    }

    fn sum(&mut self, bytes: &[u8]) {
        let (first, last) = bytes.split_at(bytes.len().saturating_sub(UNCOVERED));
        let before = (self.held.len() + last.len()).saturating_sub(UNCOVERED);
        self.hasher.write(&self.held[..before]);
        self.held.drain(..before);
        self.hasher.write(first);
        self.held.extend_from_slice(last);
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

impl BufRead for Ahead<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.from == self.to && self.checksum.is_none() {
            (self.from, self.to) = (0, 0);
            let spent = mem::take(&mut self.chunk);
            let told = match &mut self.source {
                Source::Thread(told, back) => {
                    // Where the thread has ended it needs no memory any more.
                    let _ = back.send(spent);
                    let ended = |_| NextChunk::Failed(io::ErrorKind::UnexpectedEof.into());
                    told.recv().unwrap_or_else(ended)
                }
                Source::Here(chunks) => chunks.next(spent),
            };
            match told {
                NextChunk::Bytes(chunk, length) => (self.chunk, self.to) = (chunk, length),
                NextChunk::End(checksum) => self.checksum = Some(checksum),
                NextChunk::Failed(error) => return Err(error),
            }
        }
        Ok(&self.chunk[self.from..self.to])
    }

    fn consume(&mut self, count: usize) {
        self.from = self.to.min(self.from + count);
    }
}

impl Read for Ahead<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No system has a stack of so many bytes.
    fn refused() -> thread::Builder {
        thread::Builder::new().stack_size(1 << 60)
    }

    /// A file whose every other read is interrupted, and which gives few bytes at a time.
    struct Interrupted<'a> {
        bytes: &'a [u8],
        reads: usize,
    }

    impl Read for Interrupted<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.reads += 1;
            if self.reads % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let most = into.len().min(100_003);
            self.bytes.read(&mut into[..most])
        }
    }

    fn whole(mut ahead: Ahead<'_>) -> (Vec<u8>, Option<u64>) {
        let mut found = Vec::new();
        ahead.read_to_end(&mut found).unwrap();
        (found, ahead.checksum())
    }

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
            let covered = &bytes[..length.saturating_sub(UNCOVERED)];
            let checksum = Some(XxHash3_64::oneshot(covered));
            let interrupted = || Interrupted {
                bytes: &bytes,
                reads: 0,
            };
            let found = [
                read_ahead(&bytes[..], whole),
                read_ahead(interrupted(), whole),
                read_by(refused(), &bytes[..], whole),
                read_by(refused(), interrupted(), whole),
            ];
            for (way, found) in found.into_iter().enumerate() {
                assert!(found.0 == bytes, "{length} bytes, way {way}");
                assert_eq!(found.1, checksum, "{length} bytes, way {way}");
            }
        }
    }

    #[test]
    fn a_thread_reads_unless_the_system_refuses_it() {
        let is_here = |ahead: Ahead<'_>| matches!(ahead.source, Source::Here(_));
        assert!(!read_ahead(io::repeat(7), is_here));
        assert!(read_by(refused(), io::repeat(7), is_here));
    }

    #[test]
    fn who_stops_listening_ends_the_reading() {
        let first = read_ahead(io::repeat(7), |mut ahead| ahead.fill_buf().map(<[u8]>::len));
        assert_eq!(first.unwrap(), CHUNK);
    }
}
