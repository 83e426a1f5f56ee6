//! The disk of a virtual machine, recorded on the machine below: QEMU is its one writer.

use std::{fs, process::Command};

use serde_json::Value;

use crate::{MIB, machine::root};

/// Two programs of the guest, by call paths of their own.
const SCRIPT: &str = "dd if=/dev/zero of=/dev/vda bs=64k count=128 oflag=direct\n\
                      mkfs.ext4 -q -F /dev/vda && mount /dev/vda /mnt && dd if=/dev/zero of=/mnt/file bs=1M count=12 && umount /mnt\n";

#[test]
#[ignore = "records on this machine's own kernel, as root: make test-guest"]
fn a_virtual_machines_disk_has_qemu_as_its_one_writer() {
    let directory = tempfile::tempdir().unwrap();
    let (script, trace) = (
        directory.path().join("script"),
        directory.path().join("t.parquet"),
    );
    fs::write(&script, SCRIPT).unwrap();
    let start = format!(
        "truncate -s 64M {{dir}}/disk && GUEST_QEMU='-drive file={{dir}}/disk,id=disk,if=none,format=raw,cache=none \
         -device virtio-blk-pci,drive=disk' exec scripts/guest.sh run -t 300 {}",
        script.display()
    );
    let anabranch = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command.current_dir(root());
        command
    };
    let mut run = anabranch();
    run.args([
        "run", "--size", "128MiB", "--unit", "1MiB", "--scheme", "baseline", "--trace",
    ]);
    let ran = run
        .arg(&trace)
        .args(["--", "sh", "-c", &start])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let told = anabranch()
        .args(["contexts", "--json"])
        .arg(&trace)
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let written = |one: &Value| one["written_bytes"].as_u64().unwrap();
    let contexts = told["contexts"].as_array().unwrap();
    let (its, others): (Vec<&Value>, Vec<&Value>) = contexts
        .iter()
        .partition(|one| one["role"].as_str().unwrap().starts_with("qemu"));
    let [its, others] = [its, others].map(|some| some.into_iter().map(written).sum::<u64>());
    eprintln!("{its} bytes of QEMU's, {others} of others");
    assert!(its >= 20 * MIB, "{its}");
    // The file system below has its own metadata.
    assert!(others * 20 < its, "{others}");
}
