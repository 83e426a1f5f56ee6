//! The names a foreign trace gives: who wrote, which file, which volume.

use std::collections::HashMap;
use std::hash::Hasher as _;

use ahash::RandomState;
use fnv::FnvHasher;

use super::parse_error::ParseError;
use crate::capture::{Capture, File, Placement, Tables, placed_role};
use crate::context::{Context, ContextKind, Frame};
use crate::io::{ContextId, FileId};

/// Bytes of names that are kept of each kind, so that no trace can fill the memory with them. Our
/// choice; the largest public trace names some thousands of volumes.
const MOST_NAME_BYTES: usize = 16 << 20;

/// Processes whose names are kept. Our choice: twice what Linux numbers by default.
const MOST_PROCESSES: usize = 1 << 16;

/// Bytes that a name costs beside its own, roughly.
const NAME_COST_BYTES: usize = 64;

/// Numbers given to names in the order of their first appearance.
#[derive(Debug)]
struct Numbers {
    what: &'static str,
    numbers: HashMap<Box<[u8]>, u32, RandomState>,
    /// The name looked up last and its number, which is mostly asked for again.
    last: Vec<u8>,
    last_number: Option<u32>,
    left_bytes: usize,
}

impl Numbers {
    fn new(what: &'static str) -> Numbers {
        Numbers {
            what,
            numbers: HashMap::default(),
            last: Vec::new(),
            last_number: None,
            left_bytes: MOST_NAME_BYTES,
        }
    }

    /// A name's number, and whether it is new.
    fn number(&mut self, name: &[u8]) -> Result<(u32, bool), ParseError> {
        if let Some(number) = self.last_number
            && self.last == name
        {
            return Ok((number, false));
        }
        let (number, new) = match self.numbers.get(name) {
            Some(number) => (*number, false),
            None => (self.add(name)?, true),
        };
        self.last.clear();
        self.last.extend_from_slice(name);
        self.last_number = Some(number);
        Ok((number, new))
    }

    fn add(&mut self, name: &[u8]) -> Result<u32, ParseError> {
        let number = u32::try_from(self.numbers.len()).map_err(|_| self.full())?;
        self.charge(name.len() + NAME_COST_BYTES)?;
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// Takes bytes from those that names of this kind may have.
    fn charge(&mut self, bytes: usize) -> Result<(), ParseError> {
        let left_bytes = self.left_bytes.checked_sub(bytes);
        self.left_bytes = left_bytes.ok_or_else(|| self.full())?;
        Ok(())
    }

    fn full(&self) -> ParseError {
        ParseError::TooManyNames {
            what: self.what,
            most_bytes: MOST_NAME_BYTES,
        }
    }
}

/// Every name of an import so far.
#[derive(Debug)]
pub(super) struct Names {
    commands: Numbers,
    /// The context of each command, by the command's number.
    command_contexts: Vec<ContextId>,
    roles: Numbers,
    /// The context of each role, by the role's number.
    role_contexts: Vec<ContextId>,
    contexts: Vec<Context>,
    paths: Numbers,
    /// The context of each call path, by the path's number.
    path_contexts: Vec<ContextId>,
    placements: Vec<Placement>,
    processes: HashMap<u32, ContextId, RandomState>,
    file_numbers: Numbers,
    files: Vec<File>,
    volume_numbers: Numbers,
    volumes: Vec<String>,
    /// The device looked up last, which is mostly asked for again.
    last_device: Option<((u64, u64), u32)>,
}

impl Names {
    pub(super) fn new() -> Names {
        let Tables {
            contexts, files, ..
        } = Tables::new(Capture::default());
        Names {
            commands: Numbers::new("command"),
            command_contexts: Vec::new(),
            roles: Numbers::new("role"),
            role_contexts: Vec::new(),
            contexts,
            paths: Numbers::new("call path"),
            path_contexts: Vec::new(),
            placements: Vec::new(),
            processes: HashMap::default(),
            file_numbers: Numbers::new("file"),
            files,
            volume_numbers: Numbers::new("volume"),
            volumes: Vec::new(),
            last_device: None,
        }
    }

    /// The context of a command's name, as the kernel knows it. The name is all that such a trace
    /// tells of a writer, so the context is a role without a call path; see [`Context`].
    pub(super) fn context(&mut self, command: &[u8]) -> Result<ContextId, ParseError> {
        if matches!(command, b"" | b"0" | b"(null)") {
            return Ok(ContextId::UNKNOWN);
        }
        let (number, new) = self.commands.number(command)?;
        if new {
            let context = self.role(command)?;
            self.command_contexts.push(context);
        }
        let context = self.command_contexts.get(number as usize);
        Ok(context.copied().unwrap_or(ContextId::UNKNOWN))
    }

    /// The context of a command's writes to one placement that it names itself.
    pub(super) fn placed(
        &mut self,
        command: &[u8],
        placement: u16,
    ) -> Result<ContextId, ParseError> {
        let text = String::from_utf8_lossy(command);
        let role = placed_role(&role(&text), placement);
        let before = self.contexts.len();
        let id = self.add(kind(&text), role)?;
        if self.contexts.len() > before {
            let context = id.0;
            self.placements.push(Placement { context, placement });
        }
        Ok(id)
    }

    /// The context of a call path within a context that has none.
    pub(super) fn call_path(
        &mut self,
        context: ContextId,
        path: CallPath,
    ) -> Result<ContextId, ParseError> {
        let mut hash = FnvHasher::default();
        let base = self.contexts.get(context.0 as usize);
        let base = base.cloned().unwrap_or_else(Context::unknown);
        hash.write(&base.signature.to_le_bytes());
        path.hash(&mut hash);
        let signature = hash.finish();
        let (number, new) = self.paths.number(&signature.to_le_bytes())?;
        if new {
            let bytes = path.frames.iter().map(|frame| {
                frame.object.len() + frame.symbol.as_ref().map_or(0, String::len) + NAME_COST_BYTES
            });
            self.paths.charge(bytes.sum())?;
            let id = self.next_context()?;
            // A path without a name is an application's: only programs have frames that are kept.
            let kind = match base.kind {
                ContextKind::Unknown => ContextKind::Application,
                known => known,
            };
            self.contexts.push(Context {
                frames: path.frames,
                ..Context::new(id, signature, kind, base.role)
            });
            let placement = self.placements.iter().find(|one| one.context == context.0);
            let placement = placement.map(|one| one.placement);
            let context = id.0;
            self.placements
                .extend(placement.map(|placement| Placement { context, placement }));
            self.path_contexts.push(id);
        }
        let context = self.path_contexts.get(number as usize);
        Ok(context.copied().unwrap_or(ContextId::UNKNOWN))
    }

    fn role(&mut self, command: &[u8]) -> Result<ContextId, ParseError> {
        let text = String::from_utf8_lossy(command);
        self.add(kind(&text), role(&text))
    }

    fn add(&mut self, kind: ContextKind, role: String) -> Result<ContextId, ParseError> {
        let key = [&[kind.number()], role.as_bytes()].concat();
        let (number, new) = self.roles.number(&key)?;
        if new {
            let id = self.next_context()?;
            self.contexts
                .push(Context::new(id, signature(kind, &role), kind, role));
            self.role_contexts.push(id);
        }
        let context = self.role_contexts.get(number as usize);
        Ok(context.copied().unwrap_or(ContextId::UNKNOWN))
    }

    fn next_context(&self) -> Result<ContextId, ParseError> {
        let number = u32::try_from(self.contexts.len());
        number.map(ContextId).map_err(|_| self.roles.full())
    }

    /// Notes the name of a process.
    pub(super) fn name_process(&mut self, process: u32, command: &[u8]) -> Result<(), ParseError> {
        let context = self.context(command)?;
        if self.processes.len() < MOST_PROCESSES || self.processes.contains_key(&process) {
            self.processes.insert(process, context);
        }
        Ok(())
    }

    /// The context of a process, by the name noted last.
    pub(super) fn process(&self, process: u32) -> ContextId {
        let context = self.processes.get(&process);
        context.copied().unwrap_or(ContextId::UNKNOWN)
    }

    /// The number of a file, and of the addresses within it.
    pub(super) fn file(&mut self, path: &[u8]) -> Result<(FileId, u32), ParseError> {
        let (number, new) = self.file_numbers.number(path)?;
        if new {
            let text = String::from_utf8_lossy(path);
            let name = text.rsplit('/').next().unwrap_or(&text);
            self.files.push(File {
                name: name.into(),
                ..File::default()
            });
            self.volumes.push(text.into_owned());
        }
        // Row 0 is "no file".
        Ok((FileId(number.saturating_add(1)), number))
    }

    /// The number of a volume that is known by a name.
    pub(super) fn volume(
        &mut self,
        key: &[u8],
        name: impl FnOnce() -> String,
    ) -> Result<u32, ParseError> {
        let (number, new) = self.volume_numbers.number(key)?;
        if new {
            self.volumes.push(name());
        }
        Ok(number)
    }

    /// The volume of a block device's numbers, named as Linux block traces name it: `8,0`.
    pub(super) fn device(&mut self, major: u64, minor: u64) -> Result<u32, ParseError> {
        if let Some((numbers, volume)) = self.last_device
            && numbers == (major, minor)
        {
            return Ok(volume);
        }
        let volume = self.device_text(format!("{major},{minor}").as_bytes())?;
        self.last_device = Some(((major, minor), volume));
        Ok(volume)
    }

    /// The volume of a block device whose numbers are text already.
    pub(super) fn device_text(&mut self, device: &[u8]) -> Result<u32, ParseError> {
        self.volume(device, || String::from_utf8_lossy(device).into_owned())
    }

    /// The names of the volumes, by number; empty where the trace numbers them itself.
    pub(super) fn volumes(&self) -> &[String] {
        &self.volumes
    }

    /// The tables of these names.
    pub(super) fn tables(&self, capture: Capture) -> Tables {
        Tables {
            contexts: self.contexts.clone(),
            files: self.files.clone(),
            capture: Capture {
                placements: self.placements.clone(),
                ..capture
            },
        }
    }
}

/// A call path of a program as a text tells it, innermost frame first.
#[derive(Debug, Clone, Default)]
pub(super) struct CallPath {
    pub(super) frames: Vec<Frame>,
    /// A number for each frame, the same in every run, that tells it from others of its function.
    distinctions: Vec<u64>,
}

impl CallPath {
    pub(super) fn push(&mut self, frame: Frame, distinction: u64) {
        self.frames.push(frame);
        self.distinctions.push(distinction);
    }

    /// Adds to a hash what is the same in every run.
    fn hash(&self, hash: &mut FnvHasher) {
        for (frame, distinction) in self.frames.iter().zip(&self.distinctions) {
            hash.write(frame.object.as_bytes());
            hash.write(&[0]);
            hash.write(frame.symbol.as_deref().unwrap_or_default().as_bytes());
            hash.write(&[0]);
            hash.write(&distinction.to_le_bytes());
        }
    }
}

/// The role that a thread of this name plays: the name without its digits.
fn role(command: &str) -> String {
    command.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The kind of writer that a command's name stands for. Our choice of names: the journal of ext3
/// and ext4, and the kernel's threads that write for others.
pub(super) fn kind(command: &str) -> ContextKind {
    const JOURNALS: [&str; 2] = ["jbd2/", "kjournald"];
    const THREADS: [&str; 5] = ["kworker/", "flush-", "pdflush", "kswapd", "mmcqd/"];
    const NUMBERED_THREADS: [&str; 2] = ["md", "loop"];
    let numbered = |name: &&str| {
        let rest = command.strip_prefix(*name);
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    if JOURNALS.iter().any(|name| command.starts_with(name)) {
        ContextKind::Journal
    } else if THREADS.iter().any(|name| command.starts_with(name))
        || NUMBERED_THREADS.iter().any(numbered)
    {
        ContextKind::Kernel
    } else {
        ContextKind::Application
    }
}

/// The signature of a role without a call path: 64-bit FNV-1a over the kind's number, the role and
/// a zero byte, as the probe makes it of the same writer.
fn signature(kind: ContextKind, role: &str) -> u64 {
    let mut hash = FnvHasher::default();
    hash.write(&[kind.number()]);
    hash.write(role.as_bytes());
    hash.write(&[0]);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_role_are_one_context() {
        let mut names = Names::new();
        let ids: Vec<u32> = [
            "rocksdb:low0",
            "rocksdb:low17",
            "jbd2/sda1-8",
            "rocksdb:low0",
            "",
        ]
        .map(|command| names.context(command.as_bytes()).unwrap().0)
        .into();
        assert_eq!(ids, [1, 1, 2, 1, 0]);
        let tables = names.tables(Capture::default());
        assert_eq!(tables.fault(), None);
        let rows: Vec<_> = tables
            .contexts
            .iter()
            .map(|row| (row.kind, row.role.as_str()))
            .collect();
        assert_eq!(
            rows[1..],
            [
                (ContextKind::Application, "rocksdb:low"),
                (ContextKind::Journal, "jbd/sda-")
            ]
        );
    }

    #[test]
    fn kernel_threads_are_told_by_their_names() {
        for (command, expected) in [
            ("kworker/1:1H", ContextKind::Kernel),
            ("flush-8:0", ContextKind::Kernel),
            ("md0_raid1", ContextKind::Kernel),
            ("mdadm", ContextKind::Application),
            ("kjournald", ContextKind::Journal),
            ("loopback", ContextKind::Application),
            ("loop7", ContextKind::Kernel),
        ] {
            assert_eq!(kind(command), expected, "{command}");
        }
    }

    #[test]
    fn names_without_end_are_refused_before_they_fill_the_memory() {
        let mut names = Names::new();
        let mut name = vec![b'x'; 64 << 10];
        let refused = (0_u32..).find(|round| {
            name[..4].copy_from_slice(&round.to_le_bytes());
            names.file(&name).is_err()
        });
        assert!(refused.is_some_and(|round| round <= 256));
    }
}
