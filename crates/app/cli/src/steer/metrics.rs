//! Metrics of a steered drive for a monitoring system.

use anabranch_nvme_host::Written;
use anabranch_probe::HandoverCounts;
use anabranch_report::{Exposition, Labels, Metric, WafOfWays};
use anabranch_steer::Counters;

use super::{report::SteerReport, shadow::Counted};

/// The counts, as OpenMetrics text.
pub fn text(report: &SteerReport<'_>) -> String {
    let shadow = report.shadow.as_ref().map(|(counted, _, _)| counted);
    let compared = report.comparison.as_ref().and_then(|found| found.mean_waf);
    of(
        report.server.counters(),
        report.handles,
        report.drive,
        report.handover.as_ref(),
        shadow,
        compared,
    )
}

fn of(
    counters: &Counters,
    handles: &[u16],
    drive: Option<Written>,
    handover: Option<&HandoverCounts>,
    shadow: Option<&Counted>,
    compared: Option<WafOfWays>,
) -> String {
    let mut text = Exposition::new("anabranch_steer");
    count(&mut text, counters, handles);
    if let Some(counts) = handover {
        let each = [
            ("found", counts.found),
            ("missed", counts.missed),
            ("nameless", counts.nameless),
        ];
        let each = each.map(|(became, pages)| (label("became", &became), pages as f64));
        text.family(
            "writer_pages",
            Metric::Counter,
            "Pages the probe was asked about, by what became of them",
            each,
        );
        text.family(
            "kernel_thread_pages",
            Metric::Counter,
            "Found pages that threads of the kernel wrote, such as a loop device's",
            [(Vec::new(), counts.by_kernel as f64)],
        );
    }
    if let Some(drive) = drive {
        let each = [("host", drive.host_bytes), ("media", drive.media_bytes)];
        let each = each.map(|(by, bytes)| (label("by", &by), bytes as f64));
        text.family(
            "drive_bytes",
            Metric::Counter,
            "Bytes the drive counted since then",
            each,
        );
    }
    if let Some(shadow) = shadow {
        let each = [("steered", &shadow.steered), ("one", &shadow.baseline)].into_iter();
        let each = each.map(|(name, counted)| (name, counted.waf));
        let each = each.filter_map(|(name, waf)| Some((label("streams", &name), waf?)));
        text.family(
            "modelled_waf",
            Metric::Gauge,
            "WAF of a model fed with the same",
            each,
        );
    }
    if let Some(WafOfWays {
        steered,
        one_handle,
    }) = compared
    {
        let each = [("steered", steered), ("one", one_handle)];
        let each = each.map(|(name, waf)| (label("streams", &name), waf));
        text.family(
            "compared_waf",
            Metric::Gauge,
            "Mean WAF of the compared pairs of periods, by the drive's log",
            each,
        );
    }
    text.finish()
}

fn label(name: &'static str, value: &dyn ToString) -> Labels {
    vec![(name, value.to_string())]
}

/// Adds the counts of requests.
fn count(text: &mut Exposition, counters: &Counters, handles: &[u16]) {
    let written = handles.iter().zip(&counters.written_bytes);
    let written = written.map(|(handle, bytes)| (label("handle", handle), bytes.get() as f64));
    text.family(
        "written_bytes",
        Metric::Counter,
        "Bytes written to each handle",
        written,
    );
    let rewritten = handles.iter().zip(&counters.rewritten_bytes);
    let rewritten = rewritten.map(|(handle, bytes)| (label("handle", handle), bytes.get() as f64));
    text.family(
        "rewritten_bytes",
        Metric::Counter,
        "Bytes written anew to each handle by a host that collects",
        rewritten,
    );
    for (name, help, count) in [
        (
            "failed_rewrites",
            "Survivors that stay where they are",
            &counters.failed_rewrites,
        ),
        (
            "ended_units",
            "Ended, as drive and model differed",
            &counters.ended_units,
        ),
        (
            "waits",
            "Requests that waited for a host that collects",
            &counters.waits,
        ),
        ("read_bytes", "Bytes read", &counters.read_bytes),
        ("discarded_bytes", "Discarded", &counters.discarded_bytes),
        ("zeroed_bytes", "Zeroes by command", &counters.zeroed_bytes),
        ("unplaced_bytes", "No directive", &counters.unplaced_bytes),
        ("writes", "Requests to write", &counters.writes),
        ("split_writes", "Of several handles", &counters.split_writes),
        ("flushes", "Flushes", &counters.flushes),
        ("unknown_pages", "Of no writer", &counters.unknown_pages),
        ("errors", "Requests that failed", &counters.errors),
        (
            "repeated_commands",
            "Cut off by a reset",
            &counters.repeated_commands,
        ),
    ] {
        text.family(
            name,
            Metric::Counter,
            help,
            [(Vec::new(), count.get() as f64)],
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_counter_is_told() {
        let handover = HandoverCounts {
            found: 5,
            by_kernel: 4,
            missed: 6,
            nameless: 7,
            ..HandoverCounts::default()
        };
        let report = of(&Counters::default(), &[], None, Some(&handover), None, None);
        for line in [
            "unknown_pages_total 0.0",
            "writer_pages_total{became=\"found\"} 5.0",
            "writer_pages_total{became=\"missed\"} 6.0",
            "writer_pages_total{became=\"nameless\"} 7.0",
            "kernel_thread_pages_total 4.0",
        ] {
            let line = format!("anabranch_steer_{line}\n");
            assert!(report.contains(&line), "{line}: {report}");
        }
        assert!(report.ends_with("# EOF\n"));
    }

    #[test]
    fn the_dashboard_asks_for_what_there_is_and_for_all_of_it() {
        let dashboard = include_str!("../../../../../packaging/anabranch-steer.grafana.json");
        let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        let words = dashboard.split(|letter| !is_name(letter));
        let asked: BTreeSet<&str> = words
            .filter_map(|word| word.strip_prefix("anabranch_steer_"))
            .collect();
        let written = Written {
            host_bytes: 1,
            media_bytes: 1,
            grain_bytes: 1,
        };
        let handover = HandoverCounts::default();
        let counted = Counted::default();
        let report = of(
            &Counters::default(),
            &[0],
            Some(written),
            Some(&handover),
            Some(&counted),
            Some(WafOfWays {
                steered: 1.0,
                one_handle: 1.0,
            }),
        );
        let kinds = report.lines().filter_map(|line| {
            let (name, kind) = line
                .strip_prefix("# TYPE anabranch_steer_")?
                .split_once(' ')?;
            Some((name.to_owned(), kind))
        });
        let told: BTreeSet<String> = kinds
            .map(|(name, kind)| {
                if kind == "counter" {
                    name + "_total"
                } else {
                    name
                }
            })
            .collect();
        let told: BTreeSet<&str> = told.iter().map(String::as_str).collect();
        assert_eq!(asked, told);
    }
}
