//! Simulated time, imposed on hosts: a command is answered when the drive's flash would be done.
//!
//! The drive's flash has its clock at the time since the target began. A thread lets it pass, and
//! tells connections which of their commands are due. It sleeps from one event to the next; how
//! exactly it wakes is the system's (about 60 us late on Linux).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use anabranch_ssd::time::Flash;
use tokio::sync::mpsc::UnboundedSender;

use crate::{controller::Notice, target::Target};

/// How long the thread sleeps at most (our choice): then it looks whether the target still is.
const NAP: Duration = Duration::from_millis(50);

/// The clock of a drive that takes time.
#[derive(Debug)]
pub(crate) struct Clock {
    began: Instant,
    last_tag: AtomicU64,
    /// Who waits for which request.
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

    /// Begins to tell the target's connections what is due.
    ///
    /// # Errors
    /// When there are no more threads.
    pub(crate) fn start(target: &Arc<Target>) -> std::io::Result<()> {
        let Some(clock) = &target.clock else {
            return Ok(());
        };
        let weak = Arc::downgrade(target);
        let ticking = thread::Builder::new()
            .name("nvme-clock".to_owned())
            .spawn(move || tick(&weak))?;
        // There is one server, and so one thread: the first.
        let _ = clock.thread.set(ticking.thread().clone());
        Ok(())
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// A name for a request of a connection, which will be told by it.
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

    fn tell(&self, answered: &[u64]) {
        let mut waiting = self.waiting();
        for tag in answered {
            if let Some(notices) = waiting.remove(tag) {
                // A connection that has ended hears nothing, and need not.
                let _ = notices.send(Notice::Due(*tag));
            }
        }
    }
}

fn tick(target: &Weak<Target>) {
    while let Some(target) = target.upgrade() {
        let Some(clock) = &target.clock else {
            return;
        };
        let (answered, next_ns) = {
            let mut drive = target.drive();
            match drive.flash_mut() {
                Some(flash) => pass(flash, clock.now_ns()),
                None => return,
            }
        };
        clock.tell(&answered);
        let sleep = match next_ns {
            Some(next) => Duration::from_nanos(next.saturating_sub(clock.now_ns())).min(NAP),
            None => NAP,
        };
        drop(target);
        thread::park_timeout(sleep);
    }
}

fn pass(flash: &mut Flash, now_ns: u64) -> (Vec<u64>, Option<u64>) {
    flash.pass(now_ns);
    (flash.answered(), flash.next_ns())
}
