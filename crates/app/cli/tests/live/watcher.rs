//! The watcher under test, and programs that write while it watches.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    process::Command,
};

use nix::{libc::O_DIRECT, sys::signal::Signal};
use serde_json::Value;

pub use crate::scrape::{free_address, scrape};

use super::support::{ANABRANCH, Device, Ended, Place, Started, wait_until};

pub const PAGE: u64 = 4096;

/// The watcher at work, with what it is told by.
pub struct Watcher {
    pub started: Started,
    place_of_output: String,
}

impl Watcher {
    /// Starts it, with its snapshots in a file, and waits until it watches.
    pub fn start(place: &Place, words: &[&str]) -> Watcher {
        Watcher::started(Command::new(ANABRANCH), place, words)
    }

    /// Starts it by a command that ends in the watcher's own.
    pub fn started(mut command: Command, place: &Place, words: &[&str]) -> Watcher {
        let output = place.path("snapshot.json");
        let _ = fs::remove_file(&output);
        let fixed = ["watch", "--unit", "1MiB", "--every", "0.2s", "-o", &output];
        command.args(fixed).args(words);
        let mut started = Started::new(&mut command);
        started.wait_for(place, "snapshot.json");
        Watcher {
            started,
            place_of_output: output,
        }
    }

    /// The snapshot of this moment: it is whole whenever it is read.
    pub fn now(&self) -> Value {
        serde_json::from_slice(&fs::read(&self.place_of_output).unwrap()).unwrap()
    }

    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Value) -> bool) {
        wait_until(what, || is_so(&self.now()));
    }

    /// Ends it as Ctrl-C does, and answers its last snapshot.
    pub fn end(self) -> (Value, Ended) {
        self.started.signal(Signal::SIGINT);
        let ended = self.started.end().with_status(0);
        let last = fs::read(&self.place_of_output).unwrap();
        (serde_json::from_slice(&last).unwrap(), ended)
    }
}

/// Bytes that a device was asked to write, by our report and by the kernel's count.
pub fn written(device: &Value) -> (u64, u64) {
    let bytes = |value: &Value| value.as_u64().unwrap();
    (
        bytes(&device["source"]["write_bytes"]),
        bytes(&device["kernel_write_bytes"]),
    )
}

pub fn dd(device: &Device, mebibytes: u64) {
    let words = device.dd(mebibytes);
    let status = Command::new(&words[0]).args(&words[1..]).status();
    assert!(status.unwrap().success());
}

/// Overwrites single pages of a device, drawn by a seed; most of them in an eighth of it.
pub fn overwrite(device: &str, pages: u64, writes: u64) {
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(O_DIRECT)
        .open(device);
    let file = file.unwrap();
    let memory = vec![7_u8; 2 * PAGE as usize];
    let start = memory.as_ptr().align_offset(PAGE as usize);
    let page = &memory[start..start + PAGE as usize];
    let mut state = 1_u64;
    for _ in 0..writes {
        // Knuth's multiplicative generator (MMIX).
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let drawn = state >> 33;
        let within = if drawn.is_multiple_of(4) {
            pages
        } else {
            pages / 8
        };
        file.write_all_at(page, (drawn / 4 % within) * PAGE)
            .unwrap();
    }
}
