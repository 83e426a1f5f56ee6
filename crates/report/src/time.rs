//! What the run took, as a table for a terminal.

use anabranch_replay::{LatencySummary, Outcome, SchemeOutcome, TimeReport};
use comfy_table::{CellAlignment, Table, presets};

const HEADER: [&str; 9] = [
    "scheme",
    "MiB/s written",
    "write mean",
    "write p99",
    "write p99.99",
    "read mean",
    "read p99",
    "read p99.99",
    "dies collect",
];

/// Throughput and latencies, a row a scheme, and an empty line; nothing where no time was
/// simulated.
pub fn times(outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(HEADER);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let timed = |scheme: &&SchemeOutcome| scheme.time.is_some();
    for scheme in outcome.schemes.iter().filter(timed) {
        if let Some(time) = &scheme.time {
            table.add_row(row(&scheme.name, scheme.host_bytes, time));
        }
    }
    match table.is_empty() {
        true => String::new(),
        false => format!("{table}\n\n"),
    }
}

fn row(name: &str, host_bytes: u64, time: &TimeReport) -> [String; 9] {
    let seconds = time.elapsed_ns.max(1) as f64 / 1e9;
    let mib_per_second = host_bytes as f64 / f64::from(1 << 20) / seconds;
    let [write_mean, write_p99, write_most] = latencies(&time.latency.write);
    let [read_mean, read_p99, read_most] = latencies(&time.latency.read);
    [
        name.to_owned(),
        format!("{mib_per_second:.1}"),
        write_mean,
        write_p99,
        write_most,
        read_mean,
        read_p99,
        read_most,
        format!("{:.1} %", 100.0 * time.collection_share),
    ]
}

fn latencies(summary: &LatencySummary) -> [String; 3] {
    if summary.requests == 0 {
        return ["-", "-", "-"].map(str::to_owned);
    }
    [
        duration(summary.mean_ns),
        duration(summary.p99_ns as f64),
        duration(summary.p99_99_ns as f64),
    ]
}

/// A time in the unit that suits it: `1.50 ms`.
fn duration(time_ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    match units.into_iter().find(|&(unit, _)| time_ns >= unit) {
        Some((unit, name)) => format!("{:.2} {name}", time_ns / unit),
        None => format!("{time_ns:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_the_unit_that_suits_it() {
        assert_eq!(duration(0.0), "0 ns");
        assert_eq!(duration(1500.0), "1.50 us");
        assert_eq!(duration(2.5e6), "2.50 ms");
        assert_eq!(duration(12e9), "12.00 s");
    }
}
