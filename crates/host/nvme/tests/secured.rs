//! Hosts that must authenticate, over the network: what they may do before they have, and who is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use std::{collections::BTreeMap, sync::Arc};

use anabranch_initiator::{Entry, Host, HostOptions, Queue, Transfer};
use anabranch_security::{Demand, DhGroup, Form, Hash, Keys, Secret, is_name};
use harness::{SUBSYSTEM, Served, status, streams_drive};
use openssl::{hash::MessageDigest, pkey::PKey, sign::Signer};

/// A key of 00h to 1Fh, as `nvme gen-dhchap-key --hmac=0` of nvme-cli 2.13 prints it.
const SECRET: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
/// Authentication Required, Command Sequence Error, Invalid Field, Connect Invalid Host.
const REQUIRED: u16 = 0x191;
const SEQUENCE: u16 = 0x00c;
const INVALID: u16 = 0x002;

/// Hosts that may be connected at a time.
const MOST_HOSTS: u16 = 2;

/// A drive that the first host has a secret for.
fn served() -> Served {
    served_by(Demand::default())
}

fn served_by(demand: Demand) -> Served {
    let known = HostOptions::numbered(SUBSYSTEM, 1).name;
    assert!(is_name(&known));
    let secret = Secret::of(Form::Dhchap, SECRET).unwrap();
    let keys = Keys {
        hosts: Some(BTreeMap::from([(known, secret)])),
        demand,
        ..Keys::default()
    };
    Served::new(streams_drive(false), |options| {
        options.keys = Arc::new(keys);
        options.most_controllers = MOST_HOSTS;
    })
}

fn queue(served: &Served) -> Queue {
    Host::admin(served.address, &HostOptions::numbered(SUBSYSTEM, 1)).unwrap()
}

/// AUTH_Send (05h) or AUTH_Receive (06h), with its length.
fn authentication(kind: u8, length: usize) -> Entry {
    let mut entry = Entry::fabrics(kind);
    entry.0[41..44].copy_from_slice(&[1, 1, 0xe9]);
    entry.0[44..48].copy_from_slice(&(length as u32).to_le_bytes());
    entry
}

/// A host's offer of every hash and group.
fn offer() -> Vec<u8> {
    let mut bytes = vec![0; 72];
    bytes[4..9].copy_from_slice(&[5, 0, 0, 1, 1]);
    bytes[10..15].copy_from_slice(&[3, 6, 1, 2, 3]);
    bytes[42..48].copy_from_slice(&[0, 1, 2, 3, 4, 5]);
    bytes
}

#[test]
fn nothing_is_served_before_the_host_has_authenticated() {
    let served = served();
    let mut queue = queue(&served);
    for (entry, transfer) in [
        (Entry::identify(1, 0), Transfer::In(4096)),
        (Entry::new(0x18, 0), Transfer::None),
        (Entry::fabrics(0x00), Transfer::None),
        (Entry::fabrics(0x04), Transfer::None),
        (Entry::read(0, 1), Transfer::In(4096)),
        (
            Entry::write(0, 1, anabranch_initiator::Tag::None),
            Transfer::out(vec![7; 4096]),
        ),
    ] {
        assert_eq!(status(&mut queue, entry, transfer), REQUIRED, "{entry:?}");
    }
    // A challenge that nobody asked for; another protocol; lengths that do not agree.
    let receive = authentication(6, 4096);
    assert_eq!(status(&mut queue, receive, Transfer::In(4096)), SEQUENCE);
    let mut other = authentication(5, 72);
    other.0[43] = 0xea;
    assert_eq!(status(&mut queue, other, Transfer::out(offer())), INVALID);
    for length in [0, 71, 73, 8192, 0xffff_ffff] {
        let entry = authentication(5, length);
        assert_eq!(status(&mut queue, entry, Transfer::out(offer())), INVALID);
    }
    // After all that the authentication goes on as if nothing had been.
    assert_eq!(
        status(&mut queue, authentication(5, 72), Transfer::out(offer())),
        0
    );
    let challenge = queue.run(receive, Transfer::In(4096)).unwrap();
    assert_eq!(challenge.data[..2], [1, 1]);
    assert_eq!(
        status(&mut queue, Entry::identify(1, 0), Transfer::In(4096)),
        REQUIRED
    );
}

#[test]
fn a_host_that_fails_is_told_and_dropped() {
    let served = served();
    let whole = |length: usize| {
        let mut reply = vec![0; 16 + length];
        reply[..12].copy_from_slice(&[1, 2, 0, 0, 5, 0, 32, 0, 0, 0, 0, 1]);
        reply
    };
    for reply in [
        whole(64 + 256),
        whole(64 + 255),
        whole(0),
        vec![1, 2],
        vec![0xff; 4096],
    ] {
        let mut queue = queue(&served);
        let send = |length| authentication(5, length);
        assert_eq!(status(&mut queue, send(72), Transfer::out(offer())), 0);
        queue
            .run(authentication(6, 4096), Transfer::In(4096))
            .unwrap();
        let length = reply.len();
        assert_eq!(status(&mut queue, send(length), Transfer::out(reply)), 0);
        let failure = queue
            .run(authentication(6, 4096), Transfer::In(4096))
            .unwrap();
        assert_eq!(failure.data[..2], [0, 0xf1], "{length}");
        assert!(
            queue
                .run(Entry::identify(1, 0), Transfer::In(4096))
                .is_err()
        );
    }
}

#[test]
fn a_host_without_a_secret_is_refused_and_an_i_o_queue_authenticates_too() {
    let served = served();
    let refused = Host::admin(served.address, &HostOptions::numbered(SUBSYSTEM, 2));
    let refused = refused.map(|_| ()).unwrap_err().to_string();
    // Command specific 84h, Do Not Retry.
    assert!(refused.contains("184"), "{refused}");
    // A controller that nobody authenticated at takes no I/O queues: it cannot be enabled.
    let mut admin = queue(&served);
    assert!(anabranch_initiator::enable(&mut admin).is_err());
}

/// HMAC with SHA-256.
fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let key = PKey::hmac(key).unwrap();
    let mut signer = Signer::new(MessageDigest::sha256(), &key).unwrap();
    signer.sign_oneshot_to_vec(text).unwrap()
}

/// Authenticates a queue with the secret, by SHA-256 and no group (Base §8.3.4.5): the key's form is 00, so it is used
/// as it is.
fn authenticate(queue: &mut Queue) {
    let send = |length| authentication(5, length);
    assert_eq!(status(queue, send(72), Transfer::out(offer())), 0);
    let receive = authentication(6, 4096);
    let challenge = queue.run(receive, Transfer::In(4096)).unwrap().data;
    let (key, value): (Vec<u8>, _) = ((0..32).collect(), &challenge[16..48]);
    let host = HostOptions::numbered(SUBSYSTEM, 1).name;
    let text = [
        value,
        &challenge[12..16],
        &[challenge[4], challenge[5], 0],
        b"HostHost",
        host.as_bytes(),
        &[0],
        SUBSYSTEM.as_bytes(),
    ];
    let mut reply = vec![0; 16];
    reply[..2].copy_from_slice(&[1, 2]);
    reply[4..7].copy_from_slice(&[challenge[4], challenge[5], 32]);
    reply.extend(mac(&key, &text.concat()));
    reply.extend([0; 32]);
    let length = reply.len();
    assert_eq!(status(queue, send(length), Transfer::out(reply)), 0);
    let success = queue.run(receive, Transfer::In(4096)).unwrap().data;
    assert_eq!(success[..2], [1, 3], "{:?}", &success[..8]);
}

#[test]
fn queues_without_the_secret_keep_no_host_out_and_a_host_that_has_it_stays() {
    let served = served_by(Demand {
        hash: Hash::Sha256,
        group: DhGroup::Null,
    });
    let mut first = queue(&served);
    authenticate(&mut first);
    // Far more than hosts that may be connected, by one who knows the name alone.
    let mut without: Vec<Queue> = (0..64).map(|_| queue(&served)).collect();
    let mut second = queue(&served);
    authenticate(&mut second);
    assert_eq!(served.target.hosts().len(), 2);
    for host in [&mut first, &mut second] {
        anabranch_initiator::enable(host).unwrap();
        assert_eq!(status(host, Entry::identify(1, 0), Transfer::In(4096)), 0);
    }
    // Both places are held by hosts that have proven themselves: Connect Controller Busy, for a third.
    let busy = Host::admin(served.address, &HostOptions::numbered(SUBSYSTEM, 1));
    let busy = busy.map(|_| ()).unwrap_err().to_string();
    assert!(busy.contains("181"), "{busy}");
    // And one that came before is refused when it proves itself.
    let late = without.last_mut().unwrap();
    authenticate(late);
    assert!(late.run(Entry::identify(1, 0), Transfer::In(4096)).is_err());
}
