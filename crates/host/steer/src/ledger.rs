//! The ledger of a block device: what the next server must find unchanged to go on with it. It lies in memory that a file
//! backs, so that it survives a server that is killed at any moment; the system's end takes both it and the device.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use nix::libc::O_NOFOLLOW;

use crate::error::SteerError;
use crate::memory::Words;
use crate::take_over::{Counter, Disk, Facts};

/// The directory of ledgers; gone with the next boot, as block devices are.
const DIRECTORY: &str = "/run/anabranch-steer";
/// The first word of a ledger of this form (our choice).
const FORM: u64 = 0x616e_6162_7261_6e01;
const BYTES: usize = Words::COUNT * 8;

/// The words of a ledger, in order.
#[derive(Clone, Copy)]
enum Word {
    Form,
    /// The sequence number that the kernel gave the block device.
    Device,
    /// Process id of the guard that holds the drive.
    Guard,
    Unique,
    Bytes,
    BlockShift,
    MostBytes,
    VolatileCache,
    Disk,
    OthersSectors,
    Counter,
    HostBytes,
    /// Bytes of write commands that servers of this device sent to the drive.
    Sent,
}

/// The ledger of one block device.
#[derive(Debug)]
pub struct Ledger(Words);

/// The file of a block device's ledger.
pub fn path(device: u32) -> PathBuf {
    Path::new(DIRECTORY).join(format!("ublkb{device}"))
}

/// The file of a block device's properties for udev, beside its ledger.
pub fn properties(device: u32) -> PathBuf {
    path(device).with_extension("udev")
}

impl Ledger {
    /// Begins the ledger of a new device, on the facts found before its first request.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(device: u32, facts: &Facts) -> Result<Ledger, SteerError> {
        let path = path(device);
        let make = || {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(DIRECTORY)?;
            // Left by a device that had this number and is gone.
            remove(device);
            let file = open(&path, true)?;
            // IMPORTANT: before it is mapped. A store beyond the end of the file is SIGBUS.
            file.write_all_at(&[0; BYTES], 0)?;
            Words::of_file(&file)
        };
        let ledger = Ledger(make().map_err(SteerError::io("make the ledger", &path))?);
        ledger.record(facts);
        // IMPORTANT: last. A ledger without its form is none.
        ledger.set(Word::Form, FORM);
        Ok(ledger)
    }

    /// The ledger of a device that a server left; nothing where there is none of this form, or where it is that of another
    /// device of this number.
    pub fn open(device: u32, sequence: Option<u64>) -> Option<Ledger> {
        let file = open(&path(device), false).ok()?;
        let metadata = file.metadata().ok()?;
        // A shorter file could be mapped, and reading its words would be SIGBUS.
        if !metadata.is_file() || metadata.len() != BYTES as u64 {
            return None;
        }
        let ledger = Ledger(Words::of_file(&file).ok()?);
        let is_its = Some(ledger.get(Word::Device)) == sequence;
        (ledger.get(Word::Form) == FORM && is_its).then_some(ledger)
    }

    /// A ledger that ends with the process.
    #[cfg(test)]
    pub fn of_process(facts: &Facts) -> Ledger {
        let ledger = Ledger(Words::of_process().expect("a page"));
        ledger.record(facts);
        ledger
    }

    fn get(&self, word: Word) -> u64 {
        self.0.at(word as usize).load(Ordering::SeqCst)
    }

    fn set(&self, word: Word, value: u64) {
        // IMPORTANT: in program order: a server may be killed between two stores, and the next one reads them.
        self.0.at(word as usize).store(value, Ordering::SeqCst);
    }

    fn record(&self, facts: &Facts) {
        self.set(Word::Unique, facts.unique);
        self.set(Word::Bytes, facts.bytes);
        self.set(Word::BlockShift, facts.block_shift.into());
        self.set(Word::MostBytes, facts.most_bytes.into());
        self.set(Word::VolatileCache, facts.volatile_cache.into());
        self.keep_disk(facts.disk);
        let (counter, host_bytes) = match facts.host_bytes {
            Some((Counter::Placement, bytes)) => (1, bytes),
            Some((Counter::Smart, bytes)) => (2, bytes),
            None => (0, 0),
        };
        self.set(Word::Counter, counter);
        self.set(Word::HostBytes, host_bytes);
    }

    /// The facts on which the device rests.
    pub fn facts(&self) -> Facts {
        let counter = match self.get(Word::Counter) {
            1 => Some(Counter::Placement),
            2 => Some(Counter::Smart),
            _ => None,
        };
        let disk = Disk {
            life: self.get(Word::Disk),
            others_sectors: self.get(Word::OthersSectors),
        };
        Facts {
            unique: self.get(Word::Unique),
            bytes: self.get(Word::Bytes),
            block_shift: self.get(Word::BlockShift) as u8,
            most_bytes: self.get(Word::MostBytes) as u32,
            volatile_cache: self.get(Word::VolatileCache) != 0,
            disk: (disk.life != 0).then_some(disk),
            host_bytes: counter.map(|counter| (counter, self.get(Word::HostBytes))),
        }
    }

    /// Counts others' writes of this disk from now on: the kernel knows the drive as another one after it was away.
    pub fn keep_disk(&self, disk: Option<Disk>) {
        let Disk {
            life,
            others_sectors,
        } = disk.unwrap_or_default();
        // IMPORTANT: in this order. Of a server that is killed in between, the life found is another than the one kept.
        self.set(Word::Disk, 0);
        self.set(Word::OthersSectors, others_sectors);
        self.set(Word::Disk, life);
    }

    /// Adds bytes of a write command, before it goes to the drive.
    pub fn add_sent(&self, bytes: u64) {
        // Relaxed: queues only add, and the sum is read when this server is dead.
        self.0
            .at(Word::Sent as usize)
            .fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of write commands sent so far.
    pub fn sent(&self) -> u64 {
        self.get(Word::Sent)
    }

    /// Records the sequence number of its block device.
    pub fn set_device(&self, sequence: u64) {
        self.set(Word::Device, sequence);
    }

    /// The process that holds the drive while no server is there; 0 for none.
    pub fn guard(&self) -> i32 {
        i32::try_from(self.get(Word::Guard)).unwrap_or(0)
    }

    /// Records that process.
    pub fn set_guard(&self, process: i32) {
        self.set(Word::Guard, u64::try_from(process).unwrap_or(0));
    }
}

fn open(path: &Path, is_new: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(is_new)
        .mode(0o600)
        .custom_flags(O_NOFOLLOW)
        .open(path)
}

/// Ends the ledger and the properties of a device that is gone.
pub fn remove(device: u32) {
    let _ = fs::remove_file(path(device));
    let _ = fs::remove_file(properties(device));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_returns_the_facts_that_it_was_begun_on() {
        for (counter, disk) in [
            (
                Some((Counter::Placement, 1 << 50)),
                Some(Disk {
                    life: 9,
                    others_sectors: 7,
                }),
            ),
            (Some((Counter::Smart, 5)), None),
            (None, None),
        ] {
            let facts = Facts {
                unique: 3,
                bytes: 1 << 40,
                block_shift: 12,
                most_bytes: 1 << 19,
                volatile_cache: true,
                disk,
                host_bytes: counter,
            };
            let ledger = Ledger::of_process(&facts);
            assert_eq!(ledger.facts(), facts);
            ledger.add_sent(4096);
            ledger.add_sent(512);
            assert_eq!((ledger.sent(), ledger.guard()), (4608, 0));
        }
    }
}
