//! The way to the drive that is calibrated: the kernel's passthrough, or NVMe/TCP.

use std::{
    collections::HashMap,
    fs::File,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use anabranch_calibrate::{CalibrateError, DriveCommand, Link};
use anabranch_doctor::Device;
use anabranch_initiator::{Entry, Host, HostOptions, InitiatorError, Queue as TcpQueue, Transfer};
use anabranch_nvme_host::{Namespace, NamespaceError, Queue};
use anabranch_steer::{SteerError, hold};

use nix::sys::stat::makedev;

use crate::error::{CommandError, Result};

/// Commands under way at a time (our choice).
const DEPTH: usize = 32;

/// An open way.
pub enum DriveLink {
    /// Through the kernel; nobody can mount the drive meanwhile.
    Kernel(Passthrough),
    /// Over the network.
    Tcp(Box<Tcp>),
}

impl DriveLink {
    /// The carrier of commands.
    pub fn link(&mut self) -> &mut dyn Link {
        match self {
            DriveLink::Kernel(link) => link,
            DriveLink::Tcp(link) => link.as_mut(),
        }
    }
}

/// The address that a device's name is, if it is one.
pub fn address(device: &str) -> Option<SocketAddr> {
    device.parse().ok()
}

/// Opens the way to a drive that nobody uses; one with partitions only if these may be overwritten.
pub fn open(device: &str, subsystem: Option<&str>, over_partitions: bool) -> Result<DriveLink> {
    match (address(device), subsystem) {
        (Some(address), Some(subsystem)) => {
            let host = Host::connect(address, &HostOptions::numbered(subsystem, 1));
            let host =
                host.map_err(|error| CommandError::work(anyhow::anyhow!("{address}: {error}")))?;
            Ok(DriveLink::Tcp(Box::new(Tcp {
                host,
                payloads: HashMap::new(),
            })))
        }
        (Some(_), None) => Err(CommandError::wrong_use(
            "an address needs --nqn, the name of the subsystem there; `nvme discover` lists them",
        )),
        (None, Some(_)) => Err(CommandError::wrong_use(
            "--nqn goes with an address, as in 127.0.0.1:4420",
        )),
        (None, None) => kernel(device, over_partitions),
    }
}

/// Refuses a drive that is used, and one that has partitions if these may not be overwritten.
fn refuse(found: &Device, over_partitions: bool) -> Result<(), String> {
    let mut alone = found.clone();
    alone
        .holders
        .retain(|holder| !found.partitions.contains(holder));
    anabranch_doctor::refuse(&alone)?;
    if found.partitions.is_empty() || over_partitions {
        Ok(())
    } else {
        Err(format!(
            "{} has partitions ({}): say --yes to overwrite them; nothing was written",
            found.name,
            found.partitions.join(", ")
        ))
    }
}

fn kernel(device: &str, over_partitions: bool) -> Result<DriveLink> {
    let found =
        anabranch_doctor::device("/".as_ref(), device.as_ref()).map_err(CommandError::wrong_use)?;
    refuse(&found, over_partitions).map_err(CommandError::wrong_use)?;
    let character = found.character.as_deref().map(PathBuf::from);
    let character = character.ok_or_else(|| {
        CommandError::wrong_use(format!(
            "{} is no NVMe namespace: there is no way to ask what it counts",
            found.name
        ))
    })?;
    let block = Path::new("/dev").join(&found.name);
    let held = hold(&block, device).map_err(|error| match error {
        SteerError::Held { name } => CommandError::wrong_use(format!(
            "{name} is mounted or held by another program: nothing was written"
        )),
        error => CommandError::work(error),
    })?;
    let namespace = Namespace::open(&character).map_err(CommandError::work)?;
    let classes = [
        ("block", block.as_path(), found.name.as_str()),
        ("nvme-generic", &character, file_name(&character)),
    ];
    let numbers = classes.map(|(class, path, name)| the_kernels(class, path, name));
    let [block, character] = numbers;
    let given = number_of(Path::new(device));
    if block.is_none() || character.is_none() || ![block, character].contains(&given) {
        return Err(CommandError::wrong_use(format!(
            "{device} is not the device {} that the kernel has: nothing was written",
            found.name
        )));
    }
    Ok(DriveLink::Kernel(Passthrough {
        namespace,
        _held: held,
    }))
}

fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// The number of a device's node; `None` of any other file.
fn number_of(path: &Path) -> Option<u64> {
    let found = std::fs::metadata(path).ok()?;
    let kind = found.file_type();
    (kind.is_block_device() || kind.is_char_device()).then(|| found.rdev())
}

/// The number of a node in /dev, where it is that of the device of this name. In a container a node may have another
/// device's name, and what is said of who uses it would be said of the other.
fn the_kernels(class: &str, path: &Path, name: &str) -> Option<u64> {
    let number = number_of(path)?;
    let told = Path::new("/sys/class").join(class).join(name).join("dev");
    let told = std::fs::read_to_string(told).ok()?;
    let (major, minor) = told.trim().split_once(':')?;
    let told = makedev(major.parse().ok()?, minor.parse().ok()?);
    (told == number).then_some(number)
}

/// Commands through the kernel, one at a time.
pub struct Passthrough {
    namespace: Namespace,
    /// Keeps others from the drive.
    _held: File,
}

impl Link for Passthrough {
    fn ask(&mut self, command: &DriveCommand, data: &mut [u8]) -> Result<u32, CalibrateError> {
        let of = (command.queue, command.opcode, command.of_namespace);
        let answer = self.namespace.ask(command.what, of, command.words, data);
        answer.map_err(|error| match error {
            NamespaceError::Refused { what, status, .. } => {
                CalibrateError::Refused { what, status }
            }
            error => CalibrateError::Link {
                what: command.what,
                words: error.to_string(),
            },
        })
    }
}

/// Commands over NVMe/TCP.
pub struct Tcp {
    host: Host,
    /// Data of writes by their length: a queue keeps a share of them until the write has ended.
    payloads: HashMap<usize, Arc<[u8]>>,
}

impl Tcp {
    fn queue(&mut self, queue: Queue) -> Result<&mut TcpQueue, InitiatorError> {
        match queue {
            Queue::Admin => Ok(&mut self.host.admin),
            Queue::Io => self.host.io(),
        }
    }
}

fn entry(command: &DriveCommand) -> Entry {
    let mut entry = Entry::new(command.opcode, u32::from(command.of_namespace));
    for (place, word) in command.words.into_iter().enumerate() {
        entry = entry.dword(10 + place, word);
    }
    entry
}

fn broken(what: &'static str) -> impl Fn(InitiatorError) -> CalibrateError {
    move |error| CalibrateError::Link {
        what,
        words: error.to_string(),
    }
}

fn judged(what: &'static str, status: anabranch_initiator::Status) -> Result<(), CalibrateError> {
    if status.is_success() {
        Ok(())
    } else {
        Err(CalibrateError::Refused {
            what,
            status: status.number(),
        })
    }
}

impl Link for Tcp {
    fn ask(&mut self, command: &DriveCommand, data: &mut [u8]) -> Result<u32, CalibrateError> {
        let transfer = match (data.len(), command.opcode & 3) {
            (0, _) => Transfer::None,
            (_, 1) => Transfer::out(&*data),
            (length, _) => Transfer::In(length),
        };
        let is_in = matches!(transfer, Transfer::In(_));
        let what = command.what;
        let queue = self.queue(command.queue).map_err(broken(what))?;
        let done = queue.run(entry(command), transfer).map_err(broken(what))?;
        judged(what, done.status)?;
        match done.data.get(..data.len()) {
            Some(whole) => data.copy_from_slice(whole),
            // What it was asked to bring, and did not, is not taken for zeroes.
            None if is_in => {
                return Err(CalibrateError::Link {
                    what,
                    words: format!("{} of {} bytes came", done.data.len(), data.len()),
                });
            }
            None => {}
        }
        Ok(done.result as u32)
    }

    fn send(
        &mut self,
        all: &[(DriveCommand, usize)],
        data: &mut [u8],
    ) -> Result<(), CalibrateError> {
        let mut under_way = 0;
        for (place, (command, bytes)) in all.iter().enumerate() {
            let bytes = (*bytes).min(data.len());
            let payload = self.payloads.entry(bytes);
            let payload = Arc::clone(payload.or_insert_with(|| Arc::from(&data[..bytes])));
            let broken = broken(command.what);
            let queue = self.queue(Queue::Io).map_err(&broken)?;
            queue
                .submit(entry(command), Transfer::Out(payload))
                .map_err(&broken)?;
            under_way += 1;
            if under_way < DEPTH && place + 1 < all.len() {
                continue;
            }
            queue.flush().map_err(&broken)?;
            while under_way > 0 {
                let done = queue.wait().map_err(&broken)?;
                under_way -= 1;
                judged(command.what, done.status)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A drive of two partitions, and what else lies on it.
    fn parted(more: &[&str]) -> Device {
        let partitions = ["nvme0n1p1", "nvme0n1p2"].map(str::to_owned).to_vec();
        let more = more.iter().map(|name| (*name).to_owned());
        Device {
            name: "nvme0n1".to_owned(),
            disk: "nvme0n1".to_owned(),
            write_streams: None,
            scsi_streams: None,
            character: None,
            drive: None,
            mounts: Vec::new(),
            holders: partitions.iter().cloned().chain(more).collect(),
            partitions,
            users: Vec::new(),
            front: None,
            lvm: None,
        }
    }

    #[test]
    fn partitions_are_overwritten_where_that_is_said_and_what_lies_on_them_never() {
        let told = refuse(&parted(&[]), false).unwrap_err();
        assert!(told.contains("partitions (nvme0n1p1, nvme0n1p2)") && told.contains("--yes"));
        assert_eq!(refuse(&parted(&[]), true), Ok(()));
        let told = refuse(&parted(&["dm-0"]), true).unwrap_err();
        assert!(told.contains("used by dm-0"), "{told}");
        let mut whole = parted(&[]);
        whole.disk = "nvme0".to_owned();
        assert!(refuse(&whole, true).unwrap_err().contains("a partition"));
    }
}
