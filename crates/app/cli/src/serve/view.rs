//! The live view of a served drive: lines on standard error, on a terminal only.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anabranch_nvme::{Tally, Target};
use anabranch_report::foreign;
use anabranch_ssd::Counters;
use anabranch_watch::SchemeView;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{front::Front, shadows::ShadowReport};
use crate::say;

/// Period between two drawings of the view (our choice).
const EVERY: Duration = Duration::from_secs(1);
/// Streams shown, those written most (our choice).
const STREAMS: usize = 8;

/// The live view of a served drive.
#[derive(Debug)]
pub struct View {
    lines: Option<[ProgressBar; 3]>,
    /// The shadow drives, with a line of their own.
    shadows: Option<(Arc<ShadowReport>, ProgressBar)>,
    drawn: Instant,
    before: Option<(Tally, Counters)>,
}

impl View {
    /// A view, or none where standard error is no terminal.
    pub fn new(shadows: Option<Arc<ShadowReport>>) -> View {
        let multi = MultiProgress::new();
        let style =
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
        let line = || multi.add(ProgressBar::new_spinner().with_style(style.clone()));
        let lines = say::draws().then(|| std::array::from_fn(|_| line()));
        let shadows = shadows.filter(|_| lines.is_some());
        View {
            lines,
            shadows: shadows.map(|told| (told, line())),
            drawn: Instant::now(),
            before: None,
        }
    }

    /// Says how to connect.
    pub fn greet(&self, told: &[String], front: &Front, target: &Target) {
        let bytes = anabranch_report::bytes(target.drive().config().logical_bytes());
        told.iter().for_each(|line| say::line(line));
        let told = front.describe(target, &bytes, &parted(target));
        told.iter().for_each(|line| say::line(line));
    }

    /// Draws the view if it is time.
    pub fn draw(&mut self, target: &Target) {
        let elapsed = self.drawn.elapsed();
        let Some(lines) = &self.lines else {
            return;
        };
        if elapsed < EVERY {
            return;
        }
        self.drawn = Instant::now();
        let tally = target.totals().sums();
        let drive = target.drive();
        let (config, counters) = (drive.config().clone(), *drive.counters());
        let mapped = drive.mapped_pages();
        let streams = drive.stream_counters().to_vec();
        drop(drive);
        let (tally_before, before) = self
            .before
            .replace((tally, counters))
            .unwrap_or((tally, counters));
        let seconds = elapsed.as_secs_f64();
        let rate = |now: u64, then: u64| (now.saturating_sub(then)) as f64 / seconds;
        let bytes = |pages: u64| anabranch_report::bytes(pages * u64::from(config.page_bytes));
        let media_bytes = counters.media_pages() * u64::from(config.page_bytes);
        let page_bytes = u64::from(config.page_bytes);
        let window = counters.since(&before).media_pages() * page_bytes;
        let written = tally.written_since(&tally_before);
        lines[0].set_message(format!(
            "writes {:.0}/s {}/s, reads {:.0}/s {}/s",
            rate(tally.writes, tally_before.writes),
            anabranch_report::bytes(rate(tally.written_bytes, tally_before.written_bytes) as u64),
            rate(tally.reads, tally_before.reads),
            anabranch_report::bytes(rate(tally.read_bytes, tally_before.read_bytes) as u64),
        ));
        lines[1].set_message(format!(
            "WAF {} (now {}), full {:.1} %, host {}, copied {}, erases {}; streams {}",
            anabranch_report::ratio(tally.waf(media_bytes)),
            anabranch_report::ratio(written.waf(window)),
            mapped as f64 / f64::from(config.logical_pages) * 100.0,
            anabranch_report::bytes(tally.host_bytes()),
            bytes(counters.copied_pages),
            counters.erased_units,
            most_written(
                &streams.iter().map(|one| one.host_pages).collect::<Vec<_>>(),
                bytes
            ),
        ));
        let hosts: Vec<String> = target
            .hosts()
            .into_iter()
            .map(|(name, queues)| format!("{} ({queues} queues)", foreign(&name)))
            .collect();
        lines[2].set_message(if hosts.is_empty() {
            "no host is connected".to_owned()
        } else {
            hosts.join(", ")
        });
        if let Some((told, line)) = &self.shadows {
            let shadowed = told.shadowed();
            let one = |scheme: &SchemeView| {
                let (waf, now) = (scheme.waf, scheme.waf_window);
                let [waf, now] = [waf, now].map(anabranch_report::ratio);
                format!("{} {waf} (now {now})", foreign(&scheme.name))
            };
            let schemes: Vec<String> = shadowed.schemes.iter().map(one).collect();
            line.set_message(format!("shadows: WAF {}", schemes.join(", ")));
        }
    }

    /// Takes the view away.
    pub fn end(&mut self) {
        for line in self.lines.take().into_iter().flatten() {
            line.finish_and_clear();
        }
        if let Some((_, line)) = self.shadows.take() {
            line.finish_and_clear();
        }
    }
}

/// Describes the drive's namespaces.
fn parted(target: &Target) -> String {
    let namespaces = target.namespaces();
    match &namespaces[..] {
        [] => "without namespaces".to_owned(),
        [one] => format!("in blocks of {} bytes", one.block_bytes()),
        several => {
            let sizes = several
                .iter()
                .map(|one| anabranch_report::bytes(one.bytes()));
            let sizes: Vec<String> = sizes.collect();
            format!("as {} namespaces ({})", several.len(), sizes.join(", "))
        }
    }
}

/// The streams written most, by number.
fn most_written(host_pages: &[u64], bytes: impl Fn(u64) -> String) -> String {
    let mut streams: Vec<(usize, u64)> = host_pages.iter().copied().enumerate().collect();
    streams.retain(|&(_, pages)| pages > 0);
    streams.sort_by_key(|&(_, pages)| std::cmp::Reverse(pages));
    streams.truncate(STREAMS);
    streams.sort_unstable();
    let words = streams
        .iter()
        .map(|&(id, pages)| format!("{id}: {}", bytes(pages)));
    words.collect::<Vec<_>>().join(", ")
}
