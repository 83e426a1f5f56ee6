//! The choice of processes whose writes are captured.

use std::fs;
use std::path::{Path, PathBuf};

use anabranch_trace::Operation;

use crate::bounded::BoundedMap;
use crate::event::{ImageKey, IoEvent, StackEvent, WriterKind};

/// The usual mount point of control groups.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// The most processes that are remembered. Our choice.
const MAX_PROCESSES: usize = 65536;
/// The most generations of ancestors that are followed. Our choice: no tree of processes is that deep.
const MAX_ANCESTORS: usize = 64;

/// Processes whose writes are captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureFilter {
    /// The process with this id, and all it starts.
    Process(u32),
    /// The processes of a control group and of those below it, by its path in or under `/sys/fs/cgroup`.
    ControlGroup(PathBuf),
}

impl CaptureFilter {
    /// Whether the process or control group exists.
    pub fn exists(&self) -> bool {
        match self {
            CaptureFilter::Process(id) => Path::new("/proc").join(id.to_string()).exists(),
            CaptureFilter::ControlGroup(path) => {
                let path = below_mount(path);
                let is_there = Path::new(CONTROL_GROUPS).join(path).is_dir();
                is_there || processes().any(|id| is_in(id, path) == Some(true))
            }
        }
    }
}

/// Counts of requests that were not captured because their process is not wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Writes of other processes, and of processes that had ended before they could be looked up.
    pub writes: u64,
    /// Bytes of these writes.
    pub written_bytes: u64,
    /// The part of these bytes that the kernel wrote for the file system: its journal and metadata.
    pub kernel_bytes: u64,
    /// Reads, which do not tell their process.
    pub reads: u64,
}

/// A writer whose writes are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// A process that is not wanted.
    Process,
    /// The kernel, for the file system.
    Kernel,
}

/// The processes that are wanted, and those that were looked up already.
#[derive(Debug)]
pub(crate) struct Wanted {
    whose: Vec<CaptureFilter>,
    processes: BoundedMap<ImageKey, bool>,
    left_out: LeftOut,
    /// Number of processes that were gone before they could be looked up.
    gone: u64,
}

impl Wanted {
    pub(crate) fn new(whose: Vec<CaptureFilter>) -> Wanted {
        Wanted {
            whose,
            processes: BoundedMap::new(MAX_PROCESSES),
            left_out: LeftOut::default(),
            gone: 0,
        }
    }

    /// The kind of a writer that is not wanted; `None` if it is wanted. A process is looked up once, and later moves to
    /// other groups are not followed.
    pub(crate) fn stranger(&mut self, stack: &StackEvent) -> Option<Stranger> {
        match stack.kind {
            WriterKind::User => (!self.takes(stack.image)).then_some(Stranger::Process),
            _ => Some(Stranger::Kernel),
        }
    }

    fn takes(&mut self, image: ImageKey) -> bool {
        if let Some(known) = self.processes.get_mut(&image) {
            return *known;
        }
        let id = image.tgid;
        let is_wanted = self.whose.iter().any(|whose| match whose {
            CaptureFilter::Process(wanted) => descends(id, *wanted),
            CaptureFilter::ControlGroup(path) => is_in(id, below_mount(path)) == Some(true),
        });
        if !is_wanted && !Path::new("/proc").join(id.to_string()).exists() {
            self.gone += 1;
        }
        self.processes.insert(image, is_wanted);
        is_wanted
    }

    /// Counts a request that is left out; its kind of writer is `None` where that is not known.
    pub(crate) fn leave_out(
        &mut self,
        event: &IoEvent,
        operation: Operation,
        writer: Option<Stranger>,
    ) {
        if operation == Operation::Read {
            self.left_out.reads += 1;
            return;
        }
        self.left_out.writes += 1;
        self.left_out.written_bytes += event.length_bytes;
        if writer == Some(Stranger::Kernel) {
            self.left_out.kernel_bytes += event.length_bytes;
        }
    }

    pub(crate) fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Sentences on what was left out.
    pub(crate) fn limitations(&self) -> Vec<String> {
        let LeftOut {
            writes,
            written_bytes,
            kernel_bytes,
            reads,
        } = self.left_out;
        let mut all = vec![format!(
            "The trace holds the writes of chosen processes: {writes} writes of others, {written_bytes} bytes, were left \
             out, of which {kernel_bytes} bytes are the file system's own journal and metadata. Discards are everybody's."
        )];
        if reads > 0 {
            all.push(format!(
                "{reads} reads were left out: a read does not tell its process."
            ));
        }
        if self.gone > 0 {
            all.push(format!(
                "{} processes had ended before it could be asked whether they were among the chosen: their writes were \
                 left out.",
                self.gone
            ));
        }
        all
    }
}

/// A control group's path as `/proc/ID/cgroup` has it, without the first slash.
pub(crate) fn below_mount(path: &Path) -> &Path {
    let path = path.strip_prefix(CONTROL_GROUPS).unwrap_or(path);
    path.strip_prefix("/").unwrap_or(path)
}

/// Whether a process is in a control group or below it; `None` if the process is gone.
fn is_in(id: u32, group: &Path) -> Option<bool> {
    let text = fs::read_to_string(format!("/proc/{id}/cgroup")).ok()?;
    Some(text.lines().any(|line| names(line, group)))
}

/// Whether a line of `/proc/ID/cgroup`, `0::/system.slice/a.service`, names a control group or one below it.
/// A group of version 1 may be named with its controllers, as its path below the mount is.
fn names(line: &str, group: &Path) -> bool {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
        return false;
    };
    let path = Path::new(path.trim_start_matches('/'));
    path.starts_with(group) || Path::new(controllers).join(path).starts_with(group)
}

/// Whether a process is `ancestor`, or was started by it or by one that it started.
fn descends(id: u32, ancestor: u32) -> bool {
    let line = std::iter::successors(Some(id), |id| parent(*id));
    line.take(MAX_ANCESTORS).any(|id| id == ancestor)
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may hold anything: what follows the last one is state and parent.
    let rest = stat.rsplit(')').next()?;
    rest.split_whitespace()
        .nth(1)?
        .parse()
        .ok()
        .filter(|id| *id > 0)
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_group_has_what_is_below_it_and_not_what_is_called_alike() {
        let line = "0::/system.slice/mysql.service/worker";
        let is_named = |group: &str| names(line, below_mount(Path::new(group)));
        assert!(is_named("/sys/fs/cgroup/system.slice/mysql.service"));
        assert!(is_named("/system.slice"));
        assert!(is_named("system.slice/mysql.service/worker"));
        assert!(!is_named("system.slice/mysql"));
        assert!(!is_named("mysql.service"));
        let old = "4:memory:/docker/0123";
        assert!(names(
            old,
            below_mount(Path::new("/sys/fs/cgroup/memory/docker"))
        ));
        assert!(names(old, below_mount(Path::new("/docker/0123"))));
        assert!(!names("nonsense", Path::new("nonsense")));
    }

    #[test]
    fn a_process_descends_from_itself_and_from_who_started_it() {
        let own = std::process::id();
        assert!(descends(own, own));
        assert!(descends(own, std::os::unix::process::parent_id()));
        assert!(!descends(std::os::unix::process::parent_id(), own));
        assert!(!descends(u32::MAX, own));
    }

    #[test]
    fn only_what_exists_can_be_wanted() {
        assert!(CaptureFilter::Process(std::process::id()).exists());
        assert!(!CaptureFilter::Process(u32::MAX).exists());
        assert!(!CaptureFilter::ControlGroup("no/such/group".into()).exists());
    }
}
