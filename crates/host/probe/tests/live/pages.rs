//! Threads that mark each page they write with their own number, and whether a handover knows it.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anabranch_probe::Handover;
use nix::libc::O_DIRECT;

pub const PAGE: usize = 4096;
const MAGIC: u64 = 0x616e_6162_7261_6e63;
const MOST_PAGES: usize = 256;

/// The name of a thread; letters, for digits do not make another role.
fn role(number: u64) -> String {
    let letter = |number: u64| char::from(b'a' + (number % 16) as u8);
    format!("writer-{}{}", letter(number / 16), letter(number))
}

/// Pages that say who wrote them, at an address that direct writes may have.
struct Marked {
    bytes: Vec<u8>,
    start: usize,
}

impl Marked {
    fn by(number: u64) -> Marked {
        let bytes = vec![0_u8; (MOST_PAGES + 1) * PAGE];
        let start = bytes.as_ptr().align_offset(PAGE);
        let mut marked = Marked { bytes, start };
        for page in marked.bytes[start..].chunks_exact_mut(PAGE) {
            page[..8].copy_from_slice(&MAGIC.to_le_bytes());
            page[8..16].copy_from_slice(&number.to_le_bytes());
        }
        marked
    }

    fn pages_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..][..MOST_PAGES * PAGE]
    }

    fn pages(&self, count: usize) -> &[u8] {
        &self.bytes[self.start..][..count * PAGE]
    }
}

/// One thread's file: in long runs, directly in runs of every length, or page by page from the end.
fn write_file(directory: &Path, number: u64, pages: usize) {
    let marked = Marked::by(number);
    let direct = number % 3 == 1;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(if direct { O_DIRECT } else { 0 })
        .open(directory.join(role(number)))
        .unwrap();
    let mut done = 0;
    while done < pages {
        let wish = match number % 3 {
            0 => MOST_PAGES,
            1 => 1 + done * 7 % MOST_PAGES,
            _ => 1,
        };
        let count = wish.min(pages - done);
        let at = match number % 3 {
            2 => pages - done - count,
            _ => done,
        };
        file.write_all_at(marked.pages(count), (at * PAGE) as u64)
            .unwrap();
        done += count;
        if number % 3 == 2 && done % 16 == 0 {
            file.sync_data().unwrap();
        }
    }
    file.sync_all().unwrap();
}

/// Lets threads of numbers `numbers` write `pages` pages each, all at once.
pub fn write(directory: &Path, numbers: std::ops::Range<u64>, pages: usize) {
    thread::scope(|scope| {
        for number in numbers {
            thread::Builder::new()
                .name(role(number))
                .spawn_scoped(scope, move || write_file(directory, number, pages))
                .unwrap();
        }
    });
}

/// Lets a handover follow what happens during `work`.
pub fn follow(handover: &Handover, work: impl FnOnce() + Send) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            done.store(true, Ordering::Release);
            outcome
        });
        while !done.load(Ordering::Acquire) {
            handover.poll(Duration::from_millis(20)).unwrap();
        }
        if let Err(panic) = worker.join().unwrap() {
            std::panic::resume_unwind(panic);
        }
    });
    handover.poll(Duration::ZERO).unwrap();
}

/// Returns the writers of marked pages once a handover has inspected all programs, which takes a loaded machine long. What
/// is unknown after ten seconds stays so.
pub fn judge_in_the_end(handover: &Handover, device: &Path) -> Judged {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let judged = judge(handover, device);
        if judged.unknown == 0 || Instant::now() >= until {
            return judged;
        }
        handover.poll(Duration::from_millis(20)).unwrap();
    }
}

/// Writers of the marked pages of a device, by the handover.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Judged {
    pub right: u64,
    pub wrong: u64,
    pub unknown: u64,
}

/// Looks at every page of the device.
pub fn judge(handover: &Handover, device: &Path) -> Judged {
    let mut judged = Judged::default();
    // Past the page cache: a file system's pages are not the device's.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECT)
        .open(device);
    let (file, mut marked) = (file.unwrap(), Marked::by(0));
    let read = marked.pages_mut();
    let mut at = 0;
    while file.read_exact_at(read, at).is_ok() {
        for (number, page) in (at / PAGE as u64..).zip(read.chunks_exact(PAGE)) {
            let word = |at: usize| u64::from_le_bytes(page[at..at + 8].try_into().unwrap());
            if word(0) == MAGIC {
                let writer = handover.writer_of(number);
                let context = writer.map_or(0, |writer| writer.context.0 as usize);
                let (contexts, _) = handover.news(context, usize::MAX).unwrap();
                match contexts.first() {
                    Some(known) if context > 0 && known.role == role(word(8)) => judged.right += 1,
                    Some(_) if context > 0 => judged.wrong += 1,
                    _ => judged.unknown += 1,
                }
            }
        }
        at += read.len() as u64;
    }
    judged
}
