//! `anabranch waf`: write amplification of ordinary drives, by their own counters.

mod arguments;
mod report;
mod source;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

pub use arguments::{EXAMPLE, WafArguments};
use source::read_by;

use crate::{
    error::{CommandError, Result},
    metrics::Metrics,
    output::{is_read, print, write_json},
    say,
    top::slept,
};
use report::Report;
use source::{Before, CounterSource, Reading};

/// Time between two readings where only metrics are asked for (our choice).
const EVERY: Duration = Duration::from_secs(60);
/// Readings that are left out in a row before figures are no longer answered as those of a drive that is read (our choice).
const LATE: u32 = 3;

/// Reads drives' counters once, or again and again.
pub fn waf(arguments: &WafArguments) -> Result {
    let ended = Arc::new(AtomicBool::new(false));
    let sources = arguments
        .drives
        .iter()
        .map(|words| CounterSource::open(words));
    let sources = sources.collect::<Result<Vec<CounterSource>>>()?;
    let since = arguments
        .since
        .as_deref()
        .map(source::earlier)
        .transpose()?;
    let every = arguments
        .every
        .or(arguments.metrics.map(|_| EVERY))
        .filter(|_| sources.iter().any(CounterSource::is_live));
    if (arguments.every.is_some() || arguments.metrics.is_some()) && every.is_none() {
        return Err(CommandError::wrong_use(
            "--every and --metrics read drives again; files do not change: leave them out",
        ));
    }
    let metrics = arguments.metrics;
    let metrics = metrics.map(|address| Metrics::start(address, Some(arguments.metrics_public)));
    let metrics = metrics.transpose()?;
    if let Some(metrics) = &metrics {
        say::print_note(&format!("metrics at http://{}/metrics", metrics.address()));
    }
    if every.is_some() {
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&ended)).map_err(CommandError::work)?;
        }
    }
    let began = Instant::now();
    let first = readings(&sources)?;
    // The first interval begins with an earlier reading, if there is one.
    let mut before = since.map(|earlier| earlier.of(&first)).transpose()?;
    let mut now = first;
    loop {
        let report = Report::of(&now, before.as_deref(), unix_seconds());
        let is_heard = publish(arguments, &report, metrics.as_ref(), every)?;
        let at = began.elapsed().as_secs_f64();
        let is_up = |lasts: Duration| began.elapsed() >= lasts;
        let Some(every) = every.filter(|_| is_heard && !arguments.lasts.is_some_and(is_up)) else {
            return Ok(());
        };
        if !slept(every, &ended) {
            return Ok(());
        }
        let next = readings(&sources)?;
        let seconds = began.elapsed().as_secs_f64() - at;
        let past = now.iter().map(|reading| Before {
            seconds,
            counts: Ok(reading.amplification()),
        });
        before = Some(past.collect());
        now = next;
    }
}

fn readings(sources: &[CounterSource]) -> Result<Vec<Reading>> {
    sources.iter().map(CounterSource::read).collect()
}

fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Gives a report to all that asked for it. Answers whether somebody still reads.
fn publish(
    arguments: &WafArguments,
    report: &Report,
    metrics: Option<&Metrics>,
    every: Option<Duration>,
) -> Result<bool> {
    let json = report.json();
    if let Some(path) = &arguments.output {
        write_json(path, &json)?;
    }
    if let (Some(metrics), Some(every)) = (metrics, every) {
        let late = report::metrics(&[]);
        metrics.show_report(json.to_string());
        metrics.show_for(report.metrics(), every * LATE, late);
    }
    let is_silent = metrics.is_some() && arguments.every.is_none();
    let is_heard = match (arguments.json, every) {
        _ if is_silent => true,
        // A line for each reading.
        (true, Some(_)) => is_read(&format!("{json}\n"))?,
        (true, None) => print(&format!("{json:#}\n")).map(|()| true)?,
        (false, _) => is_read(&report.text(&arguments.tables.layout()))?,
    };
    Ok(is_heard || metrics.is_some() || arguments.output.is_some())
}
