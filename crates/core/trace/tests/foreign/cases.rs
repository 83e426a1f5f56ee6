//! Inputs in the forms that people publish, and what is right about each. Every kind has variants of its own here.

use anabranch_trace::foreign::{ColumnMap, Event, Format, ImportError, Importer, Options};
use anabranch_trace::{ContextKind, Io, Operation};

use super::sample::{bytes, import, input};

/// Requests and bytes of each operation, and flushes: reads, writes, discards, flushes.
type Counts = [(u64, u64); 4];

fn counts(ios: &[Io]) -> Counts {
    Operation::ALL.map(|operation| {
        let of = ios.iter().filter(|io| io.operation == operation);
        (
            of.clone().count() as u64,
            of.map(|io| io.length_bytes).sum(),
        )
    })
}

/// Writes of so many bytes, and nothing else.
fn writes(requests: u64, bytes: u64) -> Counts {
    [(0, 0), (requests, bytes), (0, 0), (0, 0)]
}

fn with_event(event: Event) -> Options {
    Options {
        event: Some(event),
        ..Options::default()
    }
}

fn with_columns(map: &str) -> Options {
    Options {
        columns: Some(ColumnMap::parse(map).unwrap()),
        ..Options::default()
    }
}

fn leniently() -> Options {
    Options {
        skip_bad: true,
        ..Options::default()
    }
}

/// Reads bytes as the form that they look like.
fn guessed(
    bytes: impl Into<Vec<u8>>,
    options: &Options,
) -> Result<(Vec<Io>, Importer), ImportError> {
    let mut one = input("t", bytes);
    let format = one.sniff_with(options)?;
    import(vec![one], format, options)
}

fn read(text: &str) -> (Vec<Io>, Importer) {
    guessed(text, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn case(name: &str) -> Vec<u8> {
    bytes(&format!("case-{name}"))
}

// One request, several issue events.

#[test]
fn a_request_that_is_requeued_counts_once_in_binary_records() {
    let (ios, importer) = guessed(case("requeue.blktrace.hex"), &Options::default()).unwrap();
    assert_eq!(counts(&ios), writes(2, 68 << 10));
    assert_eq!(importer.remarks(), [""; 0]);
}

#[test]
fn a_request_that_is_requeued_on_another_processor_counts_once() {
    // The first issue of the case stands in one file, the requeue and what follows in another.
    let all = case("requeue.blktrace.hex");
    let (first, second) = all.split_at(64 + 2 * 48);
    let inputs = vec![input("0", first), input("1", second)];
    let (ios, _) = import(inputs, Format::Blktrace, &Options::default()).unwrap();
    assert_eq!(counts(&ios), writes(2, 68 << 10));
}

#[test]
fn a_stream_of_all_processors_in_turn_is_what_their_files_are() {
    let files = [bytes("blktrace.0.hex"), bytes("blktrace.1.hex")];
    let inputs = files.clone().map(|bytes| input("t", bytes)).into();
    let (merged, _) = import(inputs, Format::Blktrace, &Options::default()).unwrap();
    for stream in [
        files.concat(),
        files.iter().rev().flatten().copied().collect(),
    ] {
        let (ios, _) = guessed(stream, &Options::default()).unwrap();
        assert_eq!(ios, merged);
    }
    // The requeue stands before its issue in the stream, and behind it in time.
    let all = case("requeue.blktrace.hex");
    let (first, second) = all.split_at(64 + 2 * 48);
    let (ios, _) = guessed([second, first].concat(), &Options::default()).unwrap();
    assert_eq!(counts(&ios), writes(2, 68 << 10));
}

#[test]
fn a_request_that_is_requeued_counts_once_in_texts() {
    let blkparse = "  8,0    1        1     0.000001000  1000  D  WS 2048 + 128 [writer]\n\
                    \x20 8,0    1        2     0.000002000  1000  R  WS 2048 + 128 [0]\n\
                    \x20 8,0    1        3     0.000003000  1000  D  WS 2048 + 128 [writer]\n\
                    \x20 8,0    1        4     0.000004000     0  C  WS 2048 + 128 [0]\n";
    let ftrace = "w-1 [001] ..... 1.000001: block_rq_issue: 8,0 WS 65536 () 2048 + 128 be,0,4 [w]\n\
                  w-1 [001] ..... 1.000002: block_rq_requeue: 8,0 WS () 2048 + 128 be,0,4 [0]\n\
                  w-1 [002] ..... 1.000003: block_rq_issue: 8,0 WS 65536 () 2048 + 128 be,0,4 [w]\n\
                  w-1 [001] ..... 1.000004: block_rq_complete: 8,0 WS () 2048 + 128 be,0,4 [0]\n";
    let perf = ftrace
        .replace("w-1 [", "w 1 [")
        .replace("..... ", "")
        .replace("block_", "block:block_");
    for text in [blkparse, ftrace, &perf] {
        let (ios, importer) = read(text);
        assert_eq!(counts(&ios), writes(1, 65536), "{text}");
        assert_eq!(importer.remarks(), [""; 0], "{text}");
    }
}

#[test]
fn a_request_that_is_done_in_parts_counts_its_bytes_once() {
    let blkparse = "8,0 1 1 0.1 9 D WS 2048 + 128 [w]\n8,0 1 2 0.2 0 C WS 2048 + 32 [0]\n\
                    8,0 1 3 0.3 9 R WS 2080 + 96 [0]\n8,0 1 4 0.4 9 D WS 2080 + 96 [w]\n\
                    8,0 1 5 0.5 0 C WS 2080 + 96 [0]\n";
    let ftrace = "w-1 [001] 1.1: block_rq_issue: 8,0 W 0 () 2048 + 128 [w]\n\
                  w-1 [001] 1.2: block_rq_complete: 8,0 W () 2048 + 32 [0]\n\
                  w-1 [001] 1.3: block_rq_requeue: 8,0 W () 2080 + 96 [0]\n\
                  w-1 [001] 1.4: block_rq_issue: 8,0 W 0 () 2080 + 96 [w]\n\
                  w-1 [001] 1.5: block_rq_complete: 8,0 W () 2080 + 96 [0]\n";
    for text in [blkparse, ftrace] {
        for options in [Options::default(), with_event(Event::Complete)] {
            let (ios, importer) = guessed(text, &options).unwrap();
            assert_eq!(counts(&ios)[1].1, 65536, "{text}");
            assert_eq!(importer.remarks(), [""; 0], "{text}");
        }
    }
}

#[test]
fn the_rest_of_a_split_that_an_old_kernel_queues_again_counts_once() {
    let blkparse = "8,0 1 1 0.1 9 Q WS 0 + 256 [w]\n8,0 1 2 0.2 9 X WS 0 / 128 [w]\n\
                    8,0 1 3 0.3 9 Q WS 128 + 128 [w]\n";
    let ftrace = "w-1 [001] 1.1: block_bio_queue: 8,0 WS 0 + 256 [w]\n\
                  w-1 [001] 1.2: block_split: 8,0 WS 0 / 128 [w]\n\
                  w-1 [001] 1.3: block_bio_queue: 8,0 WS 128 + 128 [w]\n";
    for text in [blkparse, ftrace] {
        let (ios, _) = guessed(text, &with_event(Event::Queue)).unwrap();
        assert_eq!(counts(&ios), writes(1, 256 * 512), "{text}");
    }
}

#[test]
fn issue_and_completion_bytes_that_disagree_are_said() {
    let twice = "w-1 [001] 1.1: block_rq_issue: 8,0 W 0 () 2048 + 128 [w]\n\
                 w-1 [001] 1.2: block_rq_issue: 8,0 W 0 () 2048 + 128 [w]\n\
                 w-1 [001] 1.3: block_rq_complete: 8,0 W () 2048 + 128 [0]\n";
    let grown = "8,0 1 1 0.1 9 D WS 2048 + 8 [w]\n8,0 1 2 0.2 0 C WS 2048 + 16 [0]\n";
    for text in [twice, grown] {
        let (_, importer) = read(text);
        let words = importer.remarks().join("\n");
        assert!(words.contains("issue events have"), "{words}");
    }
}

// Texts of other kernels and tools.

#[test]
fn a_sector_without_data_means_nothing() {
    let flushes = "  a-1 [000] ...1 10.2: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [a]\n\
                   a-1 [000] ...1 10.3: block_rq_issue: 8,0 FF 0 () -1 + 0 [a]\n\
                   a-1 [000] ...1 10.4: block_rq_issue: 8,0 FWS () 18446744073709551615 + 0 [a]\n";
    let blkparse = "8,0 0 1 0.1 9 D FN 18446744073709551615 + 0 [w]\n8,0 0 2 0.2 9 D FN -1 + 0 [w]\n\
                    8,0 0 3 0.3 9 D F 18446744073709551615 [w]\n";
    for text in [flushes, blkparse] {
        assert_eq!(counts(&read(text).0)[3].0, 3, "{text}");
    }
    let (ios, _) = guessed(case("ftrace-flush-old.txt"), &Options::default()).unwrap();
    assert_eq!(counts(&ios), [(0, 0), (2, 12288), (0, 0), (1, 0)]);
}

#[test]
fn events_without_a_processor_and_with_headings_are_understood() {
    for text in [
        "app  7  10.2: block:block_rq_issue: 8,0 W 4096 () 8 + 8 [app]\n",
        "10.2: block:block_rq_issue: 8,0 W 4096 () 8 + 8 none,0,0 [app]\n",
        "app 7/8 [000] 10.2:          1 block:block_rq_issue: 8,0 W 4096 () 8 + 8 [app]\n",
        "capturing trace... done\nTRACE:\n# tracer: nop\n app-7 (-----) [000] d..2 10.2: block_rq_issue: 8,0 W 0 () 8 + 8 [app]\n",
        "cpus=8\n app-7 [000] 10.2: block_rq_issue:       8,0 W 4096 () 8 + 8 [app]\n",
    ] {
        let (ios, importer) = read(text);
        assert_eq!(counts(&ios), writes(1, 4096), "{text}");
        assert_eq!(importer.tables().contexts[1].role, "app", "{text}");
    }
}

/// Contexts of an import: kind, role, and the functions or objects of the call path.
fn contexts(importer: &Importer) -> Vec<(ContextKind, String, Vec<String>)> {
    let rows = importer.tables().contexts.into_iter().skip(1);
    let frame = |frame: anabranch_trace::Frame| frame.symbol.unwrap_or(frame.object);
    rows.map(|row| {
        (
            row.kind,
            row.role,
            row.frames.into_iter().map(frame).collect(),
        )
    })
    .collect()
}

#[test]
fn call_stacks_of_perf_are_the_contexts_of_their_requests() {
    let options = Options {
        volume: Some("all".into()),
        ..Options::default()
    };
    let (ios, importer) = guessed(case("perf-callgraph.txt"), &options).unwrap();
    assert_eq!(counts(&ios), [(3, 9216), (0, 0), (0, 0), (0, 0)]);
    let found = contexts(&importer);
    let path = ["dl_main", "_dl_sysdep_start", "_dl_start_user"].map(str::to_owned);
    let with_path: Vec<_> = found.iter().filter(|row| !row.2.is_empty()).collect();
    assert_eq!(with_path.len(), 1, "{found:?}");
    assert_eq!(
        (with_path[0].1.as_str(), with_path[0].2.as_slice()),
        ("dd", &path[..])
    );
    assert_eq!(ios[0].context, ios[1].context);
    assert_ne!(ios[0].context, ios[2].context);
}

#[test]
fn call_stacks_belong_to_the_event_before_and_to_no_other() {
    let text = "app 7 [000] 10.1: block:block_rq_issue: 8,0 W 4096 () 8 + 8 [app]\n\
                \tffffffff81b47d7f blk_mq_start_request+0xcf ([kernel.kallsyms])\n\
                \t    7f0000001111 put+0x11 (/usr/bin/app)\n\
                \n\
                app 7 [000] 10.2: sched:sched_switch: prev_comm=app\n\
                \t    7f0000002222 other+0x11 (/usr/bin/app)\n\
                \n\
                app 7 [000] 10.3: block:block_rq_issue: 8,0 W 4096 () 16 + 8 [app]\n\
                \t    7f0000003333 put+0x11 (/usr/bin/app)\n";
    let (ios, importer) = read(text);
    assert_eq!(ios[0].context, ios[1].context);
    let found = contexts(&importer);
    assert_eq!(found.last().unwrap().2, ["put"]);
}

#[test]
fn stacks_of_ftrace_find_their_event_among_those_of_other_processors() {
    let text = "a-1 [000] ..... 10.1: block_rq_issue: 8,0 W 4096 () 8 + 8 none,0,0 [a]\n\
                b-2 [001] ..... 10.2: block_rq_issue: 8,0 W 4096 () 16 + 8 none,0,0 [b]\n\
                a-1 [000] ..... 10.3: <stack trace>\n => blk_mq_start_request\n => ext4_writepages\n\
                a-1 [000] ..... 10.4: <user stack trace>\n => /usr/lib/libc.so.6[+0x1147e2]\n => /usr/bin/a[+0x12]\n\
                b-2 [001] ..... 10.5: <user stack trace>\n =>  <00007f1234567890>\n => ??\n";
    let (ios, importer) = read(text);
    assert_eq!(counts(&ios), writes(2, 8192));
    let tables = importer.tables();
    let path = |io: &Io| tables.contexts[io.context.0 as usize].frames.clone();
    let objects: Vec<String> = path(&ios[0])
        .into_iter()
        .map(|frame| frame.object)
        .collect();
    assert_eq!(objects, ["/usr/lib/libc.so.6", "/usr/bin/a"]);
    assert_eq!(path(&ios[1]).len(), 1);
    assert_eq!(importer.skipped().malformed, 0);
}

// The event of a request's life.

#[test]
fn completions_alone_and_bios_alone_are_taken_when_asked_for() {
    let (ios, importer) = guessed(case("perf-complete-only.txt"), &Options::default()).unwrap();
    assert!(ios.is_empty());
    assert_eq!(
        importer.skipped().most_untaken(),
        Some((Event::Complete, 3))
    );
    let (ios, _) = guessed(case("perf-complete-only.txt"), &with_event(Event::Complete)).unwrap();
    assert_eq!(counts(&ios), [(0, 0), (2, 12288), (0, 0), (1, 0)]);
    let bios = "a-1 [000] ..... 1.1: block_bio_queue: 253,0 W 8 + 8 [a]\n\
                a-1 [000] ..... 1.2: block_bio_complete: 253,0 W 8 + 8 [0]\n";
    for event in [Event::Queue, Event::Complete] {
        let (ios, _) = guessed(bios, &with_event(event)).unwrap();
        assert_eq!(counts(&ios), writes(1, 4096), "{event:?}");
    }
    let (_, importer) = read(bios);
    assert_eq!(importer.skipped().most_untaken(), Some((Event::Queue, 1)));
    let blkparse = "8,0 0 1 0.1 9 C W 8 + 8 [0]\n8,0 0 2 0.2 9 C W 16 + 8 [0]\n";
    let (_, importer) = read(blkparse);
    assert_eq!(
        importer.skipped().most_untaken(),
        Some((Event::Complete, 2))
    );
}

#[test]
fn options_that_a_form_does_not_use_are_errors() {
    for (text, options, words) in [
        (
            "7,W,0,512,1\n",
            with_event(Event::Queue),
            "alibaba does not use --event",
        ),
        (
            "1 0 0 8 0\n",
            with_columns("op=read"),
            "does not use the column map's op: it uses time-unit",
        ),
        (
            "7,W,0,512,1\n",
            with_columns("time-unit=s"),
            "does not use the column map's time-unit",
        ),
        (
            "8,0 0 1 0.1 9 D W 8 + 8 [w]\n",
            with_columns("id-unit=byte"),
            "blkparse does not use",
        ),
    ] {
        let error = guessed(text, &options).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    for (event, format) in [
        (Event::Complete, Format::Ftrace),
        (Event::Queue, Format::Blktrace),
    ] {
        assert!(Importer::new(vec![], format, &with_event(event)).is_ok());
    }
}

// The guess.

#[test]
fn the_form_that_understands_most_lines_is_named_and_taken_where_bad_records_are_skipped() {
    let error = guessed(case("mqsim-stray-lines.trace"), &Options::default()).unwrap_err();
    let error = error.to_string();
    for words in [
        "mqsim comes closest",
        "3 of the first 4 lines",
        "not line 4",
        "--skip-bad",
    ] {
        assert!(error.contains(words), "{error}");
    }
    let (ios, importer) = guessed(case("mqsim-stray-lines.trace"), &leniently()).unwrap();
    assert_eq!((ios.len(), importer.skipped().malformed), (3, 1));
    let alibaba = "7,W,0,512,1\nnonsense 1\n7,W,512,512,2\n7,R,0,512,3\n";
    let (ios, importer) = guessed(alibaba, &leniently()).unwrap();
    assert_eq!((ios.len(), importer.skipped().malformed), (3, 1));
    let blkparse = "8,0 0 1 0.1 9 D W 8 + 8 [w]\ngarbage\n8,0 0 2 0.2 9 D W 8 + 8 [w]\n";
    assert_eq!(guessed(blkparse, &leniently()).unwrap().0.len(), 2);
}

#[test]
fn a_byte_order_mark_and_zeros_at_the_end_are_no_content() {
    let text = b"7,W,0,512,1\n7,W,512,512,2\n";
    let mark = [b"\xef\xbb\xbf".as_slice(), text].concat();
    let zeros = [text.as_slice(), &[0; 200_000]].concat();
    let zeros_in_line = [&text[..text.len() - 1], &[0; 512]].concat();
    for bytes in [mark, zeros, zeros_in_line] {
        let (ios, importer) = guessed(bytes, &Options::default()).unwrap();
        assert_eq!((ios.len(), importer.skipped().malformed), (2, 0));
    }
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(text.iter().flat_map(|byte| [*byte, 0]))
        .collect();
    let error = anabranch_trace::foreign::Input::new("t", std::io::Cursor::new(wide)).unwrap_err();
    assert!(error.to_string().contains("iconv -f UTF-16"), "{error}");
    let records = [case("requeue.blktrace.hex"), vec![0; 4096]].concat();
    let (ios, importer) = guessed(records, &Options::default()).unwrap();
    assert_eq!((ios.len(), importer.skipped().malformed), (2, 0));
}

// Units.

#[test]
fn a_fraction_of_a_nanosecond_is_proof_of_another_unit() {
    let error = guessed(case("five-columns-seconds.trace"), &Options::default()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("--columns time-unit=s") && error.contains("disksim"),
        "{error}"
    );
    let (ios, _) = guessed(
        case("five-columns-seconds.trace"),
        &with_columns("time-unit=s"),
    )
    .unwrap();
    assert_eq!(counts(&ios), [(1, 32 * 512), (2, 32 * 512), (0, 0), (0, 0)]);
    assert_eq!(ios[2].time_ns, 60_500_000_000);
    let disksim = "64.823000 1 314080 8 1\n3600000.5 1 314088 16 0\n";
    let (ios, _) = import(
        vec![input("t", disksim)],
        Format::DiskSim,
        &Options::default(),
    )
    .unwrap();
    assert_eq!(counts(&ios), [(1, 4096), (1, 8192), (0, 0), (0, 0)]);
    assert_eq!(ios[1].time_ns, 3_599_935_677_000);
}

#[test]
fn sectors_that_are_all_multiples_of_512_are_said_to_be_bytes_perhaps() {
    let bytes = "1 0 4096 4096 0\n2 0 8192 4096 0\n3 0 65536 8192 0\n";
    let (_, importer) = read(bytes);
    let words = importer.remarks().join("\n");
    assert!(words.contains("id-unit=byte,size-unit=byte"), "{words}");
    let (ios, importer) = guessed(bytes, &with_columns("id-unit=byte,size-unit=byte")).unwrap();
    assert_eq!(counts(&ios), writes(3, 16384));
    assert_eq!(importer.remarks(), [""; 0]);
}

// Tables of any columns.

fn table(map: &str, text: &str) -> Result<(Vec<Io>, Importer), ImportError> {
    import(vec![input("t", text)], Format::Csv, &with_columns(map))
}

#[test]
fn a_column_map_reads_aligned_quoted_hexadecimal_and_decimal_cells_and_dates() {
    for (map, text) in [
        (
            "time-col=1,context-col=2,volume-col=4,op-col=5,obj-id-col=6,obj-size-col=7,id-unit=sector,delimiter=space",
            "TIME(s)     COMM     PID    DISK    T SECTOR     BYTES\n\
             0.500000    writerd  1200   vdb     W 8          8192\n",
        ),
        (
            "time-col=1,op-col=2,obj-id-col=3,obj-size-col=4,id-unit=byte",
            "2024-01-15T10:30:45.5Z,WS,0x1000,\"8192\"\n",
        ),
        (
            "time-col=1,op-col=3,obj-id-col=4,obj-size-col=5,id-unit=byte,delimiter=space",
            "Attaching 2 probes...\n2024-01-15 10:30:45.5  W  4096.0  8.192e3\n@total: 5\n",
        ),
        (
            "time-col=1,op-col=2,obj-id-col=3,obj-size-col=4,id-unit=block,size-unit=1024,delimiter=;",
            "\"10:30:45.5\";\"write\";\"1\";\"8.0\"\n",
        ),
    ] {
        let (ios, importer) = table(map, text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(counts(&ios), writes(1, 8192), "{text}");
        assert_eq!(ios[0].offset_bytes, 4096, "{text}");
        assert_eq!(importer.skipped().malformed, 0);
    }
}

#[test]
fn a_cell_that_cannot_be_read_is_named_with_its_column() {
    let map = "time-col=1,op-col=2,obj-id-col=3,obj-size-col=4,id-unit=byte";
    for (text, words) in [
        ("1,W,abc,512\n", "its column 3 (obj-id-col) is \"abc\""),
        (
            "1,W,0,1.5\n",
            "its column 4 (obj-size-col) is \"1.5\", but has to be a whole number of bytes",
        ),
        ("today,W,0,512\n", "its column 1 (time-col) is \"today\""),
        ("1,7,0,512\n", "its column 2 (op-col) is \"7\""),
        ("1,W,0\n", "it has no column 4 (obj-size-col)"),
    ] {
        let error = table(map, text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn all_volumes_are_one_where_that_is_asked_for() {
    let options = Options {
        volume: Some("all".into()),
        ..Options::default()
    };
    let blkparse = "8,1 0 1 0.1 9 D W 8 + 8 [w]\n8,2 0 2 0.2 9 D W 16 + 8 [w]\n";
    let alibaba = "7,W,0,512,1\n8,W,512,512,2\n";
    for text in [blkparse, alibaba] {
        let (ios, importer) = guessed(text, &options).unwrap();
        assert!(
            ios.len() == 2 && ios.iter().all(|io| io.tenant == 0),
            "{text}"
        );
        assert_eq!(importer.skipped().other_volumes, 0);
    }
}

// Forms that people have.

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
    let text = "a-1 [0] 1.1: block_rq_issue: 259,0 W 4096 () 8 + 8 none,0,0 [a]\n\
                a-1 [0] 1.2: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=7, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=8, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n\
                a-1 [0] 1.3: nvme_setup_cmd: nvme0: disk=ng0n1, qid=1, cmdid=8, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=64, len=7, ctrl=0x20, dsmgmt=65536, reftag=0)\n";
    let options = Options {
        volume: Some("all".into()),
        ..Options::default()
    };
    let (ios, _) = guessed(text, &options).unwrap();
    assert_eq!(counts(&ios), writes(2, 8192));
}
