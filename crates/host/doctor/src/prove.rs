//! A bounded write through each conduit, judged by the drive's own counters.
//!
//! The write does not change data: the blocks are read first and written back, with the device held so that nobody can
//! mount it.
//! `unsafe` only for hints and the ring's queue, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anabranch_nvme_host::{Namespace, Queue, opcode};
use anabranch_placement::{Assign, Write};
use anabranch_ssd::StreamId;
use anabranch_steer::{Directive, NoWriters, Placer, Server, ServerOptions, SteeredDrive};
use io_uring::{IoUring, opcode::Write as RingWrite, types::Fd};
use nix::libc::{O_DIRECT, O_EXCL};
use serde::Serialize;

use crate::findings::{Device, Findings, is_the_systems};
use crate::verdict::Conduit;

/// Bytes written through each conduit. Our choice.
pub const PROOF_BYTES: usize = 64 << 10;
/// The distance of these bytes from the drive's end. Our choice.
const FROM_THE_END: u64 = 1 << 20;
const ALIGNMENT: usize = 4096;
/// A command of fcntl, from linux/fcntl.h.
const F_SET_RW_HINT: i32 = 1036;
const RWH_WRITE_LIFE_NOT_SET: u64 = 0;
const RWH_WRITE_LIFE_SHORT: u64 = 2;

/// The outcome of one write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// The conduit that the write was sent through.
    pub conduit: Conduit,
    /// Whether the write arrived in the handle or stream it was sent to.
    pub holds: bool,
    /// A sentence on what was asked for, and what the drive counted.
    pub words: String,
}

/// Writes [`PROOF_BYTES`] through each conduit that drive and kernel may have, and asks the drive where they arrived.
/// The data on the drive stay the same.
///
/// # Errors
/// When the drive is in use, when it holds something and `accept_contents` is false, or when it has no handles; nothing
/// is written then. The error is a sentence.
pub fn prove(found: &Findings, accept_contents: bool) -> Result<Vec<Proof>, String> {
    let device = found.device.as_ref().ok_or(
        "--prove writes to a drive: name it, as in `anabranch doctor --prove /dev/nvme0n1`",
    )?;
    refuse(device)?;
    let path = device
        .character
        .as_deref()
        .map(PathBuf::from)
        .ok_or_else(|| {
            format!(
                "{} is no NVMe namespace: nothing can be proved on it",
                device.name
            )
        })?;
    let drive = SteeredDrive::open(&path).map_err(in_words)?;
    let what = drive.contents().map_err(in_words)?;
    if let Some(what) = what.filter(|_| !accept_contents) {
        return Err(format!(
            "{} holds {what}: say --yes to write {} KiB of it anew, as they are",
            drive.title(),
            PROOF_BYTES >> 10
        ));
    }
    let bench = Bench::new(&path, &drive, device)?;
    let mut proofs = vec![bench.proved(Conduit::Passthrough, |place| bench.pass_through(place))];
    if device.write_streams.is_some_and(|streams| streams > 1) {
        proofs.push(bench.proved(Conduit::FileHints, |_| bench.hint()));
        proofs.push(bench.proved(Conduit::WriteStreams, |_| bench.write_stream()));
    }
    if found.ublk.is_ok() {
        let mut drive = Some(drive);
        proofs.push(bench.proved(Conduit::Ublk, |place| match drive.take() {
            Some(drive) => bench.steer(drive, place),
            None => Ok(()),
        }));
    }
    Ok(proofs)
}

/// The refusal of a drive that is mounted. Nobody can unmount what the system itself runs from.
fn mounted(whole: &str, place: &str) -> String {
    if is_the_systems(place) {
        format!(
            "{whole} is mounted on {place}, which this system runs from: take another drive; nothing was written"
        )
    } else {
        format!("{whole} is mounted on {place}: `umount {place}` first, nothing was written")
    }
}

/// Refuses a drive that is mounted, parted or used by anybody: writes would disturb its user, and the user the counts.
///
/// # Errors
/// In words, with who uses it.
pub fn refuse(device: &Device) -> Result<(), String> {
    let whole = &device.name;
    if *whole != device.disk {
        return Err(format!(
            "{whole} is a partition: name the whole drive, {}",
            device.disk
        ));
    }
    if let Some(mount) = device.mounts.first() {
        return Err(mounted(whole, &mount.place));
    }
    let users = device.holders.iter().chain(&device.users);
    match users.into_iter().next() {
        Some(user) => Err(format!("{whole} is used by {user}: nothing was written")),
        None => Ok(()),
    }
}

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The drive with all that the proofs need.
struct Bench {
    namespace: Namespace,
    block: PathBuf,
    directive: Directive,
    /// The placement identifiers, the default one first.
    handles: Vec<u16>,
    start_bytes: u64,
    block_shift: u8,
    unit_blocks: u64,
}

/// The drive's counters that tell where a write arrived.
enum Count {
    /// Blocks that may still be written to the unit of each handle.
    Room(Vec<u64>),
    /// Identifiers of the streams that are open.
    Open(Vec<u16>),
}

impl Bench {
    fn new(path: &Path, drive: &SteeredDrive, device: &Device) -> Result<Bench, String> {
        let abilities = drive.abilities();
        if drive.handles().len() < 2 {
            return Err(format!(
                "{} has one handle: there is nothing to tell apart",
                drive.title()
            ));
        }
        let start_bytes = abilities.bytes.saturating_sub(FROM_THE_END) & !(FROM_THE_END - 1);
        Ok(Bench {
            namespace: Namespace::open(path).map_err(in_words)?,
            block: Path::new("/dev").join(&device.name),
            directive: drive.directive(),
            handles: drive.handles().to_vec(),
            start_bytes,
            block_shift: abilities.block_shift,
            unit_blocks: drive.unit_bytes().unwrap_or(0) >> abilities.block_shift,
        })
    }

    /// Sends one write to the second handle or stream, and asks where it arrived.
    fn proved(&self, conduit: Conduit, send: impl FnOnce(u16) -> Result<(), String>) -> Proof {
        let judged = self.judged(send);
        let (holds, words) = judged.unwrap_or_else(|error| (false, format!("not sent: {error}")));
        Proof {
            conduit,
            holds,
            words,
        }
    }

    fn judged(
        &self,
        send: impl FnOnce(u16) -> Result<(), String>,
    ) -> Result<(bool, String), String> {
        let kib = PROOF_BYTES >> 10;
        let before = self.count()?;
        match before {
            Count::Room(before) => {
                send(self.handles[1])?;
                let Count::Room(after) = self.count()? else {
                    return Err("the drive has no handles any more".to_owned());
                };
                Ok(placed(
                    &self.spent(&before, &after),
                    &self.handles,
                    kib,
                    self.block_shift,
                ))
            }
            Count::Open(open) => {
                let stream = (1..=u16::MAX).find(|stream| !open.contains(stream));
                let stream = stream.ok_or("all stream identifiers are open")?;
                send(stream)?;
                let Count::Open(after) = self.count()? else {
                    return Err("the drive has no streams any more".to_owned());
                };
                let holds = after.contains(&stream);
                let _ = self.release(stream);
                let words = if holds {
                    format!("{kib} KiB opened stream {stream}, as asked")
                } else {
                    format!("{kib} KiB did not open stream {stream}: the drive lists {after:?}")
                };
                Ok((holds, words))
            }
        }
    }

    fn count(&self) -> Result<Count, String> {
        match self.directive {
            Directive::Placement => {
                let handles = self.namespace.handles().map_err(in_words)?;
                Ok(Count::Room(
                    handles.iter().map(|one| one.room_blocks).collect(),
                ))
            }
            Directive::Streams => {
                const STATUS: u32 = 2;
                const STREAMS: u32 = 1;
                let mut list = vec![0; 4096];
                let words = [
                    (list.len() / 4 - 1) as u32,
                    STATUS | STREAMS << 8,
                    0,
                    0,
                    0,
                    0,
                ];
                let command = (Queue::Admin, opcode::DIRECTIVE_RECEIVE, true);
                let asked = self
                    .namespace
                    .ask("ask for open streams", command, words, &mut list);
                asked.map_err(in_words)?;
                let mut numbers = list
                    .chunks_exact(2)
                    .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                let open = usize::from(numbers.next().unwrap_or(0));
                Ok(Count::Open(numbers.take(open).collect()))
            }
        }
    }

    /// The blocks that were written to each handle. A unit that became full was followed by an empty one.
    fn spent(&self, before: &[u64], after: &[u64]) -> Vec<u64> {
        let each = before.iter().zip(after);
        each.map(|(before, after)| {
            if after > before {
                before + self.unit_blocks.saturating_sub(*after)
            } else {
                before - after
            }
        })
        .collect()
    }

    /// Releases a stream that a proof opened.
    fn release(&self, stream: u16) -> Result<(), String> {
        const RELEASE: u32 = 1;
        const STREAMS: u32 = 1;
        let words = [
            0,
            RELEASE | STREAMS << 8 | u32::from(stream) << 16,
            0,
            0,
            0,
            0,
        ];
        let command = (Queue::Admin, opcode::DIRECTIVE_SEND, true);
        let asked = self
            .namespace
            .ask("release a stream", command, words, &mut []);
        asked.map(drop).map_err(in_words)
    }

    /// Opens a device with direct I/O, which bypasses the page cache.
    fn open(&self, path: &Path, more: i32) -> Result<File, String> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(O_DIRECT | more);
        options
            .open(path)
            .map_err(|error| format!("cannot open {}: {error}", path.display()))
    }

    /// Reads the blocks and has them written again. Nobody can mount the drive meanwhile.
    fn again(
        &self,
        path: &Path,
        write: impl FnOnce(&File, &mut [u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let file = self.open(path, O_EXCL)?;
        let mut memory = vec![0; PROOF_BYTES + ALIGNMENT];
        let at = memory.as_ptr().align_offset(ALIGNMENT);
        let blocks = memory
            .get_mut(at..at + PROOF_BYTES)
            .ok_or("memory cannot be aligned")?;
        let read = file.read_exact_at(blocks, self.start_bytes);
        read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        write(&file, blocks)
    }

    /// Writes by an NVMe command that names the placement.
    fn pass_through(&self, place: u16) -> Result<(), String> {
        const WRITE: u8 = 1;
        let kind: u32 = match self.directive {
            Directive::Streams => 1,
            Directive::Placement => 2,
        };
        let block = self.start_bytes >> self.block_shift;
        let count = (PROOF_BYTES >> self.block_shift) as u32 - 1;
        let words = [
            block as u32,
            (block >> 32) as u32,
            count | kind << 20,
            u32::from(place) << 16,
            0,
            0,
        ];
        self.again(&self.block, |_, blocks| {
            let asked = self
                .namespace
                .ask("write", (Queue::Io, WRITE, true), words, blocks);
            asked.map(drop).map_err(in_words)
        })
    }

    /// Writes with a life-time hint on the device's file.
    fn hint(&self) -> Result<(), String> {
        let set = |file: &File, hint: u64| {
            // SAFETY: the kernel reads the eight bytes named, which live until the call returns.
            match unsafe { nix::libc::fcntl(file.as_raw_fd(), F_SET_RW_HINT, &raw const hint) } {
                0 => Ok(()),
                _ => Err(format!(
                    "the kernel refuses the hint: {}",
                    io::Error::last_os_error()
                )),
            }
        };
        self.again(&self.block, |file, blocks| {
            set(file, RWH_WRITE_LIFE_SHORT)?;
            let written = file
                .write_all_at(blocks, self.start_bytes)
                .map_err(in_words);
            written.and(set(file, RWH_WRITE_LIFE_NOT_SET))
        })
    }

    /// Writes with an io_uring write stream, of which 1 is the first handle.
    fn write_stream(&self) -> Result<(), String> {
        self.again(&self.block, |file, blocks| {
            let mut ring = IoUring::new(2).map_err(in_words)?;
            let length = u32::try_from(blocks.len()).map_err(in_words)?;
            let entry = RingWrite::new(Fd(file.as_raw_fd()), blocks.as_ptr(), length)
                .offset(self.start_bytes)
                .write_stream(2)
                .build();
            // SAFETY: the blocks and the file live until the completion has been seen, below.
            unsafe { ring.submission().push(&entry) }.map_err(in_words)?;
            ring.submit_and_wait(1).map_err(in_words)?;
            match ring.completion().next().map(|one| one.result()) {
                Some(written) if written == PROOF_BYTES as i32 => Ok(()),
                Some(error) if error < 0 => Err(io::Error::from_raw_os_error(-error).to_string()),
                other => Err(format!("{other:?} bytes were written")),
            }
        })
    }

    /// Writes through a block device of ours in front of the drive, which sends all writes to `place`.
    fn steer(&self, drive: SteeredDrive, place: u16) -> Result<(), String> {
        let options = ServerOptions {
            handles: vec![place],
            queues: 1,
            depth: 4,
            copy: false,
            accept_contents: true,
            accept_writes: false,
        };
        let placer = Placer::new(Box::new(OneStream), None);
        let server = Server::start(drive, placer, &options, None, |_, _| Arc::new(NoWriters));
        let mut server = server.map_err(in_words)?;
        let path = server.block_device();
        let sent = self.again(&path, |file, blocks| {
            file.write_all_at(blocks, self.start_bytes)
                .map_err(in_words)
        });
        if server.stop().map_err(in_words)? {
            sent
        } else {
            Err(format!("{} is in use and stays", path.display()))
        }
    }
}

/// Whether some KiB arrived in one handle, judged by the room that each handle's unit lost, and a sentence on it.
fn placed(spent: &[u64], handles: &[u16], kib: usize, block_shift: u8) -> (bool, String) {
    let blocks = (kib as u64) << 10 >> block_shift;
    let went = |(handle, spent): (&u16, &u64)| {
        (*spent > 0).then(|| format!("{} KiB in handle {handle}", spent << block_shift >> 10))
    };
    let went: Vec<String> = handles.iter().zip(spent).filter_map(went).collect();
    let others = spent
        .iter()
        .enumerate()
        .any(|(at, &spent)| at != 1 && spent > 0);
    let holds = !others && spent.get(1) == Some(&blocks);
    let asked = handles.get(1).copied().unwrap_or(0);
    let words = match (holds, went.is_empty()) {
        (true, _) => format!("{kib} KiB arrived in handle {asked}, as asked"),
        (false, true) => {
            format!("{kib} KiB were sent to handle {asked}; the drive counts them nowhere")
        }
        (false, false) => format!(
            "{kib} KiB were sent to handle {asked}; the drive counts {}",
            went.join(", ")
        ),
    };
    (holds, words)
}

/// A scheme that puts all writes in one stream.
struct OneStream;

impl Assign for OneStream {
    fn assign(&mut self, _write: &Write) -> StreamId {
        StreamId::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_to_unmount_what_the_system_runs_from() {
        for place in ["/", "/boot/efi", "/var"] {
            let words = mounted("/dev/vda", place);
            assert!(
                !words.contains("umount") && words.contains("another drive"),
                "{words}"
            );
        }
        assert!(mounted("/dev/vdb", "/mnt").contains("`umount /mnt` first"));
    }

    #[test]
    fn a_write_is_proved_when_all_of_it_is_in_the_handle_that_was_asked_for() {
        let handles = [0, 3, 5];
        let (holds, words) = placed(&[0, 16, 0], &handles, 64, 12);
        assert!(holds && words.contains("arrived in handle 3"), "{words}");
        let (holds, words) = placed(&[16, 0, 0], &handles, 64, 12);
        assert!(!holds && words.contains("64 KiB in handle 0"), "{words}");
        let (holds, words) = placed(&[4, 12, 0], &handles, 64, 12);
        assert!(
            !holds && words.contains("16 KiB in handle 0, 48 KiB in handle 3"),
            "{words}"
        );
        let (holds, words) = placed(&[0, 0, 0], &handles, 64, 12);
        assert!(!holds && words.contains("nowhere"), "{words}");
    }
}
