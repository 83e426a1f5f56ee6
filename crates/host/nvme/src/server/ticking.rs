//! The thread that lets the time of a drive's flash pass, and notifies connections of their commands that are due.
//!
//! It sleeps from one event to the next; how exactly it wakes is the system's (about 60 us late on Linux).

use std::{
    io,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use anabranch_ssd::time::Flash;

use crate::target::Target;

/// Longest sleep of the thread (our choice), which then checks whether the target still exists.
const NAP: Duration = Duration::from_millis(50);

/// Begins to notify the target's connections of commands that are due.
///
/// # Errors
/// When there are no more threads.
pub(super) fn start(target: &Arc<Target>) -> io::Result<()> {
    let Some(clock) = &target.clock else {
        return Ok(());
    };
    let weak = Arc::downgrade(target);
    let ticking = thread::Builder::new()
        .name("nvme-clock".to_owned())
        .spawn(move || tick(&weak))?;
    clock.set_thread(ticking.thread().clone());
    Ok(())
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
        clock.notify(&answered);
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
