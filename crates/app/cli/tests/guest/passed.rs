//! Programs that pass commands to a drive themselves: their writes are recorded, with the placements that they name.

use std::{collections::BTreeMap, fs};

use anabranch_trace::{Operation, Reader};

use crate::{
    MIB, host_bytes,
    machine::{program, run_with},
    served::Served,
};

#[test]
fn commands_that_a_program_passes_itself_are_recorded_with_their_placements() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "8MiB"]);
    let directory = tempfile::tempdir().unwrap();
    let files = program(directory.path());
    let report = run_with("passed.sh", 1800, &served.variables(), &files, |_| {
        String::new()
    });
    eprintln!("kernel {}", report.output("kernel").trim());
    for name in ["recorded", "words"] {
        report.output(name);
    }
    let counted = |name| report.json(name)["hbmw"].as_u64().unwrap();
    let recorded = report.json("recorded");
    assert_eq!(
        recorded["written_bytes"],
        counted("after") - counted("before")
    );
    assert_eq!(recorded["capture"]["lost_events"], 0, "{recorded:#}");

    let trace = directory.path().join("trace.parquet");
    fs::write(&trace, report.bytes("trace")).unwrap();
    let reader = Reader::open(&trace).unwrap();
    let tables = reader.tables().clone();
    let placements = &tables.capture.placements;
    let placement = |context: u32| placements.iter().find(|one| one.context == context);
    let mut written: BTreeMap<Option<u16>, u64> = BTreeMap::new();
    for io in reader.map(Result::unwrap) {
        if io.operation == Operation::Write {
            let own = placement(io.context.0).map(|one| one.placement);
            *written.entry(own).or_default() += io.length_bytes;
            // Over TCP another thread issues what a program passes: who passed it is known all the same.
            let context = &tables.contexts[io.context.0 as usize];
            let program = if own == Some(3) { "nvme" } else { "fio" };
            assert!(context.role.starts_with(program), "{context:?}");
            assert!(!context.frames.is_empty(), "{context:?}");
        }
    }
    // By placement, and what named none, to the byte what the drive has in each handle.
    const CALL_BYTES: u64 = 64 << 10;
    let expected = [
        (None, 5 * MIB),
        (Some(1), 24 * MIB),
        (Some(3), CALL_BYTES),
        (Some(5), 8 * MIB),
    ];
    assert_eq!(written, expected.into());
    let drive = host_bytes(&served.stop());
    let handles = [5 * MIB, 24 * MIB, 0, CALL_BYTES, 0, 8 * MIB, 0, 0];
    assert_eq!(drive, handles);
    // The replay puts them where the program did.
    let replayed = report.json("replayed");
    let schemes = replayed["schemes"].as_array().unwrap();
    let placed = schemes.iter().find(|scheme| scheme["name"] == "placed+fdp");
    let streams = placed.unwrap()["streams"].as_array().unwrap().iter();
    for stream in streams {
        let id = stream["id"].as_u64().unwrap() as usize;
        assert_eq!(stream["host_page_bytes"], handles[id], "stream {id}");
    }
}
