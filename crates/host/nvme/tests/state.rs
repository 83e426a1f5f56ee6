//! The state of a drive, written while it is served, and read again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anabranch_nvme::{
    Checkpoint, CheckpointError, Options, Target, Totals,
    drive::{Hint, ServedDrive, Watch},
    namespace::Wanted,
    store::Store,
};
use anabranch_ssd::{
    Config, Device, PageRange,
    relocate::RelocationKind,
    streams::{Scope, StreamHost},
};
use harness::{SUBSYSTEM, config};

/// A host at the namespace.
const SCOPE: Scope = Scope {
    namespace: 1,
    host: StreamHost::Anonymous(1),
};

/// Place of a state, and a drive of so many pages whose state is kept there.
struct Kept {
    _directory: tempfile::TempDir,
    path: PathBuf,
    config: Config,
    kind: RelocationKind,
}

impl Kept {
    fn of(logical_pages: u32, kind: RelocationKind) -> Kept {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config {
            logical_pages,
            ..config()
        };
        config.internal_streams = kind.internal_streams(&config);
        config.physical_units = logical_pages / config.pages_per_unit + 64;
        Kept {
            path: directory.path().join("state"),
            _directory: directory,
            config,
            kind,
        }
    }

    fn target(&self) -> Arc<Target> {
        self.target_of(|drive| drive)
    }

    fn target_of(&self, part: impl FnOnce(ServedDrive) -> ServedDrive) -> Arc<Target> {
        let relocation = self.kind.build(&self.config);
        let device = Device::watched(self.config.clone(), &*relocation, Watch::default()).unwrap();
        let store = Store::memory(self.config.logical_bytes());
        let drive = ServedDrive::streams(device, Box::new(relocation), false);
        let drive = drive.whole(4096).unwrap();
        Target::new(
            Options::new(SUBSYSTEM),
            part(drive),
            store,
            Totals::default(),
            Some(self.checkpoint()),
        )
        .unwrap()
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint::at(&self.path, "streams")
    }

    /// The drive whose state is there.
    fn read(&self) -> ServedDrive {
        let found = self.checkpoint().read().unwrap().unwrap();
        let mut relocation = self.kind.build(&self.config);
        let device = found.drive.resume(&mut *relocation, Watch::default());
        let drive = ServedDrive::streams(device.unwrap(), Box::new(relocation), false);
        found.header.namespaces(drive).unwrap()
    }
}

fn write(target: &Target, first: u32, count: u32) {
    let pages = PageRange::new(first, count);
    let written = target.drive().write(SCOPE, Hint::None, pages);
    written.unwrap();
}

fn same(one: &ServedDrive, other: &ServedDrive, pages: u32) {
    assert_eq!(one.counters(), other.counters());
    for page in 0..pages {
        assert_eq!(one.locate(page), other.locate(page), "page {page}");
        assert_eq!(one.stream_of(page), other.stream_of(page), "page {page}");
    }
    other.verify().unwrap();
}

#[test]
fn what_is_read_is_what_was_written_with_ages_and_without() {
    for kind in [RelocationKind::Gc, RelocationKind::Age] {
        let kept = Kept::of(8192, kind);
        let target = kept.target();
        for step in 0..20_000_u32 {
            write(&target, step.wrapping_mul(2_654_435_761) % 8000, 1);
        }
        target.drive().discard(PageRange::new(300, 500)).unwrap();
        target.save().unwrap();
        same(&target.drive(), &kept.read(), 8192);
        // What comes after it is as if nothing had been.
        let mut read = kept.read();
        for step in 0..20_000_u32 {
            let page = step.wrapping_mul(40_503) % 8192;
            write(&target, page, 1);
            let pages = PageRange::new(page, 1);
            read.write(SCOPE, Hint::None, pages).unwrap();
        }
        same(&target.drive(), &read, 8192);
    }
}

/// A drive of 4 GiB has 4 MiB of mapping, and as much of it changes while it is copied.
#[test]
fn a_state_is_of_one_moment_though_hosts_write_while_it_is_copied_in_slices() {
    const PAGES: u32 = 1 << 20;
    let kept = Kept::of(PAGES, RelocationKind::Gc);
    let target = kept.target();
    write(&target, 0, PAGES);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut page = 1_u32;
            while !done.load(Ordering::Relaxed) {
                page = page.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match page % 64 {
                    0 => {
                        let pages = PageRange::new(page % (PAGES - 3000), 3000);
                        target.drive().discard(pages).unwrap();
                    }
                    1..8 => write(&target, page % (PAGES - 32), 32),
                    _ => write(&target, page % PAGES, 1),
                }
                // Fewer changes than can be copied in the same time.
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        for _ in 0..4 {
            target.save().unwrap();
            kept.read().verify().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    // A slice of the mapping, the changes of a slice, and what there is of each unit.
    let units = u64::from(kept.config.physical_units) * 64;
    let most = target.most_saved_at_once();
    assert!(
        most <= (256 << 10) + 2 * (256 << 10) + 4096 + units,
        "{most} bytes"
    );
    // At rest it is the drive to the page.
    target.save().unwrap();
    same(&target.drive(), &kept.read(), PAGES);
}

/// Latencies of single writes, one after the other with pauses, until `done`: nanoseconds, ascending.
fn waits(target: &Target, pages: u32, done: &AtomicBool) -> Vec<u64> {
    let (mut page, mut waits) = (1_u32, Vec::new());
    while !done.load(Ordering::Relaxed) {
        page = page.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let begun = Instant::now();
        write(target, page % pages, 1);
        waits.push(begun.elapsed().as_nanos() as u64);
        std::thread::sleep(Duration::from_micros(50));
    }
    waits.sort_unstable();
    waits
}

/// Waits of a host's write while the state of 1 TiB is written, beside those without; takes
/// 3.5 GiB of memory, and 1 GiB of disk.
#[test]
#[ignore = "large: by hand, with --release and --nocapture"]
fn a_write_waits_less_than_ten_milliseconds_for_a_state_of_a_tebibyte() {
    const PAGES: u32 = 1 << 28;
    let mut kept = Kept::of(PAGES, RelocationKind::Gc);
    kept.config.pages_per_unit = 1 << 14;
    kept.config.physical_units = (PAGES >> 14) * 107 / 100;
    let target = kept.target();
    for first in (0..PAGES).step_by(1 << 20) {
        write(&target, first, 1 << 20);
    }
    let measured = |work: &dyn Fn()| {
        let done = AtomicBool::new(false);
        let begun = Instant::now();
        let waits = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| waits(&target, PAGES, &done));
            work();
            done.store(true, Ordering::Relaxed);
            waiting.join().unwrap()
        });
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize] / 1000;
        let over = waits.iter().filter(|&&wait| wait > 10_000_000).count();
        println!(
            "{} writes in {:.1} s: median {} us, 99 % {}, 99.9 % {}, longest {}; {over} beyond 10 ms",
            waits.len(),
            begun.elapsed().as_secs_f64(),
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0),
        );
        at(0.999)
    };
    for _ in 0..3 {
        print!("saved: ");
        let saved = measured(&|| target.save().unwrap());
        print!("idle:  ");
        measured(&|| std::thread::sleep(Duration::from_secs(5)));
        assert!(saved < 10_000, "{saved} us");
    }
}

#[test]
fn no_flip_of_a_byte_is_passed_over() {
    let kept = Kept::of(256, RelocationKind::Gc);
    let target = kept.target();
    write(&target, 3, 100);
    target.save().unwrap();
    let whole = fs::read(&kept.path).unwrap();
    assert!(kept.checkpoint().read().is_ok());
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(&kept.path, &flipped).unwrap();
        let read = kept.checkpoint().read();
        assert!(read.is_err(), "byte {place} of {}", whole.len());
    }
    for length in (0..whole.len()).step_by(13) {
        fs::write(&kept.path, &whole[..length]).unwrap();
        assert!(kept.checkpoint().read().is_err(), "{length} bytes");
    }
    fs::write(&kept.path, [&whole[..], &[0]].concat()).unwrap();
    assert!(kept.checkpoint().read().is_err(), "a byte too many");
}

/// Reading goes by 256 KiB: what lies at the ends of such a chunk is looked at as all else is.
#[test]
fn no_flip_at_the_ends_of_what_is_read_at_a_time_is_passed_over() {
    const CHUNK: usize = 1 << 18;
    let pages = 1 << 17;
    let kept = Kept::of(pages, RelocationKind::Gc);
    let target = kept.target();
    write(&target, 0, pages);
    target.save().unwrap();
    let whole = fs::read(&kept.path).unwrap();
    assert!(whole.len() > 2 * CHUNK + 4);
    same(&target.drive(), &kept.read(), pages);
    for border in [CHUNK, 2 * CHUNK] {
        for place in border - 4..=border + 4 {
            let mut flipped = whole.clone();
            flipped[place] ^= 1 << (place % 8);
            fs::write(&kept.path, &flipped).unwrap();
            let read = kept.checkpoint().read();
            assert!(read.is_err(), "byte {place} of {}", whole.len());
        }
    }
}

#[test]
fn what_the_system_will_not_read_is_not_called_damaged() {
    // A directory is opened, and cannot be read.
    let directory = tempfile::tempdir().unwrap();
    let state = Checkpoint::at(directory.path(), "streams");
    assert!(matches!(state.read(), Err(CheckpointError::File { .. })));
    let file = directory.path().join("state");
    fs::write(&file, "{}\n").unwrap();
    let state = Checkpoint::at(&file, "streams");
    let found = state.read();
    assert!(matches!(found, Err(CheckpointError::Damaged { .. })));
}

/// As written until now: a line of JSON, then the whole device.
#[test]
fn a_state_of_the_first_version_is_read() {
    let kept = Kept::of(256, RelocationKind::Gc);
    let mut relocation = kept.kind.build(&kept.config);
    let mut device = Device::watched(kept.config.clone(), &*relocation, Watch::default()).unwrap();
    let stream = anabranch_ssd::StreamId::DEFAULT;
    let pages = PageRange::new(3, 100);
    device.write(&mut *relocation, pages, stream).unwrap();
    let counters = serde_json::to_string(&anabranch_ssd::Counters::default()).unwrap();
    let mut bytes = format!(
        "{{\"version\":1,\"placement\":\"streams\",\"block_shift\":12,\"tally\":{{\"writes\":7}},\"cleared_at\":{counters}}}\n"
    )
    .into_bytes();
    device.save(&*relocation, &mut bytes).unwrap();
    fs::write(&kept.path, bytes).unwrap();
    let found = kept.checkpoint().read().unwrap().unwrap();
    assert_eq!(found.header.tally.writes, 7);
    let drive = ServedDrive::streams(device, Box::new(relocation), false);
    let drive = drive.whole(4096).unwrap();
    same(&drive, &kept.read(), 256);
    // What the state maps is the namespace's, and goes with a deallocation of all.
    deallocated(&mut kept.read(), &[100]);
}

/// Namespaces of a drive have so many pages that hold data, and none when all are deallocated.
fn deallocated(drive: &mut ServedDrive, mapped: &[u64]) {
    let counts = |drive: &ServedDrive| -> Vec<u64> {
        let all = drive.namespaces().iter();
        all.map(|one| one.mapped_pages()).collect()
    };
    assert_eq!(counts(drive), mapped);
    let parts: Vec<PageRange> = drive.namespaces().iter().map(|one| one.pages()).collect();
    for pages in parts {
        drive.discard(pages).unwrap();
    }
    assert_eq!(counts(drive), vec![0; mapped.len()]);
    assert_eq!(drive.mapped_pages(), 0);
}

#[test]
fn an_aged_drive_s_pages_are_counted_for_its_namespaces() {
    let aged = |parts: &[Wanted]| {
        let kept = Kept::of(8192, RelocationKind::Gc);
        let mut relocation = kept.kind.build(&kept.config);
        let device = Device::watched(kept.config.clone(), &*relocation, Watch::default());
        let (mut device, pages) = (device.unwrap(), PageRange::new(200, 1000));
        let stream = anabranch_ssd::StreamId::DEFAULT;
        device.write(&mut *relocation, pages, stream).unwrap();
        let drive = ServedDrive::streams(device, Box::new(relocation), false);
        match parts {
            [] => drive.whole(4096).unwrap(),
            parts => drive.with(parts).unwrap(),
        }
    };
    let wanted = |bytes| Wanted {
        bytes,
        block_shift: 12,
        shared: true,
        handles: Vec::new(),
    };
    deallocated(&mut aged(&[]), &[1000]);
    let parts = [wanted(Some(1 << 20)), wanted(None)];
    deallocated(&mut aged(&parts), &[56, 944]);
}

#[test]
fn namespaces_are_kept_with_all_that_was_said_of_them() {
    let kept = Kept::of(8192, RelocationKind::Gc);
    let wanted = |bytes, block_shift, shared| Wanted {
        bytes,
        block_shift,
        shared,
        handles: Vec::new(),
    };
    let parts = [
        wanted(Some(1 << 20), 12, true),
        wanted(Some(5 << 9), 9, false),
        wanted(None, 12, true),
    ];
    let target = kept.target_of(|drive| drive.without_namespaces().with(&parts).unwrap());
    write(&target, 3, 100);
    let second = Scope {
        namespace: 2,
        host: StreamHost::Anonymous(1),
    };
    let pages = PageRange::new(256, 1);
    target.drive().write(second, Hint::None, pages).unwrap();
    target.save().unwrap();
    let layouts = |drive: &ServedDrive| -> Vec<_> {
        let all = drive.namespaces().iter();
        all.map(|one| (one.layout(), one.mapped_pages())).collect()
    };
    let (before, after) = (layouts(&target.drive()), layouts(&kept.read()));
    assert_eq!(before, after);
    let of = |index: usize| {
        let (layout, mapped) = &after[index];
        (
            layout.id,
            layout.birth,
            layout.pages,
            layout.bytes,
            layout.host_pages,
            *mapped,
        )
    };
    // The first namespace, which was there before, is counted.
    assert_eq!(of(0), (1, 2, 256, 1 << 20, 100, 100));
    assert_eq!(of(1), (2, 3, 1, 5 << 9, 1, 1));
    assert_eq!(of(2), (3, 4, 8192 - 257, (8192 - 257) * 4096, 0, 0));
}
