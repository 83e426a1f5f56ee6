//! `top` asks a steered drive's server what it does; whatever answers there instead commands nothing and holds nobody up.

#![cfg(feature = "steer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    thread,
};

use serde_json::{Value, json};

use command::{anabranch, complaint, json as told_by};

const EVIL: &str = "evil\u{1b}]0;owned\u{7}\u{1b}[2J\nFORGED: all is well\u{202e}";

fn steer_report() -> Value {
    json!({
        "schema": 1,
        "config": {
            "verb": "steer", "scheme": "anabranch", "queues": 2, "depth": 64, "zero_copy": true, "directive": "fdp",
            "block_device": "/dev/ublkb0",
        },
        "steered_s": 61.2,
        "drive": {
            "model": EVIL, "serial": "qemu-1", "bytes": 1_u64 << 30,
            "host_bytes": 38_000_000, "media_bytes": 47_500_000, "grain_bytes": 1, "waf": 1.25,
        },
        "handles": [
            { "handle": 0, "stream": 0, "for": "data", "written_bytes": 3 << 20 },
            { "handle": 5, "stream": 1, "for": "metadata and journals", "written_bytes": 1 << 20 },
        ],
        "written_bytes": 4 << 20, "read_bytes": 0, "discarded_bytes": 0, "zeroed_bytes": 0, "unplaced_bytes": 0,
        "writes": 1024, "split_writes": 0, "flushes": 0, "errors": 3, "repeated_commands": 0, "unknown_pages": 0,
        "metadata_pages": 256,
        "tenants": [],
        "limitations": [EVIL],
        "handover": null,
        "shadow": null,
    })
}

/// A server that answers everyone with these bytes, as often as it can send them.
fn answers(bytes: Vec<u8>, is_endless: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 512]);
            while stream.write_all(&bytes).is_ok() && is_endless {}
        }
    });
    address
}

fn page(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

#[test]
fn a_screen_of_a_steered_drive_is_drawn_and_commands_no_terminal() {
    let address = answers(page("200 OK", &steer_report().to_string()), false).to_string();
    assert_eq!(
        told_by(&anabranch(&["top", &address, "--json"])),
        steer_report()
    );
    let screen = anabranch(&["top", &address]);
    assert!(screen.status.success(), "{screen:?}");
    let screen = String::from_utf8(screen.stdout).unwrap();
    for words in [
        "/dev/ublkb0 is ",
        "steered by anabranch for 61 s",
        "written 4.00 MiB; read 0 B",
        "the drive's WAF 1.250",
        "metadata and journals",
        "75.0 %",
        "3 requests failed",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    let hostile = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
    assert!(!screen.contains(hostile), "{screen:?}");
    assert!(!screen.lines().any(|line| line.starts_with("FORGED")));
}

#[test]
fn several_drives_are_shown_with_their_sum() {
    let of = |block: &str, written: u64, media: u64| {
        let mut told = steer_report();
        told["config"]["block_device"] = block.into();
        told["written_bytes"] = written.into();
        told["drive"]["media_bytes"] = media.into();
        told
    };
    let both = [
        of("/dev/ublkb0", 4 << 20, 47_500_000),
        of("/dev/ublkb1", 8 << 20, 38_000_000),
    ];
    let addresses = both.each_ref().map(|told| {
        let body = told.to_string();
        answers(page("200 OK", &body), false).to_string()
    });
    let [one, other] = &addresses;
    let told = told_by(&anabranch(&["top", one, other, "--json"]));
    assert_eq!(told["drives"], json!(both));
    let totals = &told["totals"];
    assert_eq!(
        (&totals["drives"], &totals["written_bytes"], &totals["waf"]),
        (&json!(2), &json!(12 << 20), &json!(1.125))
    );
    assert!(
        told["verdict"]
            .to_string()
            .contains("no verdict on all together")
    );
    let screen = anabranch(&["top", one, other]);
    let screen = String::from_utf8(screen.stdout).unwrap();
    for words in [
        "/dev/ublkb1",
        "2 drives",
        "12.00 MiB",
        "1.125",
        "/dev/ublkb0: 3 requests failed",
        "no verdict on all together",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    let hostile = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
    assert!(!screen.contains(hostile), "{screen:?}");
    // One that does not answer is named; the others are not shown without it.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = silent.local_addr().unwrap().to_string();
    drop(silent);
    let words = complaint(&["top", one, &gone], 1);
    assert!(words.contains(&gone), "{words}");
}

#[test]
fn what_is_no_steered_drive_is_refused_in_words() {
    let mut other = steer_report();
    other["config"]["verb"] = "replay".into();
    let cases = [
        (
            page("404 Not Found", "no"),
            false,
            "is no `anabranch steer`",
        ),
        (page("200 OK", "a 1\n"), false, "it answers with no JSON"),
        (
            page("200 OK", &other.to_string()),
            false,
            "no result of `anabranch steer`",
        ),
        (
            page("200 OK", &"x".repeat(1 << 16)),
            true,
            "more than a report has",
        ),
        (Vec::new(), false, "is no `anabranch steer`"),
    ];
    for (bytes, is_endless, expected) in cases {
        let address = answers(bytes, is_endless).to_string();
        let words = complaint(&["top", &address], 1);
        assert!(words.contains(expected), "{expected}: {words}");
        assert!(
            words.contains(&format!("steer --metrics {address}")),
            "{words}"
        );
    }
    // Nobody, and one who takes the connection and is silent.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let words = complaint(&["top", &address], 1);
    assert!(words.contains("it does not answer in time"), "{words}");
    drop(silent);
    let words = complaint(&["top", &address], 1);
    assert!(words.contains("refused"), "{words}");
    complaint(&["top", "somewhere"], 2);
}
