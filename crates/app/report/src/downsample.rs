//! Results made small enough for a page: fewer points of curves, with their extremes kept, and fewer
//! moments of maps.

use anabranch_replay::{Comparison, Interval, Point, SchemeResult};

/// Amount of each kind of detail that a page keeps.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Points of each WAF curve.
    points: usize,
    /// Intervals of throughput and latencies.
    intervals: usize,
    /// Moments of each map.
    moments: usize,
    /// Schemes whose maps are kept: the ordinary drive and those that copied least.
    maps: usize,
    /// Contexts listed.
    contexts: usize,
    /// Lives in the scatter plots.
    lives: usize,
    /// Results that keep these details; the others keep figures only.
    whole: usize,
}

/// Levels of ever less detail, tried until a page is small enough (our choice).
pub const LEVELS: [Level; 8] = [
    level(512, 512, 48, usize::MAX, 256, 2000),
    level(256, 256, 48, 8, 256, 2000),
    level(128, 128, 24, 8, 128, 1000),
    level(64, 64, 24, 2, 64, 500),
    level(32, 32, 12, 2, 32, 250),
    level(16, 16, 4, 0, 8, 50),
    Level {
        whole: 12,
        ..level(64, 64, 24, 2, 32, 250)
    },
    Level {
        whole: 2,
        ..level(64, 64, 24, 2, 32, 250)
    },
];

const fn level(
    points: usize,
    intervals: usize,
    moments: usize,
    maps: usize,
    contexts: usize,
    lives: usize,
) -> Level {
    Level {
        points,
        intervals,
        moments,
        maps,
        contexts,
        lives,
        whole: usize::MAX,
    }
}

/// Thins results. Answers with a sentence on each kind of detail that was left out.
pub fn thin(results: &mut [Comparison], level: Level) -> Vec<String> {
    let mut said = Said::default();
    let whole = whole(results, level.whole);
    for (result, is_whole) in results.iter_mut().zip(whole) {
        if !is_whole {
            said.whole = true;
            leave_figures(result);
        }
        thin_contexts(result, level, &mut said);
        let mapped = mapped(&result.schemes, level.maps);
        for (scheme, keeps_map) in result.schemes.iter_mut().zip(mapped) {
            thin_scheme(scheme, level, keeps_map, &mut said);
        }
    }
    said.sentences(level)
}

/// The kinds of detail that were thinned.
#[derive(Debug, Default)]
struct Said {
    points: bool,
    intervals: bool,
    moments: bool,
    maps: bool,
    contexts: bool,
    lives: bool,
    whole: bool,
}

impl Said {
    fn sentences(&self, level: Level) -> Vec<String> {
        let sentences = [
            (
                self.points,
                format!(
                    "curves show about {} of their points, the steepest and flattest steps among them",
                    level.points
                ),
            ),
            (
                self.intervals,
                format!(
                    "{} intervals of time are shown, the fastest, the slowest and those of the longest \
                     writes among them",
                    level.intervals
                ),
            ),
            (
                self.moments,
                format!("maps show {} moments, evenly spaced", level.moments),
            ),
            (
                self.maps,
                format!(
                    "maps are kept of {} schemes: the ordinary drive and those that copied least",
                    level.maps
                ),
            ),
            (
                self.contexts,
                format!("the {} contexts that wrote most are listed", level.contexts),
            ),
            (
                self.lives,
                format!("{} of the sampled lives are drawn", level.lives),
            ),
            (
                self.whole,
                format!(
                    "pictures are kept of {} results, the first and those of least WAF; of the others, \
                     the figures",
                    level.whole
                ),
            ),
        ];
        sentences
            .into_iter()
            .filter_map(|(said, sentence)| said.then_some(sentence))
            .collect()
    }
}

/// For each result, whether it keeps more than its figures: the first does, and those of least WAF.
fn whole(results: &[Comparison], most: usize) -> Vec<bool> {
    let least = |row: usize| {
        let wafs = results[row]
            .schemes
            .iter()
            .filter(|scheme| !scheme.is_bound);
        wafs.filter_map(|scheme| scheme.waf)
            .fold(f64::INFINITY, f64::min)
    };
    let mut ranks: Vec<usize> = (1..results.len()).collect();
    ranks.sort_by(|&a, &b| least(a).total_cmp(&least(b)));
    let mut keeps = vec![false; results.len()];
    let first = (0..results.len()).take(1);
    for row in first.chain(ranks).take(most) {
        keeps[row] = true;
    }
    keeps
}

/// Leaves only what a grid and a table of figures need.
fn leave_figures(result: &mut Comparison) {
    result.details = None;
    result.config.remove("capture");
    for scheme in &mut result.schemes {
        scheme.details = None;
        scheme.wear = None;
        scheme.time = None;
        scheme.steady_reason.clear();
        scheme.parameters.clear();
        scheme.streams.clear();
        scheme.series.clear();
    }
}

/// For each scheme, whether it keeps its maps.
fn mapped(schemes: &[SchemeResult], most: usize) -> Vec<bool> {
    let mut ranks: Vec<usize> = (0..schemes.len()).collect();
    ranks.sort_by_key(|&row| {
        (
            schemes[row].name != anabranch_replay::ORDINARY,
            schemes[row].copied_bytes,
        )
    });
    let mut keeps = vec![false; schemes.len()];
    for row in ranks.into_iter().take(most) {
        keeps[row] = true;
    }
    keeps
}

fn thin_contexts(result: &mut Comparison, level: Level, said: &mut Said) {
    let Some(details) = &mut result.details else {
        return;
    };
    if details.contexts.len() > level.contexts {
        said.contexts = true;
        let rest = details.contexts.split_off(level.contexts);
        details.unlisted_contexts += rest.len() as u64;
        details.unlisted_bytes += rest
            .iter()
            .map(|context| context.written_bytes)
            .sum::<u64>();
    }
    let points = &mut details.points;
    if points.context.len() > level.lives {
        // Each is as likely as any other, so the first of them are a sample as well, but of the
        // beginning: take every n-th.
        said.lives = true;
        keep_evenly(&mut points.written_at_bytes, level.lives);
        keep_evenly(&mut points.offset_bytes, level.lives);
        keep_evenly(&mut points.lifetime_bytes, level.lives);
        keep_evenly(&mut points.context, level.lives);
    }
}

fn thin_scheme(scheme: &mut SchemeResult, level: Level, keeps_map: bool, said: &mut Said) {
    if scheme.series.len() > level.points {
        said.points = true;
        scheme.series = steps(&scheme.series, level.points);
    }
    if let Some(time) = &mut scheme.time
        && time.intervals.len() > level.intervals
    {
        said.intervals = true;
        time.intervals = extremes(&time.intervals, level.intervals);
    }
    let Some(details) = &mut scheme.details else {
        return;
    };
    details.placements.truncate(level.contexts);
    keep_evenly(&mut details.fill, level.points);
    let moments = &mut details.map.moments;
    if !keeps_map && !moments.is_empty() {
        said.maps = true;
        moments.clear();
    }
    if moments.len() > level.moments {
        said.moments = true;
        keep_evenly(moments, level.moments);
    }
}

/// Keeps `most` of the items, evenly spaced, the last one among them.
fn keep_evenly<T>(items: &mut Vec<T>, most: usize) {
    let length = items.len();
    if length <= most || most == 0 {
        return;
    }
    let mut row = 0;
    items.retain(|_| {
        row += 1;
        row * most / length > (row - 1) * most / length
    });
}

/// Thins a curve of counts: of each group of neighbours it keeps the first point, and both ends of
/// the steepest and of the flattest step.
fn steps(points: &[Point], most: usize) -> Vec<Point> {
    let size = points.len().div_ceil((most / 5).max(1));
    let mut kept = Vec::new();
    let slope = |row: usize| {
        let (from, to) = (points[row - 1], points[row]);
        let host = to
            .host_page_bytes
            .saturating_sub(from.host_page_bytes)
            .max(1);
        to.media_bytes.saturating_sub(from.media_bytes) as f64 / host as f64
    };
    for first in (0..points.len()).step_by(size) {
        let rows = first.max(1)..(first + size).min(points.len());
        kept.push(first);
        let steepest = rows.clone().max_by(|&a, &b| slope(a).total_cmp(&slope(b)));
        let flattest = rows.min_by(|&a, &b| slope(a).total_cmp(&slope(b)));
        for row in steepest.into_iter().chain(flattest) {
            kept.extend([row - 1, row]);
        }
    }
    kept.push(points.len().saturating_sub(1));
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|row| points[row]).collect()
}

/// Thins the intervals of a run: of each group of neighbours it keeps the one with the fastest
/// writes, the one with the slowest, and the one with the highest 99.9th percentile of write
/// latency.
fn extremes(intervals: &[Interval], most: usize) -> Vec<Interval> {
    let size = intervals.len().div_ceil((most / 3).max(1));
    let rate = |one: &&Interval| one.write_mib_per_second;
    let tail = |one: &&Interval| one.write_latency.map(|latency| latency.p99_9_ns);
    let mut kept = Vec::new();
    for group in intervals.chunks(size) {
        let fastest = group.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let slowest = group.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        let longest = group.iter().max_by_key(tail);
        let chosen = [fastest, slowest, longest].into_iter().flatten();
        let mut chosen: Vec<Interval> = chosen.copied().collect();
        chosen.sort_by_key(|one| one.start_ns);
        chosen.dedup_by_key(|one| one.start_ns);
        kept.extend(chosen);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_replay::IntervalLatency;

    #[test]
    fn a_thinned_curve_keeps_its_ends_and_its_extreme_steps() {
        let mut points: Vec<Point> = (0..4096)
            .map(|row| Point {
                host_page_bytes: row * 10,
                media_bytes: row * 20,
            })
            .collect();
        // One steep step.
        points[3000..]
            .iter_mut()
            .for_each(|point| point.media_bytes += 999);
        let thinned = steps(&points, 128);
        assert!(thinned.len() <= 130, "{}", thinned.len());
        assert_eq!(thinned.first(), points.first());
        assert_eq!(thinned.last(), points.last());
        assert!(thinned.contains(&points[2999]) && thinned.contains(&points[3000]));
    }

    #[test]
    fn thinned_intervals_keep_the_fastest_the_slowest_and_the_longest_writes() {
        let interval = |start_ns: u64| Interval {
            start_ns,
            write_mib_per_second: (start_ns * 7919 % 1009) as f64,
            write_latency: Some(IntervalLatency {
                p99_9_ns: start_ns * 7907 % 1013,
                ..IntervalLatency::default()
            }),
            ..Interval::default()
        };
        let intervals: Vec<Interval> = (0..512).map(interval).collect();
        let thinned = extremes(&intervals, 64);
        assert!(thinned.len() <= 64);
        let most = |some: &[Interval]| {
            let rates = some.iter().map(|one| one.write_mib_per_second);
            let tails = some.iter().map(|one| one.write_latency.unwrap().p99_9_ns);
            (rates.fold(0.0, f64::max), tails.max())
        };
        assert_eq!(most(&thinned), most(&intervals));
        assert!(thinned.is_sorted_by_key(|one| one.start_ns));
    }

    #[test]
    fn the_first_result_and_those_of_least_waf_stay_whole() {
        let result = |waf: f64| -> Comparison {
            let scheme = serde_json::json!({
                "name": "x", "parameters": {}, "streams_used": 1, "host_page_bytes": 1, "media_bytes": 1,
                "copied_bytes": 0, "erased_bytes": 0, "erased_units": 0, "sealed_units": 0,
                "discarded_bytes": 0, "mapped_bytes": 0, "waf": waf, "waf_window": null,
                "waf_second_half": null, "lifetime_vs_ordinary": null, "steady": true,
                "memory_bytes": 0, "streams": [], "series": [],
            });
            let result = serde_json::json!({
                "schema": 1, "config": {}, "seed": 0, "steady": true, "steady_reason": "",
                "source": { "records": 0, "write_bytes": 0, "host_page_bytes": 0, "discarded_bytes": 0,
                    "read_bytes": 0, "flushes": 0, "lost_events": 0, "capacities_written": 0.0 },
                "device": { "profile": "", "logical_bytes": 1, "physical_bytes": 1, "unit_bytes": 1,
                    "page_bytes": 1, "physical_units": 1, "host_streams": 1, "internal_streams": 0 },
                "schemes": [scheme],
            });
            serde_json::from_value(result).unwrap()
        };
        let results = [1.5, 1.4, 1.1, 1.2].map(result);
        assert_eq!(whole(&results, 2), [true, false, true, false]);
        assert_eq!(whole(&results, usize::MAX), [true; 4]);
        assert_eq!(whole(&[], 2), [false; 0]);
    }

    #[test]
    fn what_is_kept_evenly_ends_with_the_end() {
        let mut items: Vec<u32> = (0..48).collect();
        keep_evenly(&mut items, 12);
        assert_eq!(items.len(), 12);
        assert_eq!(items.last(), Some(&47));
        let mut few = vec![1, 2];
        keep_evenly(&mut few, 12);
        assert_eq!(few, [1, 2]);
    }
}
