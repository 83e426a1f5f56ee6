//! Block devices that a dead server left, and that wait for the next one.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anabranch_nvme_host::Namespace;
use nix::libc::EBUSY;

use crate::abi::{Info, state};
use crate::control::{Control, block_device, character_device};
use crate::drive::{SteeredDrive, identity_of, sequence};
use crate::error::SteerError;
use crate::guard;
use crate::ledger::{self, Ledger};
use crate::link;
use crate::take_over::{Obstacle, judge};

/// The time that the kernel is given to notice a dead server (our choice).
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks meanwhile (our choice).
pub(crate) const PAUSE: Duration = Duration::from_millis(10);
/// The time that a server which seems to live is given to die: it may have been killed a moment ago (our choice).
const GRACE: Duration = Duration::from_secs(2);

/// The device that an earlier server left; `name` is what it was asked to steer.
pub(crate) fn find(
    control: &mut Control,
    name: &str,
    is_it: impl Fn(&Info) -> bool,
) -> Result<Option<Info>, SteerError> {
    let began = Instant::now();
    loop {
        let Some(found) = control.devices()?.into_iter().find(&is_it) else {
            return Ok(None);
        };
        match found.state {
            state::QUIESCED => return Ok(Some(found)),
            state::DEAD => control.delete_later(found.device)?,
            _ => {
                let lives = fs::exists(format!("/proc/{}", found.process)).unwrap_or(true);
                if began.elapsed() > if lives { GRACE } else { PATIENCE } {
                    return Err(SteerError::Steered {
                        name: name.to_owned(),
                        block: block_device(found.device),
                        process: found.process,
                    });
                }
            }
        }
        thread::sleep(PAUSE);
    }
}

/// Ends a block device that a dead server left, when its drive will not come back: whoever waits for it has an I/O error.
///
/// # Errors
/// When it is none of ublk's, or its server lives; when the kernel refuses.
pub fn give_up(block: &Path) -> Result<(), SteerError> {
    let name = block.display().to_string();
    let found = fs::canonicalize(block).unwrap_or_else(|_| block.to_owned());
    let is_it = |info: &Info| block_device(info.device) == found;
    let mut control = Control::open()?;
    let left = find(&mut control, &name, is_it)?;
    let Some(left) = left else {
        let words = format!("{name}: name a block device that a server left, as /dev/ublkb0");
        return Err(SteerError::Unfit(words));
    };
    // One process at a time has it open: who serves it, or has begun to take over.
    let served = OpenOptions::new()
        .read(true)
        .write(true)
        .open(character_device(left.device));
    if served.is_err_and(|error| error.raw_os_error() == Some(EBUSY)) {
        return Err(SteerError::Steered {
            name,
            block: block_device(left.device),
            process: left.process,
        });
    }
    let ledger = Ledger::open(left.device, sequence(&disk_of(left.device)));
    control.stop(left.device)?;
    control.delete_later(left.device)?;
    if let Some(ledger) = ledger {
        guard::release(ledger.guard(), left.device);
    }
    ledger::remove(left.device);
    Ok(())
}

/// A block device in front of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Front {
    /// The block device.
    pub block: PathBuf,
    /// The process that serves it; nothing where it waits for one.
    pub process: Option<i32>,
}

/// Finds the block device in front of a namespace, asked by its character device. Asking changes nothing.
///
/// # Errors
/// When the namespace or ublk cannot be asked.
pub fn front(character: &Path) -> Result<Option<Front>, SteerError> {
    let owner = identity_of(&Namespace::open(character)?)?;
    let mut devices = Control::open()?.devices()?.into_iter();
    let found = devices.find(|info| info.owner == owner && info.state != state::DEAD);
    Ok(found.map(|info| Front {
        block: block_device(info.device),
        process: (info.state != state::QUIESCED).then_some(info.process),
    }))
}

/// Finds the character device of the namespace behind a block device, the inverse of [`front`]; `None` where no server made
/// the block device, or where its drive is away. Asking changes nothing.
///
/// # Errors
/// When ublk cannot be asked.
pub fn behind(block: &Path) -> Result<Option<PathBuf>, SteerError> {
    let Some(name) = block.file_name().filter(|name| is_a_front(name)) else {
        return Ok(None);
    };
    let is_it = |info: &Info| block_device(info.device).file_name() == Some(name);
    let mut devices = Control::open()?.devices()?.into_iter();
    let Some(info) = devices.find(|info| is_it(info) && info.state != state::DEAD) else {
        return Ok(None);
    };
    let entries = fs::read_dir("/dev").map_err(SteerError::io("list", "/dev"))?;
    let mut characters = entries.flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("ng"))
    });
    let owns = |path: &PathBuf| {
        let namespace = Namespace::open(path).ok();
        let owner = namespace.and_then(|namespace| identity_of(&namespace).ok());
        owner == Some(info.owner)
    };
    Ok(characters.find(owns))
}

/// Whether a device has a name as block devices of a server have.
fn is_a_front(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"ublkb")
}

/// The place of a block device in sysfs.
pub(crate) fn disk_of(device: u32) -> PathBuf {
    Path::new("/sys/block").join(format!("ublkb{device}"))
}

/// Holds the drive of a device that a dead server left, if it may go on with it, and opens the device's ledger.
pub(crate) fn inherit(
    drive: &mut SteeredDrive,
    left: &Info,
    accepts: bool,
) -> Result<Ledger, SteerError> {
    let sequence = sequence(&disk_of(left.device));
    let ledger = Ledger::open(left.device, sequence);
    // Before its guard lets go: a device that must not go on stays as it is.
    may_go_on(drive, left, ledger.as_ref(), accepts)?;
    let guard = ledger.as_ref().map_or(0, Ledger::guard);
    hold_after(drive, guard, left.device)?;
    // Once more, now that nobody can mount it.
    may_go_on(drive, left, ledger.as_ref(), accepts)?;
    match ledger {
        Some(ledger) if !accepts => {
            ledger.keep_disk(drive.facts().disk);
            Ok(ledger)
        }
        _ => {
            // What the dead server sent is counted by now.
            drive.wait_idle()?;
            let ledger = Ledger::create(left.device, &drive.facts())?;
            ledger.set_device(sequence.unwrap_or(0));
            link::write(left.device, drive)?;
            Ok(ledger)
        }
    }
}

fn may_go_on(
    drive: &SteeredDrive,
    left: &Info,
    ledger: Option<&Ledger>,
    accepts: bool,
) -> Result<(), SteerError> {
    let obstacle = match ledger {
        Some(ledger) => {
            let (facts, shared) = (drive.facts(), drive.is_counted_with_others());
            judge(&ledger.facts(), &facts, ledger.sent(), shared).err()
        }
        None => {
            let path = ledger::path(left.device);
            let words = format!("its ledger, {}, is gone, so nothing tells", path.display());
            Some(Obstacle::Written(words))
        }
    };
    let (name, block) = (drive.title(), block_device(left.device));
    match obstacle {
        None => Ok(()),
        Some(Obstacle::Written(_)) if accepts => Ok(()),
        Some(Obstacle::Written(what)) => Err(SteerError::Written { name, block, what }),
        Some(Obstacle::Another(what)) => Err(SteerError::Another { name, block, what }),
    }
}

/// Holds the drive once the guard of a dead server has let go of it.
fn hold_after(drive: &mut SteeredDrive, guard: i32, device: u32) -> Result<(), SteerError> {
    let began = Instant::now();
    loop {
        guard::release(guard, device);
        match drive.hold() {
            Err(SteerError::Held { .. }) if began.elapsed() < GRACE => thread::sleep(PAUSE),
            result => return result,
        }
    }
}
