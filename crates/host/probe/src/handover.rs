//! The handover: it tells a server of a block device who wrote the pages it is asked to store.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use anabranch_trace::{Context, ContextId, ContextKind, File, Tenant};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::assembler::Assembler;
use crate::context_table::FoldLimits;
use crate::device_number::device_number;
use crate::error::ProbeError;
use crate::event::{Event, MalformedRecord};
use crate::file_table::ReplacedRows;
use crate::kernel_side::{Form, KernelSide, Settings};
use crate::page_writer::{Answer, PageWriter};
use crate::support;
use crate::tenants::{TenantGroup, Tenants};
use crate::window::{MAX_SOURCES, Source, Window};

/// Options of a handover.
#[derive(Debug, Clone)]
pub struct HandoverOptions {
    /// The block device that is served, a whole disk.
    pub device: PathBuf,
    /// Folding of stacks into contexts.
    pub fold: FoldLimits,
    /// A directory below a mounted bpffs that keeps maps and links: a server that takes over with the same directory
    /// knows the writers of pages on their way. Without one, all of it ends with this process.
    pub pins: Option<PathBuf>,
    /// The control groups that are tenants. If there are any, a page is its writer's tenant's; else it is that of the
    /// file's directory.
    pub tenants: Vec<TenantGroup>,
    /// As [`ProbeOptions::generations`](crate::Options::generations).
    pub generations: bool,
}

/// Counts of pages by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandoverCounts {
    /// Pages that the kernel side saw on their way since the maps were made.
    pub filled: u64,
    /// The part of `filled` that gave way to another page before it was served.
    pub evicted: u64,
    /// Questions answered with a writer.
    pub found: u64,
    /// The part of `found` that threads of the kernel wrote, such as a loop device's: who wrote above them is not seen.
    pub by_kernel: u64,
    /// Questions about pages that nobody was seen to write.
    pub missed: u64,
    /// Questions whose writer was seen, but not known in time or no longer known: the context is the unknown one.
    pub nameless: u64,
    /// Requests, and pages made dirty, on which the kernel skipped the programs since this process attached them.
    pub skipped: u64,
    /// Requests that another program than the first took: the kernel had skipped that one, or its thread was preempted
    /// or moved in between.
    pub late: u64,
}

/// The last answer given for a number.
#[derive(Debug, Clone, Copy)]
struct LastAnswer {
    number: u32,
    writer: PageWriter,
    /// Whether the answer stays until the file is renamed.
    settled: bool,
}

/// Block device pages on their way, and their writers. All methods may be called from any thread. [`Handover::done`]
/// never waits; [`Handover::writer_of`] waits at most a tenth of a second, once for each writer, until
/// [`Handover::poll`] has received it.
///
/// The kernel side notes a page's writer when the request enters the block layer, before merges and splits, in a
/// window of 2^20 pages; with all its maps it takes 27 MiB whatever the drive's size, and some 64 KiB for each processor
/// beyond two. Two pages that want the same place do not mix: one of them is counted as evicted, and has no writer.
#[derive(Debug)]
pub struct Handover {
    kernel_side: KernelSide,
    window: Window,
    stacks: MapHandle,
    names: MapHandle,
    assembler: Mutex<Assembler>,
    told: Vec<RwLock<Option<LastAnswer>>>,
    replaced: Arc<ReplacedRows>,
    /// Whether the tables of the process before this one are still to be read.
    relearn: AtomicBool,
    /// The writers that were asked for and are not known. What the ring does not bring, [`Handover::poll`] looks for in
    /// the tables: the programs of a process before this one run on for a while, and tell their own ring.
    wanted: Mutex<BTreeSet<u64>>,
    /// Whether somebody has waited for [`Handover::poll`] in vain since it last ran.
    is_late: AtomicBool,
    found: AtomicU64,
    by_kernel: AtomicU64,
    missed: AtomicU64,
    nameless: AtomicU64,
    /// Resources that others than the first program had taken before this process.
    late_before: u64,
    pins: Option<PathBuf>,
}

impl Handover {
    /// Begins to note who writes to `options.device`, or continues the work of an ended process that had the same
    /// [`HandoverOptions::pins`].
    ///
    /// # Errors
    /// As for [`Probe::attach`](crate::Probe::attach), and when the directory of pins cannot be made or used.
    pub fn attach(options: &HandoverOptions) -> Result<Handover, ProbeError> {
        let support = support::check()?;
        if let Some(pins) = &options.pins {
            make_pins(pins)?;
        }
        let settings = Settings {
            device: device_number(&options.device)?,
            reads: false,
            hints: true,
            groups: !options.tenants.is_empty(),
            generations: options.generations,
            ring_bytes: RING_BYTES,
            passed: false,
            form: Form::Handover {
                pins: options.pins.clone(),
            },
        };
        let tenants = Tenants::of(&options.tenants)?;
        let assembler = Assembler::new(options.fold).shared_by(tenants);
        let kernel_side = KernelSide::attach(&settings, &support).or_else(|error| {
            // Another version's pins, of another form: begin anew.
            let pins = options.pins.as_deref().ok_or(error)?;
            remove_pins(pins)?;
            make_pins(pins)?;
            KernelSide::attach(&settings, &support)
        })?;
        let maps = ["window", "sources", "tallies"].map(|name| kernel_side.map(name));
        let [window, sources, tallies] = maps;
        let window =
            Window::map(&window?, &sources?, &tallies?).map_err(|error| ProbeError::Read {
                path: PathBuf::from("window"),
                source: error.into(),
            })?;
        Ok(Handover {
            late_before: window.tally().late,
            window,
            stacks: kernel_side.map("stacks")?,
            names: kernel_side.map("names")?,
            kernel_side,
            replaced: assembler.replaced_rows(),
            assembler: Mutex::new(assembler),
            told: (0..MAX_SOURCES).map(|_| RwLock::new(None)).collect(),
            relearn: AtomicBool::new(true),
            wanted: Mutex::default(),
            is_late: AtomicBool::new(false),
            found: AtomicU64::new(0),
            by_kernel: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            nameless: AtomicU64::new(0),
            pins: options.pins.clone(),
        })
    }

    /// The writer of the data on its way to a page of 4 KiB, counted from the device's start; `None` if nobody was
    /// seen. The numbers of contexts and files never change their meaning.
    pub fn writer_of(&self, page: u64) -> Option<PageWriter> {
        let number = self.window.number(page);
        let answer = number.map(|number| {
            let source = self.window.source(number)?;
            self.resolve(number, source)
        });
        let count = match answer {
            None => &self.missed,
            Some(Some(writer)) if writer.context != ContextId::UNKNOWN => &self.found,
            Some(_) => &self.nameless,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let writer = answer.flatten();
        if writer.is_some_and(|writer| writer.is_by_kernel) {
            self.by_kernel.fetch_add(1, Ordering::Relaxed);
        }
        writer
    }

    /// Forgets the writers of `pages` pages from `first_page` on, whose request is about to be acknowledged. IMPORTANT:
    /// do not call it for a request that the device will be asked for again, since its writers would then be unknown.
    pub fn done(&self, first_page: u64, pages: u64) {
        for page in first_page..first_page.saturating_add(pages) {
            self.window.clear(page);
        }
    }

    /// Receives what the kernel side tells of programs; waits at most `timeout` for it. One thread must call it again
    /// and again: a program's call paths are known only if it is read while it lives. After a take-over, the tables of
    /// the earlier process are known once the first call has returned.
    ///
    /// # Errors
    /// When the ring cannot be read, or holds records of an unknown layout.
    pub fn poll(&self, timeout: Duration) -> Result<(), ProbeError> {
        if self.relearn.swap(false, Ordering::AcqRel) {
            self.learn(self.stacks.keys())?;
        }
        self.receive(timeout)?;
        let wanted = std::mem::take(&mut *self.wanted());
        if !wanted.is_empty() {
            // They may have come since.
            self.receive(Duration::ZERO)?;
            let missing = |writer: &u64| !self.assembler().knows_writer(*writer);
            let missing = wanted.into_iter().filter(missing);
            self.learn(missing.map(|writer| writer.to_ne_bytes().to_vec()))?;
        }
        self.is_late.store(false, Ordering::Release);
        Ok(())
    }

    fn receive(&self, timeout: Duration) -> Result<(), ProbeError> {
        let mut events = self.kernel_side.receive(timeout)?.into_iter();
        events.try_for_each(|event| self.accept(event))
    }

    /// Takes what the table of writers has of these. The kernel side asks once where a program has code: if it had no
    /// answer yet, its question went to the ring of a process before this one.
    fn learn(&self, keys: impl Iterator<Item = Vec<u8>>) -> Result<(), ProbeError> {
        for key in keys {
            let Ok(Some(record)) = self.stacks.lookup(&key, MapFlags::ANY) else {
                continue;
            };
            let event = Event::decode(&record);
            let early = match &event {
                Ok(Event::Stack(stack)) if !stack.known && stack.image.tgid != 0 => {
                    Some(stack.image)
                }
                _ => None,
            };
            self.accept(event)?;
            if let Some(image) = early {
                let code = Vec::new();
                self.accept(Ok(Event::Process { image, code }))?;
            }
        }
        Ok(())
    }

    fn accept(&self, event: Result<Event, MalformedRecord>) -> Result<(), ProbeError> {
        let reply = event.and_then(|event| self.assembler().accept(event, &mut |_| ()));
        if let Some(reply) = reply.map_err(|_| ProbeError::MalformedRecord)? {
            self.kernel_side.send_reply(&reply);
        }
        Ok(())
    }

    /// Counts of pages so far.
    pub fn counts(&self) -> HandoverCounts {
        let tally = self.window.tally();
        let late = if self.kernel_side.has_late() {
            tally.late.saturating_sub(self.late_before)
        } else {
            0
        };
        let skipped = self.kernel_side.skipped();
        HandoverCounts {
            filled: tally.filled,
            evicted: tally.evicted,
            found: self.found.load(Ordering::Relaxed),
            by_kernel: self.by_kernel.load(Ordering::Relaxed),
            missed: self.missed.load(Ordering::Relaxed),
            nameless: self.nameless.load(Ordering::Relaxed),
            skipped: skipped.requests.saturating_sub(late) + skipped.dirty_pages,
            late,
        }
    }

    /// The tenants by control group so far.
    pub fn tenants(&self) -> Vec<Tenant> {
        self.assembler().tenants().to_vec()
    }

    /// Sentences on tenants that wrote nothing so far, on groups that were not found, on files of programs that could
    /// not be read, and on threads of the kernel that wrote for programs.
    pub fn limitations(&self) -> Vec<String> {
        let assembler = self.assembler();
        let tenants = assembler.tenant_limitations().into_iter();
        let threads = kernel_threads(|| assembler.contexts_from(0), &self.counts());
        tenants.chain(assembler.unread()).chain(threads).collect()
    }

    /// Bytes of memory that the kernel holds for all maps.
    pub fn kernel_bytes(&self) -> u64 {
        self.kernel_side.map_bytes()
    }

    /// Ends the handover for good: nothing stays in the directory of pins.
    ///
    /// # Errors
    /// When the directory cannot be removed.
    pub fn end(self) -> Result<(), ProbeError> {
        let pins = self.pins.clone();
        drop(self);
        pins.map_or(Ok(()), |pins| remove_pins(&pins))
    }

    fn assembler(&self) -> MutexGuard<'_, Assembler> {
        self.assembler
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The new rows of the tables: contexts (without symbols) and files from these rows on. Rows are only ever added.
    /// `None` while another thread is reading a program.
    pub fn news(&self, contexts: usize, files: usize) -> Option<(Vec<Context>, Vec<File>)> {
        let assembler = self.try_assembler()?;
        let files = assembler.files_from(files).to_vec();
        Some((assembler.contexts_from(contexts), files))
    }

    fn try_assembler(&self) -> Option<MutexGuard<'_, Assembler>> {
        match self.assembler.try_lock() {
            Ok(assembler) => Some(assembler),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the meaning of a number. While another thread inspects a program, which takes time, what was answered
    /// before is answered again; who is new is waited for, but no longer than [`PATIENCE`]: the program that is looked at
    /// may itself wait for this very device.
    fn resolve(&self, number: u32, source: Source) -> Option<PageWriter> {
        let place = &self.told[number as usize % MAX_SOURCES];
        let told = *place.read().unwrap_or_else(PoisonError::into_inner);
        let told = told.filter(|told| told.number == number);
        if let Some(told) = told
            && told.settled
            && !self.replaced.contains(told.writer.file)
        {
            return Some(told.writer);
        }
        let until = Instant::now() + PATIENCE;
        let answer = loop {
            let answer = self
                .try_assembler()
                .map(|mut assembler| self.ask(&mut assembler, source));
            let is_new = answer.is_none_or(|answer| answer.is_awaited);
            if !is_new || told.is_some() || self.is_late.load(Ordering::Acquire) {
                break answer;
            }
            if Instant::now() >= until {
                self.is_late.store(true, Ordering::Release);
                break answer;
            }
            thread::sleep(PAUSE);
        };
        let Some(answer) = answer else {
            return told.map(|told| told.writer);
        };
        *place.write().unwrap_or_else(PoisonError::into_inner) = Some(LastAnswer {
            number,
            writer: answer.writer,
            settled: answer.is_settled,
        });
        Some(answer.writer)
    }

    /// Asks the tables. A file's name may be in the kernel side's maps only; a writer's call path comes by `poll`: to
    /// look at a program may take long, and a program that waits for this very device would make it wait.
    fn ask(&self, assembler: &mut Assembler, source: Source) -> Answer {
        if !assembler.knows_file(source.file) {
            let name = self.names.lookup(&source.file.to_bytes(), MapFlags::ANY);
            let event = name.ok().flatten().map(|record| Event::decode(&record));
            if let Some(Ok(event)) = event {
                let _ = assembler.accept(event, &mut |_| ());
            }
        }
        let answer = assembler.answer(&source);
        if answer.is_awaited {
            let mut wanted = self.wanted();
            if wanted.len() < MAX_SOURCES {
                wanted.insert(source.writer);
            }
        }
        answer
    }

    fn wanted(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The longest that the first request of a writer waits until the writer is known. Our choice: reading a program takes
/// some milliseconds.
const PATIENCE: Duration = Duration::from_millis(100);
/// The time between two questions meanwhile. Our choice.
const PAUSE: Duration = Duration::from_micros(200);

/// Bytes of the ring, which carries stacks and names only, each once. Our choice.
const RING_BYTES: u32 = 1 << 20;

/// A sentence on what threads of the kernel wrote, from one page in a hundred on (our choice). The program behind them is
/// not seen.
fn kernel_threads(
    contexts: impl FnOnce() -> Vec<Context>,
    counts: &HandoverCounts,
) -> Option<String> {
    if counts.by_kernel == 0 || counts.by_kernel * 100 < counts.found {
        return None;
    }
    let contexts = contexts();
    let threads = contexts
        .iter()
        .filter(|context| context.kind == ContextKind::Kernel);
    let names: BTreeSet<&str> = threads.map(|context| context.role.as_str()).collect();
    Some(format!(
        "{:.1} % of the pages were written by threads of the kernel ({}): which program wrote is not seen behind them",
        100.0 * counts.by_kernel as f64 / counts.found as f64,
        names.into_iter().collect::<Vec<_>>().join(", ")
    ))
}

fn make_pins(pins: &Path) -> Result<(), ProbeError> {
    fs::create_dir_all(pins).map_err(|source| ProbeError::Read {
        path: pins.to_owned(),
        source,
    })
}

/// Removes what a handover keeps in a directory of pins, and so ends the handover.
fn remove_pins(pins: &Path) -> Result<(), ProbeError> {
    fs::remove_dir_all(pins).map_err(|source| ProbeError::Read {
        path: pins.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(roles: &[(ContextKind, &str)], found: u64, by_kernel: u64) -> Option<String> {
        let rows = roles.iter().enumerate();
        let contexts: Vec<Context> = rows
            .map(|(row, &(kind, role))| Context::new(ContextId(row as u32), 0, kind, role))
            .collect();
        let counts = HandoverCounts {
            found,
            by_kernel,
            ..HandoverCounts::default()
        };
        kernel_threads(|| contexts, &counts)
    }

    #[test]
    fn what_kernel_threads_wrote_is_told_with_its_share() {
        let roles = [
            (ContextKind::Application, "mysqld"),
            (ContextKind::Kernel, "md_raid"),
            (ContextKind::Kernel, "kworker/u:"),
            (ContextKind::Metadata, "kworker"),
        ];
        let words = sentence(&roles, 800, 100).unwrap();
        assert!(words.starts_with("12.5 % of the pages"), "{words}");
        assert!(words.contains("(kworker/u:, md_raid)"), "{words}");
    }

    #[test]
    fn less_than_a_hundredth_is_not_told() {
        let roles = [(ContextKind::Kernel, "kworker/u:")];
        assert!(sentence(&roles, 100, 1).is_some());
        assert_eq!(sentence(&roles, 101, 1), None);
        assert_eq!(sentence(&roles, 0, 0), None);
    }
}
