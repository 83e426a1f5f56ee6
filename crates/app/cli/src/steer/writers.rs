//! Writers to the steered device, seen by the probe.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anabranch_placement::Names;
use anabranch_probe::{
    FoldLimits, Handover, HandoverCounts, HandoverOptions, ProbeError, TenantGroup,
};
use anabranch_steer::{Writer, Writers};
use anabranch_trace::Tenant;
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::error::{CommandError, Result};

/// The mount point of bpffs; pins there outlive the command.
const BPFFS: &str = "/sys/fs/bpf";
/// Time that the probe waits for news before it checks whether it is to end (our choice).
const POLL: Duration = Duration::from_millis(100);
/// Wait of a take-over for the state of the server before it (our choice). A program that waits for this very
/// device may hold what the probe must look at, so it is not waited for longer.
const RELEARN: Duration = Duration::from_secs(2);

/// Call paths of a thread's role that have a context, and so a stream, from their first page on (our choice). A
/// recording lets each earn its own, so that paths that hardly write leave none; here every page goes somewhere.
const FREE_CONTEXTS: u32 = 16;

/// The probe's words in the room's.
struct Seen(Arc<Handover>);

impl Writers for Seen {
    fn writer_of(&self, page: u64) -> Option<Writer> {
        self.0.writer_of(page).map(|writer| Writer {
            context: writer.context,
            file: writer.file,
            hint: writer.hint,
            tenant: writer.tenant,
        })
    }

    fn news(&self, contexts: usize, files: usize) -> Option<Names> {
        let (contexts, named) = self.0.news(contexts, files)?;
        let first = u32::try_from(files).unwrap_or(u32::MAX);
        Some(Names::of_rows(first, &named, &contexts))
    }

    fn done(&self, first_page: u64, pages: u64) {
        self.0.done(first_page, pages);
    }
}

/// The probe at work.
pub struct Watched {
    handover: Arc<Handover>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    pins: Option<PathBuf>,
}

impl Watched {
    /// Watches a block device. Where it is taken over, the writers of what is on its way are known from the server
    /// before, if the system has a bpffs.
    pub fn start(
        block: &Path,
        took_over: bool,
        tenants: &[TenantGroup],
        generations: bool,
    ) -> Result<Watched, ProbeError> {
        let pins = pins_of(block);
        if !took_over {
            // Left by a device that had this number and is gone.
            forget(block);
        }
        let handover = Arc::new(Handover::attach(&HandoverOptions {
            device: block.to_owned(),
            fold: FoldLimits {
                free_contexts: FREE_CONTEXTS,
                ..FoldLimits::default()
            },
            pins: pins.clone(),
            tenants: tenants.to_vec(),
            generations,
        })?);
        let stop = Arc::new(AtomicBool::new(false));
        let (first, learned) = mpsc::channel();
        let (polled, ends) = (Arc::clone(&handover), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            // A ring that cannot be read: pages go on to be found, programs that are new stay nameless, and counted.
            while !ends.load(Ordering::Relaxed) && polled.poll(POLL).is_ok() {
                let _ = first.send(());
            }
        });
        let _ = learned.recv_timeout(RELEARN);
        Ok(Watched {
            handover,
            stop,
            thread,
            pins,
        })
    }

    /// Tells the server who is asked for writers.
    pub fn writers(&self) -> Arc<dyn Writers> {
        Arc::new(Seen(Arc::clone(&self.handover)))
    }

    /// Counts of pages so far, by what became of them.
    pub fn counts(&self) -> HandoverCounts {
        self.handover.counts()
    }

    /// The tenants by control group so far, and sentences on those that wrote nothing or were not found.
    pub fn tenants(&self) -> (Vec<Tenant>, Vec<String>) {
        (self.handover.tenants(), self.handover.limitations())
    }

    /// Ends it for good, with the device.
    pub fn end(self) -> Result {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        drop(self.handover);
        match self.pins {
            Some(pins) if pins.exists() => fs::remove_dir_all(pins).map_err(CommandError::work),
            _ => Ok(()),
        }
    }
}

/// Takes away what watched a block device before, if anything did.
pub fn forget(block: &Path) {
    if let Some(stale) = pins_of(block) {
        let _ = fs::remove_dir_all(stale);
    }
}

/// A directory for a block device, where there is a bpffs.
fn pins_of(block: &Path) -> Option<PathBuf> {
    let name = block.file_name()?.to_str()?;
    let is_there = statfs(BPFFS).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC);
    is_there.then(|| Path::new(BPFFS).join(format!("anabranch-{name}")))
}
