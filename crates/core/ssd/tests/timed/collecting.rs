//! Time of drives that collect garbage: what is done, how long it takes, and that no count depends
//! on it.

use anabranch_ssd::{
    Config, PageRange, StreamId,
    relocate::RelocationKind,
    time::{Issue, Request},
    victims::VictimRule,
    wear::{Faults, Levelling, Wear},
};

use super::{
    PAGE_BYTES, PAGE_TRANSFER_NS, SERVICE_NS, Timed, assert_near, closed, config, device, fill,
    layout, open, read, timing, write,
};
use crate::{driven::Driven, workload::Random};

/// Random overwrites and reads in equal parts of the first `pages`.
fn mixed_run(config: &Config, pages: u32, requests: u32) -> Timed {
    let mut device = device(config, timing(), layout(4, 2), closed(32));
    for first in (0..pages).step_by(32) {
        write(&mut device, first, 32);
    }
    let mut random = Random(11);
    for step in 0..2 * requests {
        if step == requests {
            device.drain();
            device.restart_report();
        }
        let page = random.below(pages);
        match random.below(2) {
            0 => read(&mut device, 0, page, 1),
            _ => write(&mut device, page, 1),
        }
    }
    device.drain();
    device
}

#[test]
fn reads_wait_longer_where_garbage_is_collected() {
    let config = config(1 << 15, 1024, 4);
    let full = mixed_run(&config, 1 << 15, 200_000).report();
    let fresh = mixed_run(&config, 1 << 11, 10_000).report();
    assert_eq!(fresh.work.erases.operations, 0);
    assert_eq!(fresh.collection_share, 0.0);
    let (slow, fast) = (full.latency.read, fresh.latency.read);
    assert!(slow.p99_ns > fast.p99_ns, "{} {}", slow.p99_ns, fast.p99_ns);
    assert!(full.read_wait_for_collection_ns > 0);
    assert!(full.collection_share > 0.5, "{}", full.collection_share);
}

#[test]
fn what_the_dies_did_is_what_they_were_told() {
    let config = config(1 << 14, 1024, 4);
    let report = mixed_run(&config, 1 << 14, 50_000).report();
    let work = report.work;
    assert_eq!(work.busy_ns(), report.die_busy_ns.iter().sum::<u64>());
    let timing = timing();
    for (work, each_ns) in [
        (work.host_programs, timing.program_ns),
        (work.mixed_programs, timing.program_ns),
        (work.collection_programs, timing.program_ns),
        (work.erases, timing.erase_ns),
    ] {
        assert_eq!(work.busy_ns, work.operations * each_ns);
    }
    let reads = work.host_reads.operations + work.collection_reads.operations;
    let read_busy_ns = work.host_reads.busy_ns + work.collection_reads.busy_ns;
    assert!(read_busy_ns >= reads * (timing.read_ns + PAGE_TRANSFER_NS));
    let busy: f64 = report.die_busy_ns.iter().sum::<u64>() as f64;
    assert_near(
        report.die_utilisation,
        busy / report.elapsed_ns as f64 / 8.0,
        1e-9,
    );
    assert!(report.die_utilisation <= 1.0 && report.channel_utilisation <= 1.0);
}

#[test]
fn every_page_written_is_programmed_once_and_every_erase_holds_all_dies_of_a_unit() {
    let config = config(1 << 13, 512, 4);
    let mut device = device(&config, timing(), layout(4, 2), closed(16));
    let mut random = Random(2);
    for first in (0..1 << 13).step_by(32) {
        write(&mut device, first, 32);
    }
    for _ in 0..40_000 {
        write(&mut device, random.below(1 << 13), 1);
    }
    device.drain();
    let counters = *device.device().counters();
    let report = device.report();
    let work = report.work;
    assert_eq!(work.erases.operations, counters.erased_units * 8);
    let programs = work.host_programs.operations
        + work.mixed_programs.operations
        + work.collection_programs.operations;
    // Three streams at most have an operation that is not full.
    let left = counters.media_pages() - programs * 4;
    assert!(left <= 3 * 3, "{left}");
    let moved = (programs * 4) * PAGE_TRANSFER_NS;
    let read_ns = report.channel_busy_ns.iter().sum::<u64>() - moved;
    let read_pages = read_ns as f64 / PAGE_TRANSFER_NS as f64;
    assert!(read_pages <= counters.copied_pages as f64);
    // Hardly any victim is so young that its pages are still in the buffer.
    assert!(
        read_pages > 0.9 * counters.copied_pages as f64,
        "{read_pages}"
    );
    assert!(work.collection_reads.operations * 4 >= read_pages as u64);
}

#[test]
fn garbage_collection_neither_blocks_the_host_nor_leaves_dies_idle() {
    let config = Config {
        gc_start_free_units: 8,
        gc_stop_free_units: 8,
        ..config(1 << 15, 1024, 14)
    };
    let mut device = device(&config, timing(), layout(4, 2), closed(64));
    fill(&mut device);
    let mut random = Random(9);
    for step in 0..400_000 {
        if step == 200_000 {
            device.restart_report();
        }
        write(&mut device, random.below(1 << 15), 1);
    }
    let report = device.report();
    let copies = device.device().counters().copied_pages;
    let erases = device.device().counters().erased_units;
    // What one victim costs each die, if it is collected in one go.
    let victim_ns = 3_000_000 + copies / erases / 4 / 8 * (500_000 + 4 * SERVICE_NS / 2);
    let worst_ns = report.latency.write.p99_99_ns;
    assert!(worst_ns < victim_ns, "{worst_ns} {victim_ns}");
    assert!(report.die_utilisation > 0.9, "{}", report.die_utilisation);
}

#[test]
fn the_same_run_takes_the_same_time() {
    let config = config(1 << 13, 512, 4);
    let first = mixed_run(&config, 1 << 13, 20_000).report();
    let second = mixed_run(&config, 1 << 13, 20_000).report();
    assert_eq!(first, second);
}

/// The same requests to a device with and without time.
fn assert_same_counts(config: &Config, kind: RelocationKind, drive: Issue, seed: u64) {
    let mut plain = Driven::new(config, kind).unwrap();
    let mut timed = Timed::new(config, timing(), layout(2, 2), drive, kind).unwrap();
    let mut random = Random(seed);
    for step in 0..6000_u64 {
        let first = random.below(config.logical_pages - 8);
        let pages = PageRange::new(first, 1 + random.below(8));
        let stream = StreamId(random.below(2) as u16);
        let (request, outcome) = match random.below(10) {
            0 => (Request::Flush, Ok(())),
            1 => (Request::Discard { pages }, plain.discard(pages)),
            2 => (Request::Read { pages }, Ok(())),
            _ => (Request::Write { pages, stream }, plain.write(pages, stream)),
        };
        assert_eq!(timed.submit(step * 20_000, request), outcome);
    }
    timed.drain();
    let device = timed.device();
    assert_eq!(device.counters(), plain.counters());
    assert_eq!(device.stream_counters(), plain.stream_counters());
    assert_eq!(device.erases(), plain.erases());
    for page in 0..config.logical_pages {
        assert_eq!(device.locate(page), plain.locate(page));
    }
    device.verify().unwrap();
    let work = timed.report().work;
    assert_eq!(work.erases.operations, plain.counters().erased_units * 4);
}

#[test]
fn counts_are_the_same_with_and_without_time() {
    let rules = [
        VictimRule::Greedy,
        VictimRule::CostBenefit,
        VictimRule::CostBenefitRoot,
        VictimRule::Random,
    ];
    for (seed, kind) in (0_u64..).zip(RelocationKind::ALL) {
        for rule in rules {
            let config = Config {
                victim_rule: rule,
                ..config(600, 24, 10)
            };
            assert_same_counts(&config, kind, closed(4), seed);
            assert_same_counts(&config, kind, open(), seed);
        }
    }
}

#[test]
fn counts_are_the_same_with_and_without_time_where_units_fail_and_wear() {
    let config = Config {
        faults: Faults {
            pages_per_program_failure: 2000,
            erases_per_failure: 200,
            ..Faults::default()
        },
        wear: Wear {
            levelling: Levelling::Static,
            spread: 4,
            ..Wear::default()
        },
        ..config(600, 24, 40)
    };
    for seed in 0..4 {
        assert_same_counts(&config, RelocationKind::Gc, closed(8), seed);
    }
}

#[test]
fn an_idle_drive_collects_in_the_background_only_if_told_to() {
    let config = Config {
        gc_stop_free_units: 4,
        ..config(1 << 12, 256, 8)
    };
    let run = |collect_after_idle_ns| {
        let mut device = device(&config, timing(), layout(2, 2), closed(16));
        fill(&mut device);
        let mut random = Random(1);
        for _ in 0..8000 {
            write(&mut device, random.below(1 << 12), 1);
        }
        device.drain();
        let free_units = device.device().free_units(0);
        let erased = device.device().counters().erased_units;
        device.restart_report();
        let drive = Issue::Open {
            time_scale: 1.0,
            queue_depth: 16,
            collect_after_idle_ns,
        };
        device.set_issue(drive).unwrap();
        device.submit(10_000_000_000, Request::Flush).unwrap();
        let now_free = device.device().free_units(0);
        (
            free_units,
            now_free,
            device.device().counters().erased_units - erased,
        )
    };
    let (before, after, erased) = run(None);
    assert_eq!((after, erased), (before, 0));
    let (before, after, erased) = run(Some(1_000_000));
    assert!(
        before < 5 && after == 5 && erased > 0,
        "{before} {after} {erased}"
    );
}

#[test]
fn intervals_add_up_to_what_was_answered() {
    let config = config(1 << 13, 512, 4);
    let mut device = mixed_run(&config, 1 << 13, 20_000);
    device.drain();
    let report = device.report();
    let written: f64 = report
        .intervals
        .iter()
        .map(|interval| {
            let length = report
                .interval_ns
                .min(report.elapsed_ns - interval.start_ns);
            interval.write_mib_per_second * length as f64 / 1e9
        })
        .sum();
    let expected = report.latency.write.requests * PAGE_BYTES;
    assert_near(written * f64::from(1 << 20), expected as f64, 1e-6);
    let intervals = report.intervals.iter();
    let collected: u64 = intervals.map(|interval| interval.collection_busy_ns).sum();
    assert!(collected > 0);
    assert_eq!(collected, report.work.collection_busy_ns());
}
