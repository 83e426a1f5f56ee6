//! A host of DH-HMAC-CHAP against the controller's side, byte by byte.

use openssl::{
    bn::{BigNum, BigNumContext},
    hash::{MessageDigest, hash},
    pkey::PKey,
    sign::Signer,
};

use crate::{Demand, DhGroup, Exchange, Explanation, Form, Hash, Names, Pair, Secret};

const HOST: &str = "nqn.2014-08.org.example:host";
const SUBSYSTEM: &str = "nqn.2014-08.org.example:drive";
/// Keys of 00h to 1Fh; the second is transformed with SHA-256.
const PLAIN: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
const HASHED: &str = "DHHC-1:01:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";

fn secret(text: &str) -> Secret {
    Secret::of(Form::Dhchap, text).unwrap()
}

fn exchange(demand: Demand, controller: Option<&Secret>) -> Exchange {
    let host = secret(HASHED);
    let names = Names {
        host: HOST.to_owned(),
        subsystem: SUBSYSTEM.to_owned(),
    };
    let pair = Pair {
        host: &host,
        controller,
    };
    Exchange::new(names, demand, pair).unwrap()
}

fn digest(demand: Demand) -> MessageDigest {
    match demand.hash {
        Hash::Sha256 => MessageDigest::sha256(),
        Hash::Sha384 => MessageDigest::sha384(),
        Hash::Sha512 => MessageDigest::sha512(),
    }
}

fn mac(digest: MessageDigest, key: &[u8], text: &[u8]) -> Vec<u8> {
    let key = PKey::hmac(key).unwrap();
    let mut signer = Signer::new(digest, &key).unwrap();
    signer.sign_oneshot_to_vec(text).unwrap()
}

/// The key of 00h to 1Fh as it is used under a name.
fn key_of(name: &str) -> Vec<u8> {
    let key: Vec<u8> = (0..32).collect();
    let text = format!("{name}NVMe-over-Fabrics");
    mac(MessageDigest::sha256(), &key, text.as_bytes())
}

fn offer(concatenation: u8, hashes: &[u8], groups: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 72];
    bytes[4..9].copy_from_slice(&[5, 0, concatenation, 1, 1]);
    bytes[10..12].copy_from_slice(&[hashes.len() as u8, groups.len() as u8]);
    bytes[12..12 + hashes.len()].copy_from_slice(hashes);
    bytes[42..42 + groups.len()].copy_from_slice(groups);
    bytes
}

/// Answers a challenge as a host: with its reply, and the key that both sides agreed on.
fn reply(demand: Demand, challenge: &[u8], key: &[u8], asks: bool) -> (Vec<u8>, Vec<u8>) {
    let length = usize::from(challenge[6]);
    let (value, theirs) = challenge[16..].split_at(length);
    let (public, agreed) = exponential(demand.group, theirs);
    let response = response(demand, key, value, &challenge[12..16], &agreed, b"HostHost");
    let mut bytes = vec![0; 16];
    bytes[..2].copy_from_slice(&[1, 2]);
    bytes[4] = 5;
    bytes[6] = length as u8;
    bytes[10..12].copy_from_slice(&(public.len() as u16).to_le_bytes());
    bytes.extend(response);
    bytes.extend(vec![0xc2; length]);
    bytes.extend(public);
    if asks {
        bytes[8] = 1;
        bytes[12..16].copy_from_slice(&[77, 0, 0, 0]);
    }
    (bytes, agreed)
}

/// With a private value of our own and the arithmetic of the textbook.
fn exponential(group: DhGroup, theirs: &[u8]) -> (Vec<u8>, Vec<u8>) {
    if group == DhGroup::Null {
        return (Vec::new(), Vec::new());
    }
    let prime = super::group::prime_of(group).unwrap();
    let mut context = BigNumContext::new().unwrap();
    let private = BigNum::from_hex_str(&"5a".repeat(40)).unwrap();
    let mut raise = |base: &BigNum| {
        let mut raised = BigNum::new().unwrap();
        raised
            .mod_exp(base, &private, &prime, &mut context)
            .unwrap();
        raised.to_vec_padded(theirs.len() as i32).unwrap()
    };
    let public = raise(&BigNum::from_u32(2).unwrap());
    (public, raise(&BigNum::from_slice(theirs).unwrap()))
}

fn response(
    demand: Demand,
    key: &[u8],
    challenge: &[u8],
    sequence: &[u8],
    agreed: &[u8],
    role: &[u8],
) -> Vec<u8> {
    let digest = digest(demand);
    let challenge = match agreed {
        [] => challenge.to_vec(),
        agreed => mac(digest, &hash(digest, agreed).unwrap(), challenge),
    };
    let (first, second) = match role {
        b"HostHost" => (HOST, SUBSYSTEM),
        _ => (SUBSYSTEM, HOST),
    };
    let text = [
        &challenge,
        sequence,
        &[5, 0, 0],
        role,
        first.as_bytes(),
        &[0],
        second.as_bytes(),
    ];
    mac(digest, key, &text.concat())
}

fn demands() -> Vec<Demand> {
    let hashes = [Hash::Sha256, Hash::Sha384, Hash::Sha512];
    let groups = [
        DhGroup::Null,
        DhGroup::Ffdhe2048,
        DhGroup::Ffdhe3072,
        DhGroup::Ffdhe8192,
    ];
    let all = hashes
        .into_iter()
        .flat_map(|hash| groups.map(|group| Demand { hash, group }));
    all.collect()
}

const ALL_HASHES: &[u8] = &[1, 2, 3];
const ALL_GROUPS: &[u8] = &[0, 1, 2, 3, 4, 5];

#[test]
fn a_host_with_the_secret_passes_with_every_hash_and_group() {
    for demand in demands() {
        let mut exchange = exchange(demand, None);
        exchange.take(&offer(0, ALL_HASHES, ALL_GROUPS));
        let challenge = exchange.give().unwrap();
        assert_eq!(challenge[..6], [1, 1, 0, 0, 5, 0]);
        assert_eq!(
            (challenge[8], challenge[9]),
            (demand.hash.code(), demand.group.code())
        );
        exchange.take(&reply(demand, &challenge, &key_of(HOST), false).0);
        assert_eq!(exchange.outcome(), None);
        let success = exchange.give().unwrap();
        assert_eq!((success[1], success[8]), (3, 0));
        assert_eq!(exchange.outcome(), Some(Ok(())), "{demand:?}");
    }
}

#[test]
fn the_controller_proves_who_it_is_when_asked() {
    for demand in demands() {
        let controller = secret(PLAIN);
        let mut exchange = exchange(demand, Some(&controller));
        exchange.take(&offer(0, ALL_HASHES, ALL_GROUPS));
        let challenge = exchange.give().unwrap();
        let (bytes, agreed) = reply(demand, &challenge, &key_of(HOST), true);
        exchange.take(&bytes);
        let success = exchange.give().unwrap();
        let length = demand.hash.length();
        let key: Vec<u8> = (0..32).collect();
        let asked = vec![0xc2; length];
        let right = response(demand, &key, &asked, &[77, 0, 0, 0], &agreed, b"Controller");
        assert_eq!(success[16..], right);
        assert_eq!((success[6], success[8]), (length as u8, 1));
        // There is no outcome before the host has said that it accepts the answer.
        assert_eq!(exchange.outcome(), None);
        let mut content = vec![0; 16];
        content[..6].copy_from_slice(&[1, 4, 0, 0, 5, 0]);
        exchange.take(&content);
        assert_eq!(exchange.outcome(), Some(Ok(())));
    }
}

/// Plays one to its failure.
fn fails(
    mut exchange: Exchange,
    messages: &mut dyn FnMut(Option<&[u8]>) -> Vec<u8>,
) -> Explanation {
    let mut said: Option<Vec<u8>> = None;
    for _ in 0..8 {
        exchange.take(&messages(said.as_deref()));
        said = exchange.give();
        match exchange.outcome() {
            Some(Ok(())) => panic!("it passed"),
            Some(Err(why)) => {
                if let Some(failure) = said {
                    assert_eq!(failure[..2], [0, 0xf1]);
                    assert_eq!((failure.len(), failure[6]), (8, 1));
                }
                return why;
            }
            None => {}
        }
    }
    panic!("it goes on")
}

#[test]
fn whoever_lacks_the_secret_fails() {
    let demand = Demand::default();
    for (key, asks) in [
        (vec![0; 32], false),
        (key_of(SUBSYSTEM), false),
        ((0..32).collect(), false),
        // No secret of the controller's is there to answer with.
        (key_of(HOST), true),
    ] {
        let why = fails(exchange(demand, None), &mut |said| match said {
            None => offer(0, ALL_HASHES, ALL_GROUPS),
            Some(challenge) => reply(demand, challenge, &key, asks).0,
        });
        assert_eq!(why, Explanation::Failed);
    }
}

#[test]
fn a_weaker_offer_is_refused() {
    let demand = Demand::default();
    let why = |concatenation, hashes: &[u8], groups: &[u8]| {
        fails(exchange(demand, None), &mut |_| {
            offer(concatenation, hashes, groups)
        })
    };
    assert_eq!(why(0, ALL_HASHES, &[0]), Explanation::Group);
    assert_eq!(why(0, &[2, 3], ALL_GROUPS), Explanation::Hash);
    assert_eq!(why(1, ALL_HASHES, ALL_GROUPS), Explanation::Concatenation);
}

#[test]
fn messages_out_of_turn_replayed_or_broken_fail() {
    let demand = Demand::default();
    let begin = || offer(0, ALL_HASHES, ALL_GROUPS);
    // A reply before the challenge; an offer in place of a reply; a success nobody waits for.
    let mut first = exchange(demand, None);
    first.take(&begin());
    let challenge = first.give().unwrap();
    let (right, _) = reply(demand, &challenge, &key_of(HOST), false);
    let replayed = fails(exchange(demand, None), &mut |said| match said {
        None => begin(),
        Some(_) => right.clone(),
    });
    assert_eq!(replayed, Explanation::Failed);
    for early in [
        &right[..],
        &[1, 4, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let why = fails(exchange(demand, None), &mut |_| early.to_vec());
        assert_eq!(why, Explanation::Message);
    }
    let again = fails(exchange(demand, None), &mut |_| begin());
    assert_eq!(again, Explanation::Message);
    let other_transaction = fails(exchange(demand, None), &mut |said| match said {
        None => begin(),
        Some(challenge) => {
            let (mut bytes, _) = reply(demand, challenge, &key_of(HOST), false);
            bytes[4] = 6;
            bytes
        }
    });
    assert_eq!(other_transaction, Explanation::Message);
    // A public value that is none: 0, 1, and a length that is not the group's.
    for public in [vec![0; 256], [vec![0; 255], vec![1]].concat(), vec![2; 255]] {
        let why = fails(exchange(demand, None), &mut |said| match said {
            None => begin(),
            Some(challenge) => {
                let (mut bytes, _) = reply(demand, challenge, &key_of(HOST), false);
                bytes.truncate(16 + 64);
                bytes[10..12].copy_from_slice(&(public.len() as u16).to_le_bytes());
                bytes.extend(&public);
                bytes
            }
        });
        assert!(
            [Explanation::Group, Explanation::Payload].contains(&why),
            "{why:?}"
        );
    }
    // A host that gives up is gone.
    let gone = fails(exchange(demand, None), &mut |_| {
        vec![0, 0xf0, 0, 0, 5, 0, 1, 1]
    });
    assert_eq!(gone, Explanation::Failed);
}
