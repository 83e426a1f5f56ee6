//! btrfs, whose super block names no device and whose compressed pages lie in no page cache.

use std::collections::BTreeSet;
use std::process::Command;

use anabranch_probe::ProbeOptions;
use anabranch_trace::ContextKind;

use super::drive::{Drive, run};
use super::watch::{Watched, watch};
use super::{MIB, dd, python, sync};

/// Text that shrinks, in pages of two programs, and another file past the page cache.
fn btrfs_writes(options: &str) -> Watched {
    let drive = Drive::with_options("btrfs", 256, options);
    let root = drive.path();
    watch(&ProbeOptions::new(&drive.device), || {
        let text =
            "import sys; file = open(sys.argv[1], 'ab'); file.write(b'some words\\n' * 400000)";
        python(text, &root.join("text"));
        run(Command::new("sh")
            .args(["-c", "seq 600000 >\"$1\"", "sh"])
            .arg(root.join("numbers")));
        dd(
            &["bs=64k", "count=64", "oflag=direct"],
            &root.join("direct"),
        );
        sync(root);
    })
}

fn assert_btrfs_writers(watched: &Watched) {
    for (file, role) in [("text", "python"), ("numbers", "seq"), ("direct", "dd")] {
        let roles: BTreeSet<&str> = watched
            .writes_to(file)
            .map(|io| watched.context(io).role.as_str())
            .collect();
        assert_eq!(
            roles,
            BTreeSet::from([role]),
            "{file}: {:?}",
            watched.captured
        );
    }
    let by_kernel = watched.share(|io| watched.context(io).kind == ContextKind::Kernel);
    assert!(by_kernel < 0.01, "{by_kernel}");
    assert!(watched.kinds().contains(&ContextKind::Metadata));
}

#[test]
fn btrfs_writes_carry_their_file_and_writer() {
    let watched = btrfs_writes("discard");
    assert_btrfs_writers(&watched);
    watched.assert_written("direct", 4 * MIB, "dd");
}

#[test]
fn what_btrfs_compresses_carries_its_file_and_writer() {
    let watched = btrfs_writes("compress-force=zstd");
    assert_btrfs_writers(&watched);
    let bytes: u64 = watched.writes_to("text").map(|io| io.length_bytes).sum();
    assert!(bytes < MIB, "{bytes} bytes of 4400000 that shrink");
}
