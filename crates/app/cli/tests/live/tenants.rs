//! Programs that share a device, told apart by their control groups.

use std::{fs::File, process::Command, thread::sleep, time::Duration};

use anabranch_trace::{Reader, Tenant};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    group::{Group, writer},
    support::{
        ANABRANCH, Device, Ended, MIB, Place, Started, anabranch, is_attached, run, wait_until,
        writes,
    },
};

/// A control group's name is its maker's text: a colour, text turned around, a line's beginning.
const EVIL: &str = "evil\u{1b}[31m\u{202e}\r{}";

fn is_hostile(letter: char) -> bool {
    letter.is_control() && letter != '\n' || letter == '\u{202e}'
}

/// Bytes written by each of the first tenants, nobody's first.
fn bytes_of(trace: &str) -> [u64; 3] {
    let mut bytes = [0; 3];
    for io in writes(trace) {
        bytes[io.tenant as usize] += io.length_bytes;
    }
    bytes
}

fn tenants_of(trace: &str) -> Vec<Tenant> {
    Reader::open(trace)
        .unwrap()
        .tables()
        .capture
        .tenants
        .clone()
}

fn tenant(number: u32, control_group: &str) -> Tenant {
    Tenant {
        number,
        control_group: control_group.to_owned(),
    }
}

/// Records while these write, each so many mebibytes, all at once.
fn recorded(place: &Place, device: &Device, options: &[&str], writers: &[u64]) -> Ended {
    let trace = place.path("trace.parquet");
    let record = ["record", "--device", &device.0, "-o", &trace];
    let mut started = Started::new(Command::new(ANABRANCH).args(record).args(options));
    wait_until("the probe to be attached", || is_attached(started.pid()));
    sleep(Duration::from_millis(300));
    File::create(place.path("go")).unwrap();
    for mebibytes in writers {
        started.wait_for(place, &format!("done-{mebibytes}"));
    }
    started.signal(Signal::SIGINT);
    started.end().with_status(0)
}

/// Host bytes of each stream that was used.
fn streams(trace: &str, scheme: &str) -> Vec<u64> {
    let drive = ["--json", "--unit", "1MiB", "--scheme", scheme];
    let told = anabranch(&[&["replay", trace], &drive[..]].concat())
        .with_status(0)
        .json();
    let streams = told["schemes"][0]["streams"].as_array().unwrap().iter();
    let host_page_bytes = streams.map(|stream: &Value| stream["host_page_bytes"].as_u64().unwrap());
    host_page_bytes.filter(|bytes| *bytes > 0).collect()
}

#[test]
fn control_groups_on_one_device_are_tenants_whose_streams_do_not_mix() {
    let place = Place::new();
    let device = Device::new(&place);
    let group = Group::new(&place);
    let (plain, evil) = (group.within("plain"), group.within(EVIL));
    let writers = [3, 7].map(|mebibytes| writer(&place, &device, mebibytes));
    group.take_into("plain", writers[0].pid());
    group.take_into(EVIL, writers[1].pid());
    let pattern = format!("{}/evil*", group.name);
    let options = ["--tenant", &pattern, "--tenant", &plain];
    let ended = recorded(&place, &device, &options, &[3, 7]);
    let trace = place.path("trace.parquet");
    assert_eq!(bytes_of(&trace), [0, 3 * MIB, 7 * MIB]);
    assert_eq!(tenants_of(&trace), [tenant(1, &plain), tenant(2, &evil)]);
    assert!(
        ended.stdout.contains(&format!("tenant 1: {plain}\n")),
        "{ended:?}"
    );
    assert!(!ended.stdout.contains(is_hostile), "{ended:?}");
    assert_eq!(streams(&trace, "hints"), [10 * MIB]);
    let mut apart = streams(&trace, "hints:tenants=2");
    apart.sort_unstable();
    assert_eq!(apart, [3 * MIB, 7 * MIB]);
}

#[test]
fn who_is_in_no_group_is_nobody_and_a_group_that_writes_nothing_is_told() {
    let place = Place::new();
    let device = Device::new(&place);
    let group = Group::new(&place);
    let silent = group.within("silent");
    group.within("outer");
    let inner = group.within("outer/inner");
    let writers = [2, 5].map(|mebibytes| writer(&place, &device, mebibytes));
    group.take_into("outer/inner", writers[1].pid());
    let outer = inner.trim_end_matches("/inner");
    let options = ["--json", "--tenant", &silent, "--tenant", outer];
    let told = recorded(&place, &device, &options, &[2, 5]).json();
    assert_eq!(
        bytes_of(&place.path("trace.parquet")),
        [2 * MIB, 0, 5 * MIB]
    );
    let tenants = &told["capture"]["tenants"];
    assert_eq!(tenants[1]["control_group"], outer, "{told}");
    let notes = told["capture"]["limitations"].to_string();
    assert!(
        notes.contains("silent") && !notes.contains("outer"),
        "{notes}"
    );
    let _ = Command::new("pkill")
        .args(["-P", &writers[0].pid().to_string()])
        .status();
}

#[test]
fn what_a_group_writes_through_a_file_system_is_its_tenants_and_the_journal_is_nobodys() {
    let place = Place::new();
    let group = Group::new(&place);
    let (first, second) = (group.within("first"), group.within("second"));
    let script = format!(
        "write() {{ sh -c 'echo 0 >\"$1/cgroup.procs\" && shift && exec dd if=/dev/zero bs=1M status=none \"$@\"' sh \"$@\"; }}
         write '{0}/first' of=a count=4 conv=fsync & write '{0}/second' of=b count=6 oflag=direct; wait $!; sync -f .",
        group.path()
    );
    let trace = place.path("trace.parquet");
    let evil = group.within(EVIL);
    let tenants = [&first, &second, &evil].map(|one| ["--tenant", one]);
    let options = [&["-t", &trace][..], &tenants.concat()].concat();
    let ended = run(&options, &["sh", "-c", &script]).with_status(0);
    for told in [
        format!("tenant 1: {first}\n"),
        format!("tenant 2: {second}\n"),
    ] {
        assert!(ended.stderr.contains(&told), "{ended:?}");
    }
    assert!(!ended.stderr.contains(is_hostile), "{ended:?}");
    let [nobody, first_bytes, second_bytes] = bytes_of(&trace);
    assert_eq!([first_bytes, second_bytes], [4 * MIB, 6 * MIB]);
    assert!(nobody > 0);
    let named = [tenant(1, &first), tenant(2, &second), tenant(3, &evil)];
    assert_eq!(tenants_of(&trace), named);
}

/// Writes from within one group after the other, each time by the same calls.
const MOVES: &str = "
import mmap, os, sys
drive = os.open(sys.argv[1], os.O_WRONLY | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 20)
for group, mebibytes in zip(sys.argv[2:], (2, 3, 4)):
    with open(group + '/cgroup.procs', 'w') as processes:
        processes.write('0')
    for _ in range(mebibytes):
        os.write(drive, block)
";

#[test]
fn a_process_that_moves_is_another_tenants_from_then_on() {
    let place = Place::new();
    let device = Device::new(&place);
    let group = Group::new(&place);
    let (first, second) = (group.within("first"), group.within("second"));
    let trace = place.path("trace.parquet");
    let record = ["record", "--device", &device.0, "-o", &trace];
    let tenants = ["--tenant", &first, "--tenant", &second, "--"];
    let path = |name: &str| format!("{}/{name}", group.path());
    let (first, second) = (path("first"), path("second"));
    let program = ["python3", "-c", MOVES, &device.0, &first, &second, &first];
    anabranch(&[&record[..], &tenants, &program].concat()).with_status(0);
    assert_eq!(bytes_of(&trace), [0, 6 * MIB, 3 * MIB]);
}

#[test]
fn words_that_are_no_control_group_are_refused() {
    for words in ["..", "*/a", "/sys/fs/cgroup", "a*b*"] {
        let record = ["record", "--device", "/dev/loop0", "--tenant", words];
        let ended = anabranch(&record).with_status(2);
        assert!(ended.stderr.contains("--tenant"), "{}", ended.stderr);
    }
}

#[cfg(feature = "steer")]
#[test]
fn where_no_control_groups_are_mounted_steer_refuses_tenants_before_it_opens_the_drive() {
    let script = "awk '$3 == \"cgroup2\" { print $2 }' /proc/self/mounts | xargs -r -n 1 umount -l
        exec \"$0\" steer --device /dev/null --tenant a";
    let mut steer = Command::new("unshare");
    steer.args(["-m", "sh", "-c", script, ANABRANCH]);
    Started::new(&mut steer)
        .end()
        .with_status(2)
        .complains(&["no control groups of version 2 are mounted"]);
}
