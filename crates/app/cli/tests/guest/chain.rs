//! The whole chain: a database in the guest on a drive of ours, recorded on it as it is; what a replay promises of that
//! drive with streams; and what the drive's own log says once it is steered. Another program is a row and a script.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    amount,
    machine::{Report, libraries, program, root, run_text, text_of},
    served::Served,
};

/// Runs, and how far what was had may be from what was promised in their mean: two runs of a database do not write the
/// same.
const RUNS: (u32, u32) = (1, 3);
const TOLERANCE: f64 = 0.03;

/// A program: `chain-NAME.sh` loads it and lets it work below `/mnt`.
struct Workload {
    name: &'static str,
    binary: &'static str,
    /// A drive small enough to be collected many times.
    size: &'static str,
    /// Directories of this machine that the program needs where they are.
    data: &'static [&'static str],
    /// Makes more such, in a directory of the test's.
    prepare: fn(&Path) -> Vec<PathBuf>,
}

const ROCKSDB: Workload = Workload {
    name: "rocksdb",
    binary: "/usr/bin/db_bench",
    size: "64MiB",
    data: &[],
    prepare: |_| Vec::new(),
};
const SQLITE: Workload = Workload {
    name: "sqlite",
    binary: "/usr/bin/sqlite3",
    ..ROCKSDB
};
const POSTGRES: Workload = Workload {
    name: "postgres",
    binary: "/usr/lib/postgresql/15/bin/postgres",
    size: "112MiB",
    data: &[
        "usr/share/postgresql/15",
        "usr/share/zoneinfo/UTC",
        "usr/share/zoneinfo/Etc/UTC",
    ],
    prepare: cluster,
};

const MARIADB: Workload = Workload {
    name: "mariadb",
    binary: "/usr/sbin/mariadbd",
    size: "160MiB",
    ..ROCKSDB
};

/// PostgreSQL's directory as its own `initdb` makes it, with logs of 1 MiB, packed.
fn cluster(directory: &Path) -> Vec<PathBuf> {
    let bin = Path::new(POSTGRES.binary).parent().unwrap();
    let made = directory.join("cluster");
    fs::create_dir(&made).unwrap();
    let mut own = Command::new("chown");
    finish(own.arg("postgres").args([directory, &made]));
    // It refuses root.
    let mut make = Command::new("setpriv");
    make.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    make.arg(bin.join("initdb")).arg("-D").arg(&made);
    let words = [
        "--no-sync",
        "--no-locale",
        "--encoding=SQL_ASCII",
        "--auth=trust",
        "--wal-segsize=1",
    ];
    finish(make.args(words));
    vec![packed(directory, "cluster.tar", &["cluster"], directory)]
}

/// Packs directories below `root`.
fn packed(to: &Path, name: &str, what: &[&str], root: &Path) -> PathBuf {
    let archive = to.join(name);
    let mut tar = Command::new("tar");
    tar.arg("-chf").arg(&archive).arg("-C").arg(root).args(what);
    finish(&mut tar);
    archive
}

fn finish(command: &mut Command) {
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
}

/// The way in which a drive is used.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// As it is, and recorded.
    Recorded,
    /// Steered, with so much spare: the drive collects.
    Steered(f64),
    /// Steered, with so much spare: the host collects.
    Collected(f64),
}

/// A way to collect on the drive that is steered, the size of its units (a host needs some hundred), and who places the
/// file system's metadata.
#[derive(Debug, Clone, Copy)]
struct Collection {
    scheme: &'static str,
    unit: &'static str,
    way: fn(f64) -> Way,
    metadata: &'static str,
}

const BY_DRIVE: Collection = Collection {
    scheme: "anabranch",
    unit: "1MiB",
    way: Way::Steered,
    metadata: "scheme",
};
const METADATA_APART: Collection = Collection {
    metadata: "apart",
    ..BY_DRIVE
};
const BY_HOST: Collection = Collection {
    scheme: "anabranch+host",
    unit: "256KiB",
    way: Way::Collected,
    ..BY_DRIVE
};

impl Workload {
    fn drive(&self, unit: &'static str) -> [&'static str; 6] {
        ["--device", "fdp-8ruh", "--size", self.size, "--unit", unit]
    }

    /// Requirements of the guest.
    fn files(&self, directory: &Path) -> Vec<PathBuf> {
        let binary = Path::new(self.binary);
        let here = root().join("crates/app/cli/tests/guest");
        let mut files = program(directory);
        files.extend(libraries(binary));
        files.push(binary.to_owned());
        files.push(here.join("chain-work.sh"));
        files.push(here.join(format!("chain-{}.sh", self.name)));
        if !self.data.is_empty() {
            files.push(packed(directory, "data.tar", self.data, Path::new("/")));
        }
        files.extend((self.prepare)(directory));
        files
    }
}

/// The drive's log of a run.
#[derive(Debug, Clone, Copy)]
struct Had {
    /// Bytes that the program and its file system wrote: without those that a host which collects wrote anew.
    written_bytes: f64,
    /// Bytes of flash for each of them.
    waf: f64,
}

/// One run on a fresh drive.
fn run(workload: &Workload, file_system: &str, collection: Collection, way: Way) -> (Report, Had) {
    let served = Served::start(&workload.drive(collection.unit));
    let spare = match way {
        Way::Recorded => 0.0,
        Way::Steered(spare) | Way::Collected(spare) => spare,
    };
    let is_recorded = way == Way::Recorded;
    let is_collected = matches!(way, Way::Collected(_));
    let mut variables = served.variables();
    let words = |name, value: &str| (name, value.to_owned());
    variables.extend([
        words("FILE_SYSTEM", file_system),
        words("RECORD", if is_recorded { "yes" } else { "" }),
        words("COLLECT", if is_collected { "host" } else { "drive" }),
        words("METADATA", collection.metadata),
        ("SPARE", spare.to_string()),
        words("PROGRAM", workload.name),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let files = workload.files(directory.path());
    let text = text_of("steer-prelude.sh") + &text_of("chain.sh");
    let report = run_text(&text, 7200, &variables, &files, |_| String::new());
    report.output("work");
    let log = report.json("log");
    let bytes = |key: &str| log[key].as_f64().unwrap();
    let rewritten_bytes = if is_collected {
        let collected = &report.json("steered")["collected"];
        let up = &collected["given_up_at_bytes"];
        eprintln!("{}; gave up at {up}", collected["words"]);
        collected["rewritten_bytes"].as_f64().unwrap()
    } else {
        0.0
    };
    let written_bytes = bytes("hbmw") - rewritten_bytes;
    let had = Had {
        written_bytes,
        waf: bytes("mbmw") / written_bytes,
    };
    served.stop();
    (report, had)
}

/// Promise of a replay for the same drive.
struct Promise {
    /// WAF without streams.
    plain: f64,
    /// WAF as it is steered.
    steered: f64,
    /// The drive's spare, as a share of its size.
    spare: f64,
}

fn promised(workload: &Workload, collection: Collection, trace: &[u8]) -> Promise {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.parquet");
    fs::write(&path, trace).unwrap();
    let mut replay = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    let drive = workload.drive(collection.unit);
    replay.arg("replay").arg(&path).args(drive);
    let half = if collection.scheme.contains('+') {
        ""
    } else {
        "+fdp"
    };
    let schemes = format!("baseline+fdp,{}{half}", collection.scheme);
    replay.args(["--scheme", &schemes, "--json"]);
    let output = replay.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let waf = |scheme: usize| result["schemes"][scheme]["waf"].as_f64().unwrap();
    let bytes = |of: &str| result["device"][of].as_f64().unwrap();
    Promise {
        plain: waf(0),
        steered: waf(1),
        spare: bytes("physical_bytes") / bytes("logical_bytes") - 1.0,
    }
}

/// Everything was captured, or the trace promises of something else.
fn was_captured(report: &Report) {
    let recorded = report.json("work");
    let lost = recorded["capture"]["lost_events"].as_u64().unwrap();
    let requests = recorded["requests"].as_u64().unwrap();
    assert!(lost * 1000 < requests, "{recorded:#}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Runs one after the other, each recorded, replayed and steered; a line for each.
fn chain(workload: &Workload, file_system: &str, collection: Collection) {
    let (mut promises, mut found) = (Vec::new(), Vec::new());
    let name = workload.name;
    eprintln!(
        "{name} on {file_system}: MiB, WAF had without streams and replayed; MiB, WAF had with {}, and promised",
        collection.scheme
    );
    let runs: u32 = amount(RUNS.0, RUNS.1).parse().unwrap();
    for _ in 0..runs {
        let (report, plain) = run(workload, file_system, collection, Way::Recorded);
        was_captured(&report);
        let promise = promised(workload, collection, &report.bytes("trace"));
        let way = (collection.way)(promise.spare);
        let (_, steered) = run(workload, file_system, collection, way);
        let mib = |had: Had| had.written_bytes / f64::from(1 << 20);
        eprintln!(
            "| {name}, {file_system} | {:.0} | {:.3} | {:.3} | {:.0} | {:.3} | {:.3} |",
            mib(plain),
            plain.waf,
            promise.plain,
            mib(steered),
            steered.waf,
            promise.steered,
        );
        // The same writes: the model is the drive.
        assert!(
            (promise.plain / plain.waf - 1.0).abs() < 0.01,
            "{} {plain:?}",
            promise.plain
        );
        promises.push(promise.steered);
        found.push(steered.waf);
    }
    let apart = mean(&found) / mean(&promises) - 1.0;
    assert!(
        apart.abs() < TOLERANCE,
        "{name} on {file_system}: {promises:?} {found:?}"
    );
}

/// A test for each program on each file system.
macro_rules! chains {
    ($($test:ident: $workload:ident on $file_system:literal, $collection:ident;)*) => {$(
        #[test]
        #[ignore = "two guests a run, minutes each: make test-guest"]
        fn $test() {
            chain(&$workload, $file_system, $collection);
        }
    )*};
}

chains! {
    what_a_replay_promises_of_rocksdb_on_ext4_is_had: ROCKSDB on "ext4", BY_DRIVE;
    what_a_replay_promises_of_rocksdb_on_xfs_is_had: ROCKSDB on "xfs", BY_DRIVE;
    what_a_replay_promises_of_sqlite_on_ext4_is_had: SQLITE on "ext4", BY_DRIVE;
    what_a_replay_promises_of_sqlite_on_xfs_is_had: SQLITE on "xfs", BY_DRIVE;
    what_a_replay_promises_of_postgres_on_ext4_is_had: POSTGRES on "ext4", BY_DRIVE;
    what_a_replay_promises_of_postgres_on_xfs_is_had: POSTGRES on "xfs", BY_DRIVE;
    what_a_replay_promises_of_mariadb_on_ext4_is_had: MARIADB on "ext4", BY_DRIVE;
    what_a_replay_promises_of_mariadb_on_xfs_is_had: MARIADB on "xfs", BY_DRIVE;
    what_a_replay_promises_of_mariadb_with_metadata_apart_on_ext4_is_had: MARIADB on "ext4", METADATA_APART;
    what_a_replay_promises_of_mariadb_with_metadata_apart_on_xfs_is_had: MARIADB on "xfs", METADATA_APART;
    what_a_replay_promises_of_rocksdb_collected_by_the_host_on_ext4_is_had: ROCKSDB on "ext4", BY_HOST;
    what_a_replay_promises_of_rocksdb_collected_by_the_host_on_xfs_is_had: ROCKSDB on "xfs", BY_HOST;
    what_a_replay_promises_of_sqlite_collected_by_the_host_on_ext4_is_had: SQLITE on "ext4", BY_HOST;
    what_a_replay_promises_of_sqlite_collected_by_the_host_on_xfs_is_had: SQLITE on "xfs", BY_HOST;
    what_a_replay_promises_of_postgres_collected_by_the_host_on_ext4_is_had: POSTGRES on "ext4", BY_HOST;
    what_a_replay_promises_of_postgres_collected_by_the_host_on_xfs_is_had: POSTGRES on "xfs", BY_HOST;
    what_a_replay_promises_of_mariadb_collected_by_the_host_on_ext4_is_had: MARIADB on "ext4", BY_HOST;
    what_a_replay_promises_of_mariadb_collected_by_the_host_on_xfs_is_had: MARIADB on "xfs", BY_HOST;
}
