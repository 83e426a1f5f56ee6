//! A running capture.

use std::path::PathBuf;
use std::time::Duration;

use anabranch_trace::{Context, File, Io, Placement, Sampled, Tenant, unnamed_functions};
use nix::time::{ClockId, clock_gettime};
use tracing::{debug, info};

use crate::assembler::Assembler;
use crate::capture_filter::{CaptureFilter, LeftOut};
use crate::context_table::FoldLimits;
use crate::device_number::{device_number, is_nvme};
use crate::error::ProbeError;
use crate::kernel_side::{Form, KernelSide, MAX_RECORDS, Settings};
use crate::sampling::Untold;
use crate::skipped::Skipped;
use crate::support;
use crate::symbols::{symbolise, unnamed};
use crate::tenants::{TenantGroup, Tenants};

/// Options of a capture.
///
/// ```
/// use anabranch_probe::{ProbeOptions, CaptureFilter, check};
///
/// // What this process writes to a drive, and what those write that it starts.
/// let options = ProbeOptions {
///     only: vec![CaptureFilter::Process(std::process::id())],
///     ..ProbeOptions::new("/dev/nvme0n1")
/// };
/// assert!(options.only.iter().all(CaptureFilter::exists));
/// // Whether a capture could begin here. The error names the remedy: to be root, or another kernel.
/// match check() {
///     Ok(support) => println!("Linux {}: {:?}", support.kernel, support.limitations()),
///     Err(error) => println!("{error}"),
/// }
/// ```
#[derive(Debug, Clone)]
pub struct ProbeOptions {
    /// The block device: a whole disk (its partitions are then captured with it) or a partition.
    pub device: PathBuf,
    /// Whether to report reads too. They carry a file but no context.
    pub reads: bool,
    /// Whether to see the write hints that applications ask for, including those the kernel refuses. Where the kernel
    /// cannot watch `fcntl` alone, this costs a little on every system call of the machine. Without it, granted hints are
    /// still seen.
    pub hints: bool,
    /// Whether to see what threads read of the device's files, which tells the generation of those that they begin
    /// ([`anabranch_trace::Context::generation`]). It costs a little on every read of a file on the machine.
    pub generations: bool,
    /// Size of the ring buffer between kernel and user space, rounded up to a power of two of at
    /// least 4 KiB.
    pub ring_bytes: u32,
    /// Folding of stacks into contexts.
    pub fold: FoldLimits,
    /// The processes whose writes are captured; everybody's if empty. Discards are always captured.
    pub only: Vec<CaptureFilter>,
    /// The control groups that are tenants. If there are any, a write is its writer's tenant's; else it is that of the
    /// file's directory.
    pub tenants: Vec<TenantGroup>,
}

impl ProbeOptions {
    /// The usual options for `device`: no reads, hints, generations, a ring of 64 MiB.
    pub fn new(device: impl Into<PathBuf>) -> ProbeOptions {
        ProbeOptions {
            device: device.into(),
            reads: false,
            hints: true,
            generations: true,
            ring_bytes: 64 << 20,
            fold: FoldLimits::default(),
            only: Vec::new(),
            tenants: Vec::new(),
        }
    }
}

/// The result of a capture, besides the requests themselves.
#[derive(Debug)]
pub struct Captured {
    /// The context table; row 0 is the unknown context. Frames have symbols as far as their objects hold them.
    pub contexts: Vec<Context>,
    /// The file table; row 0 is "no file".
    pub files: Vec<File>,
    /// The tenants by control group.
    pub tenants: Vec<Tenant>,
    /// The placements that programs named themselves, by context.
    pub placements: Vec<Placement>,
    /// Records that were lost, as [`Probe::lost_events`] counts them.
    pub lost_events: u64,
    /// Sentences on what could not be seen.
    pub limitations: Vec<String>,
}

/// A running capture of one block device. Dropping it detaches everything; so does the end of the
/// process, however it comes.
#[derive(Debug)]
pub struct Probe {
    kernel_side: KernelSide,
    assembler: Assembler,
    limitations: Vec<String>,
}

impl Probe {
    /// Starts to capture the requests to `options.device`. Time counts from here.
    ///
    /// # Errors
    /// When [`check`](crate::check) fails, the target is not a block device, or the kernel refuses the programs.
    pub fn attach(options: &ProbeOptions) -> Result<Probe, ProbeError> {
        let support = support::check()?;
        debug!(?support, "what this kernel offers");
        let device = device_number(&options.device)?;
        let settings = Settings {
            device,
            reads: options.reads,
            hints: options.hints,
            groups: !options.tenants.is_empty(),
            generations: options.generations,
            ring_bytes: options.ring_bytes,
            passed: is_nvme(device),
            form: Form::Capture,
        };
        let tenants = Tenants::of(&options.tenants)?;
        let assembler = Assembler::new(options.fold)
            .only(&options.only)
            .shared_by(tenants);
        let kernel_side = KernelSide::attach(&settings, &support)?;
        let mut limitations = support.limitations();
        if !options.hints {
            limitations.push(
                "Write hints were not watched: only those the kernel granted are seen.".to_owned(),
            );
        }
        if !options.generations {
            limitations.push(
                "What threads read was not watched: all files are of generation 0, so a tree's levels are not told apart."
                    .to_owned(),
            );
        }
        Ok(Probe {
            kernel_side,
            assembler: assembler.since(monotonic_ns()),
            limitations,
        })
    }

    /// Has only requests told from now on that have a page in one of `samples` (each as [`anabranch_trace::Sample`] keeps
    /// it); the kernel counts the others, and does nothing else for them. Without samples, with more than 16, or with
    /// such as differ in rate or size of pages, all requests are told. What waits in the ring already is passed on.
    /// Contexts are earned by what is told, each short request counted as often as it stands for others; numbers of
    /// contexts, files and tenants follow what is told.
    pub fn tell_only(&mut self, samples: &[Sampled]) {
        if let Some(sampling) = self.kernel_side.sampling() {
            self.assembler.told_each(sampling.tell_only(samples));
        }
    }

    /// The requests so far that were not told for [`Probe::tell_only`].
    pub fn untold(&self) -> Untold {
        self.kernel_side
            .sampling()
            .map_or_else(Untold::default, |sampling| sampling.untold())
    }

    /// Passes every request captured so far to `sink`, in the order of time; waits at most `timeout` for some.
    /// IMPORTANT: call it again and again. Records that are not taken in time are lost when the ring is full, and a
    /// process is read when its first write arrives here, which must be before it ends.
    ///
    /// # Errors
    /// When the ring cannot be read, or holds records of an unknown layout.
    pub fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(Io)) -> Result<(), ProbeError> {
        self.take(timeout, sink).map(|_| ())
    }

    /// Takes records once; answers whether more may wait.
    fn take(&mut self, timeout: Duration, sink: &mut dyn FnMut(Io)) -> Result<bool, ProbeError> {
        let events = self.kernel_side.receive(timeout)?;
        let has_more = events.len() >= MAX_RECORDS;
        for event in events {
            let reply = event
                .and_then(|event| self.assembler.accept(event, sink))
                .map_err(|_| ProbeError::MalformedRecord)?;
            if let Some(reply) = reply {
                self.kernel_side.send_reply(&reply);
            }
        }
        Ok(has_more)
    }

    /// Passes every request that still waits in the ring to `sink`, without waiting for more.
    ///
    /// # Errors
    /// As for [`Probe::poll`].
    pub fn drain(&mut self, sink: &mut dyn FnMut(Io)) -> Result<(), ProbeError> {
        while self.take(Duration::ZERO, sink)? {}
        Ok(())
    }

    /// Number of records lost so far because the ring was full, and of requests and dirtied pages on which the kernel
    /// skipped the probe's program. Anything but 0 makes the captured bytes a lower bound, while figures computed from
    /// them (copies, lifetimes) are bounded on neither side.
    pub fn lost_events(&self) -> u64 {
        self.kernel_side.found_full() + self.skipped().events()
    }

    fn skipped(&self) -> Skipped {
        let skipped = self.kernel_side.skipped();
        if self.assembler.has_passed() {
            skipped
        } else {
            skipped.without_commands()
        }
    }

    /// Bytes of memory that the kernel holds for this capture's maps; 0 where it does not tell.
    pub fn kernel_bytes(&self) -> u64 {
        self.kernel_side.map_bytes()
    }

    /// Sentences on what cannot be seen, as far as this is known by now.
    pub fn limitations(&self) -> Vec<String> {
        let known = self.limitations.iter().cloned();
        known.chain(self.assembler.unread()).collect()
    }

    /// Counts of requests left out so far because they are of none of [`ProbeOptions::only`].
    pub fn left_out(&self) -> LeftOut {
        self.assembler.left_out()
    }

    /// The rows of the context table from `first` on, without symbols. Rows are only ever added,
    /// each before the first request that names it.
    pub fn contexts_from(&self, first: usize) -> Vec<Context> {
        self.assembler.contexts_from(first)
    }

    /// The rows of the file table from `first` on. Rows are only ever added, each before the first
    /// request that names it.
    pub fn files_from(&self, first: usize) -> &[File] {
        self.assembler.files_from(first)
    }

    /// Ends the capture: detaches the programs, and adds symbols to the contexts as long as `is_wanted`, for a minute at
    /// most. Call [`Probe::drain`] before.
    pub fn finish(self, is_wanted: &mut dyn FnMut() -> bool) -> Captured {
        let skipped = self.skipped();
        let lost_events = self.kernel_side.found_full() + skipped.events();
        drop(self.kernel_side);
        let tenants = self.assembler.tenants().to_vec();
        let placements = self.assembler.placements();
        let (mut contexts, files, more) = self.assembler.finish();
        let mut limitations = self.limitations;
        limitations.extend(unnamed(symbolise(&mut contexts, is_wanted)));
        limitations.extend(unnamed_functions(&contexts));
        limitations.extend(skipped.limitations());
        limitations.extend(more);
        info!(
            contexts = contexts.len(),
            files = files.len(),
            lost_events,
            "capture ended"
        );
        Captured {
            contexts,
            files,
            tenants,
            placements,
            lost_events,
            limitations,
        }
    }
}

/// The clock that the kernel side stamps its records with.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_can_move_to_a_thread_of_its_own() {
        fn may_move<T: Send>() {}
        may_move::<Probe>();
    }
}
