//! Long work is done on a thread of its own without the interpreter's lock, while the calling
//! thread listens for Ctrl-C and reports progress.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use anabranch_compare::{CompareError, Result, Watch};
use pyo3::prelude::*;

use crate::errors::raised;

/// The time between two checks for signals (our choice: nobody notices a twentieth of a second).
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The state that both threads share.
#[derive(Debug, Default)]
pub struct Shared {
    stop: AtomicBool,
    /// The share of the pass that is done, in thousandths.
    share: AtomicU64,
}

impl Shared {
    /// Whether the work must end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks the work to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The watch of a comparison that may be stopped.
struct Watcher(Arc<Shared>);

impl Watch for Watcher {
    fn done(&mut self, share: f64) -> Result {
        self.0
            .share
            .store((share * 1000.0) as u64, Ordering::Relaxed);
        if self.0.is_stopped() {
            Err(CompareError::interrupted())
        } else {
            Ok(())
        }
    }
}

/// Performs `work` without the interpreter's lock. `progress`, if given, is called with the share
/// of the pass that is done, a few times a second.
///
/// # Errors
/// When `work` fails, or when signal handlers or `progress` raise an exception.
pub fn patiently<T: Send>(
    py: Python<'_>,
    shared: &Arc<Shared>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let (worked, heard) = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let watcher = Arc::clone(shared);
            scope.spawn(move || {
                let _ = sender.send(work(&mut Watcher(watcher)));
            });
            let mut heard = Ok(());
            let worked = loop {
                match receiver.recv_timeout(LOOK_EVERY) {
                    Ok(worked) => break worked,
                    Err(RecvTimeoutError::Timeout) if heard.is_ok() => {
                        heard = Python::attach(|py| listen(py, shared, progress));
                        if heard.is_err() {
                            shared.stop();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        break Err(CompareError::failed(
                            "a worker thread died; this is a defect of anabranch, please report it",
                        ));
                    }
                }
            };
            (worked, heard)
        })
    });
    heard?;
    worked.map_err(|fault| raised(&fault))
}

fn listen(py: Python<'_>, shared: &Shared, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let share = shared.share.load(Ordering::Relaxed) as f64 / 1000.0;
        progress.call1(py, (share.min(1.0),))?;
    }
    Ok(())
}
