//! Contents of the drive, and their agreement with its translation layer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../../fuzz/src/session.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod session;

use std::{
    fmt, fs, io,
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, Mutex},
};

use anabranch_initiator::{Entry, Tag};
use anabranch_nvme::{
    Offline, Options, Target, Totals,
    drive::{ServedDrive, Watch},
    store::{Contents, Store},
};
use anabranch_ssd::{Config, Device, relocate::RelocationKind, wear::Faults};

const PAGE: usize = 4096;

type Then = Box<dyn FnOnce() + Send>;

/// Bytes in memory; when some have been zeroed next, something else happens.
struct Memory {
    bytes: Mutex<Vec<u8>>,
    then: Mutex<Option<Then>>,
}

#[derive(Clone)]
struct Handle(Arc<Memory>);

impl fmt::Debug for Handle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("bytes in memory")
    }
}

impl Contents for Handle {
    fn is_kept(&self) -> bool {
        false
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let at = at as usize;
        into.copy_from_slice(&self.0.bytes.lock().unwrap()[at..at + into.len()]);
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let at = at as usize;
        self.0.bytes.lock().unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        self.0.bytes.lock().unwrap()[at as usize..(at + length) as usize].fill(0);
        let then = self.0.then.lock().unwrap().take();
        if let Some(then) = then {
            then();
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn data(&self) -> io::Result<Vec<(u64, u64)>> {
        Ok(Vec::new())
    }
}

/// A drive of 128 pages whose units fail as told.
fn target(faults: Faults, seed: u64) -> (Arc<Target>, Handle) {
    let config = Config {
        seed,
        host_streams: 1,
        internal_streams: 1,
        faults,
        ..Config::new(128, 8, 0)
    };
    let config = Config {
        physical_units: config.least_physical_units() as u32 + 3,
        ..config
    };
    let relocation = RelocationKind::Gc.build(&config);
    let device = Device::watched(config, &*relocation, Watch::default()).unwrap();
    let handle = Handle(Arc::new(Memory {
        bytes: Mutex::new(vec![0; 128 * PAGE]),
        then: Mutex::new(None),
    }));
    let store = Store::of(Box::new(handle.clone()));
    let drive = ServedDrive::plain(device, Box::new(relocation))
        .whole(4096)
        .unwrap();
    let options = Options::new(session::SUBSYSTEM);
    let target = Target::new(options, drive, store, Totals::default(), None).unwrap();
    (target, handle)
}

/// A queue of a host.
struct Queue(Offline);

impl Queue {
    fn open(target: &Arc<Target>, number: u16, controller: u16) -> Queue {
        let mut hello = session::greeting(number, controller);
        if number == 0 {
            hello.extend(session::enable());
        }
        let mut queue = Queue(Offline::open(target));
        queue.send(&hello);
        queue
    }

    /// Sends bytes, and answers what comes back.
    fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (mut rest, mut said, mut more) = (bytes, Vec::new(), true);
        while more || !rest.is_empty() {
            rest = &rest[self.0.take(rest)..];
            let now;
            (now, more) = self.0.turn();
            said.extend(now);
        }
        said
    }

    /// Commands that come together, with their data; answers their status by their order.
    fn run(&mut self, commands: &[(Entry, Vec<u8>)]) -> Vec<u16> {
        let mut bytes = Vec::new();
        for (number, (entry, data)) in (0_u16..).zip(commands) {
            let mut entry = entry.0;
            entry[1] |= 0x40;
            entry[2..4].copy_from_slice(&number.to_le_bytes());
            entry[32..36].copy_from_slice(&(data.len() as u32).to_le_bytes());
            entry[39] = 0x01;
            session::capsule(&mut bytes, &entry, data);
        }
        let said = self.send(&bytes);
        let mut statuses = vec![0xffff; commands.len()];
        for unit in said.chunks(24) {
            let number = |at: usize| u16::from_le_bytes([unit[at], unit[at + 1]]);
            statuses[usize::from(number(20))] = number(22) >> 1 & 0x7ff;
        }
        statuses
    }
}

fn write(page: u64, byte: u8) -> (Entry, Vec<u8>) {
    (Entry::write(page, 1, Tag::None), vec![byte; PAGE])
}

fn discard(page: u64) -> (Entry, Vec<u8>) {
    let mut range = vec![0; 16];
    range[4] = 1;
    range[8..].copy_from_slice(&page.to_le_bytes());
    (Entry::new(0x09, 1).dword(11, 1 << 2), range)
}

#[test]
fn a_write_that_races_a_discard_leaves_no_data_unknown() {
    let (target, contents) = target(Faults::default(), 0);
    let _admin = Queue::open(&target, 0, 0xffff);
    let (mut one, mut other) = (Queue::open(&target, 1, 1), Queue::open(&target, 2, 1));
    assert_eq!(one.run(&[write(3, 1)]), [0]);
    // In the middle of the discard, when the bytes are zero.
    *contents.0.then.lock().unwrap() = Some(Box::new(move || {
        assert_eq!(other.run(&[write(3, 2)]), [0]);
    }));
    assert_eq!(one.run(&[discard(3)]), [0]);
    assert!(contents.0.then.lock().unwrap().is_none());
    let mut held = [0; PAGE];
    contents.read(3 * PAGE as u64, &mut held).unwrap();
    assert_eq!(held, [2; PAGE]);
    assert!(target.drive().locate(3).is_some(), "data nobody knows of");
    // And one that nothing races.
    assert_eq!(one.run(&[discard(3)]), [0]);
    contents.read(3 * PAGE as u64, &mut held).unwrap();
    assert_eq!(held, [0; PAGE]);
    assert!(target.drive().locate(3).is_none());
}

#[test]
fn a_write_that_is_refused_changes_nothing() {
    let refused: Vec<u32> = (0..16).map(refused_at_once).collect();
    // Of some batch a part was done.
    assert!(
        refused.iter().any(|count| (1..16).contains(count)),
        "{refused:?}"
    );
}

/// Writes until a drive whose units fail refuses some, and answers how many of a batch it refused.
fn refused_at_once(seed: u64) -> u32 {
    const WRITE_PROTECTED: u16 = 0x20;
    let faults = Faults {
        erases_per_failure: 6,
        ..Faults::default()
    };
    let (target, contents) = target(faults, seed);
    let _admin = Queue::open(&target, 0, 0xffff);
    let mut queue = Queue::open(&target, 1, 1);
    let mut model = [0_u8; 128];
    let (mut page, mut refused) = (1_u64, 0);
    for round in 0..100_000_u32 {
        // Of each batch that comes at once, some may be done and others not.
        let mut batch = Vec::new();
        for number in 0..16 {
            page = (page * 57 + 41 + number) % 128;
            batch.push((page, (round * 16 + number as u32) as u8 | 1));
        }
        let commands: Vec<_> = batch
            .iter()
            .map(|&(page, byte)| write(page, byte))
            .collect();
        for (&(page, byte), status) in batch.iter().zip(queue.run(&commands)) {
            match status {
                0 => model[page as usize] = byte,
                WRITE_PROTECTED => refused += 1,
                other => panic!("status {other:#x}"),
            }
        }
        let held = contents.0.bytes.lock().unwrap();
        for (page, held) in held.chunks(PAGE).enumerate() {
            assert_eq!(held[0], model[page], "page {page}, {refused} were refused");
        }
        if refused > 0 {
            return refused;
        }
    }
    panic!("the drive does not fail");
}

/// Dword 10 of Namespace Management and Attachment: the second of their operations.
const DELETE: u32 = 1;

/// A host's wish for a namespace of all pages, and of controller 1.
fn made_and_attached() -> [(Entry, Vec<u8>); 2] {
    let mut data = vec![0; 4096];
    (data[0], data[8], data[26], data[30]) = (128, 128, 1, 1);
    let mut controllers = vec![0; 4096];
    (controllers[0], controllers[2]) = (1, 1);
    [
        (Entry::new(0x0d, 0), data),
        (Entry::new(0x15, 1), controllers),
    ]
}

#[test]
fn a_write_under_way_lands_in_no_namespace_that_comes_after() {
    let (target, contents) = target(Faults::default(), 0);
    let mut admin = Queue::open(&target, 0, 0xffff);
    let mut queue = Queue::open(&target, 1, 1);
    for again in [false, true] {
        assert_eq!(queue.run(&[write(3, 1)]), [0]);
        // A write whose data are asked for: R2T, with its tag in bytes 11:10.
        let mut entry = Entry::write(5, 2, Tag::None).0;
        (entry[1], entry[39]) = (0x40, 0x5a);
        entry[32..36].copy_from_slice(&8192_u32.to_le_bytes());
        let mut bytes = Vec::new();
        session::capsule(&mut bytes, &entry, &[]);
        let asked = queue.send(&bytes);
        assert_eq!((asked[0], asked.len()), (9, 24));
        // Half of the data comes, then the namespace goes, and another comes perhaps.
        let half = |last: bool| {
            let mut unit = vec![6, if last { 4 } else { 0 }, 24, 24];
            unit.extend((24 + 4096_u32).to_le_bytes());
            unit.extend([0, 0, asked[10], asked[11]]);
            unit.extend(if last { 4096_u32 } else { 0 }.to_le_bytes());
            unit.extend(4096_u32.to_le_bytes());
            unit.extend([0; 4]);
            unit.extend([9; 4096]);
            unit
        };
        assert!(queue.send(&half(false)).is_empty());
        let delete = Entry::new(0x0d, 1).dword(10, DELETE);
        assert_eq!(admin.run(&[(delete, Vec::new())]), [0]);
        if again {
            for command in made_and_attached() {
                assert_eq!(admin.run(&[command]), [0]);
            }
        }
        let answer = queue.send(&half(true));
        // Invalid Namespace or Format.
        assert_eq!(answer[22] >> 1, 0x0b);
        assert_eq!(target.drive().mapped_pages(), 0);
        assert!(
            contents
                .0
                .bytes
                .lock()
                .unwrap()
                .iter()
                .all(|&byte| byte == 0)
        );
        if !again {
            assert_eq!(queue.run(&[write(3, 1)]), [0x02]);
            for command in made_and_attached() {
                assert_eq!(admin.run(&[command]), [0]);
            }
        }
    }
    target.drive().verify().unwrap();
}

#[test]
fn a_new_file_of_contents_is_its_owner_s_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    drop(Store::file(&path, 1 << 20).unwrap());
    assert_eq!(mode(), 0o600);
    // A file that is there keeps the mode that its owner gave it.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    drop(Store::file(&path, 1 << 20).unwrap());
    assert_eq!(mode(), 0o640);
}
