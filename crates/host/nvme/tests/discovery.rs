//! Hosts that stay connected to discovery (Base §3.1.3.3).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use std::time::Duration;

use anabranch_initiator::{Entry, Host, HostOptions, Queue, Tag, Transfer, enable};
use harness::{SUBSYSTEM, Served, pattern, streams_drive};

const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Discovery Log Page Change Notification, of OAES and feature 0Bh.
const LOG_CHANGES: u32 = 1 << 31;

fn discoverer(served: &Served, keep_alive_ms: u32) -> Queue {
    let mut options = HostOptions::numbered(DISCOVERY, 1);
    options.keep_alive_ms = keep_alive_ms;
    let mut admin = Host::admin(served.address, &options).unwrap();
    enable(&mut admin).unwrap();
    admin
}

fn events_wanted(admin: &mut Queue) -> u32 {
    let get = Entry::new(0x0a, 0).dword(10, 0x0b);
    admin.succeed("events", get, Transfer::None).unwrap().result as u32
}

/// Base §3.1.3.3: who gives Connect a keep-alive timeout asks for a connection that stays, and so for
/// notices of changes (§3.1.3.3.1); OAES, AERL and KAS say that there are such connections.
#[test]
fn a_timeout_at_discovery_asks_for_a_connection_that_stays() {
    let served = Served::new(streams_drive(false), |options| {
        options.idle = Duration::from_secs(1);
    });
    let mut admin = discoverer(&served, 60_000);
    let identify = Entry::identify(0x01, 0);
    let page = admin
        .succeed("identify", identify, Transfer::In(4096))
        .unwrap()
        .data;
    assert_eq!(page[92..96], LOG_CHANGES.to_le_bytes());
    assert_eq!((page[259], page[320]), (3, 10));
    assert_eq!(events_wanted(&mut admin), LOG_CHANGES);
    // What drives tell of is not discovery's to tell.
    let all = Entry::new(0x09, 0).dword(10, 0x0b).dword(11, u32::MAX);
    admin.succeed("events", all, Transfer::None).unwrap();
    assert_eq!(events_wanted(&mut admin), LOG_CHANGES);
    // The log does not change, so a request waits.
    admin.submit(Entry::new(0x0c, 0), Transfer::None).unwrap();
    admin.flush().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let alive = admin.submit(Entry::new(0x18, 0), Transfer::None).unwrap();
    admin.flush().unwrap();
    let answer = admin.wait().unwrap();
    assert_eq!((answer.identifier, answer.status.number()), (alive, 0));
    assert_eq!(events_wanted(&mut discoverer(&served, 0)), 0);
}

/// Base §5.1.12.3.1: TREQ bit 3 (ZHIDS) says that a host identifier of 0h is taken; §5.1.25.1.28: controllers
/// that have it are of different hosts, so none has the other's streams.
#[test]
fn discovery_says_that_hosts_may_give_no_identifier() {
    let served = Served::streams();
    let log = Entry::log(0x70, 0, 2048, 0);
    let log = discoverer(&served, 0).succeed("discovery", log, Transfer::In(2048));
    // A secure channel is not required (2), flow control may be disabled (bit 2).
    assert_eq!(log.unwrap().data[1024 + 3], 2 | 1 << 2 | 1 << 3);
    let mut options = HostOptions::numbered(SUBSYSTEM, 1);
    options.identifier = [0; 16];
    let connect = || Host::connect(served.address, &options).unwrap();
    let (mut first, mut second) = (connect(), connect());
    first.enable_streams(true).unwrap();
    first.write(0, &pattern(1, 4096), Tag::Stream(3)).unwrap();
    assert!(second.write(1, &pattern(1, 4096), Tag::Stream(3)).is_err());
}
