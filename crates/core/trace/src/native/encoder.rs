//! Row groups on their way into a file, on a thread of their own.
//!
//! The first full group starts the thread, so that a short trace needs none. While the thread encodes a group, the
//! writer fills the next one; no more than two are held.

use std::io::Write;
use std::mem;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;

use super::batch::Columns;
use super::row_group;

/// A file that takes row groups.
#[derive(Debug)]
pub(super) struct Encoder<F: Write + Send + 'static> {
    state: State<F>,
    written_bytes: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum State<F: Write + Send + 'static> {
    Idle(SerializedFileWriter<F>),
    Running(Running<F>),
    /// The file could not be written.
    Failed,
}

#[derive(Debug)]
struct Running<F: Write + Send + 'static> {
    full: SyncSender<Columns>,
    /// Columns whose rows are in the file.
    emptied: Receiver<Columns>,
    thread: JoinHandle<Result<SerializedFileWriter<F>, ParquetError>>,
}

impl<F: Write + Send + 'static> Encoder<F> {
    pub(super) fn new(file: SerializedFileWriter<F>) -> Encoder<F> {
        Encoder {
            state: State::Idle(file),
            written_bytes: Arc::default(),
        }
    }

    /// Bytes of the file so far.
    pub(super) fn written_bytes(&self) -> usize {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// Takes a full row group, and gives columns without rows for the next one.
    pub(super) fn take(&mut self, group: Columns) -> Result<Columns, ParquetError> {
        let running = match mem::replace(&mut self.state, State::Failed) {
            State::Idle(file) => self.start(file)?,
            State::Running(running) => running,
            State::Failed => return Err(failed()),
        };
        if running.full.send(group).is_err() {
            return match running.join() {
                Ok(_) => Err(failed()),
                Err(error) => Err(error),
            };
        }
        let emptied = running.emptied.try_recv().unwrap_or_default();
        self.state = State::Running(running);
        Ok(emptied)
    }

    /// Writes the last row group, and gives the file.
    pub(super) fn finish(
        mut self,
        group: &Columns,
    ) -> Result<SerializedFileWriter<F>, ParquetError> {
        let mut file = match mem::replace(&mut self.state, State::Failed) {
            State::Idle(file) => file,
            State::Running(running) => running.join()?,
            State::Failed => return Err(failed()),
        };
        row_group::write(&mut file, group, &mut row_group::compressor()?)?;
        Ok(file)
    }

    fn start(&self, mut file: SerializedFileWriter<F>) -> Result<Running<F>, ParquetError> {
        // Without room between them, a group is handed over when the one before it is in the file.
        let (full, to_encode) = sync_channel::<Columns>(0);
        let (done, emptied) = sync_channel(1);
        let written_bytes = self.written_bytes.clone();
        let thread = Builder::new().name("parquet".into()).spawn(move || {
            let mut compressor = row_group::compressor()?;
            for mut group in to_encode {
                row_group::write(&mut file, &group, &mut compressor)?;
                written_bytes.store(file.bytes_written(), Ordering::Relaxed);
                group.clear();
                // The writer takes it back with the next group, or has ended.
                let _ = done.try_send(group);
            }
            Ok(file)
        })?;
        Ok(Running {
            full,
            emptied,
            thread,
        })
    }
}

impl<F: Write + Send + 'static> Running<F> {
    /// Ends the thread, and gives its file.
    fn join(self) -> Result<SerializedFileWriter<F>, ParquetError> {
        drop(self.full);
        self.thread
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<F: Write + Send + 'static> Drop for Encoder<F> {
    /// Waits for the thread: its file, which was not finished, is removed when this returns.
    fn drop(&mut self) {
        if let State::Running(running) = mem::replace(&mut self.state, State::Failed) {
            drop(running.full);
            drop(running.thread.join());
        }
    }
}

fn failed() -> ParquetError {
    ParquetError::General("an earlier row group could not be written".into())
}
