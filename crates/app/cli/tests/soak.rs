//! Long runs, for as long as `ANABRANCH_SOAK_MINUTES` says (`make soak`), or for a few seconds:
//! two served drives with hosts that come, go and lie, of which one is killed and stopped over and over,
//! and a sweep that is killed and begun again. Every block that a host reads must be one it wrote.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod command;
// The numbers that the simulation of the target draws, of which not all are needed here.
#[allow(dead_code)]
#[path = "../../../host/nvme/tests/simulation/random.rs"]
mod random;
mod served;

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use anabranch_initiator::{Host, HostOptions, InitiatorError, Tag};
use command::{anabranch, json, text, trace};
use random::Random;
use served::{SUBSYSTEM, Served};

/// Hosts, a half of them at each of the two drives.
const HOSTS: u8 = 24;
/// Blocks of 4 KiB that a host has for itself: its part of a drive of 64 MiB.
const BLOCKS: u64 = (64 << 20) / 4096 / (HOSTS as u64 / 2);
/// Bytes of memory that the process of a drive has at most: 32 MiB, and 4 MiB for each host's two queues, which take
/// 3.3 MiB by docs/nvme.md.
const MOST_RESIDENT: u64 = (32 << 20) + HOSTS as u64 / 2 * (4 << 20);
const DRIVE: [&str; 12] = [
    "--device",
    "fdp-8ruh",
    "--size",
    "64MiB",
    "--unit",
    "1MiB",
    "--over-provisioning",
    "30%",
    "--data",
    "DATA",
    "--checkpoint-every",
    "1",
];

/// Counts by name.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<&'static str, u64>>);

impl Counts {
    fn add(&self, name: &'static str) {
        *self.0.lock().unwrap().entry(name).or_default() += 1;
    }
}

/// A host that knows what each of its blocks may hold.
struct Writer {
    number: u8,
    random: Random,
    last: u64,
    blocks: Vec<Vec<u64>>,
}

impl Writer {
    fn new(number: u8) -> Writer {
        Writer {
            number,
            random: Random::new(number.into()),
            last: 0,
            blocks: vec![vec![0]; BLOCKS as usize],
        }
    }

    /// Comes and goes until the time is over.
    fn run(&mut self, address: SocketAddr, until: Instant, counts: &Counts) {
        let options = HostOptions::numbered(SUBSYSTEM, self.number);
        while Instant::now() < until {
            let Ok(mut host) = Host::connect(address, &options) else {
                counts.add("connections refused");
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            counts.add("connections");
            for _ in 0..self.random.below(2000) {
                if Instant::now() >= until {
                    break;
                }
                if self.command(&mut host, counts).is_err() {
                    counts.add("commands cut off");
                    break;
                }
                counts.add("commands");
            }
            if self.random.below(2) == 0 {
                // It may be gone already.
                let _ = host.shut_down();
            }
        }
    }

    fn command(&mut self, host: &mut Host, counts: &Counts) -> Result<(), InitiatorError> {
        let count = 1 + self.random.below(64);
        let first = self.random.below(BLOCKS - count);
        let base = u64::from(self.number / 2) * BLOCKS;
        match self.random.below(10) {
            0..5 => {
                self.last += 1;
                let value = self.last << 8 | u64::from(self.number);
                self.write(host, (base, first, count), value)
            }
            5..8 => {
                let held = host.read(base + first, count as u32)?;
                counts.add("reads compared");
                for (place, block) in (first as usize..).zip(held.chunks(4096)) {
                    let word = u64::from_le_bytes(block[..8].try_into().unwrap());
                    let may = &self.blocks[place];
                    let whole = block[8..] == block[..4088];
                    assert!(
                        whole && may.contains(&word),
                        "host {} block {place} holds {word:x} (whole: {whole}), and may hold {may:x?}",
                        self.number
                    );
                    self.blocks[place] = vec![word];
                }
                Ok(())
            }
            8 => self.change((first, count), 0, |_| {
                host.deallocate(&[(base + first, count as u32)])
            }),
            _ => host.flush(),
        }
    }

    fn write(
        &mut self,
        host: &mut Host,
        (base, first, count): (u64, u64, u64),
        value: u64,
    ) -> Result<(), InitiatorError> {
        let data = value.to_le_bytes().repeat(512 * count as usize);
        let tag = Tag::Placement(self.random.below(9) as u16);
        self.change((first, count), value, |_| {
            host.write(base + first, &data, tag)
        })
    }

    /// Blocks hold something else, or, where the command was cut off, either.
    fn change(
        &mut self,
        (first, count): (u64, u64),
        value: u64,
        command: impl FnOnce(()) -> Result<(), InitiatorError>,
    ) -> Result<(), InitiatorError> {
        let result = command(());
        for block in &mut self.blocks[first as usize..(first + count) as usize] {
            match result {
                Ok(()) => *block = vec![value],
                Err(_) => block.push(value),
            }
        }
        result
    }
}

/// Somebody who says what no host should, and leaves or waits to be thrown out.
fn lie(address: SocketAddr, until: Instant, counts: &Counts) {
    let mut random = Random::new(99);
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
        let Ok(mut stream) = TcpStream::connect(address) else {
            continue;
        };
        counts.add("lies");
        let mut bytes = vec![0; 128];
        (bytes[2], bytes[4]) = (128, 128);
        bytes.extend((0..random.below(3000)).map(|_| random.below(256) as u8));
        if random.below(2) == 0 {
            let place = random.below(128) as usize;
            bytes[place] = random.below(256) as u8;
        }
        bytes.truncate(1 + random.below(bytes.len() as u64) as usize);
        let patience = Duration::from_millis(random.below(100) + 1);
        stream.set_read_timeout(Some(patience)).unwrap();
        // Whether it is heard and answered does not matter.
        let _ = stream.write_all(&bytes);
        let _ = stream.read(&mut [0; 4096]);
    }
}

/// A sweep that is killed and begun again until it is done, and then has what it ought to have.
fn sweep(until: Instant, counts: &Counts) {
    let directory = tempfile::tempdir().unwrap();
    let path = trace(&directory);
    let grid = directory.path().join("grid.toml");
    let words = format!(
        "traces = '{}'\nschemes = ['baseline', 'sepbit', 'dac', 'autostream-sfr']\n[drive]\nsize = '64MiB'\n\
         unit = ['512KiB', '1MiB']\nover_provisioning = ['10%', '25%']\nstreams = 4\n",
        path.display()
    );
    fs::write(&grid, words).unwrap();
    let whole = directory.path().join("whole");
    let done = anabranch(&["sweep", text(&grid), "-o", text(&whole), "--json"]);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let ought = json(&done)["groups"].clone();
    let mut random = Random::new(7);
    while Instant::now() < until {
        let killed = directory.path().join("killed");
        let words = [
            "sweep",
            text(&grid),
            "-o",
            text(&killed),
            "--batch",
            "1",
            "--json",
        ];
        for _ in 0..random.below(3) {
            let mut child = Command::new(env!("CARGO_BIN_EXE_anabranch"))
                .args(words)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(random.below(600)));
            counts.add("sweeps killed");
            // It may be done already.
            let _ = child.kill();
            child.wait().unwrap();
        }
        let done = anabranch(&words);
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        assert_eq!(json(&done)["groups"], ought);
        counts.add("sweeps finished");
        fs::remove_dir_all(&killed).unwrap();
    }
}

/// One drive is killed, or stopped, every few seconds; of the other the memory is told at each
/// quarter.
fn disturb(killed: &mut Served, steady: &Served, time: Duration, counts: &Counts) -> Vec<u64> {
    let mut random = Random::new(1);
    let begin = Instant::now();
    let mut resident = Vec::new();
    for quarter in 1..=4 {
        while begin.elapsed() < time * quarter / 4 {
            thread::sleep(Duration::from_millis(500 + random.below(2500)).min(time / 8));
            match random.below(4) {
                0 => {
                    killed.stop_and_restart();
                    counts.add("stops");
                }
                _ => {
                    killed.kill_and_restart();
                    counts.add("kills");
                }
            }
        }
        resident.push(steady.resident_bytes());
    }
    resident
}

#[test]
fn what_runs_for_long_loses_nothing_and_takes_no_more_memory() {
    let minutes = std::env::var("ANABRANCH_SOAK_MINUTES").ok();
    let minutes: f64 = minutes.map_or(0.1, |minutes| minutes.parse().expect("minutes"));
    let time = Duration::from_secs_f64(60.0 * minutes);
    let until = Instant::now() + time;
    let counts = Counts::default();
    let mut killed = Served::start(&DRIVE);
    let steady = Served::start(&DRIVE);
    let (first, second) = (killed.address(), steady.address());
    let resident = thread::scope(|scope| {
        for number in 0..HOSTS {
            let address = if number % 2 == 0 { first } else { second };
            let counts = &counts;
            scope.spawn(move || Writer::new(number).run(address, until, counts));
        }
        for address in [first, second] {
            scope.spawn({
                let counts = &counts;
                move || lie(address, until, counts)
            });
        }
        scope.spawn(|| sweep(until, &counts));
        disturb(&mut killed, &steady, time, &counts)
    });
    let host = |served: Served| served.stop()["device"]["waf"].as_f64();
    println!(
        "soaked for {minutes} minutes: {:?}",
        counts.0.lock().unwrap()
    );
    println!("WAF {:?} and {:?}; lost 0", host(killed), host(steady));
    println!("resident bytes of the drive that was not killed, by quarters: {resident:?}");
    let most = resident.iter().max();
    assert!(most < Some(&MOST_RESIDENT), "{resident:?} bytes");
    // From the second quarter on: pools and buffers are filled by then.
    if minutes >= 5.0 {
        let (early, late) = (resident[1], resident[3]);
        assert!(late < early + (8 << 20), "from {early} to {late} bytes");
    }
}
