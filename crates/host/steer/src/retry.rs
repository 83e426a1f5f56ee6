//! Commands that a reset of the drive cut off, and whether they are asked for again.
//!
//! The kernel's driver repeats the block layer's own requests after a reset; a command that was handed through it fails.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::libc::{EAGAIN, EINTR, EINVAL};

/// Time before a command that was cut off is retried, in nanoseconds (our choice).
pub const PAUSE_NS: u32 = 50_000_000;
/// Time for which it is retried while the controller lives (our choice).
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether the drive need not have seen a command: the driver cancelled it (EINTR), had no place for it (EAGAIN)
/// or no connection (EINVAL), or gave it a status of the path's (NVM Express base specification, "Path Related
/// Status"). Of the drive's own, none.
pub fn is_cut_off(answer: i32) -> bool {
    match answer {
        0.. => answer & 0x700 == 0x300,
        _ => [EAGAIN, EINTR, EINVAL].contains(&-answer),
    }
}

/// The outlook for a drive's controllers, from the kernel's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// One of them works.
    Lives,
    /// None does, but one may again.
    Returns,
    /// None ever will.
    Gone,
}

fn reach(states: impl Iterator<Item = String>) -> Reach {
    let mut best = Reach::Gone;
    for state in states {
        match state.trim() {
            "live" => return Reach::Lives,
            "new" | "resetting" | "connecting" => best = Reach::Returns,
            _ => {}
        }
    }
    best
}

/// The controllers of a drive: the function finds the files that tell their states. Paths come and go, so they are
/// looked for each time.
pub struct Controllers(Box<dyn Fn() -> Vec<PathBuf> + Send + Sync>);

impl std::fmt::Debug for Controllers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries((self.0)()).finish()
    }
}

impl Controllers {
    /// Those whose states are told by the files that `states` finds.
    pub fn new(states: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) -> Controllers {
        Controllers(Box::new(states))
    }

    /// Whether a command that was cut off is asked for again; `lives_since`: when the drive was first found to live
    /// since then, and refused nevertheless. While no controller lives and the kernel tries to reach one, commands are
    /// asked for without end, as the kernel's own requests are.
    pub fn are_asked_again(&self, lives_since: &mut Option<Instant>, now: Instant) -> bool {
        let states = (self.0)().into_iter();
        match reach(states.filter_map(|state| fs::read_to_string(state).ok())) {
            Reach::Returns => {
                *lives_since = None;
                true
            }
            Reach::Gone => false,
            Reach::Lives => {
                let since = *lives_since.get_or_insert(now);
                now.saturating_duration_since(since) < PATIENCE
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::libc::{EIO, ENODEV};

    #[test]
    fn what_the_drive_itself_refused_is_not_asked_again() {
        // Host path error and aborted by the host, with and without "do not retry".
        for cut_off in [-EINTR, -EAGAIN, -EINVAL, 0x370, 0x371, 0x4370] {
            assert!(is_cut_off(cut_off), "{cut_off:#x}");
        }
        // A medium error, no room, an invalid field.
        for own in [0, 0x281, 0x81, 0x4002, -ENODEV, -EIO] {
            assert!(!is_cut_off(own), "{own:#x}");
        }
    }

    #[test]
    fn a_drive_that_is_on_its_way_back_is_waited_for() {
        let of = |states: &[&str]| reach(states.iter().map(|&state| format!("{state}\n")));
        assert_eq!(of(&["live"]), Reach::Lives);
        assert_eq!(of(&["connecting", "live"]), Reach::Lives);
        assert_eq!(of(&["deleting", "resetting"]), Reach::Returns);
        assert_eq!(of(&["deleting (no IO)", "dead"]), Reach::Gone);
        assert_eq!(of(&[]), Reach::Gone);
    }

    #[test]
    fn one_that_lives_and_goes_on_refusing_is_believed() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        fs::write(&state, "live\n").unwrap();
        let found = state.clone();
        let controllers = Controllers::new(move || vec![found.clone()]);
        let (mut since, now) = (None, Instant::now());
        // However many commands of a request were cut off at once.
        assert!((0..100).all(|_| controllers.are_asked_again(&mut since, now)));
        since = now.checked_sub(PATIENCE);
        assert!(!controllers.are_asked_again(&mut since, now));
        fs::write(&state, "connecting\n").unwrap();
        assert!(controllers.are_asked_again(&mut since, now));
        fs::write(&state, "live\n").unwrap();
        assert!(
            controllers.are_asked_again(&mut since, now),
            "its time begins anew"
        );
        fs::remove_file(&state).unwrap();
        assert!(!controllers.are_asked_again(&mut None, now));
    }
}
