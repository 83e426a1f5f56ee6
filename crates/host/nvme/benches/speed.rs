//! How fast a drive is served, beside TCP echoes of the same sizes in the same run.
//!
//! `cargo bench -p anabranch-nvme --bench speed -- [SECONDS] [WORDS OF A LOAD'S NAME]`, such as `1 "writes, depth 64"`. Contents in memory, no simulated time, the translation layer on. Each
//! load runs `ROUNDS` times, drive and echoes in turn; shown are medians, the least and the most. Below what the clock
//! says stands what a core says: commands per second of processor time that the server's threads took, which other
//! work on the machine and the hosts' own cost change less. One echo does nothing else, the other keeps data as a
//! drive must.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a benchmark prints, and stops at the first thing that goes wrong"
)]

use std::{
    fs,
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
/// Bytes of the demo's drive.
const DRIVE_BYTES: usize = 1250 << 20;
/// The name of the threads that echo.
const ECHO: &str = "echo";
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
        if self.read {
            (COMMAND_BYTES, RESPONSE_BYTES + data)
        } else {
            (COMMAND_BYTES + data, RESPONSE_BYTES)
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

/// How many commands were done in a second, and in a second of processor time of the server's threads.
#[derive(Debug, Clone, Copy)]
struct Rates {
    clock: f64,
    core: f64,
}

/// Seconds that the threads of this name have been on a processor, those that have ended left out
/// (`/proc/PID/task/TID/schedstat`).
fn processor_s(name: &str) -> f64 {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let of_name = threads.filter_map(|thread| {
        let path = thread.ok()?.path();
        let comm = fs::read_to_string(path.join("comm")).ok()?;
        let on_processor_ns = || {
            let schedule = fs::read_to_string(path.join("schedstat")).ok()?;
            schedule.split(' ').next()?.parse::<f64>().ok()
        };
        if comm.trim_end() == name {
            on_processor_ns()
        } else {
            None
        }
    });
    of_name.sum::<f64>() / 1e9
}

/// Runs `work` on as many threads as there are queues; `server` names the threads that answer them.
fn rates<W: FnMut() -> usize + Send + 'static>(
    server: &str,
    workers: Vec<W>,
    time: Duration,
) -> Rates {
    let barrier = Arc::new(Barrier::new(workers.len()));
    let begin_s = processor_s(server);
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
                (work, done as f64, begin.elapsed().as_secs_f64())
            })
        })
        .collect();
    // The workers, and their connections, are kept till the server's threads have been asked.
    let ended: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    let done: f64 = ended.iter().map(|(_, done, _)| done).sum();
    Rates {
        clock: ended.iter().map(|(_, done, time_s)| done / time_s).sum(),
        core: done / (processor_s(server) - begin_s),
    }
}

fn drive_rates(address: SocketAddr, load: Load, time: Duration) -> Rates {
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
    rates("nvme", workers, time)
}

/// Writes each page once, so that no load pays for memory that the contents take for the first time.
fn fill(address: SocketAddr) {
    let mut host = Host::connect(address, &HostOptions::numbered(SUBSYSTEM, 1)).unwrap();
    let data: Arc<[u8]> = vec![1; 32 * 4096].into();
    let blocks = host.namespace.blocks;
    let queue = &mut host.queues[0];
    for first in (0..blocks / 32).map(|part| part * 32) {
        let entry = Entry::write(first, 32, Tag::None);
        queue
            .submit(entry, Transfer::Out(Arc::clone(&data)))
            .unwrap();
        queue.flush().unwrap();
        assert!(queue.wait().unwrap().status.is_success());
    }
}

/// A linear congruential generator (Knuth's MMIX), without its low bits.
fn next(random: &mut u64) -> u64 {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *random >> 20
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
        let first = next(random) % blocks / u64::from(load.blocks) * u64::from(load.blocks);
        let (entry, transfer) = if load.read {
            (
                Entry::read(first, load.blocks),
                Transfer::In(load.blocks as usize * 4096),
            )
        } else {
            (
                Entry::write(first, load.blocks, Tag::None),
                Transfer::Out(Arc::clone(data)),
            )
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

/// A server that answers each so many bytes with so many others. It does nothing else; or it `keeps` data as the
/// drive must: it copies those of each command to or from a random place of as many bytes as the drive has.
fn echo(load: Load, keeps: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let kept_bytes = if keeps {
        DRIVE_BYTES / usize::from(load.queues)
    } else {
        0
    };
    let kept: Vec<Vec<u8>> = (0..load.queues).map(|_| vec![1; kept_bytes]).collect();
    thread::spawn(move || {
        // Asked in this order, so that the listener ends with the last queue.
        for (kept, stream) in kept.into_iter().zip(listener.incoming()) {
            let stream = stream.unwrap();
            let thread = thread::Builder::new().name(ECHO.to_owned());
            thread.spawn(move || answer(stream, load, kept)).unwrap();
        }
    });
    address
}

fn answer(mut stream: TcpStream, load: Load, mut kept: Vec<u8>) {
    stream.set_nodelay(true).unwrap();
    let (request, response) = load.bytes();
    let (mut buffer, mut answers) = (vec![0; 1 << 18], vec![1; response * load.depth]);
    let (mut pending, mut random) = (0, 1);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => pending += count,
        }
        let whole = pending / request;
        pending %= request;
        if !kept.is_empty() {
            for index in 0..whole {
                keep(
                    load,
                    &mut kept,
                    &mut random,
                    (&buffer, &mut answers[index * response..]),
                );
            }
        }
        if whole > 0 && stream.write_all(&answers[..whole * response]).is_err() {
            return;
        }
    }
}

/// Copies a command's data between what is kept and a buffer: any bytes of it, as long as the command's.
fn keep(load: Load, kept: &mut [u8], random: &mut u64, (came, goes): (&[u8], &mut [u8])) {
    let bytes = load.blocks as usize * 4096;
    let place = next(random) as usize % (kept.len() / bytes) * bytes;
    let place = &mut kept[place..][..bytes];
    if load.read {
        goes[RESPONSE_BYTES..][..bytes].copy_from_slice(place)
    } else {
        place.copy_from_slice(&came[..bytes])
    }
}

fn echo_rates(load: Load, keeps: bool, time: Duration) -> Rates {
    let address = echo(load, keeps);
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
    rates(ECHO, workers, time)
}

/// Rates of a round: of the drive, of a plain echo, and of one that keeps what it is sent.
type Round = [Rates; 3];

/// A line of the table: medians, and the least and the most, of one of the two rates.
fn show(name: &str, rounds: &[Round], of: fn(Rates) -> f64) {
    let spread = |values: &mut dyn Iterator<Item = f64>, digits: usize| {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (values[0], values[ROUNDS - 1]);
        let median = values[ROUNDS / 2];
        format!("{median:.digits$} ({least:.digits$} .. {most:.digits$})")
    };
    let drive = spread(&mut rounds.iter().map(|round| of(round[0])), 0);
    let [plain, keeping] = [1, 2].map(|echo| {
        let rate = spread(&mut rounds.iter().map(|round| of(round[echo])), 0);
        let ratios = &mut rounds.iter().map(|round| of(round[0]) / of(round[echo]));
        (rate, spread(ratios, 2))
    });
    println!(
        "| {name} | {drive} | {} | {} | {} | {} |",
        plain.0, plain.1, keeping.0, keeping.1
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words = words.iter().filter(|word| !word.starts_with("--"));
    let (seconds, parts): (Vec<_>, Vec<_>) = words.partition(|word| word.parse::<f64>().is_ok());
    let seconds = seconds.first().and_then(|word| word.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(1.0));
    let wanted = |load: &Load| parts.iter().all(|part| load.name.contains(part.as_str()));
    let loads: Vec<Load> = LOADS.into_iter().filter(wanted).collect();
    assert!(!loads.is_empty(), "no load has {parts:?} in its name");
    let server = serve();
    fill(server.address());
    println!(
        "| load | commands/s | echo | ratio | echo that keeps | ratio |\n|---|---|---|---|---|---|"
    );
    for load in loads {
        let round = |_| {
            let drive = drive_rates(server.address(), load, time);
            let echo = |keeps| echo_rates(load, keeps, time);
            [drive, echo(false), echo(true)]
        };
        let rounds: Vec<Round> = (0..ROUNDS).map(round).collect();
        show(load.name, &rounds, |rates| rates.clock);
        show("of a core of the server", &rounds, |rates| rates.core);
    }
    server.stop();
}
