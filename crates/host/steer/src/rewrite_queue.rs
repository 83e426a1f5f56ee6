//! The thread of a host that collects: it has survivors read and written anew, and holds the model's units against the drive's.
//!
//! The memory that its commands name is the thread's own, and stays until the command's completion has been seen.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anabranch_nvme_host::Namespace;
use io_uring::{opcode, opcode::UringCmd80, squeue, types};

use crate::abi;
use crate::error::SteerError;
use crate::memory::Buffers;
use crate::retry;
use crate::rewrites::{Rewrites, SLOT_PAGES, SLOTS};
use crate::ring::Ring;
use crate::shared::Shared;
use crate::split::PAGE_BYTES;
use crate::unit_ends::UnitEnds;

/// Between two looks while the host writes (our choice).
const BUSY: types::Timespec = types::Timespec::new().nsec(2_000_000);
/// Between two looks while it does not (our choice).
const QUIET: types::Timespec = types::Timespec::new().nsec(50_000_000);
/// Until a command is asked for again; in memory for as long as the kernel may look at it.
static PAUSE: types::Timespec = types::Timespec::new().nsec(retry::PAUSE_NS);
/// Between two comparisons of the units' ends (our choice).
const CHECK: Duration = Duration::from_secs(1);
/// Entries of the ring: all commands of all slots find a place in its completions.
const ENTRIES: u32 = (SLOTS * SLOT_PAGES) as u32;

/// The parts of which the thread is made.
pub struct RewriteQueue {
    ring: Ring,
    drive: OwnedFd,
    namespace: Namespace,
    buffers: Buffers,
    rewrites: Rewrites,
    ends: UnitEnds,
    shared: Arc<Shared>,
}

impl RewriteQueue {
    /// One that sends commands of at most so many bytes; to be made on the thread that runs it.
    pub fn new(
        shared: Arc<Shared>,
        drive: OwnedFd,
        namespace: Namespace,
        most_bytes: u32,
    ) -> Result<RewriteQueue, SteerError> {
        let slot_bytes = (SLOT_PAGES as u64 * PAGE_BYTES) as u32;
        Ok(RewriteQueue {
            ring: Ring::new(ENTRIES, ENTRIES * 2)?,
            drive,
            namespace,
            buffers: Buffers::new(SLOTS as u16, slot_bytes).map_err(SteerError::Ring)?,
            rewrites: Rewrites::new(Arc::clone(&shared), most_bytes),
            ends: UnitEnds::new(Arc::clone(&shared)),
            shared,
        })
    }

    /// Rewrites until the device is stopped and nothing is under way.
    pub fn run(mut self) -> Result<(), SteerError> {
        let mut issued = Vec::new();
        let mut seen = Vec::new();
        let (mut writes, mut checked) = (0, Instant::now());
        loop {
            let has_ended = self.shared.has_ended.load(Ordering::Relaxed);
            if has_ended && self.rewrites.is_idle() {
                return Ok(());
            }
            let mut is_seeking = false;
            if !has_ended {
                is_seeking = self.rewrites.advance(&mut issued);
                if checked.elapsed() >= CHECK {
                    checked = Instant::now();
                    self.ends.check(&self.namespace);
                }
            }
            for (slot, index) in issued.drain(..) {
                self.issue(slot, index)?;
            }
            let now = self.shared.counters.writes.get();
            let is_quiet = std::mem::replace(&mut writes, now) == now && self.rewrites.is_idle();
            if is_seeking {
                self.ring.submit()?;
            } else {
                let longest = if is_quiet { &QUIET } else { &BUSY };
                self.ring.wait_at_most(longest)?;
            }
            self.ring.take_completions(&mut seen);
            for (word, result) in seen.drain(..) {
                let (slot, index) = ((word & 0xff) as usize, (word >> 8 & 0xffff) as usize);
                if word >> 32 != 0 {
                    self.issue(slot, index)?;
                } else if self.rewrites.answered(slot, index, result, Instant::now) {
                    let pause = squeue::Entry128::from(opcode::Timeout::new(&PAUSE).build());
                    self.ring.push(&pause.user_data(1 << 32 | word))?;
                }
            }
        }
    }

    /// Hands one command of a slot to the drive.
    fn issue(&mut self, slot: usize, index: usize) -> Result<(), SteerError> {
        let data = self.buffers.address(slot as u16);
        let Some(command) = self.rewrites.issue(slot, index, data) else {
            return Ok(());
        };
        let drive = types::Fd(self.drive.as_raw_fd());
        let entry = UringCmd80::new(drive, abi::NVME_COMMAND).cmd(command.to_bytes());
        let word = (index as u64) << 8 | slot as u64;
        self.ring.push(&entry.build().user_data(word))
    }
}
