//! LVM above a steered drive: it finds one physical volume on the drive and on the block device in front, and takes
//! either. Its settings decide which of them it looks at.

mod settings;

use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::libc::{O_DIRECT, O_NONBLOCK};
use serde::Serialize;

use settings::{Settings, is_listed};

/// Bytes of a settings file that are read (our choice): the one that LVM ships has 120 KiB.
const MOST_BYTES: u64 = 1 << 20;
/// Bytes at the beginning of a device, where LVM's label is in one of four sectors.
const HEAD_BYTES: usize = 4096;
/// LVM's label begins a sector with this.
const LABEL: &[u8] = b"LABELONE";
const SETTINGS: &str = "etc/lvm/lvm.conf";
const DEVICES: &str = "etc/lvm/devices";
/// The first block device of `steer`'s, where a drive has none yet.
const FIRST_FRONT: &str = "/dev/ublkb0";

/// A physical volume of LVM on a drive, and which of its two places LVM looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LvmFindings {
    /// The drive, or the partition of it, that has the physical volume, by a name that does not move where there is one.
    pub volume: String,
    /// The block device in front of the drive: `/dev/ublkb0` where there is none yet.
    pub front: String,
    /// Whether LVM looks at the drive.
    pub sees_drive: bool,
    /// Whether LVM looks at the block device in front.
    pub sees_front: bool,
    /// Whether LVM goes by its devices file, and not by its filters.
    pub by_devices_file: bool,
    /// Whether a global filter is set.
    pub has_global_filter: bool,
}

/// Reads which places of a physical volume LVM looks at; `None` where no device of the family, a disk and its partitions,
/// has a physical volume. Changes nothing.
///
/// # Errors
/// When a settings file of LVM cannot be read; the error is a sentence.
pub fn lvm(
    root: &Path,
    family: &[String],
    disk: &str,
    front: Option<&Path>,
) -> Result<Option<LvmFindings>, String> {
    let has_label = |name: &&String| has_label(&root.join("dev").join(name));
    let Some(volume) = family.iter().find(has_label) else {
        return Ok(None);
    };
    let settings = bounded(&root.join(SETTINGS))?.unwrap_or_default();
    let settings = Settings::parse(&settings);
    let devices = match settings.uses_devices_file {
        Some(false) => None,
        _ => {
            let name = settings.devices_file.as_deref().unwrap_or("system.devices");
            // A name of the settings leads no further than LVM's own directory.
            let name = Path::new(name).file_name().unwrap_or_default();
            bounded(&root.join(DEVICES).join(name))?
        }
    };
    let front = front.unwrap_or(Path::new(FIRST_FRONT));
    let front_name = front.file_name().unwrap_or_default().to_string_lossy();
    let names = names_of(root, volume);
    let worldwide = worldwide(root, volume, disk);
    let sees = |names: &[String], worldwide: Option<&str>| match &devices {
        Some(devices) => is_listed(devices, names, worldwide),
        None => settings.filters.iter().all(|one| one.accepts(names)),
    };
    Ok(Some(LvmFindings {
        sees_drive: sees(&names, worldwide.as_deref()),
        sees_front: sees(&names_of(root, &front_name), None),
        volume: steady(&names),
        front: front.display().to_string(),
        by_devices_file: devices.is_some(),
        has_global_filter: settings.has_global_filter,
    }))
}

impl LvmFindings {
    /// The obstacle in a sentence, and the remedy; `None` where LVM looks at the block device alone.
    pub fn obstacle(&self) -> Option<(String, String)> {
        let LvmFindings { volume, front, .. } = self;
        let words = match (self.sees_drive, self.sees_front) {
            (false, true) => return None,
            (true, true) => format!(
                "LVM looks at {volume} and at {front}, finds one physical volume on both, and takes either: past {front} nothing is steered"
            ),
            (true, false) => format!(
                "LVM looks at {volume} and not at {front}: what it writes there is not steered"
            ),
            (false, false) => {
                format!("LVM looks neither at {volume} nor at {front}: it does not find its volume")
            }
        };
        Some((words, self.remedy()))
    }

    fn remedy(&self) -> String {
        let LvmFindings { volume, front, .. } = self;
        if self.by_devices_file {
            let commands = [
                (!self.sees_front).then(|| format!("`lvmdevices --adddev {front}`")),
                self.sees_drive
                    .then(|| format!("`lvmdevices --deldev {volume}`")),
            ];
            return commands
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", then ");
        }
        let patterns = format!("\"a|^/dev/ublkb|\", \"r|^{volume}|\"");
        if self.has_global_filter {
            return format!(
                "in /etc/lvm/lvm.conf, first in `global_filter` of `devices`, and in `filter` where that is set: {patterns}"
            );
        }
        format!("in /etc/lvm/lvm.conf: devices {{ global_filter = [ {patterns} ] }}")
    }
}

/// Whether a device begins with LVM's label.
fn has_label(device: &Path) -> bool {
    #[repr(align(4096))]
    struct Page([u8; HEAD_BYTES]);
    // Past the page cache, which would keep a page of the drive that a steered write goes past.
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(O_DIRECT | O_NONBLOCK);
    let Ok(mut file) = options.open(device) else {
        return false;
    };
    let mut page = Box::new(Page([0; HEAD_BYTES]));
    let count = file.read(&mut page.0).unwrap_or(0);
    let mut sectors = page.0[..count].chunks(512).take(4);
    sectors.any(|sector| sector.starts_with(LABEL))
}

/// The text of a settings file; `None` where there is none.
fn bounded(path: &Path) -> Result<Option<String>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    // A named pipe in its place would hold whoever opens it.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(format!("{} is no file", path.display()));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!(
            "{} has more than {MOST_BYTES} bytes",
            path.display()
        ));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The names of a device: its own, and the links to it below `/dev/disk`.
fn names_of(root: &Path, name: &str) -> Vec<String> {
    let own = root.join("dev").join(name);
    let entries = |directory: PathBuf| fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries(root.join("dev/disk")).map(|entry| entry.path());
    let mut links: Vec<String> = directories
        .flat_map(entries)
        .map(|entry| entry.path())
        .filter(|link| fs::canonicalize(link).is_ok_and(|real| real == own))
        .filter_map(|link| Some(format!("/{}", link.strip_prefix(root).ok()?.to_str()?)))
        .collect();
    links.sort();
    links.insert(0, format!("/dev/{name}"));
    links
}

/// The name of a device that does not move and means itself as a pattern, where there is one; otherwise its own.
fn steady(names: &[String]) -> String {
    let is_plain = |name: &&String| {
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "/-_.:".contains(one);
        name.starts_with("/dev/disk/by-id/nvme-") && name.chars().all(is_plain)
    };
    let found = names.iter().find(is_plain).or(names.first());
    found.cloned().unwrap_or_default()
}

/// The worldwide name of a disk; a partition of it is listed by its disk's.
fn worldwide(root: &Path, volume: &str, disk: &str) -> Option<String> {
    let class = root.join("sys/class/block");
    let read = |name: &str| bounded(&class.join(name).join("wwid")).ok().flatten();
    let found = read(volume).or_else(|| read(disk))?;
    Some(found.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    const LINK: &str = "/dev/disk/by-id/nvme-A-drive_S1_1";

    fn put(root: &Path, path: &str, bytes: impl AsRef<[u8]>) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A root with a drive that has a physical volume, its link and its block device in front.
    fn host() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let root = &fs::canonicalize(directory.path()).unwrap();
        let mut head = vec![0; HEAD_BYTES];
        head[512..520].copy_from_slice(LABEL);
        put(root, "dev/nvme7n1", &head);
        put(root, "dev/ublkb0", &head);
        put(root, "sys/class/block/nvme7n1/wwid", "eui.07\n");
        fs::create_dir_all(root.join("dev/disk/by-id")).unwrap();
        let link = root.join(LINK.trim_start_matches('/'));
        symlink("../../nvme7n1", link).unwrap();
        directory
    }

    /// The findings on the drive of a root.
    fn found(root: &Path) -> Result<Option<LvmFindings>, String> {
        let root = fs::canonicalize(root).unwrap();
        lvm(
            &root,
            &["nvme7n1".to_owned()],
            "nvme7n1",
            Some(Path::new("/dev/ublkb0")),
        )
    }

    fn obstacle(root: &Path) -> Option<(String, String)> {
        found(root).unwrap().unwrap().obstacle()
    }

    #[test]
    fn a_volume_that_is_seen_twice_is_told_the_line_that_is_missing_and_that_line_helps() {
        let root = host();
        let (words, remedy) = obstacle(root.path()).unwrap();
        assert!(
            words.contains(LINK) && words.contains("/dev/ublkb0"),
            "{words}"
        );
        let line = format!("devices {{ global_filter = [ \"a|^/dev/ublkb|\", \"r|^{LINK}|\" ] }}");
        assert_eq!(remedy, format!("in /etc/lvm/lvm.conf: {line}"));
        put(root.path(), SETTINGS, line);
        assert_eq!(obstacle(root.path()), None);
        // A filter that is there already is added to.
        put(
            root.path(),
            SETTINGS,
            "devices { global_filter = [ \"a|.*|\" ] }",
        );
        let (_, remedy) = obstacle(root.path()).unwrap();
        assert!(remedy.contains("first in `global_filter`"), "{remedy}");
        put(
            root.path(),
            SETTINGS,
            "devices { filter = [ \"r|ublk|\" ] }",
        );
        let (words, _) = obstacle(root.path()).unwrap();
        assert!(words.contains("not at /dev/ublkb0"), "{words}");
    }

    #[test]
    fn a_devices_file_decides_where_there_is_one_and_it_is_not_switched_off() {
        let root = host();
        let listed = "IDTYPE=sys_wwid IDNAME=eui.07 DEVNAME=/dev/nvme7n1 PVID=x\n";
        put(root.path(), "etc/lvm/devices/system.devices", listed);
        let (words, remedy) = obstacle(root.path()).unwrap();
        assert!(words.contains("not at /dev/ublkb0"), "{words}");
        let adds = "`lvmdevices --adddev /dev/ublkb0`";
        assert_eq!(remedy, format!("{adds}, then `lvmdevices --deldev {LINK}`"));
        let front = "IDTYPE=devname IDNAME=/dev/ublkb0 DEVNAME=/dev/ublkb0 PVID=x\n";
        put(root.path(), "etc/lvm/devices/system.devices", front);
        assert_eq!(obstacle(root.path()), None);
        put(root.path(), "etc/lvm/devices/system.devices", "");
        let (words, _) = obstacle(root.path()).unwrap();
        assert!(words.contains("looks neither"), "{words}");
        put(root.path(), SETTINGS, "devices { use_devicesfile = 0 }");
        let (words, _) = obstacle(root.path()).unwrap();
        assert!(words.contains("takes either"), "{words}");
        // No name leads out of LVM's directory.
        put(
            root.path(),
            SETTINGS,
            "devices { devicesfile = \"../../../dev/ublkb0\" }",
        );
        assert!(!found(root.path()).unwrap().unwrap().by_devices_file);
    }

    #[test]
    fn a_drive_without_a_physical_volume_is_not_judged() {
        let root = host();
        put(root.path(), "dev/nvme7n1", vec![0; HEAD_BYTES]);
        assert_eq!(found(root.path()), Ok(None));
        put(root.path(), "dev/nvme7n1", "LABEL");
        assert_eq!(found(root.path()), Ok(None));
        fs::remove_file(root.path().join("dev/nvme7n1")).unwrap();
        assert_eq!(found(root.path()), Ok(None));
    }

    #[test]
    fn settings_that_are_no_file_or_are_too_long_are_refused_and_hold_nobody() {
        let root = host();
        put(root.path(), SETTINGS, vec![b'#'; MOST_BYTES as usize + 1]);
        assert!(found(root.path()).unwrap_err().contains("more than"));
        let place = root.path().join(SETTINGS);
        fs::remove_file(&place).unwrap();
        mkfifo(&place, Mode::S_IRWXU).unwrap();
        assert!(found(root.path()).unwrap_err().contains("is no file"));
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(found(root.path()).is_err());
        fs::remove_dir(&place).unwrap();
        // Bytes that are no text.
        put(root.path(), SETTINGS, [0xff, b'=', 0xfe, 0]);
        assert!(found(root.path()).unwrap().is_some());
    }
}
