//! Traces in which several layers of the kernel tell of one request, or events are missing.

use anabranch_trace::foreign::{Event, Exporter, Form, Options};

use super::cases::{counts, guessed, read, with_columns, writes};

fn with_event(event: Event) -> Options {
    Options {
        event: Some(event),
        ..Options::default()
    }
}

/// A setup of a write of `blocks` blocks at `slba`, by `task`.
fn setup(task: &str, disk: &str, number: u32, slba: u64, blocks: u64) -> String {
    format!(
        "{task} [000] ..... 1.1: nvme_setup_cmd: nvme0: disk={disk}, qid=1, cmdid={number}, nsid=1, flags=0x0, meta=0x0, \
         cmd=(nvme_cmd_write slba={slba}, len={}, ctrl=0x20, dsmgmt=65536, reftag=0)\n",
        blocks - 1
    )
}

fn completed(task: &str, number: u32) -> String {
    format!(
        "{task} [000] d.h.. 1.2: nvme_complete_rq: nvme0: disk=nvme0n1, qid=1, cmdid={number}, res=0x0, retries=0, \
         flags=0x0, status=0x0\n"
    )
}

fn block(task: &str, event: &str, request: &str) -> String {
    let last = if event == "complete" { "0" } else { "x" };
    format!("{task} [000] ..... 1.1: block_rq_{event}: {request} [{last}]\n")
}

#[test]
fn the_block_layer_counts_for_each_device_that_it_has_events_of() {
    // A drive with blocks of 4 KiB, and another drive that is no NVMe drive.
    let text = [
        setup("raft-7", "nvme0n1", 1, 62_306_944, 1),
        block("raft-7", "issue", "259,0 WFS 4096 () 498455552 + 8"),
        block("pg-9", "issue", "8,0 WS 1048576 () 2048 + 2048"),
        completed("raft-7", 1),
        block("raft-7", "complete", "259,0 WFS () 498455552 + 8"),
        block("pg-9", "complete", "8,0 WS () 2048 + 2048"),
    ]
    .concat();
    for event in [Event::Issue, Event::Complete] {
        let (ios, importer) = guessed(text.as_str(), &with_event(event)).unwrap();
        assert_eq!(counts(&ios), writes(2, 4096 + (1 << 20)), "{event:?}");
        assert_eq!(importer.volumes(), ["259,0", "8,0"]);
        let words = importer.remarks().join("\n");
        assert!(
            words.contains("nvme0n1 is the device 259,0: 1 of its commands are left out"),
            "{words}"
        );
        assert!(!words.contains("logical blocks"), "{words}");
    }
}

#[test]
fn a_drive_without_events_of_the_block_layer_is_read_by_its_commands() {
    let text = [
        setup("app-7", "nvme0n1", 1, 8, 8),
        setup("app-7", "nvme0n1", 2, 16, 8),
        block("pg-9", "issue", "8,0 WS 4096 () 2048 + 8"),
        completed("app-7", 1),
    ]
    .concat();
    let (ios, importer) = read(&text);
    assert_eq!(counts(&ios), writes(3, 3 * 4096));
    assert_eq!(importer.volumes(), ["8,0", "nvme0n1"]);
    assert!(importer.remarks().join("").contains("logical blocks"));
}

#[test]
fn passthrough_commands_count_beside_the_block_layers_requests_of_the_same_drive() {
    // The kernel names the block device for both, and makes a request without sectors of a command.
    let text = [
        setup("app-7", "nvme0n1", 1, 100, 4),
        block("app-7", "issue", "259,0 N 16384 () 0 + 0"),
        setup("fs-8", "nvme0n1", 2, 8, 1),
        block("fs-8", "issue", "259,0 W 4096 () 64 + 8"),
        completed("fs-8", 2),
        block("fs-8", "complete", "259,0 W () 64 + 8"),
        completed("app-7", 1),
        block("app-7", "complete", "259,0 N () 0 + 0"),
    ]
    .concat();
    for event in [Event::Issue, Event::Complete] {
        let (ios, importer) = guessed(text.as_str(), &with_event(event)).unwrap();
        assert_eq!(counts(&ios), writes(2, 16384 + 4096), "{event:?}");
        assert_eq!(importer.volumes(), ["259,0"], "{event:?}");
        let io = ios.iter().find(|io| io.length_bytes == 16384).unwrap();
        assert_eq!(io.offset_bytes, 100 * 4096);
        let placements = importer.tables().capture.placements;
        assert!(placements.iter().any(|one| one.context == io.context.0));
        let words = importer.remarks().join("\n");
        assert!(!words.contains("logical blocks"), "{words}");
        assert!(!words.contains("issue events have"), "{words}");
    }
}

#[test]
fn a_block_size_that_is_named_is_taken_though_a_pair_shows_another() {
    let text = [
        setup("fs-8", "nvme0n1", 2, 8, 1),
        block("fs-8", "issue", "259,0 W 4096 () 64 + 8"),
        setup("app-7", "ng0n1", 1, 100, 4),
    ]
    .concat();
    let lengths = |options: &Options| -> Vec<u64> {
        let (ios, _) = guessed(text.as_str(), options).unwrap();
        ios.iter().map(|io| io.length_bytes).collect()
    };
    assert_eq!(lengths(&Options::default()), [4096, 4 * 4096]);
    assert_eq!(lengths(&with_columns("id-unit=512")), [4096, 4 * 512]);
}

#[test]
fn commands_wait_for_their_drive_no_longer_than_memory_is_there_for() {
    let mut text = String::new();
    for number in 0..9000 {
        text += &setup("app-7", "nvme0n1", number, u64::from(number) * 8, 8);
        text += &block("pg-9", "issue", &format!("8,0 W 512 () {number} + 1"));
    }
    text += &block("app-7", "issue", "8,0 W 512 () 9000 + 1");
    let bytes = 9000 * (4096 + 512) + 512;
    let (ios, importer) = read(&text);
    assert_eq!(counts(&ios), writes(18_001, bytes));
    assert_eq!(importer.volumes(), ["8,0", "nvme0n1"]);
    // A pair that comes later decides for what follows.
    text += &setup("fs-8", "nvme0n1", 9001, 64, 8);
    text += &block("fs-8", "issue", "259,0 W 4096 () 64 + 8");
    let (ios, importer) = read(&text);
    assert_eq!(counts(&ios), writes(18_002, bytes + 4096));
    assert!(
        importer
            .remarks()
            .join("")
            .contains("1 of its commands are left out")
    );
}

#[test]
fn a_flush_and_a_request_of_another_task_tell_nothing_of_a_disk() {
    let flush = setup("app-7", "nvme0n1", 1, 8, 8)
        .replace("nvme_cmd_write slba=8, len=7", "nvme_cmd_flush cdw10=");
    let text = [
        flush,
        block("app-7", "issue", "8,0 FF 0 () 0 + 0"),
        setup("app-7", "nvme0n1", 2, 8, 8),
        block("pg-9", "issue", "8,0 W 4096 () 8 + 8"),
    ]
    .concat();
    let (ios, importer) = read(&text);
    assert_eq!(counts(&ios), [(0, 0), (2, 8192), (0, 0), (2, 0)]);
    assert_eq!(importer.volumes(), ["8,0", "nvme0n1"]);
}

#[test]
fn a_card_that_the_block_layer_tells_of_counts_once_whatever_comes_first() {
    let card = |sector: u64| {
        format!(
            "k-1 [000] ..... 1.2: mmc_request_start: mmc0: start struct mmc_request[c669d954]: cmd_opcode=25 \
             cmd_arg={sector:#x} blocks=8 block_size=512\n"
        )
    };
    let text = [
        card(8),
        block("pg-9", "issue", "8,0 W 4096 () 8 + 8"),
        block("k-1", "issue", "179,0 W 4096 () 16 + 8"),
        card(16),
    ]
    .concat();
    let (ios, importer) = read(&text);
    assert_eq!(counts(&ios), writes(2, 8192));
    assert_eq!(importer.volumes(), ["8,0", "179,0"]);
    let words = importer.remarks().join("\n");
    assert!(
        words.contains("2 of its commands are left out") && words.contains("though 1 of them"),
        "{words}"
    );
}

// Events that the trace itself reports as lost.

#[test]
fn every_report_of_lost_events_counts() {
    let event = "fio-7 [000] ..... 1.1: block_rq_issue: 8,0 WS 65536 () 64 + 128 [fio]\n";
    let perf = "dd 42 [003] 1.1: block:block_rq_issue: 8,0 WS 65536 () 64 + 128 [dd]\n\
                swapper 0 [000] 1.2: PERF_RECORD_LOST lost 7\n\
                dd 42 [000] 1.3: PERF_RECORD_COMM exec: dd:42/42\n";
    let blkparse = "8,0 1 1 0.1 9 D WS 64 + 128 [w]\nSkips: 3 forward (1,234 -   5.2%)\n";
    let etw = "BeginHeader\n  DiskRead,  TimeStamp,  Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize\n\
               EndHeader\nOS Version: 6.0.6001, Trace Size: 81600KB, Events Lost: 3, Buffers lost: 0, Trace Start: 1\n\
               DiskWrite, 133001, System ( 4), 2260, 0xf, 0x8000, 0x10000, 152, 2, 0x060a00\n";
    for (text, lost, uncounted) in [
        (
            format!("# entries-in-buffer/entries-written: 3/250280   #P:4\n{event}"),
            250_277,
            0,
        ),
        (
            format!("# entries-in-buffer/entries-written: 3/3   #P:4\n{event}"),
            0,
            0,
        ),
        (
            format!("{event}CPU:1 [LOST EVENTS]\n{event}CPU:2 [LOST 123 EVENTS]\n"),
            124,
            1,
        ),
        (
            format!("{event}CPU:0 [51 EVENTS DROPPED]\nCPU:0 [EVENTS DROPPED]\n"),
            52,
            1,
        ),
        (perf.into(), 7, 0),
        (blkparse.into(), 1234, 0),
        (etw.into(), 3, 0),
    ] {
        let (ios, importer) = read(&text);
        assert_eq!(counts(&ios)[1].1 % 65536, 0, "{text}");
        assert_eq!(importer.tables().capture.lost_events, lost, "{text}");
        let words = importer.remarks().join("\n");
        assert_eq!(words.contains("have no number"), uncounted > 0, "{words}");
    }
}

#[test]
fn bpftraces_own_lines_are_no_rows_and_its_losses_count() {
    let text = "Attaching 1 probe...\nAttached 1 probe\n1234 fio WS 8 4096\nLost 12 events\n1235 fio WS 16 4096\n\n\
                @bytes[fio]: 8192\n@sizes:\n[4K, 8K)               2 |@@@@@@@@@@|\n(..., 0)               1 |@@@@@     |\n\
                [1M, ...)              1 |@@@@@     |\n\
                @[\n    blk_mq_start_request+1\n    nvme_queue_rq+200\n]: 12\n@[fio, \n    write+1\n]: 1\n1236 fio WS 24 4096\n";
    let map = "time-col=1,context-col=2,op-col=3,obj-id-col=4,obj-size-col=5,time-unit=ns,id-unit=sector,delimiter=space";
    let (ios, importer) = guessed(text, &with_columns(map)).unwrap();
    assert_eq!(counts(&ios), writes(3, 3 * 4096));
    assert_eq!(importer.tables().capture.lost_events, 12);
    assert_eq!(importer.skipped().malformed, 0);
}

// Clocks.

#[test]
fn a_clock_that_goes_back_before_the_first_request_is_counted() {
    let at = |second: u32| {
        format!("a-1 [000] ..... {second}.5: block_rq_issue: 8,0 W 4096 () 8 + 8 [a]\n")
    };
    let (ios, importer) = read(&[100, 50, 150, 140].map(at).concat());
    let times: Vec<u64> = ios.iter().map(|io| io.time_ns / 1_000_000_000).collect();
    assert_eq!(times, [0, 0, 50, 40]);
    assert_eq!(importer.steps_back(), (2, 50_000_000_000));
}

// The kernel's own tracer.

#[test]
fn the_blk_tracer_is_read_in_the_form_that_it_has_by_default() {
    let text = "# tracer: blk\n#\n#           TASK-PID   CPU#  ||||  TIMESTAMP  FUNCTION\n\
        \x20            cat-12345   [003] .....  1234.567890:   8,0    Q   W 6685328 + 32 [cat]\n\
        \x20            7z-12345    [003] .....  1234.567895:   8,0    D   W 6685328 + 32 [cat]\n\
        CPU:1 [LOST EVENTS]\n\
        \x20         <idle>-0       [003] d.h1.  1234.568895:   8,0    C   W 6685328 + 32 [0]\n\
        \x20            cat-12345   [003] .....  1234.667890:   8,0    A   W 6685328 + 32 <- (8,1) 6683280\n\
        \x20            cat-12345   [003] .....  1234.667891:   8,0    m   N cfq insert\n\
        \x20            cat-12345   [003] .....  1234.667892:   8,0   1a2,0    D   W 6685360 + 8 [cat]\n\
        \x20            cat-12345   [003] .....  1234.667893:   8,0   /user.slice    D   R 6685360 + 8 [cat]\n\
        \x20            cat-12345   [003] .....  1234.667895:   8,0    D  FN [cat]\n";
    let (ios, importer) = read(text);
    assert_eq!(counts(&ios), [(1, 4096), (2, 40 * 512), (0, 0), (1, 0)]);
    assert_eq!(
        (ios[0].offset_bytes, ios[3].time_ns),
        (6_685_328 * 512, 100_000_000)
    );
    assert_eq!(
        importer.tables().contexts[ios[0].context.0 as usize].role,
        "cat"
    );
    assert_eq!(
        (
            importer.tables().capture.lost_events,
            importer.skipped().malformed
        ),
        (1, 0)
    );
    let (ios, _) = guessed(text, &with_event(Event::Complete)).unwrap();
    assert_eq!(counts(&ios), writes(1, 32 * 512));
}

// The event of each device.

#[test]
fn bios_and_requests_end_on_devices_of_their_own() {
    let text = "kswapd0-50 [001] ..... 1.1: block_bio_complete: 252,0 W 8 + 8 [0]\n\
                fio-1 [001] ..... 1.2: block_rq_complete: 8,0 WS () 2048 + 2048 [0]\n\
                fio-1 [001] ..... 1.2: block_bio_complete: 8,0 WS 2048 + 2048 [0]\n\
                fio-1 [001] ..... 1.3: block_rq_complete: 8,0 WS () 4096 + 2048 [0]\n\
                kswapd0-50 [001] ..... 1.4: block_bio_complete: 252,0 W 16 + 8 [0]\n";
    let (ios, importer) = guessed(text, &with_event(Event::Complete)).unwrap();
    assert_eq!(counts(&ios), writes(4, 2 * 4096 + (2 << 20)));
    assert_eq!(importer.volumes(), ["252,0", "8,0"]);
}

#[test]
fn events_that_are_not_taken_are_counted_of_the_volume_that_is_wanted() {
    let ftrace = "w-1 [001] ..... 1.1: block_bio_queue: 253,0 WS 0 + 8 [w]\n\
                  w-1 [001] ..... 1.2: block_rq_issue: 8,0 WS 4096 () 0 + 8 [w]\n\
                  w-1 [001] ..... 1.3: block_rq_complete: 8,0 WS () 0 + 8 [0]\n\
                  w-1 [001] ..... 1.3: block_rq_complete: 8,0 WS () 0 + 8 [0]\n";
    let blkparse = "253,0 1 1 0.1 9 Q WS 0 + 8 [w]\n8,0 1 2 0.2 9 D WS 0 + 8 [w]\n8,0 1 3 0.3 9 C WS 0 + 8 [0]\n\
                    8,0 1 3 0.3 9 C WS 0 + 8 [0]\n";
    let on = |volume: &str| Options {
        volume: Some(volume.into()),
        ..Options::default()
    };
    for text in [ftrace, blkparse] {
        let (ios, importer) = guessed(text, &on("253,0")).unwrap();
        assert!(ios.is_empty());
        let untaken = importer.skipped().most_untaken();
        assert_eq!(untaken, Some((Event::Queue, 1)), "{text}");
        let (ios, importer) = guessed(text, &on("8,0")).unwrap();
        assert_eq!(counts(&ios), writes(1, 4096));
        let untaken = importer.skipped().most_untaken();
        assert_eq!(untaken, Some((Event::Complete, 2)), "{text}");
    }
}

// Five columns.

#[test]
fn disksims_lines_are_told_by_fractions_with_any_flags_and_doubted_without() {
    let flags: String = (0..20)
        .map(|line| format!("{}.25 0 {} 8 {}\n", line * 7, line * 8, line % 4))
        .collect();
    let error = guessed(flags.as_str(), &Options::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("--format disksim has milliseconds"),
        "{error}"
    );
    let whole: String = (0..40)
        .map(|line| format!("{} 0 {} 8 {}\n", line * 1000, line * 8, line % 2))
        .collect();
    let (_, importer) = read(&whole);
    let words = importer.remarks().join("\n");
    assert!(
        words.contains("40 requests come within 39 µs: if they are DiskSim's"),
        "{words}"
    );
    let (_, importer) = guessed(whole.as_str(), &with_columns("time-unit=ms")).unwrap();
    assert_eq!(importer.remarks(), [""; 0]);
    // A hundred thousand requests a second are a drive's.
    let (_, importer) = read(&whole.replace("000 0 ", "0000 0 "));
    assert_eq!(importer.remarks(), [""; 0]);
}

// perf.

#[test]
fn perfs_source_lines_are_no_frames_and_other_fields_are_named() {
    let text = "dd 28522/28522 [001]  1307.702320:    block:block_rq_issue: 254,0 WS 4096 () 19618528 + 8 0x2,0,6 [dd]\n\
                \tffffffff81b0785f blk_mq_start_request ([kernel.kallsyms])\n  [kernel.kallsyms][ffffffff81b0785f]\n\
                \t    55d0c1a2b3c4 main (/usr/bin/dd)\n  dd.c:120\n\n";
    let (ios, importer) = read(text);
    assert_eq!(counts(&ios), writes(1, 4096));
    let frames = &importer.tables().contexts[ios[0].context.0 as usize].frames;
    assert_eq!(frames.len(), 1);
    for text in [
        "0.000 dd/24489 block:block_rq_issue(dev: 266338304, sector: 174974792, rwbs: \"WS\")\n",
        "dd block:block_rq_issue: 254,0 WS 4096 () 19618528 + 8 [dd]\n",
    ] {
        let error = guessed(text, &Options::default()).unwrap_err().to_string();
        assert!(
            error.contains("perf script -F comm,pid,tid,cpu,time,event,trace"),
            "{error}"
        );
    }
}

// trace-cmd.

#[test]
fn nvme_commands_are_read_from_the_fields_that_trace_cmd_prints() {
    let text = "cpus=4\n\
        fio-4100  [003]  9000.2: nvme_setup_cmd:       [FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=4 opcode=1 flags=0x0 \
        fctype=0 cid=17 nsid=1 metadata=0 cdw10=ARRAY[00, 08, 00, 00, 00, 00, 00, 00, 07, 00, 20, 00, 00, 00, 01, 00, 00, 00, \
        00, 00, 00, 00, 00, 00]\n\
        fio-4100  [003]  9000.3: nvme_setup_cmd:       [FAILED TO PARSE] disk= ctrl_id=1 qid=0 opcode=6 flags=0 fctype=1 cid=9 \
        nsid=0 metadata=0 cdw10=ARRAY[01, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00]\n\
        fio-4100  [003]  9000.4: nvme_complete_rq:     [FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=4 cid=17 result=0 \
        retries=0 flags=0 status=0\n";
    for event in [Event::Issue, Event::Complete] {
        let (ios, importer) = guessed(text, &with_event(event)).unwrap();
        assert_eq!(counts(&ios), writes(1, 8 * 512));
        assert_eq!(ios[0].offset_bytes, 2048 * 512);
        assert_eq!(importer.volumes(), ["nvme0n1"]);
        let placements = importer.tables().capture.placements;
        assert_eq!(
            (placements[0].context, placements[0].placement),
            (ios[0].context.0, 1)
        );
        assert_eq!(importer.skipped().malformed, 0);
    }
    let error = guessed(
        text.replace("ARRAY[00, 08", "ARRAY[zz, 08"),
        &Options::default(),
    );
    let fault = error.map(|(_, importer)| importer.skipped().malformed);
    assert!(fault.is_err());
}

// Requests that failed.

#[test]
fn a_request_that_failed_does_not_count_in_any_form() {
    let ftrace = "a-1 [000] ..... 1.1: block_rq_issue: 8,0 W 4096 () 9000 + 8 none,0,0 [a]\n\
                  a-1 [000] ..... 1.2: block_rq_complete: 8,0 W () 9000 + 8 none,0,0 [-5]\n\
                  a-1 [000] ..... 1.3: block_rq_requeue: 8,0 W () 9000 + 8 none,0,0 [-5]\n\
                  a-1 [000] ..... 1.4: block_rq_issue: 8,0 W 4096 () 9000 + 8 none,0,0 [a]\n\
                  a-1 [000] ..... 1.5: block_rq_complete: 8,0 W () 9000 + 8 none,0,0 [0]\n\
                  a-1 [000] ..... 1.6: block_rq_issue: 8,0 NS 0 () 64 + 2048 none,0,0 [a]\n\
                  a-1 [000] ..... 1.7: block_rq_complete: 8,0 NS () 64 + 2048 none,0,0 [-121]\n";
    let blkparse = "8,0 1 1 0.1 9 D W 9000 + 8 [a]\n8,0 1 2 0.2 0 C W 9000 + 8 [65531]\n\
                    8,0 1 3 0.3 9 D W 9000 + 8 [a]\n8,0 1 4 0.4 0 C W 9000 + 8 [0]\n";
    let (ios, importer) = read(blkparse);
    let mut exporter = Exporter::new(Form::Blktrace, &importer.tables(), Vec::new());
    ios.iter().for_each(|io| exporter.push(io).unwrap());
    let (whole, _) = exporter.finish().unwrap();
    // The same events again, the completion of the first with an error: the last record of 48 bytes.
    let mut failed = whole.clone();
    let at = failed.len() - 48 + 44;
    failed[at] = 0xfb;
    let blktrace = [failed, whole].concat();
    for bytes in [ftrace.as_bytes().to_vec(), blkparse.into(), blktrace] {
        for event in [Event::Issue, Event::Complete] {
            let (ios, importer) = guessed(bytes.clone(), &with_event(event)).unwrap();
            assert_eq!(counts(&ios), writes(1, 4096), "{event:?}");
            assert_eq!(importer.remarks(), [""; 0], "{event:?}");
        }
    }
}
