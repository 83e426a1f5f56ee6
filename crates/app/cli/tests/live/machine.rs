//! Machines that cannot run live: one line says why and what helps.

use std::process::Command;

use super::support::{ANABRANCH, Ended, Place, SMALL, Started};

/// The command as another user, who may not see where it was built.
fn as_nobody(place: &Place, arguments: &[&str]) -> Ended {
    let copy = place.path("anabranch");
    // By a process of its own: a file that we have written could be held open by a fork of ours.
    let installed = Command::new("install").args([ANABRANCH, &copy]).status();
    assert!(installed.unwrap().success());
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", &copy];
    Started::new(Command::new("setpriv").args(nobody).args(arguments)).end()
}

#[test]
fn without_root_one_line_says_so() {
    let place = Place::new();
    let run = [&["run"], &SMALL[..], &["--no-trace", "--", "true"]].concat();
    let record = [
        "record",
        "--device",
        "/dev/loop0",
        "-o",
        "/dev/null",
        "--",
        "true",
    ];
    for arguments in [&run[..], &record] {
        as_nobody(&place, arguments)
            .with_status(1)
            .complains(&["needs root", "sudo"]);
    }
}

#[test]
fn a_kernel_without_btf_is_told_with_what_to_boot() {
    let hide = "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", hide, ANABRANCH, "run"]);
    command.args(SMALL).args(["--no-trace", "--", "true"]);
    Started::new(&mut command).end().with_status(1).complains(&[
        "BTF",
        "/sys/kernel/btf/vmlinux",
        "CONFIG_DEBUG_INFO_BTF=y",
    ]);
}
