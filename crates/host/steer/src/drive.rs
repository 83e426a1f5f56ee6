//! The drive that is steered: its identity, its kind of placement, and exclusive access to it.

mod disk;
mod identity;
mod shape;

pub(crate) use disk::sequence;
pub(crate) use identity::identity_of;

pub use shape::Shape;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anabranch_counters::DriveIdentity;
use anabranch_nvme_host::{
    Namespace, Written, byte, contents, counts, neighbours, text, usage, written,
};
use nix::libc::{O_DIRECT, O_EXCL};

use crate::error::SteerError;
use crate::retry::Controllers;
use crate::take_over::{Counter, Facts};
use identity::{identity, unique};

/// The largest request, however much more the drive takes (our choice): a block device of ublk has at most 128 segments,
/// which may be single pages.
const MOST_BYTES: u32 = 128 * 4096;

/// The longest Deallocate (our choice; one range could name 2^32 blocks).
const MOST_DISCARD_BYTES: u64 = 1 << 30;

/// The longest Write Zeroes: its count of blocks has 16 bits, and counts from 0.
pub const MOST_ZEROED_BLOCKS: u64 = 1 << 16;

/// The kind of directive by which a drive takes placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directive {
    /// Flexible Data Placement: DTYPE 2, a placement identifier.
    Placement,
    /// The Streams Directive: DTYPE 1, a stream identifier.
    Streams,
}

impl Directive {
    /// The directive type of a write command.
    pub fn kind(self) -> u8 {
        match self {
            Directive::Placement => 2,
            Directive::Streams => 1,
        }
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Directive::Placement => "fdp",
            Directive::Streams => "streams",
        }
    }
}

/// Limits and abilities of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Its logical block is 1 << this many bytes.
    pub block_shift: u8,
    /// Its size.
    pub bytes: u64,
    /// Bytes of the largest read or write.
    pub most_bytes: u32,
    /// Whether it has a cache that forgets when the power goes.
    pub volatile_cache: bool,
    /// Bytes of the largest Deallocate; 0 where it takes none.
    pub most_discard_bytes: u64,
    /// Bytes of the largest Write Zeroes; 0 where it takes none.
    pub most_zeroes_bytes: u64,
}

/// An open drive.
#[derive(Debug)]
pub struct SteeredDrive {
    namespace: Namespace,
    block: PathBuf,
    /// Held exclusively for as long as the drive is steered.
    held: Option<File>,
    model: String,
    serial: String,
    abilities: Abilities,
    directive: Directive,
    handles: Vec<u16>,
    /// The properties that decide in which logs its writes are counted.
    counted: DriveIdentity,
    endurance_group: u16,
    unit_bytes: Option<u64>,
    reclaim_groups: u32,
    queue: PathBuf,
    /// A hash of its EUI-64, NGUID and UUID; 0 where it has none.
    unique: u64,
}

impl SteeredDrive {
    /// Opens `/dev/ngXnY` or `/dev/nvmeXnY`, or a link to one. Of a drive with the Streams Directive, streams are on from here.
    ///
    /// # Errors
    /// When it is no NVMe namespace with FDP or streams.
    pub fn open(path: &Path) -> Result<SteeredDrive, SteerError> {
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        let plain = name.replacen("ng", "nvme", 1);
        let character = plain.replacen("nvme", "ng", 1);
        if !plain.starts_with("nvme") {
            let words = format!("{}: name an NVMe namespace, as /dev/ng0n1", path.display());
            return Err(SteerError::Unfit(words));
        }
        let namespace = Namespace::open(&path.with_file_name(&character))?;
        let block = path.with_file_name(&plain);
        let controller = namespace.identify_controller()?;
        let described = namespace.identify_namespace()?;
        let model = text(&controller, 24, 40);
        let serial = text(&controller, 4, 20);
        let title = format!("{} ({model}, serial number {serial})", path.display());
        let abilities = abilities(&controller, &described, &block_queue(&plain), &title)?;
        let endurance_group = u16::from_le_bytes([byte(&described, 102), byte(&described, 103)]);
        let (directive, handles) = placement(&namespace, &controller, &title)?;
        let configuration = match directive {
            Directive::Placement => namespace.configuration(endurance_group).ok().flatten(),
            Directive::Streams => None,
        };
        let unique = unique(&described, &namespace.identifiers()?);
        Ok(SteeredDrive {
            unique,
            namespace,
            block,
            held: None,
            model,
            serial,
            abilities,
            directive,
            handles,
            counted: DriveIdentity {
                vendor: u16::from_le_bytes([byte(&controller, 0), byte(&controller, 1)]),
                has_fdp: directive == Directive::Placement,
                endurance_group,
            },
            endurance_group,
            unit_bytes: configuration.as_ref().and_then(|one| one.unit_bytes()),
            reclaim_groups: configuration.map_or(1, |one| one.groups()),
            queue: block_queue(&plain),
        })
    }

    /// Takes the drive for ourselves: nobody can mount it, or claim it otherwise, until this value is dropped. Other
    /// namespaces and drives are not touched.
    pub(crate) fn hold(&mut self) -> Result<(), SteerError> {
        if disk::is_read_only(&self.disk()) {
            let words = format!(
                "{} is set read-only, and a block device in front of it would not be: `blockdev --setrw {}` lets it be \
                 written",
                self.title(),
                self.block.display()
            );
            return Err(SteerError::Unfit(words));
        }
        self.held = Some(hold(&self.block, &self.title())?);
        Ok(())
    }

    /// The block device, held.
    pub(crate) fn held(&self) -> Option<&File> {
        self.held.as_ref()
    }

    fn disk(&self) -> PathBuf {
        self.queue.with_file_name("")
    }

    /// The facts on which a block device in front of it rests.
    pub(crate) fn facts(&self) -> Facts {
        let disks: Vec<PathBuf> = paths(&self.queue)
            .iter()
            .map(|queue| queue.with_file_name(""))
            .collect();
        Facts {
            unique: self.unique,
            bytes: self.abilities.bytes,
            block_shift: self.abilities.block_shift,
            most_bytes: self.abilities.most_bytes,
            volatile_cache: self.abilities.volatile_cache,
            disk: disk::counted(&disks),
            host_bytes: self.host_bytes(),
        }
    }

    /// Bytes that hosts wrote to it, and by which counter.
    fn host_bytes(&self) -> Option<(Counter, u64)> {
        let (counter, bytes) = if self.directive == Directive::Placement {
            let log = self.namespace.log(0x22, self.endurance_group, 64).ok()?;
            (Counter::Placement, written::of_fdp(&log)?.host_bytes)
        } else {
            let log = self.namespace.log(0x02, 0, 512).ok()?;
            (Counter::Smart, written::of_smart(&log)?)
        };
        Some((counter, u64::try_from(bytes).ok()?))
    }

    /// Whether this host sees other namespaces whose writes the drive counts together with this one's.
    pub fn is_counted_with_others(&self) -> bool {
        !neighbours(&self.namespace, self.endurance_group).is_empty()
    }

    /// Names its contents, as far as its beginning shows.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn contents(&self) -> Result<Option<&'static str>, SteerError> {
        inspect(&self.block)
    }

    /// Its path, model and serial number.
    pub fn title(&self) -> String {
        let path = self.namespace.path().display();
        format!("{path} ({}, serial number {})", self.model, self.serial)
    }

    /// Model number, as Identify Controller gives it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Its serial number.
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// Its limits and abilities.
    pub fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Its kind of directive.
    pub fn directive(&self) -> Directive {
        self.directive
    }

    /// Handles it has: placement identifiers, or stream identifiers, where 0 is a write that says nothing.
    pub fn handles(&self) -> &[u16] {
        &self.handles
    }

    /// The other namespaces on this host that write to some of these handles too, with those they have; nobody where they
    /// cannot be asked.
    pub fn sharers(&self, handles: &[u16]) -> Vec<(PathBuf, Vec<u16>)> {
        if self.directive != Directive::Placement {
            return Vec::new();
        }
        let mut own = self.namespace.handles().unwrap_or_default();
        own.retain(|one| handles.contains(&one.identifier));
        let neighbours = neighbours(&self.namespace, self.endurance_group);
        let sharing = neighbours.into_iter().filter_map(|neighbour| {
            let others = neighbour.handles.ok()?;
            let shared = usage::shared(&own, &others);
            let identifiers: Vec<u16> = shared.map(|one| one.identifier).collect();
            (!identifiers.is_empty()).then_some((neighbour.path, identifiers))
        });
        sharing.collect()
    }

    /// Bytes of a reclaim unit, where it says.
    pub fn unit_bytes(&self) -> Option<u64> {
        self.unit_bytes
    }

    /// Its reclaim groups; 1 where it does not say.
    pub fn reclaim_groups(&self) -> u32 {
        self.reclaim_groups
    }

    /// Returns the namespace that all commands go to.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// A word that is the same whenever a namespace of this drive and number is opened.
    pub(crate) fn identity(&self) -> u64 {
        identity(&self.model, &self.serial, self.namespace.number())
    }

    /// Reads its counts of writes, by the first logs that have those of hosts and of the flash in bytes; nothing where
    /// it has none.
    pub fn written(&self) -> Option<Written> {
        Written::of(&counts(&self.namespace, &self.counted))
    }

    /// Those by which the kernel reaches it.
    pub(crate) fn controllers(&self) -> Controllers {
        let state = |queue: PathBuf| queue.with_file_name("device").join("state");
        let queue = self.queue.clone();
        Controllers::new(move || paths(&queue).into_iter().map(state).collect())
    }

    /// Waits until the drive has nothing left to do that anybody asked of it, a dead server included. The kernel lets a
    /// queue's limit be set only when the queue is empty, and keeps new requests waiting meanwhile; the limit is set to
    /// what it was.
    pub(crate) fn wait_idle(&self) -> Result<(), SteerError> {
        for queue in paths(&self.queue) {
            let limit = queue.join("max_sectors_kb");
            let value = fs::read_to_string(&limit).map_err(SteerError::io("read", &limit))?;
            fs::write(&limit, value.trim()).map_err(SteerError::io("set", &limit))?;
        }
        Ok(())
    }
}

fn block_queue(plain: &str) -> PathBuf {
    Path::new("/sys/block").join(plain).join("queue")
}

/// The queues requests really go to: where the kernel joins several paths to one drive, those of the paths, whose names
/// have a controller in them (nvme0c1n1 for nvme0n1).
fn paths(queue: &Path) -> Vec<PathBuf> {
    let own = || vec![queue.to_owned()];
    let name = queue
        .parent()
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    let Some((subsystem, namespace)) = name.and_then(|name| name.rsplit_once('n')) else {
        return own();
    };
    let is_path = |name: &str| {
        let rest = name
            .strip_prefix(subsystem)
            .and_then(|rest| rest.strip_prefix('c'));
        let end = format!("n{namespace}");
        rest.and_then(|rest| rest.strip_suffix(&end))
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let found: Vec<PathBuf> = fs::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_path))
        .map(|entry| entry.path().join("queue"))
        .collect();
    if found.is_empty() { own() } else { found }
}

/// Opens the block device so that no file system can be mounted from it meanwhile; `title` is its name in messages.
///
/// # Errors
/// When somebody has it, or it is no block device.
pub fn hold(block: &Path, title: &str) -> Result<File, SteerError> {
    let open = OpenOptions::new()
        .read(true)
        .custom_flags(O_EXCL)
        .open(block);
    let held = open.map_err(|error| match error.raw_os_error() {
        Some(nix::libc::EBUSY) => SteerError::Held {
            name: title.to_owned(),
        },
        _ => SteerError::io("open", block)(error),
    })?;
    let metadata = held.metadata().map_err(SteerError::io("look at", block))?;
    if metadata.file_type().is_block_device() {
        Ok(held)
    } else {
        let words = format!("{} is no block device", block.display());
        Err(SteerError::Unfit(words))
    }
}

/// Names the drive's contents. Read past the page cache: this device's does not have writes of the steered one.
fn inspect(block: &Path) -> Result<Option<&'static str>, SteerError> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECT)
        .open(block)
        .map_err(SteerError::io("open", block))?;
    let mut memory = vec![0; contents::LOOKED_AT + 4096];
    let start = memory.as_ptr().align_offset(4096);
    let head = memory
        .get_mut(start..start + contents::LOOKED_AT)
        .ok_or_else(|| SteerError::Unfit("memory cannot be aligned".to_owned()))?;
    file.read_exact_at(head, 0)
        .map_err(SteerError::io("read", block))?;
    Ok(contents::found(head))
}

fn abilities(
    controller: &[u8],
    namespace: &[u8],
    queue: &Path,
    title: &str,
) -> Result<Abilities, SteerError> {
    let shape = Shape::of(namespace);
    if let Some(refusal) = shape.refusal() {
        let remedy = shape.remedy("DEVICE");
        return Err(SteerError::Unfit(format!(
            "{title} has {refusal}; {remedy}"
        )));
    }
    let block_shift = shape.block_bytes.trailing_zeros() as u8;
    let wide = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(queue.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let limit = |name: &str| wide(name).map(|value| u32::try_from(value).unwrap_or(u32::MAX));
    let transfer = match byte(controller, 77) {
        0 => u32::MAX,
        // In pages of the controller, 4 KiB at least.
        shift => 4096_u32.checked_shl(shift.into()).unwrap_or(u32::MAX),
    };
    let kernel = limit("max_hw_sectors_kb").map_or(u32::MAX, |kib| kib.saturating_mul(1024));
    let segments = limit("max_segments").map_or(u32::MAX, |count| count.saturating_mul(4096));
    let optional = byte(controller, 520);
    Ok(Abilities {
        block_shift,
        bytes: shape.bytes,
        most_bytes: MOST_BYTES.min(transfer).min(kernel).min(segments),
        volatile_cache: byte(controller, 525) & 1 != 0,
        most_discard_bytes: match optional & 1 << 2 {
            0 => 0,
            _ => wide("discard_max_hw_bytes")
                .map_or(MOST_DISCARD_BYTES, |most| most.min(MOST_DISCARD_BYTES)),
        },
        most_zeroes_bytes: match optional & 1 << 3 {
            0 => 0,
            _ => {
                let most = MOST_ZEROED_BLOCKS << block_shift;
                wide("write_zeroes_max_bytes").map_or(most, |kernel| kernel.min(most))
            }
        },
    })
}

/// Finds the directive by which a drive takes placement, and its handles.
fn placement(
    namespace: &Namespace,
    controller: &[u8],
    title: &str,
) -> Result<(Directive, Vec<u16>), SteerError> {
    let has_fdp = byte(controller, 98) & 1 << 3 != 0;
    if has_fdp && let Ok(handles) = namespace.handles() {
        let identifiers = handles.iter().map(|one| one.identifier).collect();
        return Ok((Directive::Placement, identifiers));
    }
    let has_directives = byte(controller, 256) & 1 << 5 != 0;
    if has_directives && namespace.enable_streams().is_ok() {
        // Identifier 0 says nothing; a drive has at least 7 more (our choice where it does not say how many).
        return Ok((Directive::Streams, (0..8).collect()));
    }
    Err(SteerError::Unfit(format!(
        "{title} has neither Flexible Data Placement switched on nor the Streams Directive"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(shift: u8, metadata: u8) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[0..8].copy_from_slice(&1000_u64.to_le_bytes());
        bytes[128] = metadata;
        bytes[130] = shift;
        bytes
    }

    #[test]
    fn a_request_is_never_larger_than_the_drive_takes() {
        let mut controller = vec![0; 4096];
        controller[77] = 5;
        let nowhere = Path::new("/nonexistent");
        let found = abilities(&controller, &described(12, 0), nowhere, "it").unwrap();
        assert_eq!((found.most_bytes, found.bytes), (128 << 10, 1000 << 12));
        controller[77] = 0;
        let found = abilities(&controller, &described(9, 0), nowhere, "it").unwrap();
        assert_eq!((found.most_bytes, found.block_shift), (MOST_BYTES, 9));
    }

    #[test]
    fn blocks_with_metadata_are_refused() {
        let nowhere = Path::new("/nonexistent");
        let error = abilities(&[], &described(12, 8), nowhere, "the drive").unwrap_err();
        assert!(error.to_string().contains("metadata of 8"), "{error}");
    }

    #[test]
    fn what_is_no_nvme_namespace_is_said_to_be_none() {
        let error = SteeredDrive::open(Path::new("/dev/sda")).unwrap_err();
        assert!(error.to_string().contains("/dev/ng0n1"), "{error}");
    }
}
