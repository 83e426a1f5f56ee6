//! Advice as address ranges: fio's `dp_scheme`.
//!
//! fio reads lines `start,end,placement id`, bytes, the end behind the last; the first that holds the
//! write's offset counts, offsets in none go to placement id 0, and lines after the 32nd are not
//! read (fio `dataplacement.c`, `init_ruh_scheme`; `dataplacement.h`, `DP_MAX_SCHEME_ENTRIES`).

use anabranch_compare::{Result, Watch};

use super::{
    advice::{Advice, Checked},
    check::{measure, under_rules},
    plan::Plan,
    rules::{Line, document, ways},
    survey::{PARTS, Tally, WriterSurvey},
};

/// The most lines that fio reads.
const MAX_RANGES: usize = 32;

/// Neighbouring parts that share a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u32,
    parts: u32,
    stream: u16,
    pages: u64,
}

/// Makes the `dp_scheme`: of several ways to make one, the best.
pub fn by_address(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    let written = |(_, tally): &(usize, &Tally)| tally.profile.written_pages > 0;
    let rows: Vec<(usize, &Tally)> = survey
        .parts
        .tallies
        .iter()
        .enumerate()
        .filter(written)
        .collect();
    let tallies: Vec<&Tally> = rows.iter().map(|(_, tally)| *tally).collect();
    let mut tried = Vec::new();
    for way in ways(&tallies, plan.drive.host_streams, survey.written_pages) {
        let parts = rows
            .iter()
            .zip(&way.streams)
            .map(|((part, tally), stream)| Range {
                first: *part as u32,
                parts: 1,
                stream: *stream,
                pages: tally.profile.written_pages,
            });
        let ranges = merged(parts.collect());
        let spec = under_rules(plan, &document("address ranges", &lines(plan, &ranges)))?;
        tried.push((way.told, ranges, spec));
    }
    let specs: Vec<_> = tried.iter().map(|(_, _, spec)| spec.clone()).collect();
    let costs = measure(plan, &specs, watch)?;
    let best = tried
        .into_iter()
        .zip(costs)
        .min_by_key(|(_, cost)| cost.seen_copied_pages());
    let Some(((told, ranges, _), cost)) = best else {
        return Ok(());
    };
    let text = ranges.iter().map(|range| {
        let (start, end) = bytes_of(plan, range);
        let end = plan.original_bytes(end.saturating_sub(1)) + 1;
        format!("{},{end},{}\n", plan.original_bytes(start), range.stream)
    });
    advice.file("fio/dp_scheme", text.collect());
    let elsewhere: u64 = tallies
        .iter()
        .map(|tally| tally.elsewhere(tally.stream()))
        .sum();
    advice.checks.push(Checked {
        what: format!("fio/dp_scheme, {} ranges, {told}", ranges.len()),
        cost,
        loses: Some(format!(
            "addresses do not tell apart what the scheme does: {:.0} % of the pages went to another stream \
             than most at their addresses, and the file holds at most {MAX_RANGES} ranges",
            100.0 * elsewhere as f64 / survey.written_pages.max(1) as f64
        )),
    });
    Ok(())
}

fn bytes_of(plan: &Plan, range: &Range) -> (u64, u64) {
    let part_bytes = u64::from(plan.drive.logical_pages.div_ceil(PARTS).max(1))
        * u64::from(plan.drive.page_bytes);
    let end = u64::from(range.first + range.parts) * part_bytes;
    (
        u64::from(range.first) * part_bytes,
        end.min(plan.drive.logical_bytes()),
    )
}

fn lines(plan: &Plan, ranges: &[Range]) -> Vec<Line> {
    let line = |range: &Range| {
        let (start, end) = bytes_of(plan, range);
        Line {
            asks: vec![
                ("from_byte", start.to_string()),
                ("to_byte", end.to_string()),
            ],
            stream: range.stream,
            hint: None,
            comments: Vec::new(),
        }
    };
    ranges.iter().map(line).collect()
}

/// Merges neighbours of one stream; then gives the smallest range to its larger neighbour until fio
/// can hold them all. `parts` are in order, and a gap between two that nobody wrote belongs to the
/// first.
fn merged(parts: Vec<Range>) -> Vec<Range> {
    let mut ranges = joined(parts);
    while ranges.len() > MAX_RANGES {
        let smallest = (0..ranges.len()).min_by_key(|&place| ranges[place].pages);
        let Some(place) = smallest else { break };
        let pages = |place: usize| ranges.get(place).map(|range| range.pages);
        let before = place.checked_sub(1);
        let heir = match (before.and_then(pages), pages(place + 1)) {
            (Some(left), Some(right)) if left < right => place + 1,
            (None, _) => place + 1,
            _ => place - 1,
        };
        ranges[place].stream = ranges[heir].stream;
        ranges = joined(ranges);
    }
    ranges
}

fn joined(ranges: Vec<Range>) -> Vec<Range> {
    let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.stream == range.stream => {
                last.parts = range.first + range.parts - last.first;
                last.pages += range.pages;
            }
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: u32, stream: u16, pages: u64) -> Range {
        Range {
            first,
            parts: 1,
            stream,
            pages,
        }
    }

    #[test]
    fn neighbours_of_one_stream_are_one_range_with_what_lies_between() {
        let ranges = merged(vec![part(0, 1, 5), part(3, 1, 5), part(4, 2, 1)]);
        assert_eq!(ranges.len(), 2);
        assert_eq!(
            (ranges[0].first, ranges[0].parts, ranges[0].pages),
            (0, 4, 10)
        );
    }

    #[test]
    fn the_smallest_go_first_until_fio_can_hold_them() {
        let parts = (0..100).map(|place| part(place, (place % 2) as u16, u64::from(place) + 1));
        let ranges = merged(parts.collect());
        assert!(ranges.len() <= MAX_RANGES, "{}", ranges.len());
        assert_eq!(ranges.iter().map(|range| range.pages).sum::<u64>(), 5050);
        assert_eq!(ranges.iter().map(|range| range.parts).sum::<u32>(), 100);
        // The largest kept its own stream.
        assert_eq!(ranges.last().map(|range| range.stream), Some(1));
    }
}
