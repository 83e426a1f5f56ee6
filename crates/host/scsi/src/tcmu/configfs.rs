//! The kernel's target in configfs: directories that make devices, and take them away.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    num::NonZeroUsize,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{Ring, TcmuError, mapping::Mapping};
use crate::{
    geometry::{MOST_TRANSFER, hash},
    unit::Unit,
};

/// Where the kernel has its targets, and the devices of its rings.
const TARGETS: &str = "/sys/kernel/config/target";
const RINGS: &str = "/sys/class/uio";
/// MiB of memory for the data of commands under way at most (our choice; taken when it is used).
const DATA_MIB: u32 = 64;
/// How long the kernel may take to make a block device, and how often it is looked for (our choice).
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// The directories of one unit.
#[derive(Debug)]
pub(super) struct Tree {
    name: String,
    /// What the kernel calls a unit of ours: its name, and which contents it has.
    config: String,
    /// The unit, in the directory of all that are handled in user space.
    core: PathBuf,
    /// The port by which it reaches this host, and its portal group.
    port: PathBuf,
    group: PathBuf,
    /// The name by which this host reaches it.
    nexus: String,
}

impl Tree {
    /// The directories of a unit of that name, with contents that last, or none that do.
    pub(super) fn of(name: &str, unit: &Unit, contents: Option<&[u8]>) -> Result<Tree, TcmuError> {
        check(name)?;
        let targets = Path::new(TARGETS);
        let naa = unit.identity().naa;
        let port = targets.join(format!("loopback/naa.{naa:016x}"));
        Ok(Tree {
            name: name.to_owned(),
            config: config(name, contents),
            core: targets.join("core/user_0").join(name),
            group: port.join("tpgt_1"),
            port,
            nexus: format!("naa.{:016x}", naa ^ 1),
        })
    }

    /// Whether the kernel has such a unit.
    pub(super) fn is_enabled(&self) -> bool {
        fs::read_to_string(self.core.join("enable")).is_ok_and(|text| text.trim() == "1")
    }

    /// What to do with a unit that is served no longer: contents in memory end with their server.
    pub(super) fn remedy(&self) -> String {
        if self.config == config(&self.name, None) {
            format!("take it away by hand ({})", self.by_hand())
        } else {
            "start the server again to go on".to_owned()
        }
    }

    /// Whether the kernel's unit is of the drive that is served, and its contents are still there.
    pub(super) fn check(&self, unit: &Unit) -> Result<(), TcmuError> {
        let info = self.core.join("info");
        let found = fs::read_to_string(&info).map_err(|problem| step(&info, problem))?;
        if after(&found, "Config:") == Some(&config(&self.name, None)) {
            return Err(TcmuError::Memory {
                path: self.core.clone(),
                by_hand: self.by_hand(),
            });
        }
        if is_of(&found, &self.config, unit.bytes(), unit.block_bytes()) {
            Ok(())
        } else {
            Err(TcmuError::Other {
                path: self.core.clone(),
                found: found.split_whitespace().collect::<Vec<_>>().join(" "),
            })
        }
    }

    /// How whoever has a shell takes all away.
    fn by_hand(&self) -> String {
        let lun = self.group.join("lun/lun_0");
        let all = [&lun, &self.group, &self.port, &self.core];
        let all = all.map(|path| path.display().to_string());
        format!("rm {}; rmdir {}", self.link().display(), all.join(" "))
    }

    /// Has the kernel give up the commands of a server that was killed: what it has answered is taken, what is under way
    /// ends with BUSY, so that the host sends it again, and the ring is empty. A half written answer is never read
    /// (Linux, `tcmu_block_dev` and `tcmu_reset_ring`).
    pub(super) fn reset(&self) -> Result<(), TcmuError> {
        let action = self.core.join("action");
        let block = action.join("block_dev");
        write(&block, "1")?;
        let reset = write(&action.join("reset_ring"), "1");
        // Blocked, it would answer with BUSY for ever.
        write(&block, "0").and(reset)
    }

    /// Makes the kernel's unit. Answers whether its directory is ours, and was not there before.
    pub(super) fn make(&self, unit: &Unit) -> Result<bool, TcmuError> {
        let block = unit.block_bytes();
        let control = format!(
            "dev_config={},dev_size={},hw_block_size={block},hw_max_sectors={},max_data_area_mb={DATA_MIB},nl_reply_supported=-1",
            self.config,
            unit.bytes(),
            MOST_TRANSFER / block,
        );
        let all = self.core.parent().unwrap_or(&self.core);
        make(all)?;
        let is_new = make(&self.core)?;
        let made = write(&self.core.join("control"), &control)
            .and_then(|()| write(&self.core.join("enable"), "1"));
        if made.is_err() && is_new {
            // A unit that the kernel refused is removed.
            let _ = self.remove();
        }
        made.map(|()| is_new)
    }

    /// The unit's ring, and the device by which the kernel and we tell each other of it. Once that is ours and nobody
    /// else's, and before the ring is read, `prepare` has its turn.
    pub(super) fn ring(
        &self,
        prepare: impl FnOnce() -> Result<(), TcmuError>,
    ) -> Result<(File, Ring<Mapping>), TcmuError> {
        let place = self.find_ring()?;
        let device = Path::new("/dev").join(place.file_name().unwrap_or_default());
        let opened = OpenOptions::new().read(true).write(true).open(&device);
        let opened = opened.map_err(|problem| match problem.kind() {
            ErrorKind::ResourceBusy => TcmuError::Busy,
            _ => step(&device, problem),
        })?;
        prepare()?;
        let size = place.join("maps/map0/size");
        let text = fs::read_to_string(&size).map_err(|problem| step(&size, problem))?;
        let bytes = usize::from_str_radix(text.trim().trim_start_matches("0x"), 16);
        let bytes = bytes.ok().and_then(NonZeroUsize::new);
        let bytes = bytes.ok_or_else(|| TcmuError::NoRing(self.name.clone()))?;
        let mapping = Mapping::new(&opened, bytes)?;
        Ok((opened, Ring::new(mapping)?))
    }

    fn find_ring(&self) -> Result<PathBuf, TcmuError> {
        let beginning = format!("tcm-user/0/{}/", self.name);
        let is_ours = |place: &PathBuf| {
            let name = fs::read_to_string(place.join("name")).unwrap_or_default();
            name.starts_with(&beginning)
        };
        let places = fs::read_dir(RINGS).into_iter().flatten().flatten();
        let found = places.map(|place| place.path()).find(is_ours);
        found.ok_or_else(|| TcmuError::NoRing(self.name.clone()))
    }

    /// The unit's link in the port's directory.
    fn link(&self) -> PathBuf {
        self.group.join("lun/lun_0").join(&self.name)
    }

    /// Brings the unit to this host, if it is not there, and waits for its block device, as long as it is served.
    pub(super) fn bring(&self, has_ended: impl Fn() -> bool) -> Result<PathBuf, TcmuError> {
        let link = self.link();
        if fs::symlink_metadata(&link).is_err() {
            make(self.port.parent().unwrap_or(&self.port))?;
            make(&self.port)?;
            make(&self.group)?;
            let nexus = self.group.join("nexus");
            if fs::read_to_string(&nexus).is_err() {
                write(&nexus, &self.nexus)?;
            }
            let lun = self.group.join("lun/lun_0");
            make(&lun)?;
            symlink(&self.core, &link).map_err(|problem| step(&link, problem))?;
        }
        let address = self.group.join("address");
        let text = fs::read_to_string(&address).map_err(|problem| step(&address, problem))?;
        let blocks = Path::new("/sys/class/scsi_device")
            .join(format!("{}:0", text.trim()))
            .join("device/block");
        let begin = Instant::now();
        loop {
            let found = fs::read_dir(&blocks)
                .ok()
                .and_then(|mut found| found.next());
            if let Some(Ok(found)) = found {
                return Ok(Path::new("/dev").join(found.file_name()));
            }
            if begin.elapsed() > PATIENCE || has_ended() {
                return Err(TcmuError::NoDevice(blocks));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Takes the unit from this host.
    pub(super) fn take_away(&self) -> Result<(), TcmuError> {
        let link = self.link();
        match fs::remove_file(&link) {
            Err(problem) if problem.kind() != ErrorKind::NotFound => {
                return Err(step(&link, problem));
            }
            _ => {}
        }
        let lun = self.group.join("lun/lun_0");
        [&lun, &self.group, &self.port]
            .into_iter()
            .try_for_each(|path| remove(path))
    }

    /// Takes the unit from the kernel.
    pub(super) fn remove(&self) -> Result<(), TcmuError> {
        remove(&self.core)?;
        if let Some(all) = self.core.parent() {
            // Others may be there.
            let _ = fs::remove_dir(all);
        }
        Ok(())
    }
}

/// Whether this kernel can have a unit of that name.
///
/// # Errors
/// When the name is none, or the kernel's target is not there.
pub fn check(name: &str) -> Result<(), TcmuError> {
    let targets = Path::new(TARGETS);
    match (is_name(name), targets.exists()) {
        (false, _) => Err(TcmuError::Name(name.to_owned())),
        (true, false) => Err(TcmuError::NoTarget(targets.to_owned())),
        (true, true) => Ok(()),
    }
}

/// What the kernel calls a unit of ours.
fn config(name: &str, contents: Option<&[u8]>) -> String {
    match contents {
        Some(contents) => format!("anabranch/{name}/{:016x}", hash(contents)),
        None => format!("anabranch/{name}/memory"),
    }
}

/// Whether what the kernel says is of a unit called so, of that size.
fn is_of(info: &str, config: &str, bytes: u64, block_bytes: u32) -> bool {
    after(info, "Config:") == Some(config)
        && after(info, " Size:") == Some(&bytes.to_string())
        && after(info, "SectorSize:") == Some(&block_bytes.to_string())
}

/// What is a directory's name, and needs no quoting in the kernel's configuration.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=32).contains(&name.len()) && name.bytes().all(is_plain)
}

/// The word after a label.
fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.split_once(label)?.1.split_whitespace().next()
}

fn step(path: &Path, problem: io::Error) -> TcmuError {
    TcmuError::Step {
        path: path.to_owned(),
        problem,
    }
}

/// A directory that is there, or made: whether it was made.
fn make(path: &Path) -> Result<bool, TcmuError> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(problem) if problem.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(problem) => Err(step(path, problem)),
    }
}

/// A directory that is not there, or removed.
fn remove(path: &Path) -> Result<(), TcmuError> {
    match fs::remove_dir(path) {
        Err(problem) if problem.kind() != ErrorKind::NotFound => Err(step(path, problem)),
        _ => Ok(()),
    }
}

/// A value, in one write: the kernel takes no other.
fn write(path: &Path, value: &str) -> Result<(), TcmuError> {
    fs::write(path, value).map_err(|problem| step(path, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_directorys_and_no_more() {
        for good in ["a", "drive-1_B", &"x".repeat(32)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "a,b", "a b", "ä", &"x".repeat(33)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn what_the_kernel_says_of_a_unit_is_read() {
        let info = "Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 4096  HwMaxSectors: 256\n        \
                    Config: anabranch/one/memory Size: 1073741824 MaxDataAreaMB: 64\n";
        let ours = config("one", None);
        assert!(is_of(info, &ours, 1 << 30, 4096));
        assert!(!is_of(info, &ours, 1 << 29, 4096));
        assert!(!is_of(info, &ours, 1 << 30, 512));
        assert!(!is_of(info, &config("two", None), 1 << 30, 4096));
        let kept = config("one", Some(b"/a"));
        assert!(!is_of(info, &kept, 1 << 30, 4096));
        assert_ne!(kept, config("one", Some(b"/b")));
        assert_eq!(kept, config("one", Some(b"/a")));
    }

    #[test]
    fn a_drive_in_memory_is_not_to_be_started_again() {
        let of = |contents| Tree {
            name: "one".to_owned(),
            config: config("one", contents),
            core: PathBuf::from("/core/one"),
            port: PathBuf::from("/port"),
            group: PathBuf::from("/port/group"),
            nexus: String::new(),
        };
        let in_memory = of(None).remedy();
        assert!(
            in_memory.starts_with("take it away by hand (rm /port/group/"),
            "{in_memory}"
        );
        assert_eq!(of(Some(b"/a")).remedy(), "start the server again to go on");
    }
}
