//! Simulated time, imposed on hosts: a command is answered when the drive's flash would be done.
//!
//! The drive's flash has its clock at the time since the target began.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::Thread,
    time::Instant,
};

use tokio::sync::mpsc::UnboundedSender;

use crate::controller::Notice;

/// The clock of a drive that takes time.
#[derive(Debug)]
pub(crate) struct Clock {
    began: Instant,
    last_tag: AtomicU64,
    /// The connection that waits for each request.
    waiting: Mutex<HashMap<u64, UnboundedSender<Notice>>>,
    thread: OnceLock<Thread>,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock {
            began: Instant::now(),
            last_tag: AtomicU64::new(0),
            waiting: Mutex::default(),
            thread: OnceLock::new(),
        }
    }

    /// Sets the thread that `wake` wakes, which lets the flash's time pass. There is one server, and so one thread: the
    /// first.
    pub(crate) fn set_thread(&self, thread: Thread) {
        let _ = self.thread.set(thread);
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Draws a name for a request of a connection, by which the connection is notified.
    pub(crate) fn tag(&self, notices: &UnboundedSender<Notice>) -> u64 {
        let tag = self.last_tag.fetch_add(1, Ordering::Relaxed) + 1;
        self.waiting().insert(tag, notices.clone());
        tag
    }

    /// Requests were handed in: the next event may be sooner than was thought.
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, UnboundedSender<Notice>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn notify(&self, answered: &[u64]) {
        let mut waiting = self.waiting();
        for tag in answered {
            if let Some(notices) = waiting.remove(tag) {
                // A connection that has ended hears nothing, and need not.
                let _ = notices.send(Notice::Due(*tag));
            }
        }
    }
}
