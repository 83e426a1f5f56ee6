//! A thread that answers what comes by a ring.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    sync::Arc,
    thread::{self, JoinHandle},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::{Memory, Ring, TcmuError};
use crate::unit::Unit;

/// The thread, which ends on request, or by an error.
#[derive(Debug)]
pub(super) struct Handler {
    /// Closed, it ends the thread.
    stop: UnixStream,
    thread: JoinHandle<Result<(), TcmuError>>,
}

impl Handler {
    /// Begins to answer.
    pub(super) fn start(
        device: File,
        ring: Ring<impl Memory + Send + 'static>,
        unit: Arc<Unit>,
    ) -> Result<Handler, TcmuError> {
        let (stop, stopped) = UnixStream::pair()?;
        let thread = thread::Builder::new().name("scsi".to_owned());
        let thread = thread.spawn(move || serve(&device, ring, &unit, &stopped))?;
        Ok(Handler { stop, thread })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    pub(super) fn end(self) -> Result<(), TcmuError> {
        drop(self.stop);
        self.thread.join().unwrap_or(Err(TcmuError::Thread))
    }
}

fn serve(
    mut device: &File,
    mut ring: Ring<impl Memory>,
    unit: &Unit,
    stopped: &UnixStream,
) -> Result<(), TcmuError> {
    // A device that has anything answers with how often it had, and takes any number as word that there are answers.
    let mut word = [0; 4];
    loop {
        // Each at once: what is done and not told would time out behind what takes long.
        while ring.serve_next(|cdb, data| unit.execute(cdb, data))? {
            device.write_all(&word)?;
        }
        let mut waited = [
            PollFd::new(device.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut waited, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(TcmuError::Device(error.into())),
        }
        let [has_come, is_over] = waited.map(|one| one.any().unwrap_or(false));
        if is_over {
            return Ok(());
        }
        if has_come {
            device.read_exact(&mut word)?;
        }
    }
}
