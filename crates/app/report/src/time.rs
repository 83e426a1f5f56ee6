//! Times of a run as a table for a terminal.

use anabranch_replay::{Comparison, LatencySummary, SchemeResult, TimeReport};

use crate::grid::{Cell, Column, Grid, Look};

/// A column of the comparison: its head, and the function that makes a scheme's cell.
pub(crate) type Figure = (Column, fn(&SchemeResult) -> Cell);

/// A table of throughput and latencies, a row for each scheme, and an empty line; empty where no
/// time was simulated.
pub fn times(outcome: &Comparison, look: &Look) -> String {
    let figures = figures();
    let heads = figures.iter().map(|(column, _)| column.clone());
    let mut grid = Grid::new([Column::words("scheme")].into_iter().chain(heads));
    for scheme in outcome.schemes.iter().filter(|one| one.time.is_some()) {
        let own = figures.iter().map(|(_, of)| of(scheme));
        grid.push([Cell::from(&scheme.name)].into_iter().chain(own));
    }
    if grid.is_empty() {
        String::new()
    } else {
        format!("{}\n\n", grid.text(look))
    }
}

/// The columns for the times of a scheme's run, in the order in which they are shown.
pub(crate) fn figures() -> Vec<Figure> {
    fn latency(key: &'static str, name: &str, rank: u8) -> Column {
        Column::number(name).key(key).rank(rank)
    }
    vec![
        (latency("written_mib_per_second", "MiB/s written", 0), rate),
        (latency("write_mean_ns", "write mean", 0), |one| {
            latency_cell(one, |time| &time.latency.write, |own| own.mean_ns)
        }),
        (latency("write_p99_ns", "write p99", 0), |one| {
            latency_cell(one, |time| &time.latency.write, |own| own.p99_ns as f64)
        }),
        (latency("write_p99_99_ns", "write p99.99", 1), |one| {
            latency_cell(one, |time| &time.latency.write, |own| own.p99_99_ns as f64)
        }),
        (latency("read_mean_ns", "read mean", 2), |one| {
            latency_cell(one, |time| &time.latency.read, |own| own.mean_ns)
        }),
        (latency("read_p99_ns", "read p99", 3), |one| {
            latency_cell(one, |time| &time.latency.read, |own| own.p99_ns as f64)
        }),
        (latency("read_p99_99_ns", "read p99.99", 4), |one| {
            latency_cell(one, |time| &time.latency.read, |own| own.p99_99_ns as f64)
        }),
        (latency("collection_share", "dies collect", 5), collection),
    ]
}

fn rate(scheme: &SchemeResult) -> Cell {
    let rate = scheme.time.as_ref().map(|time| {
        let seconds = time.elapsed_ns.max(1) as f64 / 1e9;
        scheme.host_page_bytes as f64 / f64::from(1 << 20) / seconds
    });
    Cell::maybe(rate, |rate| format!("{rate:.1}"))
}

fn collection(scheme: &SchemeResult) -> Cell {
    let share = scheme.time.as_ref().map(|time| time.collection_share);
    Cell::maybe(share, |share| format!("{:.1} %", 100.0 * share))
}

/// A cell for one latency of a scheme's reads or writes; empty where there were none.
fn latency_cell(
    scheme: &SchemeResult,
    which: fn(&TimeReport) -> &LatencySummary,
    of: fn(&LatencySummary) -> f64,
) -> Cell {
    let time = scheme.time.as_ref();
    let summary = time.map(which);
    let known = summary.filter(|summary| summary.requests > 0).map(of);
    Cell::maybe(known, |time_ns| duration(*time_ns))
}

/// A time as text, in the unit that suits it: `1.50 ms`.
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
