//! Forms that people publish traces in, and NVMe's passthrough commands.

use anabranch_trace::foreign::{Event, Exporter, Form, Options};

use super::cases::{case, contexts, counts, guessed, read, with_columns, writes};

#[test]
fn biosnoops_table_is_read_with_and_without_its_heading_and_options() {
    let (ios, importer) = guessed(case("biosnoop.txt"), &Options::default()).unwrap();
    assert_eq!(counts(&ios), [(1, 8192), (2, 20480), (0, 0), (0, 0)]);
    assert_eq!(importer.volumes(), ["vdb", "vdc"]);
    let roles: Vec<String> = contexts(&importer).into_iter().map(|row| row.1).collect();
    assert_eq!(roles, ["writerd", "journald-like"]);
    let libbpf = "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
                  0.000000    Web Content    700     nvme0n1 WS   8          4096      0.001   0.100\n\
                  0.000100    kworker/1:1H   31      nvme0n1 FF   0          0         0.001   0.100\n\
                  0.000200    fstrim         90      nvme0n1 D    64         32768     0.001   0.100\n";
    let (ios, importer) = read(libbpf);
    assert_eq!(counts(&ios), [(0, 0), (1, 4096), (1, 32768), (1, 0)]);
    assert_eq!(contexts(&importer)[0].1, "Web Content");
    let bare = "0.000004   supervise      1950   xvda1   W 13092560   4096     0.74\n\
                0.000178   supervise      1950   xvda1   R 13092432   4096     0.61\n";
    assert_eq!(
        counts(&read(bare).0),
        [(1, 4096), (1, 4096), (0, 0), (0, 0)]
    );
}

#[test]
fn windows_event_traces_are_read_by_the_columns_of_their_heading() {
    let text = "BeginHeader\n\
        \x20  DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,  IrpPtr,  ByteOffset,  IOSize, ElapsedTime,  DiskNum, IrpFlags\n\
        \x20  FileIoRead,  TimeStamp,     Process Name ( PID), ThreadID\n\
        EndHeader\n\
        OS Version: 6.0.6001  Trace Size: 1KB\n\
        \x20  DiskWrite,     133001,   System (   4),  2260, 0xfffffa80087ec4c0, 0x0a9a6b4000, 0x00001000, 152,  2, 0x060a00\n\
        \x20  FileIoRead,     133002,   sqlservr.exe ( 1234),  2260\n\
        \x20  DiskRead,     133101,   sqlservr.exe ( 1234),  2260, 0xfffffa80087ec4c0, 0x1000, 0x2000, 152,  2, 0x060a00\n\
        \x20  DiskFlush,     133201,   System (   4),  2260, 0xfffffa80087ec4c0,  152,  2, 0x060a00\n";
    let options = Options {
        volume: Some("all".into()),
        ..Options::default()
    };
    let (ios, importer) = guessed(text, &options).unwrap();
    assert_eq!(counts(&ios), [(1, 8192), (1, 4096), (0, 0), (1, 0)]);
    assert_eq!(
        (ios[0].offset_bytes, ios[1].time_ns),
        (0x0a_9a6b_4000, 100_000)
    );
    assert_eq!(contexts(&importer)[1].1, "sqlservr.exe");
    assert_eq!(importer.skipped().other_events, 1);
    // Without the heading the usual columns are taken.
    let bare: String = text
        .lines()
        .filter(|line| line.contains("DiskWrite"))
        .collect();
    assert_eq!(counts(&read(&bare).0), writes(1, 4096));
}

/// A trace of that version with records of object 8 and 16, the first a get, the second a set.
fn lcs(version: u64) -> Vec<u8> {
    let mut bytes = vec![0; 8192];
    bytes[..8].copy_from_slice(&0x1234_5678_9abc_def0_u64.to_le_bytes());
    bytes[8..16].copy_from_slice(&version.to_le_bytes());
    bytes[8184..].copy_from_slice(&0x1234_5678_9abc_def0_u64.to_le_bytes());
    for (second, object, operation) in [(5_u32, 8_u64, 1_u32), (7, 16, 3)] {
        bytes.extend(second.to_le_bytes());
        bytes.extend(object.to_le_bytes());
        let size = 4096_u64.to_le_bytes();
        bytes.extend(&size[..if version < 3 { 4 } else { 8 }]);
        if version > 1 {
            bytes.extend((operation | 9 << 8).to_le_bytes());
        }
        if version > 2 {
            bytes.extend([0; 4]);
        }
        bytes.extend((-1_i64).to_le_bytes());
        let features = [0, 0, 0, 0, 1, 2, 4, 8, 16][version as usize];
        bytes.extend(vec![0; 4 * features]);
    }
    bytes
}

#[test]
fn every_version_of_libcachesims_lcs_is_read() {
    for version in 1..=8 {
        let (ios, importer) = guessed(lcs(version), &with_columns("id-unit=sector")).unwrap();
        let expected = match version {
            1 => writes(2, 8192),
            _ => [(1, 4096), (1, 4096), (0, 0), (0, 0)],
        };
        assert_eq!(counts(&ios), expected, "{version}");
        assert_eq!((ios[1].offset_bytes, ios[1].time_ns), (8192, 2_000_000_000));
        assert_eq!(ios[1].tenant, if version == 1 { 0 } else { 9 });
        assert_eq!(importer.skipped().malformed, 0, "{version}");
    }
}

// Passthrough commands of NVMe.

#[test]
fn passthrough_writes_keep_their_placement() {
    let (ios, importer) = guessed(case("nvme-passthrough.txt"), &Options::default()).unwrap();
    assert_eq!(counts(&ios), writes(2, 40 * 512));
    assert_eq!(
        (ios[0].length_bytes, ios[1].length_bytes),
        (8 * 512, 32 * 512)
    );
    let tables = importer.tables();
    let placements: Vec<(u32, u16)> = tables
        .capture
        .placements
        .iter()
        .map(|one| (one.context, one.placement))
        .collect();
    assert_eq!(placements, [(ios[0].context.0, 1), (ios[1].context.0, 2)]);
    assert!(importer.remarks().join("").contains("id-unit=4096"));
    let options = with_columns("id-unit=4096");
    let (ios, _) = guessed(case("nvme-passthrough.txt"), &options).unwrap();
    assert_eq!(
        (ios[0].offset_bytes, counts(&ios)),
        (2048 * 4096, writes(2, 40 * 4096))
    );
}

#[test]
fn nvme_commands_of_other_kernels_count_once_and_only_where_they_place_data() {
    // No disk before 5.0; a failed command is sent again; no directive, no placement.
    let text = "a-1 [0] 1.1: nvme_setup_cmd: nvme0: qid=1, cmdid=7, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=8, len=7, ctrl=0x0, dsmgmt=131072, reftag=0)\n\
                a-1 [0] 1.2: nvme_complete_rq: nvme0: qid=1, cmdid=7, res=0, retries=0, flags=0x0, status=0x2002\n\
                a-1 [0] 1.3: nvme_setup_cmd: nvme0: qid=1, cmdid=7, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=8, len=7, ctrl=0x0, dsmgmt=131072, reftag=0)\n\
                a-1 [0] 1.4: nvme_complete_rq: nvme0: qid=1, cmdid=7, res=0, retries=1, flags=0x0, status=0\n\
                a-1 [0] 1.5: nvme_setup_cmd: nvme0: qid=0, cmdid=1, nsid=0, flags=0x0, meta=0x0, cmd=(nvme_admin_get_features fid=0x7)\n\
                a-1 [0] 1.6: nvme_setup_cmd: nvme0: qid=1, cmdid=9, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_flush cdw10=00 00 00)\n\
                a-1 [0] 1.7: nvme_setup_cmd: nvme0: qid=1, cmdid=9, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=8, len=0, ctrl=0x20, dsmgmt=65536, reftag=0)\n";
    let (ios, importer) = read(text);
    assert_eq!(counts(&ios), [(1, 512), (1, 4096), (0, 0), (1, 0)]);
    assert_eq!(importer.volumes(), ["nvme0n1"]);
    assert_eq!(importer.tables().capture.placements, []);
}

#[test]
fn passthrough_commands_are_taken_beside_events_of_the_block_layer() {
    let text = "a-1 [0] 1.1: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=7, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=8, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n\
                a-1 [0] 1.2: block_rq_issue: 259,0 W 4096 () 8 + 8 none,0,0 [a]\n\
                a-1 [0] 1.3: nvme_setup_cmd: nvme0: disk=ng0n1, qid=1, cmdid=8, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=64, len=7, ctrl=0x20, dsmgmt=65536, reftag=0)\n";
    let (ios, importer) = read(text);
    assert_eq!(counts(&ios), writes(2, 8192));
    assert_eq!(importer.volumes(), ["259,0"]);
}

#[test]
fn an_exported_blktrace_has_every_event_that_its_readers_take() {
    let (ios, importer) = read("7,W,0,4096,1\n7,R,4096,512,2\n");
    let mut exporter = Exporter::new(Form::Blktrace, &importer.tables(), Vec::new());
    ios.iter().for_each(|io| exporter.push(io).unwrap());
    let (bytes, _) = exporter.finish().unwrap();
    for event in Event::ALL {
        let options = Options {
            event: Some(event),
            ..Options::default()
        };
        let (again, importer) = guessed(bytes.clone(), &options).unwrap();
        assert_eq!(counts(&again), counts(&ios), "{event:?}");
        assert_eq!(importer.remarks(), [""; 0], "{event:?}");
    }
}
