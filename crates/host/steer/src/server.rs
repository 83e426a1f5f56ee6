//! A steered drive from its first request to its last.
//!
//! ```text
//! start:  a dead server left a block device?   judge its ledger, hold the drive
//!         none?                                hold the drive, make the device and its ledger
//!         hand the drive to the guard, begin the recovery if there is one, let every queue fetch its tags
//!         if the host collects: begin a unit with each handle
//!         start the device or end the recovery: from here on requests come, of unknown writers
//!         load the probe: from here on writers are known
//! stop:   mounted or held?   refuse
//!         write out, stop, join the threads, delete the device, remove the ledger, end the guard
//! ```

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anabranch_nvme_host::Namespace;
use nix::libc::{EBUSY, O_EXCL};

use crate::abi::{Info, Parameters, feature};
use crate::command::Target;
use crate::control::{Control, block_device, character_device};
use crate::counters::Counters;
use crate::drive::{Directive, SteeredDrive, sequence};
use crate::error::SteerError;
use crate::guard::Guard;
use crate::ledger::{self, Ledger};
use crate::link;
use crate::page_locks::PageLocks;
use crate::placer::Placer;
use crate::queue::{Make, UblkQueue};
use crate::rewrite_queue::RewriteQueue;
use crate::shared::{Shared, slowest};
use crate::surroundings;
use crate::waiting::{PATIENCE, PAUSE, disk_of, find, inherit};
use crate::writers::{NoWriters, Writers};

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// The handle of each stream.
    pub handles: Vec<u16>,
    /// Queues of the block device, a thread each.
    pub queues: u16,
    /// Requests under way in each.
    pub depth: u16,
    /// Copy requests' data even where the kernel could lend its memory.
    pub copy: bool,
    /// Steer the drive with what is on it.
    pub accept_contents: bool,
    /// Go on with a block device although the drive may have been written meanwhile.
    pub accept_writes: bool,
}

/// A block device at work in front of a drive. When it is dropped without [`Server::stop`], or the process dies, the
/// block device stays; whoever uses it waits until the drive is steered again.
pub struct Server {
    control: Control,
    drive: SteeredDrive,
    info: Info,
    /// Whether it goes on with the device of a server that died.
    took_over: bool,
    device: Option<Arc<File>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    failures: Receiver<SteerError>,
    unplaced_bytes: u64,
    guard: Option<Arc<Guard>>,
}

/// Feels the pulse of a server's queues.
#[derive(Clone)]
pub struct Pulse(Arc<Shared>);

impl Pulse {
    /// For how long the slowest queue has been silent; of one that lives, about a second at most.
    pub fn silence(&self) -> Duration {
        slowest(&self.0)
    }
}

impl Server {
    /// Makes the block device of a drive, or goes on with the one that a dead server left. `guard` then keeps the drive held
    /// while no server is there. `writers` gets the block device, and whether it was there before, and returns the
    /// source of its pages' writers; until then none is known. In a take-over, requests that wait are done meanwhile.
    ///
    /// # Errors
    /// When the drive is held, read-only, steered already or has contents that are not accepted; when a block device waits
    /// for it and must not go on; when the kernel has no ublk, or refuses.
    pub fn start(
        mut drive: SteeredDrive,
        placer: Placer,
        options: &ServerOptions,
        guard: Option<Arc<Guard>>,
        writers: impl FnOnce(&Path, bool) -> Arc<dyn Writers>,
    ) -> Result<Server, SteerError> {
        let mut control = Control::open()?;
        let features = control.features()?;
        require(features)?;
        let left = find(&mut control, &drive.title(), |info| {
            info.owner == drive.identity()
        })?;
        let (info, ledger) = match left {
            Some(info) => (info, inherit(&mut drive, &info, options.accept_writes)?),
            None => make(&mut control, &mut drive, options, features)?,
        };
        let shared = Arc::new(Shared {
            target: Target {
                namespace: drive.namespace().number(),
                block_shift: drive.abilities().block_shift,
                directive: drive.directive(),
                handles: options.handles.clone(),
            },
            locks: placer
                .model()
                .map(|_| PageLocks::new(options.handles.len())),
            placer: Mutex::new(placer),
            writers: RwLock::new(Arc::new(NoWriters)),
            counters: Counters::new(options.handles.len()),
            ledger,
            controllers: drive.controllers(),
            pulses: (0..info.queues).map(|_| AtomicU64::new(0)).collect(),
            began: Instant::now(),
            has_ended: AtomicBool::new(false),
        });
        let (failed, failures) = mpsc::channel();
        let mut server = Server {
            control,
            drive,
            info,
            took_over: left.is_some(),
            device: None,
            shared,
            threads: Vec::new(),
            failures,
            unplaced_bytes: 0,
            guard,
        };
        let started = server.serve(&failed);
        if started.is_err() && !server.took_over {
            // A device that was taken over stays for the next server: programs have it open. In the order of `stop`.
            server.device = None;
            let _ = server.control.stop(info.device);
            server.shared.has_ended.store(true, Ordering::Relaxed);
            server
                .threads
                .drain(..)
                .for_each(|thread| drop(thread.join()));
            let _ = server.control.delete(info.device);
            ledger::remove(info.device);
        }
        started?;
        // Last: loading the probe waits for the kernel's verifier, and requests of a take-over are waiting.
        server.set_writers(writers(&server.block_device(), server.took_over));
        Ok(server)
    }

    /// Starts the queues, then the device.
    fn serve(&mut self, failed: &Sender<SteerError>) -> Result<(), SteerError> {
        let number = self.info.device;
        // First: should this server die from here on, the drive stays held.
        self.hand_over()?;
        if self.took_over {
            // EBUSY until the dead server's files and ring are released.
            self.patiently(|control| control.start_recovery(number))?;
        }
        let path = character_device(number);
        let device = patient_open(&path)?;
        let device = Arc::new(device);
        self.device = Some(device.clone());
        // IMPORTANT: before the device starts or the recovery ends. Both wait in the kernel until every tag is fetched.
        self.start_queues(&device, failed)?;
        // IMPORTANT: before the first request. The model's handles begin with empty units, so the drive's must, too.
        self.start_rewrites(failed)?;
        if self.took_over {
            // What the dead server had asked of the drive must not come after what we ask for.
            self.drive.wait_idle()?;
            return self.control.end_recovery(number);
        }
        self.control.start(number)?;
        // The disk exists from here on. A server killed before the next line leaves a ledger that fits no device, and
        // the next one refuses.
        let sequence = sequence(&disk_of(number)).unwrap_or(0);
        self.shared.ledger.set_device(sequence);
        Ok(())
    }

    /// Lets the guard hold the drive, too.
    fn hand_over(&self) -> Result<(), SteerError> {
        let (Some(guard), Some(held)) = (&self.guard, self.drive.held()) else {
            // After a take-over the ledger names the guard before, which is gone.
            self.shared.ledger.set_guard(0);
            return Ok(());
        };
        // IMPORTANT: in this order. A guard that is not in the ledger would never be made to let go.
        self.shared.ledger.set_guard(guard.process());
        let handed = guard.hold(held.as_fd(), self.info.device);
        handed.map_err(SteerError::io("hand to the guard", self.block_device()))
    }

    /// Starts a thread for each queue, and waits until all of them have fetched.
    fn start_queues(
        &mut self,
        device: &Arc<File>,
        failed: &Sender<SteerError>,
    ) -> Result<(), SteerError> {
        let number = self.info.device;
        let (ready, all_ready) = mpsc::channel();
        for queue in 0..self.info.queues {
            let drive = self.drive.namespace().as_fd().try_clone_to_owned();
            let make = Make {
                number: queue,
                depth: self.info.depth,
                most_bytes: self.info.most_bytes,
                lends: self.info.flags & feature::AUTO_BUFFER != 0,
                device: Arc::clone(device),
                drive: drive
                    .map_err(SteerError::io("open again", self.drive.namespace().path()))?,
                shared: self.shared.clone(),
            };
            let (ready, failed) = (ready.clone(), failed.clone());
            let thread = thread::Builder::new()
                .name(format!("steer-{number}-{queue}"))
                .spawn(move || live(make, &ready, &failed));
            self.threads.push(thread.map_err(SteerError::Ring)?);
        }
        // With a sender left here, `recv` would wait for ever for a thread that died before it answered.
        drop(ready);
        for _ in 0..self.info.queues {
            match all_ready.recv() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(SteerError::Unfit("a queue's thread died".to_owned())),
            }
        }
        Ok(())
    }

    /// Has the drive begin a unit with each handle, and starts the thread, if the host collects.
    fn start_rewrites(&mut self, failed: &Sender<SteerError>) -> Result<(), SteerError> {
        if self.shared.locks.is_none() {
            return Ok(());
        }
        let namespace = Namespace::open(self.drive.namespace().path())?;
        namespace.update_handles(&self.shared.target.handles)?;
        let drive = self.drive.namespace().as_fd().try_clone_to_owned();
        let drive = drive.map_err(SteerError::io("open again", self.drive.namespace().path()))?;
        let (shared, failed) = (Arc::clone(&self.shared), failed.clone());
        let most_bytes = self.drive.abilities().most_bytes;
        let thread = thread::Builder::new()
            .name(format!("steer-{}-collects", self.info.device))
            .spawn(move || {
                let queue = RewriteQueue::new(shared, drive, namespace, most_bytes);
                if let Err(error) = queue.and_then(RewriteQueue::run) {
                    let _ = failed.send(error);
                }
            });
        self.threads.push(thread.map_err(SteerError::Ring)?);
        Ok(())
    }

    /// Tries until the kernel is not busy with it any more.
    fn patiently(
        &mut self,
        mut act: impl FnMut(&mut Control) -> Result<(), SteerError>,
    ) -> Result<(), SteerError> {
        let began = Instant::now();
        loop {
            match act(&mut self.control) {
                Err(SteerError::Control { source, .. })
                    if source.raw_os_error() == Some(EBUSY) && began.elapsed() < PATIENCE =>
                {
                    thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
    }

    /// The block device that everybody uses.
    pub fn block_device(&self) -> PathBuf {
        block_device(self.info.device)
    }

    /// Whether it goes on with the device of a server that died.
    pub fn took_over(&self) -> bool {
        self.took_over
    }

    /// Whether the kernel lends requests' memory; else it copies.
    pub fn is_zero_copy(&self) -> bool {
        self.info.flags & feature::AUTO_BUFFER != 0
    }

    /// Queues, and requests under way in each.
    pub fn queues(&self) -> (u16, u16) {
        (self.info.queues, self.info.depth)
    }

    /// The drive behind it.
    pub fn drive(&self) -> &SteeredDrive {
        &self.drive
    }

    /// Counts of all requests since this server began.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Its queues' pulse.
    pub fn pulse(&self) -> Pulse {
        Pulse(self.shared.clone())
    }

    /// The scheme; queues wait for it meanwhile.
    pub fn placer(&self) -> MutexGuard<'_, Placer> {
        self.shared
            .placer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the source of pages' writers; before, none is known.
    fn set_writers(&self, writers: Arc<dyn Writers>) {
        let mut place = self
            .shared
            .writers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = writers;
    }

    /// To be called now and then: reports a queue that failed, and turns streams on again where the drive has forgotten
    /// them.
    ///
    /// # Errors
    /// The queue's. End the process then: the block device stays, and waits for the next server.
    pub fn tend(&mut self) -> Result<(), SteerError> {
        if let Ok(failure) = self.failures.try_recv() {
            return Err(failure);
        }
        if self.threads.iter().any(JoinHandle::is_finished) {
            return Err(SteerError::Unfit("a queue's thread died".to_owned()));
        }
        let unplaced = self.counters().unplaced_bytes.get();
        // A reset switches the Streams Directive off (NVM Express); Flexible Data Placement stays on.
        if self.drive.directive() == Directive::Streams && unplaced != self.unplaced_bytes {
            self.unplaced_bytes = unplaced;
            // A drive that is gone refuses; its commands tell.
            let _ = self.drive.namespace().enable_streams();
        }
        Ok(())
    }

    /// Ends: the block device disappears. Nothing is done, and false answered, while it is mounted or held.
    ///
    /// # Errors
    /// When the kernel refuses; and, once it has ended, when what was still to be written could not be.
    pub fn stop(&mut self) -> Result<bool, SteerError> {
        let block = self.block_device();
        // O_EXCL of a block device: EBUSY while it is mounted or held, and nobody mounts it while we have it.
        let held = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(O_EXCL)
            .open(&block);
        let held = match held {
            Err(error) if error.raw_os_error() == Some(EBUSY) => return Ok(false),
            held => held.map_err(SteerError::io("open", &block))?,
        };
        // IMPORTANT: when the drive is gone or fails, the block device is removed too, or programs would wait for it for ever.
        let written_out = held.sync_all();
        self.control.stop(self.info.device)?;
        // Not before the stop, or it could be mounted in between; before `delete`, which waits for the last holder.
        drop(held);
        // IMPORTANT: before the join. The thread that rewrites ends by this alone, and a queue that is silent from now
        // on is not stuck.
        self.shared.has_ended.store(true, Ordering::Relaxed);
        // A device whose requests are still mapped cannot be deleted.
        self.device = None;
        self.threads
            .drain(..)
            .for_each(|thread| drop(thread.join()));
        self.control.delete(self.info.device)?;
        ledger::remove(self.info.device);
        // Whoever waits for our end may mount the drive at once.
        if let Some(guard) = &self.guard {
            guard.end();
        }
        written_out.map_err(SteerError::io("write out", &block))?;
        Ok(true)
    }
}

/// Refuses a kernel whose ublk lacks a feature that is always needed; `features` is what [`crate::features`] returns.
///
/// # Errors
/// [`SteerError::OldDriver`], which names it.
pub fn require(features: u64) -> Result<(), SteerError> {
    let needs = [
        (feature::IOCTL_ENCODE, "commands numbered as ioctls"),
        (
            feature::USER_RECOVERY,
            "recovery of a device whose server died",
        ),
        (
            feature::RECOVERY_REISSUE,
            "reissue of what a dead server had not answered",
        ),
    ];
    match needs.into_iter().find(|(bit, _)| features & bit == 0) {
        Some((_, what)) => Err(SteerError::OldDriver { what, features }),
        None => Ok(()),
    }
}

/// The life of a queue's thread.
fn live(make: Make, ready: &Sender<Result<(), SteerError>>, failed: &Sender<SteerError>) {
    let queue = surroundings::flushes_pages()
        .map_err(SteerError::io("become a flusher of pages by", "prctl"))
        .and_then(|()| UblkQueue::new(make));
    match queue {
        Err(error) => drop(ready.send(Err(error))),
        Ok(queue) => {
            let _ = ready.send(Ok(()));
            if let Err(error) = queue.run() {
                let _ = failed.send(error);
            }
        }
    }
}

/// Makes the block device of a drive that has none, and its ledger.
fn make(
    control: &mut Control,
    drive: &mut SteeredDrive,
    options: &ServerOptions,
    features: u64,
) -> Result<(Info, Ledger), SteerError> {
    // First: nobody can mount it between the look at its contents and the start.
    drive.hold()?;
    if !options.accept_contents
        && let Some(what) = drive.contents()?
    {
        let name = drive.title();
        return Err(SteerError::Holds { name, what });
    }
    let info = add(control, drive, options, features)?;
    let ledger = Ledger::create(info.device, &drive.facts())
        .and_then(|ledger| link::write(info.device, drive).map(|()| ledger));
    if ledger.is_err() {
        let _ = control.delete(info.device);
        ledger::remove(info.device);
    }
    ledger.map(|ledger| (info, ledger))
}

fn add(
    control: &mut Control,
    drive: &SteeredDrive,
    options: &ServerOptions,
    features: u64,
) -> Result<Info, SteerError> {
    let abilities = drive.abilities();
    let lends = if options.copy {
        0
    } else {
        features & feature::AUTO_BUFFER
    };
    let info = control.add(Info {
        queues: options.queues,
        depth: options.depth,
        most_bytes: abilities.most_bytes,
        flags: feature::IOCTL_ENCODE | feature::USER_RECOVERY | feature::RECOVERY_REISSUE | lends,
        owner: drive.identity(),
        ..Info::default()
    })?;
    let limits = Parameters {
        block_shift: abilities.block_shift,
        // The kernel rounds the bytes of a request down to whole pages.
        most_bytes: info.most_bytes.min(abilities.most_bytes),
        device_bytes: abilities.bytes,
        volatile_cache: abilities.volatile_cache,
        most_discard_bytes: abilities.most_discard_bytes,
        most_zeroes_bytes: abilities.most_zeroes_bytes,
    };
    let set = control.set_parameters(info.device, &limits);
    if set.is_err() {
        let _ = control.delete(info.device);
    }
    set.map(|()| info)
}

/// The character device; a dead server may still be letting go of it, or its name be about to appear.
fn patient_open(path: &PathBuf) -> Result<File, SteerError> {
    let began = Instant::now();
    loop {
        match OpenOptions::new().read(true).write(true).open(path) {
            Err(_) if began.elapsed() < PATIENCE => thread::sleep(PAUSE),
            result => return result.map_err(SteerError::io("open", path)),
        }
    }
}
