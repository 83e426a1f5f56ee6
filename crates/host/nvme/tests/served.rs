//! A drive served, and used by the host of the tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use anabranch_initiator::{Host, HostOptions, Tag};
use anabranch_nvme::{
    Checkpoint, Options, Server, Tally, Target, Totals,
    drive::{Drive, Watch},
    store::Store,
};
use anabranch_ssd::{Device, profile::Profile, relocate::RelocationKind, time::Flash};

const NAME: &str = "nqn.2026-01.test:drive";

fn serve(drive: Drive) -> (Arc<Target>, Server) {
    let store = Store::memory(drive.config().logical_bytes());
    let target = Target::new(Options::new(NAME), drive, store, Totals::default(), None).unwrap();
    let server = Server::start(Arc::clone(&target), "127.0.0.1:0".parse().unwrap()).unwrap();
    (target, server)
}

fn host(server: &Server) -> Host {
    Host::connect(server.address(), &HostOptions::numbered(NAME, 1)).unwrap()
}

fn profile(name: &str) -> Profile {
    Profile::shipped(name).unwrap()
}

fn streams(watch: Watch) -> Drive {
    let config = profile("demo").resolve("demo").unwrap();
    let relocation = RelocationKind::Gc.build(&config);
    let device = Device::watched(config, &*relocation, watch).unwrap();
    Drive::streams(device, Box::new(relocation), false)
        .whole(4096)
        .unwrap()
}

#[test]
fn what_is_written_is_read() {
    let (target, server) = serve(streams(Watch::default()));
    let mut host = host(&server);
    let data: Vec<u8> = (0..1 << 20).map(|step: u32| (step >> 8) as u8).collect();
    host.write(3, &data[..4096], Tag::default()).unwrap();
    host.write(1000, &data, Tag::default()).unwrap();
    assert_eq!(host.read(3, 1).unwrap(), &data[..4096]);
    assert_eq!(host.read(1000, 256).unwrap(), data);
    assert_eq!(target.drive().counters().host_pages, 257);
    host.flush().unwrap();
    host.shut_down().unwrap();
}

#[test]
fn a_drive_that_takes_time_answers_no_sooner_than_its_flash() {
    let profile = profile("pcstream-emulator");
    let (config, timing) = (profile.resolve("x").unwrap(), profile.timing.unwrap());
    let flash = Flash::live(&config, timing, profile.layout()).unwrap();
    let relocation = RelocationKind::Mixed.build(&config);
    let device = Device::watched(config, &*relocation, Watch::timed(flash)).unwrap();
    let drive = Drive::streams(device, Box::new(relocation), false);
    let (_target, server) = serve(drive.whole(4096).unwrap());
    let mut host = host(&server);
    // More than the write buffer holds, so that what was written first is on the flash by then.
    let pieces = 3 * timing.write_buffer_bytes.div_ceil(1 << 20);
    let data = vec![7; 1 << 20];
    for piece in 0..pieces {
        host.write(piece * 256, &data, Tag::default()).unwrap();
    }
    host.flush().unwrap();
    let begin = Instant::now();
    assert_eq!(host.read(0, 1).unwrap(), data[..4096]);
    assert!(begin.elapsed() >= Duration::from_nanos(timing.read_ns));
    host.deallocate(&[(0, 256)]).unwrap();
    assert_eq!(host.read(0, 256).unwrap(), vec![0; 1 << 20]);
    assert_eq!(host.read(256, 256).unwrap(), data);
}

/// A file-backed drive in a directory, as a program that serves it begins and ends.
struct Kept {
    directory: tempfile::TempDir,
}

impl Kept {
    fn begin(&self) -> (Arc<Target>, Server, (u64, u64)) {
        let checkpoint = Checkpoint::at(&self.directory.path().join("state"), "streams gc");
        let config = profile("demo").resolve("demo").unwrap();
        let mut relocation = RelocationKind::Gc.build(&config);
        let bytes = config.logical_bytes();
        let killed = checkpoint.was_killed();
        let found = checkpoint.read().unwrap();
        let header = found.as_ref().map(|found| found.header.clone());
        let (device, tally, new) = match found {
            None => {
                let device = Device::watched(config, &*relocation, Watch::default()).unwrap();
                (device, Tally::default(), true)
            }
            Some(found) => {
                let resumed = found.drive.resume(&mut *relocation, Watch::default());
                let device = resumed.unwrap();
                (device, found.header.tally, false)
            }
        };
        let store = Store::file(&self.directory.path().join("data"), bytes).unwrap();
        let drive = Drive::streams(device, Box::new(relocation), false);
        let drive = match header {
            None => drive.whole(4096),
            Some(header) => header.namespaces(drive),
        };
        let mut drive = drive.unwrap();
        let learned = if killed || new {
            drive.reconcile(&store.data().unwrap(), true).unwrap()
        } else {
            (0, 0)
        };
        checkpoint.begin().unwrap();
        let totals = Totals::after(tally);
        let target = Target::new(Options::new(NAME), drive, store, totals, Some(checkpoint));
        let target = target.unwrap();
        let server = Server::start(Arc::clone(&target), "127.0.0.1:0".parse().unwrap()).unwrap();
        (target, server, learned)
    }
}

#[test]
fn a_drive_that_was_stopped_goes_on_as_if_it_had_not_been() {
    let kept = Kept {
        directory: tempfile::tempdir().unwrap(),
    };
    let (target, server, _) = kept.begin();
    let mut one = host(&server);
    one.enable_streams(true).unwrap();
    for stream in 1..4 {
        let first = u64::from(stream) * 300;
        one.write(first, &vec![stream as u8; 1 << 20], Tag::Stream(stream))
            .unwrap();
    }
    drop(one);
    server.stop();
    let before = (*target.drive().counters(), target.totals().sums());
    let streams: Vec<_> = (0..1200)
        .map(|page| target.drive().stream_of(page))
        .collect();
    target.stop().unwrap();
    drop(target);
    let (target, server, learned) = kept.begin();
    assert_eq!(learned, (0, 0));
    assert_eq!(*target.drive().counters(), before.0);
    assert_eq!(target.totals().sums().written_bytes, before.1.written_bytes);
    let now: Vec<_> = (0..1200)
        .map(|page| target.drive().stream_of(page))
        .collect();
    assert_eq!(now, streams);
    assert_eq!(host(&server).read(600, 256).unwrap(), vec![2; 1 << 20]);
}

#[test]
fn a_drive_that_was_killed_loses_nothing_and_gives_back_nothing() {
    let kept = Kept {
        directory: tempfile::tempdir().unwrap(),
    };
    let (target, server, _) = kept.begin();
    let mut one = host(&server);
    one.write(0, &vec![1; 1 << 20], Tag::default()).unwrap();
    target.save().unwrap();
    // After the last state was written: new data, overwritten data, and data given up.
    one.write(1000, &vec![2; 1 << 20], Tag::default()).unwrap();
    one.write(0, &vec![3; 1 << 18], Tag::default()).unwrap();
    one.deallocate(&[(128, 64)]).unwrap();
    // What a kill leaves: the file, and the state with its mark.
    drop((one, server, target));
    let (target, server, learned) = kept.begin();
    assert_eq!(learned, (256, 64));
    target.drive().verify().unwrap();
    assert_eq!(target.drive().mapped_pages(), 256 - 64 + 256);
    let mut one = host(&server);
    assert_eq!(one.read(0, 64).unwrap(), vec![3; 1 << 18]);
    assert_eq!(one.read(64, 64).unwrap(), vec![1; 1 << 18]);
    assert_eq!(one.read(128, 64).unwrap(), vec![0; 1 << 18]);
    assert_eq!(one.read(1000, 256).unwrap(), vec![2; 1 << 20]);
}

#[test]
fn a_state_that_has_not_changed_is_not_written_again() {
    let kept = Kept {
        directory: tempfile::tempdir().unwrap(),
    };
    let state = kept.directory.path().join("state");
    let (target, server, _) = kept.begin();
    // Taken away, it is there again only if it was written.
    let is_written = || {
        let told = target.save_changes().unwrap();
        let written = std::fs::remove_file(&state).is_ok();
        assert_eq!(told, written);
        written
    };
    assert!(is_written(), "there was none");
    assert!(!is_written());
    let mut one = host(&server);
    assert!(!is_written(), "a host that connects changes nothing");
    one.write(0, &vec![1; 4096], Tag::default()).unwrap();
    assert!(is_written());
    one.flush().unwrap();
    one.deallocate(&[(8, 8)]).unwrap();
    assert!(!is_written(), "nothing was there to give up");
    one.read(0, 1).unwrap();
    assert!(is_written(), "its counters tell of reads");
    one.deallocate(&[(0, 8)]).unwrap();
    assert!(is_written());
    assert!(!is_written());
    target.save().unwrap();
    assert!(state.exists(), "asked for outright, it always is");
}

/// What a monitoring system would do.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: drive\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn metrics_are_the_device_s_counters() {
    let drive = streams(Watch::default());
    let store = Store::memory(drive.config().logical_bytes());
    let target = Target::new(Options::new(NAME), drive, store, Totals::default(), None).unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let server = Server::with_metrics(target, any, Some(any), None).unwrap();
    let mut host = host(&server);
    host.enable_streams(true).unwrap();
    host.write(0, &vec![1; 8192], Tag::Stream(9)).unwrap();
    let address = server.metrics_address().unwrap();
    let text = get(address, "/metrics");
    for line in [
        "HTTP/1.1 200 OK",
        "anabranch_host_bytes_total 8192",
        "anabranch_written_bytes_total 8192",
        "anabranch_mapped_bytes 8192.0",
        "anabranch_hosts 1.0",
        "anabranch_stream_host_bytes_total{stream=\"1\",internal=\"false\"} 8192",
        "# EOF",
    ] {
        assert!(
            text.lines().any(|one| one.trim_end() == line),
            "{line}\n{text}"
        );
    }
    assert!(get(address, "/").starts_with("HTTP/1.1 404"));
}
