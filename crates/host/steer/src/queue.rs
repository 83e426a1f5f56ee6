//! One queue of the block device: a thread that takes requests, has the drive do them, and answers.
//!
//! The memory that its commands name is the queue's own, or the kernel's buffer of the request, and stays until the
//! command's completion has been seen.
//!
//! ```text
//! fetch every tag, then for each completion:
//!     of the block device:  a tag brings a request (or ends, with the device)
//!     of the drive:         a command of a request is done, or is not
//!     of a pause:           the command is sent again, or the held request begins again
//!     of the beat:          the watchdog's pulse; the next beat in a second
//! the request then needs:   commands sent, a pause, nothing, or its answer, which fetches the tag's next request
//! ```

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use io_uring::{opcode, opcode::UringCmd80, squeue, types};
use nix::libc::ENODEV;

use crate::abi::{self, io_command};
use crate::command::Request;
use crate::error::SteerError;
use crate::memory::{Buffers, Descriptors};
use crate::requests::{Requests, Step};
use crate::retry;
use crate::ring::Ring;
use crate::shared::Shared;

/// Between two beats of the pulse that the watchdog reads (our choice).
// An entry of the ring, not a limit of each wait: a write has two waits, and a limit is a timer set and taken away.
static BEAT: types::Timespec = types::Timespec::new().sec(1);
/// Until a command is asked for again; in memory for as long as the kernel may look at it.
static PAUSE: types::Timespec = types::Timespec::new().nsec(retry::PAUSE_NS);

/// Until a request that was held is looked at again (our choice: about as long as a drive takes to write).
static HOLD: types::Timespec = types::Timespec::new().nsec(100_000);

/// The parts of which a queue is made.
pub struct Make {
    pub number: u16,
    pub depth: u16,
    pub most_bytes: u32,
    /// Whether the kernel lends the request's memory; else it copies.
    pub lends: bool,
    pub device: Arc<File>,
    pub drive: OwnedFd,
    pub shared: Arc<Shared>,
}

/// The completed operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The block device's own command.
    Device = 0,
    /// A command of the drive's.
    Drive = 1,
    /// The pause before one is asked for again.
    Pause = 2,
    /// The pause before a request that was held is looked at again.
    Hold = 3,
    /// The time between two beats of the pulse.
    Beat = 4,
}

/// Packs a completion's owner into 64 bits: kind, tag and the command's index.
fn word(of: Of, tag: u16, index: usize) -> u64 {
    (of as u64) << 32 | (index as u64) << 16 | u64::from(tag)
}

pub struct UblkQueue {
    make: Make,
    ring: Ring,
    descriptors: Descriptors,
    buffers: Option<Buffers>,
    requests: Requests,
    live: u16,
}

impl UblkQueue {
    /// A queue, to be made on the thread that runs it: the kernel remembers whose it is. All its tags are fetched.
    pub fn new(make: Make) -> Result<UblkQueue, SteerError> {
        let depth = make.depth;
        let ring = Ring::new(u32::from(depth) * 2, u32::from(depth) * 4)?;
        if make.lends {
            ring.make_places(depth)?;
        }
        let descriptors =
            Descriptors::map(&make.device, make.number, depth).map_err(SteerError::Ring)?;
        let buffers = (!make.lends)
            .then(|| Buffers::new(depth, make.most_bytes))
            .transpose()
            .map_err(SteerError::Ring)?;
        let requests = Requests::new(Arc::clone(&make.shared), depth);
        let mut queue = UblkQueue {
            make,
            ring,
            descriptors,
            buffers,
            requests,
            live: depth,
        };
        for tag in 0..depth {
            queue.fetch(tag, abi::io::FETCH, 0)?;
        }
        queue.ring.submit()?;
        // Requests come only once all queues have fetched: a completion before that is a refusal.
        let refused = queue.ring.completion().map_or(0, |(_, result)| result);
        if refused < 0 {
            return Err(SteerError::Control {
                what: "let a queue fetch",
                source: io::Error::from_raw_os_error(-refused),
            });
        }
        Ok(queue)
    }

    /// Serves until the device is stopped.
    pub fn run(mut self) -> Result<(), SteerError> {
        let mut seen = Vec::with_capacity(usize::from(self.make.depth) * 4);
        self.pulse()?;
        while self.live > 0 {
            self.ring.wait()?;
            self.ring.take_completions(&mut seen);
            for (word, result) in seen.drain(..) {
                let tag = word as u16;
                let index = (word >> 16 & 0xffff) as usize;
                match word >> 32 {
                    0 => self.arrived(tag, result)?,
                    1 => {
                        let step = self.requests.answered(tag, index, result, Instant::now);
                        self.take(tag, step)?;
                    }
                    2 => self.issue(tag, index)?,
                    3 => {
                        let step = self.requests.again(tag);
                        self.take(tag, step)?;
                    }
                    _ => self.pulse()?,
                }
            }
        }
        Ok(())
    }

    /// Shows the watchdog that the queue lives, and does so again in a second.
    fn pulse(&mut self) -> Result<(), SteerError> {
        let shared = &self.make.shared;
        if let Some(pulse) = shared.pulses.get(usize::from(self.make.number)) {
            let now = u64::try_from(shared.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            // Relaxed: the watchdog compares it with seconds, and reads nothing else by it.
            pulse.store(now, Ordering::Relaxed);
        }
        let beat = squeue::Entry128::from(opcode::Timeout::new(&BEAT).build());
        self.ring.push(&beat.user_data(word(Of::Beat, 0, 0)))
    }

    /// Answers a tag's request, if it has one, and waits for its next.
    fn fetch(&mut self, tag: u16, number: u32, result: i32) -> Result<(), SteerError> {
        let address = self
            .buffers
            .as_ref()
            .map_or(0, |buffers| buffers.address(tag));
        let command = io_command(self.make.number, tag, result, address);
        let device = types::Fd(self.make.device.as_raw_fd());
        let mut fetch = UringCmd80::new(device, number).cmd(command);
        if self.make.lends {
            // Into which slot the kernel puts the next request's memory.
            fetch = fetch.addr(Some(tag.into()));
        }
        self.ring
            .push(&fetch.build().user_data(word(Of::Device, tag, 0)))
    }

    /// The device has a request, or lets a tag go.
    fn arrived(&mut self, tag: u16, result: i32) -> Result<(), SteerError> {
        if result != 0 {
            // ENODEV is UBLK_IO_RES_ABORT: the device stops, and this tag has no next request.
            self.live -= 1;
            return match -result {
                ENODEV => Ok(()),
                error => Err(SteerError::Control {
                    what: "take an answer",
                    source: io::Error::from_raw_os_error(error),
                }),
            };
        }
        let request = Request::of(&self.descriptors.get(tag));
        let step = self.requests.arrived(tag, request);
        self.take(tag, step)
    }

    /// Does what a tag's request needs next.
    fn take(&mut self, tag: u16, step: Step) -> Result<(), SteerError> {
        match step {
            Step::Issue(mut commands) => commands.try_for_each(|index| self.issue(tag, index)),
            Step::Pause(index) => {
                let pause = squeue::Entry128::from(opcode::Timeout::new(&PAUSE).build());
                self.ring
                    .push(&pause.user_data(word(Of::Pause, tag, index)))
            }
            Step::Hold => {
                let pause = squeue::Entry128::from(opcode::Timeout::new(&HOLD).build());
                self.ring.push(&pause.user_data(word(Of::Hold, tag, 0)))
            }
            Step::Wait => Ok(()),
            Step::Answer(result) => self.fetch(tag, abi::io::COMMIT_AND_FETCH, result),
        }
    }

    /// Hands one command of a request to the drive.
    fn issue(&mut self, tag: u16, index: usize) -> Result<(), SteerError> {
        // Of memory that the kernel lent, addresses count from the request's first byte.
        let data = self
            .buffers
            .as_ref()
            .map_or(0, |buffers| buffers.address(tag));
        let Some((command, moves_data)) = self.requests.issue(tag, index, data) else {
            return Ok(());
        };
        let drive = types::Fd(self.make.drive.as_raw_fd());
        let mut entry = UringCmd80::new(drive, abi::NVME_COMMAND).cmd(command.to_bytes());
        // Of a Deallocate `moves_data` is false: its list lies in our own memory, not in the lent buffer.
        if moves_data && self.make.lends {
            entry = entry.buf_index(Some(tag));
        }
        self.ring
            .push(&entry.build().user_data(word(Of::Drive, tag, index)))
    }
}
