//! The services' capabilities suffice, and no more are needed to know the calls of other users' programs.

use std::process::Command;

use anabranch_trace::{Frame, Reader};
use nix::sys::signal::Signal;

use super::support::{ANABRANCH, Device, Place, Started, is_attached, wait_until};

const RECORD: &str = include_str!("../../../../../packaging/anabranch-record@.service");
const WATCH: &str = include_str!("../../../../../packaging/anabranch-watch.service");
const STEER: &str = include_str!("../../../../../packaging/anabranch-steer@.service");

/// Writes to the device as a copy of `dd` that is unlinked before it writes, and that stays until it has been looked at.
const UNLINKED: &str = "
set -e
cp \"$(command -v dd)\" \"$0/dd\"
mkfifo \"$0/pipe\"
(exec >\"$0/pipe\"; sleep 0.3; rm \"$0/dd\"; dd if=/dev/zero bs=1M count=3 status=none; sleep 3) &
\"$0/dd\" if=\"$0/pipe\" of=\"$1\" bs=1M iflag=fullblock oflag=direct status=none
";

/// The capabilities of a unit, as an option of `setpriv`.
fn bounding_set(unit: &str) -> String {
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let each = line.unwrap().split(' ');
    let each = each.map(|name| format!(",+{}", name.strip_prefix("CAP_").unwrap().to_lowercase()));
    format!("--bounding-set=-all{}", each.collect::<String>())
}

/// Frames of a program that was unlinked before it wrote, as a recorder with these capabilities knows them.
fn frames(bounding_set: &str) -> Vec<Frame> {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let mut command = Command::new("setpriv");
    command
        .args([bounding_set, "--inh-caps=-all", "--no-new-privs", ANABRANCH])
        .args(["record", "--device", &device.0, "-o", &trace]);
    let recorder = Started::new(&mut command);
    wait_until("the probe to be attached", || is_attached(recorder.pid()));
    let ended = Command::new("sh")
        .args(["-c", UNLINKED, place.directory(), &device.0])
        .status();
    assert!(ended.unwrap().success());
    recorder.signal(Signal::SIGINT);
    let ended = recorder.end().with_status(0);
    assert!(!ended.stdout.contains("led to nothing"), "{}", ended.stdout);
    let tables = Reader::open(&trace).unwrap().tables().clone();
    let own = tables.contexts.into_iter().filter(|one| one.role == "dd");
    own.flat_map(|one| one.frames).collect()
}

#[test]
fn under_its_capabilities_a_service_knows_the_calls_of_a_program_whose_file_is_gone() {
    for unit in [RECORD, WATCH, STEER] {
        let capabilities = bounding_set(unit);
        let frames = frames(&capabilities);
        let is_dd = |frame: &&Frame| frame.object.ends_with("/dd");
        let known = frames.iter().find(is_dd).expect("a call of dd");
        assert!(!known.build_id.is_empty(), "{capabilities}: {frames:?}");
        let libc = frames.iter().find(|frame| frame.object.contains("libc"));
        assert!(libc.is_some_and(|one| one.symbol.is_some()), "{frames:?}");
    }
}

#[test]
fn without_the_capabilities_to_become_another_user_calls_are_known_as_well() {
    let least =
        "--bounding-set=-all,+bpf,+perfmon,+sys_resource,+sys_ptrace,+dac_read_search,+syslog";
    let frames = frames(least);
    let named = frames.iter().any(|frame| frame.symbol.is_some());
    assert!(named, "{frames:?}");
}
