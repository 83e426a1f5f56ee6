//! Inputs in the forms that people publish, and what is right about each. Every kind has variants of its own here.

use anabranch_trace::foreign::{ColumnMap, Event, Format, ImportError, Importer, Options};
use anabranch_trace::{ContextKind, Io, Operation};

use super::sample::{bytes, import, input};

/// Requests and bytes of each operation, and flushes: reads, writes, discards, flushes.
pub type Counts = [(u64, u64); 4];

pub fn counts(ios: &[Io]) -> Counts {
    Operation::ALL.map(|operation| {
        let of = ios.iter().filter(|io| io.operation == operation);
        (
            of.clone().count() as u64,
            of.map(|io| io.length_bytes).sum(),
        )
    })
}

/// Writes of so many bytes, and nothing else.
pub fn writes(requests: u64, bytes: u64) -> Counts {
    [(0, 0), (requests, bytes), (0, 0), (0, 0)]
}

fn with_event(event: Event) -> Options {
    Options {
        event: Some(event),
        ..Options::default()
    }
}

pub fn with_columns(map: &str) -> Options {
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
pub fn guessed(
    bytes: impl Into<Vec<u8>>,
    options: &Options,
) -> Result<(Vec<Io>, Importer), ImportError> {
    let mut one = input("t", bytes);
    let format = one.sniff_with(options)?;
    import(vec![one], format, options)
}

pub fn read(text: &str) -> (Vec<Io>, Importer) {
    guessed(text, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

pub fn case(name: &str) -> Vec<u8> {
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
    // Volumes are numbered as they come, and named the same.
    let named = |(ios, importer): (Vec<Io>, Importer)| -> Vec<(Io, String)> {
        let name = |io: &Io| importer.volumes()[io.tenant as usize].clone();
        ios.iter()
            .map(|io| (Io { tenant: 0, ..*io }, name(io)))
            .collect()
    };
    let inputs = files.clone().map(|bytes| input("t", bytes)).into();
    let merged = named(import(inputs, Format::Blktrace, &Options::default()).unwrap());
    let turned = files.iter().rev().flatten().copied().collect();
    for stream in [files.concat(), turned] {
        let found = guessed(stream, &Options::default()).unwrap();
        assert_eq!(named(found), merged);
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
pub fn contexts(importer: &Importer) -> Vec<(ContextKind, String, Vec<String>)> {
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
fn events_that_are_not_taken_do_not_keep_the_cards_from_being_read() {
    let text = "a-1 [000] ..... 1.1: block_bio_queue: 179,0 W 8 + 8 [a]\n\
                a-1 [000] ..... 1.2: mmc_request_start: mmc0: start struct mmc_request[c669d954]: cmd_opcode=25 cmd_arg=0x8 blocks=8 block_size=512\n";
    assert_eq!(counts(&read(text).0), writes(1, 4096));
    let (ios, importer) = guessed(text, &with_event(Event::Queue)).unwrap();
    assert_eq!(
        (counts(&ios), importer.volumes()),
        (writes(1, 4096), &["179,0".to_owned()][..])
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
    let bytes = "1000 0 4096 4096 0\n2000 0 8192 4096 0\n3000 0 65536 8192 0\n";
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
