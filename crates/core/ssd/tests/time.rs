//! Time against arithmetic, and against the same device without time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driven;
mod timed;
#[allow(dead_code, reason = "of the workloads only their generator")]
mod workload;

use anabranch_ssd::{
    Config, PageRange, StreamId,
    profile::Profile,
    relocate::RelocationKind,
    time::{Issue, Layout, Request, TimeReport, Timing, TimingError},
};
use timed::{
    PAGE_TRANSFER_NS, SERVICE_NS, Timed, assert_near, busy_dies, closed, config, device, fill,
    layout, open, read, timing, write,
};
use workload::Random;

/// Bytes in a second of a drive that is written once from beginning to end.
fn sequential_bytes_per_second(timing: Timing, layout: Layout) -> f64 {
    let config = config(1 << 16, 1536, 4);
    let mut device = device(&config, timing, layout, closed(64));
    for first in (0..config.logical_pages).step_by(4) {
        write(&mut device, first, 4);
    }
    device.drain();
    config.logical_bytes() as f64 * 1e9 / device.report().elapsed_ns as f64
}

#[test]
fn sequential_writes_run_at_the_speed_of_the_dies_where_the_bus_is_faster() {
    for (planes, pages_per_word_line) in [(1, 1), (2, 1), (4, 1), (1, 3), (2, 3)] {
        let timing = Timing {
            planes,
            pages_per_word_line,
            ..timing()
        };
        let bytes = 8.0 * timing.program_bytes() as f64;
        let expected = bytes * 1e9 / timing.program_ns as f64;
        let measured = sequential_bytes_per_second(timing, layout(8, 1));
        assert_near(measured, expected, 0.01);
    }
}

#[test]
fn sequential_writes_run_at_the_speed_of_the_bus_where_the_dies_are_faster() {
    for (channels, planes) in [(1, 1), (2, 1), (2, 4)] {
        let timing = Timing {
            channel_bytes_per_second: 50_000_000,
            planes,
            ..timing()
        };
        let expected = f64::from(channels) * 50e6;
        let measured = sequential_bytes_per_second(timing, layout(channels, 8));
        assert_near(measured, expected, 0.01);
    }
}

/// Uniform single-page reads of a full drive whose dies have a channel each.
fn uniform_reads(dies: u32, queue_depth: u32, reads: u32) -> TimeReport {
    let config = config(1 << 15, 1024, 4);
    let mut device = device(&config, timing(), layout(dies, 1), closed(queue_depth));
    fill(&mut device);
    let mut random = Random(7);
    for _ in 0..reads {
        read(&mut device, 0, random.below(config.logical_pages), 1);
    }
    device.drain();
    device.report()
}

#[test]
fn where_no_time_has_passed_no_share_of_it_was_busy() {
    let report = device(&config(64, 8, 4), timing(), layout(2, 2), closed(1)).report();
    let shares = [
        report.die_utilisation,
        report.channel_utilisation,
        report.collection_share,
    ];
    assert_eq!((report.elapsed_ns, shares), (0, [0.0; 3]));
}

#[test]
fn a_lone_random_read_takes_read_time_plus_transfer() {
    let report = uniform_reads(8, 1, 1000);
    let read = report.latency.read;
    assert_eq!(read.requests, 1000);
    assert_eq!((read.max_ns, read.mean_ns), (SERVICE_NS, SERVICE_NS as f64));
    assert_eq!(report.elapsed_ns, 1000 * SERVICE_NS);
}

/// Throughput in services a service time, that is busy dies, and mean latency of `queue_depth`
/// reads over `dies`; by Little's law the two belong together.
fn assert_queue(dies: u32, queue_depth: u32, busy: f64, tolerance: f64) {
    let report = uniform_reads(dies, queue_depth, 100_000);
    let services = report.elapsed_ns as f64 / SERVICE_NS as f64;
    assert_near(100_000.0 / services, busy, tolerance);
    let latency_ns = f64::from(queue_depth) * SERVICE_NS as f64 / busy;
    assert_near(report.latency.read.mean_ns, latency_ns, tolerance);
}

/// Two requests meet at one of d dies with probability 1/d, whether they met before or not: on
/// average 2 - 1/d dies are busy.
#[test]
fn two_random_reads_at_a_time_meet_as_often_as_probability_says() {
    for dies in [2, 4, 8] {
        assert_queue(dies, 2, 2.0 - 1.0 / f64::from(dies), 0.01);
    }
}

/// The exact chain of [`busy_dies`].
#[test]
fn a_few_random_reads_at_a_time_queue_as_the_exact_markov_chain_says() {
    for (requests, dies) in [(3, 3), (6, 4), (10, 4)] {
        let busy = busy_dies(requests, dies as usize);
        assert_queue(dies, u32::from(requests), busy, 0.01);
    }
}

/// Many dies: each sees Poisson arrivals at its utilisation u, a closed network's limit, and serves
/// them in fixed time. In steps of one service its mean queue is the M/D/1's of Pollaczek and
/// Khinchine, u + u^2 / (2 (1 - u)); that this be the a = q/d requests there are to a die gives
/// u = 1 + a - sqrt(1 + a^2).
#[test]
fn random_reads_over_many_dies_follow_pollaczek_and_khinchine() {
    for queue_depth in [16, 64, 256] {
        let load = f64::from(queue_depth) / 64.0;
        let utilisation = 1.0 + load - (1.0 + load * load).sqrt();
        assert_queue(64, queue_depth, 64.0 * utilisation, 0.02);
    }
}

#[test]
fn a_queue_much_deeper_than_the_dies_are_many_keeps_all_of_them_busy() {
    assert_queue(4, 400, 4.0, 0.01);
}

#[test]
fn dies_on_one_channel_share_its_speed() {
    let config = config(1 << 14, 1024, 4);
    let mut device = device(&config, timing(), layout(1, 16), closed(256));
    fill(&mut device);
    let mut random = Random(3);
    for _ in 0..20_000 {
        read(&mut device, 0, random.below(config.logical_pages), 1);
    }
    device.drain();
    let report = device.report();
    let expected_ns = 20_000.0 * PAGE_TRANSFER_NS as f64;
    assert_near(report.elapsed_ns as f64, expected_ns, 0.01);
    assert!(report.channel_utilisation > 0.99);
}

#[test]
fn pages_read_together_from_one_row_cost_one_sense() {
    let config = config(1 << 10, 64, 4);
    let timing = Timing {
        planes: 2,
        ..timing()
    };
    let mut device = device(&config, timing, layout(2, 1), closed(1));
    fill(&mut device);
    read(&mut device, 0, 0, 8);
    device.drain();
    let report = device.report();
    assert_eq!(report.work.host_reads.operations, 1);
    assert_eq!(report.latency.read.max_ns, 50_000 + 8 * PAGE_TRANSFER_NS);
    read(&mut device, 0, 0, 16);
    device.drain();
    assert_eq!(device.report().work.host_reads.operations, 3);
    assert_eq!(
        device.report().latency.read.max_ns,
        50_000 + 8 * PAGE_TRANSFER_NS
    );
}

#[test]
fn buffered_and_unwritten_pages_are_read_without_flash() {
    let config = config(1 << 10, 64, 4);
    let mut device = device(&config, timing(), layout(2, 1), closed(1));
    write(&mut device, 0, 3);
    read(&mut device, 0, 0, 3);
    read(&mut device, 0, 500, 8);
    device.drain();
    let report = device.report();
    assert_eq!(report.latency.read.max_ns, 1000);
    assert_eq!(report.work.busy_ns(), 0);
    write(&mut device, 3, 1);
    device.drain();
    read(&mut device, 0, 0, 3);
    device.drain();
    assert_eq!(device.report().work.host_reads.operations, 1);
}

/// A drive of one die at the moment an erase begins, nothing else being under way.
fn at_an_erase(timing: Timing) -> Timed {
    let config = config(64, 4, 4);
    let mut device = device(&config, timing, layout(1, 1), closed(4));
    fill(&mut device);
    for page in 0.. {
        write(&mut device, page % 64, 1);
        if device.device().counters().erased_units > 0 {
            assert_eq!(device.device().counters().copied_pages, 0);
            break;
        }
        device.drain();
    }
    device.restart_report();
    device
}

#[test]
fn a_read_behind_an_erase_waits_for_it() {
    let mut device = at_an_erase(timing());
    read(&mut device, 0, 60, 1);
    read(&mut device, 0, 56, 1);
    device.drain();
    let report = device.report();
    let last_ns = 3_000_000 + 2 * SERVICE_NS;
    assert_eq!(report.latency.read.max_ns, last_ns);
    assert_eq!(report.read_wait_for_collection_ns, 2 * 3_000_000);
    assert_eq!(report.suspensions, 0);
}

#[test]
fn a_write_waits_for_room_in_the_buffer_until_the_oldest_is_programmed() {
    let config = config(64, 4, 4);
    let timing = Timing {
        write_buffer_bytes: 2 * 16_384,
        ..timing()
    };
    let mut device = device(&config, timing, layout(1, 1), closed(4));
    for first in [0, 4, 8] {
        write(&mut device, first, 4);
    }
    device.drain();
    let report = device.report();
    let program_ns = 4 * PAGE_TRANSFER_NS + 500_000;
    assert_eq!(report.buffer_wait_ns, program_ns);
    assert_eq!(report.latency.write.max_ns, program_ns + 1000);
}

#[test]
fn a_read_behind_a_write_of_the_host_waits_for_no_collection() {
    let config = config(64, 4, 4);
    let mut device = device(&config, timing(), layout(1, 1), closed(4));
    fill(&mut device);
    device.set_issue(open()).unwrap();
    write(&mut device, 0, 4);
    read(&mut device, 100_000, 60, 1);
    device.drain();
    let report = device.report();
    let program_ends_ns = 4 * PAGE_TRANSFER_NS + 500_000;
    let read_ns = program_ends_ns - 100_000 + SERVICE_NS;
    // A write is answered, and its data begin to move, once they are in the buffer.
    assert_near(report.latency.read.max_ns as f64, read_ns as f64, 0.01);
    assert_eq!(report.read_wait_for_collection_ns, 0);
}

#[test]
fn a_read_suspends_an_erase_where_the_drive_can() {
    let timing = Timing {
        suspend_ns: Some(20_000),
        ..timing()
    };
    let mut device = at_an_erase(timing);
    let begun_ns = device.now_ns();
    read(&mut device, 0, 60, 1);
    device.drain();
    let report = device.report();
    assert_eq!(report.latency.read.max_ns, 20_000 + SERVICE_NS);
    assert_eq!(report.read_wait_for_collection_ns, 20_000);
    assert_eq!(report.suspensions, 1);
    assert_eq!(report.work.erases.busy_ns, 3_000_000);
    let end_ns = begun_ns + 3_000_000 + 20_000 + SERVICE_NS;
    assert_eq!(device.now_ns(), end_ns);
}

fn flush(device: &mut Timed) -> f64 {
    device.drain();
    device.restart_report();
    device.submit(0, Request::Flush).unwrap();
    device.drain();
    device.report().latency.flush.mean_ns
}

#[test]
fn a_flush_waits_until_the_last_page_is_programmed_and_no_longer() {
    let config = config(1 << 10, 64, 4);
    let mut device = device(&config, timing(), layout(1, 1), closed(8));
    assert_eq!(flush(&mut device), 1000.0);
    write(&mut device, 0, 2);
    let partly = 500_000 + 2 * PAGE_TRANSFER_NS;
    assert_eq!(flush(&mut device), partly as f64);
    assert_eq!(flush(&mut device), 1000.0);
    // The other half: the whole operation is programmed, at its place.
    write(&mut device, 2, 2);
    device.restart_report();
    device.submit(0, Request::Flush).unwrap();
    device.drain();
    let whole = 500_000 + 4 * PAGE_TRANSFER_NS;
    assert_eq!(device.report().latency.flush.max_ns, whole);
    assert_eq!(device.report().work.host_programs.operations, 1);
}

#[test]
fn a_flush_waits_for_every_die_and_both_streams() {
    let config = config(1 << 10, 64, 4);
    let mut device = device(&config, timing(), layout(2, 1), closed(64));
    write(&mut device, 0, 32);
    let stream = StreamId(1);
    let pages = PageRange::new(100, 1);
    device.submit(0, Request::Write { pages, stream }).unwrap();
    device.submit(0, Request::Flush).unwrap();
    // Written after the flush: it need not wait for them.
    write(&mut device, 200, 32);
    device.drain();
    let report = device.report();
    // Each die has four operations of the first stream; the one page of the second joins them.
    let least = 4 * 500_000 + 4 * PAGE_TRANSFER_NS;
    let most = 5 * 500_000 + 4 * PAGE_TRANSFER_NS;
    let flush_ns = report.latency.flush.max_ns;
    assert!((least..=most).contains(&flush_ns), "{flush_ns}");
    assert_eq!(report.work.host_programs.operations, 8 + 1 + 8);
}

#[test]
fn a_flush_is_answered_at_once_where_the_buffer_outlives_a_loss_of_power() {
    let config = config(1 << 10, 64, 4);
    let timing = Timing {
        power_loss_protection: true,
        ..timing()
    };
    let mut device = device(&config, timing, layout(1, 1), closed(8));
    write(&mut device, 0, 100);
    device.submit(0, Request::Flush).unwrap();
    device.drain();
    assert_eq!(device.report().latency.flush.max_ns, 1000);
}

#[test]
fn requests_far_apart_take_what_they_take_alone() {
    let config = config(1 << 14, 1024, 4);
    let mut device = device(&config, timing(), layout(4, 2), closed(32));
    fill(&mut device);
    device.set_issue(open()).unwrap();
    let mut random = Random(5);
    for step in 0..2000_u64 {
        let page = random.below(config.logical_pages);
        let at_ns = step * 10_000_000;
        match step % 2 {
            0 => read(&mut device, at_ns, page, 1),
            _ => {
                let pages = PageRange::new(page, 1);
                device.submit(at_ns, Request::Discard { pages }).unwrap();
            }
        }
    }
    device.drain();
    let report = device.report();
    let read = report.latency.read;
    assert_eq!(read.max_ns, SERVICE_NS);
    assert_eq!(report.latency.discard.mean_ns, 1000.0);
    assert_eq!(report.elapsed_ns, 1999 * 10_000_000 + 1000);
}

#[test]
fn a_scaled_trace_arrives_sooner_and_its_requests_wait_with_the_host() {
    let config = config(1 << 10, 64, 4);
    let mut device = device(&config, timing(), layout(1, 1), closed(32));
    fill(&mut device);
    let drive = Issue::Open {
        time_scale: 0.5,
        queue_depth: 1,
        collect_after_idle_ns: None,
    };
    device.set_issue(drive).unwrap();
    read(&mut device, 0, 1, 1);
    read(&mut device, 40_000, 500, 1);
    device.drain();
    let report = device.report();
    assert_eq!(report.elapsed_ns, 2 * SERVICE_NS);
    assert_eq!(report.latency.read.max_ns, 2 * SERVICE_NS - 20_000);
}

#[test]
fn timings_that_cannot_be_are_errors_that_name_the_value() {
    let config = config(1 << 10, 64, 4);
    let refused = |timing: Timing, layout: Layout, drive: Issue| {
        let refused = Timed::new(&config, timing, layout, drive, RelocationKind::Gc);
        refused.err().unwrap().to_string()
    };
    let good = timing();
    let small = Timing {
        write_buffer_bytes: 30_000,
        ..good
    };
    let message = refused(small, layout(1, 1), closed(1));
    assert!(message.contains("write_buffer_bytes = 30000") && message.contains("2 x 16384"));
    let still = Timing {
        program_ns: u64::MAX,
        ..good
    };
    assert!(refused(still, layout(1, 1), closed(1)).contains("program_ns"));
    let narrow = Timing {
        flash_page_bytes: 2048,
        ..good
    };
    assert!(refused(narrow, layout(1, 1), closed(1)).contains("2048"));
    let uneven = Layout {
        dies_per_unit: 3,
        ..layout(2, 2)
    };
    assert!(refused(good, uneven, closed(1)).contains("dies_per_unit = 3"));
    assert!(refused(good, layout(0, 1), closed(1)).contains("channels"));
    assert!(refused(good, layout(1, 1), closed(0)).contains("queue_depth"));
    let backwards = Issue::Open {
        time_scale: -1.0,
        queue_depth: 1,
        collect_after_idle_ns: None,
    };
    assert!(refused(good, layout(1, 1), backwards).contains("time_scale"));
}

#[test]
fn every_shipped_timing_fits_its_device() {
    for name in Profile::names() {
        let profile = Profile::shipped(name).unwrap();
        let timing = profile.timing.expect(name);
        // Without the mapping tables of the larger ones.
        let config = Config {
            logical_pages: 1024,
            pages_per_unit: 64,
            physical_units: 256,
            gc_start_free_units: 1,
            gc_stop_free_units: 1,
            ..profile.resolve(name).unwrap()
        };
        let layout = profile.layout();
        let device = Timed::new(&config, timing, layout, closed(1), RelocationKind::Mixed);
        let error: Option<TimingError> = device.err();
        assert_eq!(error, None, "{name}");
    }
}
