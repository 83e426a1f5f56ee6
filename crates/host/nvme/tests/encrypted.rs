//! A drive that speaks TLS alone, against a client of OpenSSL's: who gets through, and who does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use anabranch_nvme::pdu::{Digests, Encoder, Initialize, Side};
use anabranch_security::{Form, Keys, Secret};
use harness::{SUBSYSTEM, Served, streams_drive};
use openssl::{
    md::{Md, MdRef},
    pkey::Id,
    pkey_ctx::PkeyCtx,
    ssl::{Ssl, SslContext, SslMethod, SslStream, SslVersion},
};

const HOST: &str = "nqn.2014-08.org.example:host";
/// A key of 00h to 1Fh that is not transformed: the retained key is the configured one.
const KEY: &str = "NVMeTLSkey-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";

/// The same of 00h to 2Fh.
const LONG: &str =
    "NVMeTLSkey-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vcSEgBQ==:";

fn served_with(key: &str) -> Served {
    let secret = Secret::of(Form::Tls, key).unwrap();
    let keys = Keys {
        tls: Some(BTreeMap::from([(HOST.to_owned(), secret)])),
        ..Keys::default()
    };
    Served::new(streams_drive(false), |options| {
        options.keys = Arc::new(keys);
        options.patience = Duration::from_secs(2);
    })
}

fn served() -> Served {
    served_with(KEY)
}

fn identity(host: &str) -> String {
    format!("NVMe0R01 {host} {SUBSYSTEM}")
}

/// The key that belongs to an identity, as the standard has it.
fn derived(identity: &str) -> Vec<u8> {
    derived_by(Md::sha256(), 32, identity)
}

fn derived_by(hash: &MdRef, length: u8, identity: &str) -> Vec<u8> {
    let key: Vec<u8> = (0..length).collect();
    let label = "tls13 nvme-tls-psk";
    let mut information = vec![0, length, label.len() as u8];
    information.extend(label.bytes());
    information.push(identity.len() as u8);
    information.extend(identity.bytes());
    let mut derivation = PkeyCtx::new_id(Id::HKDF).unwrap();
    derivation.derive_init().unwrap();
    derivation.set_hkdf_md(hash).unwrap();
    derivation.set_hkdf_key(&key).unwrap();
    derivation.add_hkdf_info(&information).unwrap();
    let mut derived = vec![0; length.into()];
    derivation.derive(Some(&mut derived)).unwrap();
    derived
}

fn stream(served: &Served) -> TcpStream {
    let stream = TcpStream::connect(served.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
}

/// A client with a key, or with none, that speaks nothing newer than `version`.
fn client(
    served: &Served,
    psk: Option<(String, Vec<u8>)>,
    version: SslVersion,
) -> Option<SslStream<TcpStream>> {
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_max_proto_version(Some(version)).unwrap();
    if let Some((identity, key)) = psk {
        context.set_psk_client_callback(move |_, _, name, room| {
            name[..identity.len()].copy_from_slice(identity.as_bytes());
            name[identity.len()] = 0;
            room[..key.len()].copy_from_slice(&key);
            Ok(key.len())
        });
    }
    let mut ssl = Ssl::new(&context.build()).unwrap();
    ssl.set_connect_state();
    let mut stream = SslStream::new(ssl, stream(served)).unwrap();
    stream.connect().ok()?;
    Some(stream)
}

/// The first message of NVMe/TCP.
fn beginning() -> Vec<u8> {
    let mut bytes = Vec::new();
    let wanted = Initialize {
        version: 0,
        alignment: 0,
        digests: Digests::of(0),
        limit: 7,
    };
    Encoder::initialize(&mut bytes, Side::Host, wanted);
    bytes
}

/// Whether the drive answers.
fn answers(stream: &mut (impl Read + Write)) -> bool {
    let mut answer = [0; 128];
    stream.write_all(&beginning()).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer[0] == 1
}

#[test]
fn a_host_with_the_key_gets_through_by_tls_1_3() {
    let served = served();
    let psk = (identity(HOST), derived(&identity(HOST)));
    let mut stream = client(&served, Some(psk), SslVersion::TLS1_3).unwrap();
    assert_eq!(stream.ssl().version_str(), "TLSv1.3");
    assert_eq!(
        stream.ssl().current_cipher().unwrap().name(),
        "TLS_AES_128_GCM_SHA256"
    );
    assert!(answers(&mut stream));
}

/// A session of TLS 1.3 and AES-256 with a key, as OpenSSL writes them (SSL_SESSION of ASN.1).
fn session(key: &[u8]) -> String {
    let field = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8][..], bytes].concat();
    let fields = [
        field(2, &[1]),
        field(2, &[3, 4]),
        field(4, &[0x13, 0x02]),
        field(4, &[]),
        field(4, key),
        // Since when it is there, and for how many seconds.
        field(0xa1, &field(2, &[1])),
        field(0xa2, &field(2, &[0x7f, 0xff, 0xff, 0xff])),
    ];
    let whole = openssl::base64::encode_block(&field(0x30, &fields.concat()));
    let name = "SSL SESSION PARAMETERS";
    let lines = whole
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap());
    let lines: Vec<&str> = lines.collect();
    format!(
        "-----BEGIN {name}-----\n{}\n-----END {name}-----\n",
        lines.join("\n")
    )
}

/// The library lets no safe caller use a key with SHA-384; its command does.
#[test]
fn a_key_of_48_bytes_is_for_aes_256() {
    let served = served_with(LONG);
    let identity = format!("NVMe0R02 {HOST} {SUBSYSTEM}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    let mut key = derived_by(Md::sha384(), 48, &identity);
    for is_right in [true, false] {
        std::fs::write(&file, session(&key)).unwrap();
        let mut client = std::process::Command::new("openssl");
        client.args([
            "s_client",
            "-tls1_3",
            "-connect",
            &served.address.to_string(),
        ]);
        client
            .args(["-psk_identity", &identity, "-psk_session"])
            .arg(&file);
        client.stdin(std::process::Stdio::null());
        let said = client
            .output()
            .expect("openssl is missing: apt-get install openssl");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let through = said.contains("Reused, TLSv1.3, Cipher is TLS_AES_256_GCM_SHA384");
        assert_eq!(through, is_right, "{said}");
        key[0] ^= 1;
    }
}

#[test]
fn without_the_key_with_older_tls_or_in_the_clear_nobody_does() {
    let served = served();
    let right = || derived(&identity(HOST));
    let mut wrong = right();
    wrong[0] ^= 1;
    let other = "nqn.2014-08.org.example:other";
    for (psk, version) in [
        (None, SslVersion::TLS1_3),
        (None, SslVersion::TLS1_2),
        (Some((identity(HOST), right())), SslVersion::TLS1_2),
        (Some((identity(HOST), wrong)), SslVersion::TLS1_3),
        (Some((identity(HOST), vec![0; 32])), SslVersion::TLS1_3),
        (
            Some((identity(other), derived(&identity(other)))),
            SslVersion::TLS1_3,
        ),
        (Some(("NVMe0R01".to_owned(), right())), SslVersion::TLS1_3),
        (Some(("x".repeat(200), right())), SslVersion::TLS1_3),
    ] {
        let named = psk.as_ref().map(|(name, _)| name.clone());
        let mut stream = client(&served, psk, version);
        let through = stream.as_mut().is_some_and(answers);
        assert!(!through, "{named:?} {version:?}");
    }
    assert!(!answers(&mut stream(&served)), "in the clear");
    // Nothing at all, and the beginning of a handshake, are waited for as long as any host is.
    for begun in [&[][..], &[0x16, 3, 1, 2, 0, 1]] {
        let mut stream = stream(&served);
        stream.write_all(begun).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
    }
    // It serves on.
    let psk = (identity(HOST), right());
    let mut stream = client(&served, Some(psk), SslVersion::TLS1_3).unwrap();
    assert!(answers(&mut stream));
}
