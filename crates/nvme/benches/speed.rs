//! How fast a drive is served, beside a plain TCP echo of the same sizes in the same run.
//!
//! `cargo bench -p anabranch-nvme [SECONDS]`. Contents in memory, no simulated time, the translation layer on. Each
//! load runs `ROUNDS` times, drive and echo in turn; shown are medians, the least and the most.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a benchmark prints, and stops at the first thing that goes wrong"
)]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use anabranch_initiator::{Entry, Host, HostOptions, Queue, Tag, Transfer};
use anabranch_nvme::{
    Options, Server, Target, Totals,
    drive::{Drive, Watch},
    store::Store,
};
use anabranch_ssd::{Device, profile::Profile, relocate::RelocationKind};

const SUBSYSTEM: &str = "nqn.2014-08.org.example:speed";
const ROUNDS: usize = 5;
/// A command capsule's header, and a response (TCP §3.6.2.6, .7).
const COMMAND_BYTES: usize = 72;
const RESPONSE_BYTES: usize = 24;

/// What is asked of the drive.
#[derive(Debug, Clone, Copy)]
struct Load {
    name: &'static str,
    read: bool,
    blocks: u32,
    depth: usize,
    queues: u16,
}

const LOADS: [Load; 5] = [
    Load {
        name: "4 KiB random writes, depth 1, 1 queue",
        read: false,
        blocks: 1,
        depth: 1,
        queues: 1,
    },
    Load {
        name: "4 KiB random writes, depth 16, 1 queue",
        read: false,
        blocks: 1,
        depth: 16,
        queues: 1,
    },
    Load {
        name: "4 KiB random writes, depth 64, 4 queues",
        read: false,
        blocks: 1,
        depth: 64,
        queues: 4,
    },
    Load {
        name: "4 KiB random reads, depth 64, 4 queues",
        read: true,
        blocks: 1,
        depth: 64,
        queues: 4,
    },
    Load {
        name: "128 KiB writes, depth 16, 4 queues",
        read: false,
        blocks: 32,
        depth: 16,
        queues: 4,
    },
];

impl Load {
    /// Bytes that one command sends and is answered.
    fn bytes(&self) -> (usize, usize) {
        let data = self.blocks as usize * 4096;
        match self.read {
            true => (COMMAND_BYTES, RESPONSE_BYTES + data),
            false => (COMMAND_BYTES + data, RESPONSE_BYTES),
        }
    }
}

fn serve() -> Server {
    let profile = Profile::shipped("demo").unwrap();
    let config = profile.resolve("demo").unwrap();
    let relocation = RelocationKind::Gc.build(&config);
    let device = Device::watched(config, &*relocation, Watch::default()).unwrap();
    let drive = Drive::streams(device, Box::new(relocation), false);
    let drive = drive.whole(4096).unwrap();
    let store = Store::memory(drive.config().logical_bytes());
    let target = Target::new(
        Options::new(SUBSYSTEM),
        drive,
        store,
        Totals::default(),
        None,
    )
    .unwrap();
    Server::start(target, "127.0.0.1:0".parse().unwrap()).unwrap()
}

/// Runs `work` on as many threads as there are queues, and answers how many it did in a second.
fn rate<W: FnMut() -> usize + Send + 'static>(workers: Vec<W>, time: Duration) -> f64 {
    let barrier = Arc::new(Barrier::new(workers.len()));
    let threads: Vec<_> = workers
        .into_iter()
        .map(|mut work| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                barrier.wait();
                let begin = Instant::now();
                let mut done = 0;
                while begin.elapsed() < time {
                    done += work();
                }
                done as f64 / begin.elapsed().as_secs_f64()
            })
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum()
}

fn drive_rate(address: SocketAddr, load: Load, time: Duration) -> f64 {
    let options = HostOptions {
        queues: load.queues,
        ..HostOptions::numbered(SUBSYSTEM, 1)
    };
    let mut host = Host::connect(address, &options).unwrap();
    let blocks = host.namespace.blocks - u64::from(load.blocks);
    let workers: Vec<_> = std::mem::take(&mut host.queues)
        .into_iter()
        .zip(1_u64..)
        .map(|(mut queue, seed)| {
            let data: Arc<[u8]> = vec![seed as u8; load.blocks as usize * 4096].into();
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            move || keep_busy(&mut queue, load, blocks, &mut random, &data)
        })
        .collect();
    rate(workers, time)
}

/// Fills the queue up to its depth, waits for one command, and takes those that came with it.
fn keep_busy(
    queue: &mut Queue,
    load: Load,
    blocks: u64,
    random: &mut u64,
    data: &Arc<[u8]>,
) -> usize {
    while queue.outstanding() < load.depth {
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let first = (*random >> 20) % blocks / u64::from(load.blocks) * u64::from(load.blocks);
        let (entry, transfer) = match load.read {
            true => (
                Entry::read(first, load.blocks),
                Transfer::In(load.blocks as usize * 4096),
            ),
            false => (
                Entry::write(first, load.blocks, Tag::None),
                Transfer::Out(Arc::clone(data)),
            ),
        };
        queue.submit(entry, transfer).unwrap();
    }
    queue.flush().unwrap();
    // As much is sent at once as has been answered at once.
    loop {
        assert!(queue.wait().unwrap().status.is_success());
        if !queue.has_news() {
            return load.depth - queue.outstanding();
        }
    }
}

/// A server that answers each so many bytes with so many others, and does nothing else.
fn echo(load: Load) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().take(usize::from(load.queues)) {
            let stream = stream.unwrap();
            thread::spawn(move || answer(stream, load));
        }
    });
    address
}

fn answer(mut stream: TcpStream, load: Load) {
    stream.set_nodelay(true).unwrap();
    let (request, response) = load.bytes();
    let (mut buffer, answers) = (vec![0; 1 << 18], vec![1; response * load.depth]);
    let mut pending = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => pending += count,
        }
        let whole = pending / request;
        pending %= request;
        if whole > 0 && stream.write_all(&answers[..whole * response]).is_err() {
            return;
        }
    }
}

fn echo_rate(load: Load, time: Duration) -> f64 {
    let address = echo(load);
    let (request, response) = load.bytes();
    let workers: Vec<_> = (0..load.queues)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            let (requests, mut buffer) = (vec![1; request * load.depth], vec![0; 1 << 18]);
            let (mut under_way, mut came) = (0, 0);
            move || {
                let more = load.depth - under_way;
                stream.write_all(&requests[..more * request]).unwrap();
                came += stream.read(&mut buffer).unwrap();
                let done = came / response;
                under_way = load.depth - done;
                came %= response;
                done
            }
        })
        .collect();
    rate(workers, time)
}

fn main() {
    let seconds = std::env::args()
        .skip(1)
        .find_map(|word| word.parse().ok())
        .unwrap_or(1.0);
    let time = Duration::from_secs_f64(seconds);
    let server = serve();
    println!(
        "{:42} {:>27} {:>10} {:>27} {:>7}",
        "", "commands/s: least .. most", "MB/s", "echo", "ratio"
    );
    for load in LOADS {
        let mut rows: Vec<(f64, f64)> = (0..ROUNDS)
            .map(|_| {
                (
                    drive_rate(server.address(), load, time),
                    echo_rate(load, time),
                )
            })
            .collect();
        let mut ratios: Vec<f64> = rows.iter().map(|(drive, echo)| drive / echo).collect();
        ratios.sort_by(f64::total_cmp);
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let drive: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let mut echo: Vec<f64> = rows.iter().map(|row| row.1).collect();
        echo.sort_by(f64::total_cmp);
        let spread = |rates: &[f64]| {
            format!(
                "{:.0} ({:.0} .. {:.0})",
                rates[ROUNDS / 2],
                rates[0],
                rates[ROUNDS - 1]
            )
        };
        let bytes = drive[ROUNDS / 2] * f64::from(load.blocks) * 4096.0 / 1e6;
        println!(
            "{:42} {:>27} {:>10.0} {:>27} {:>7.2}",
            load.name,
            spread(&drive),
            bytes,
            spread(&echo),
            ratios[ROUNDS / 2]
        );
    }
    server.stop();
}
