//! The results of several samples of one drive, pooled into one.

use crate::{
    outcome::{Comparison, SchemeResult, StreamResult},
    sampled::{Drawn, SampledWaf},
};

/// The mean of several samples' results. Curves, wear, parameters and details are the first sample's.
pub fn pooled(mut samples: Vec<Comparison>, drawn: Drawn) -> Option<Comparison> {
    let mut first = if samples.is_empty() {
        return None;
    } else {
        samples.remove(0)
    };
    for (index, scheme) in first.schemes.iter_mut().enumerate() {
        let others: Vec<&SchemeResult> = samples
            .iter()
            .filter_map(|sample| sample.schemes.get(index))
            .collect();
        pool(scheme, &others, drawn);
    }
    first.compare_schemes();
    Some(first)
}

fn pool(scheme: &mut SchemeResult, others: &[&SchemeResult], drawn: Drawn) {
    let own = scheme.clone();
    let all = || std::iter::once(&own).chain(others.iter().copied());
    let count = all().count() as u64;
    let mean = |of: fn(&SchemeResult) -> u64| (all().map(of).sum::<u64>() + count / 2) / count;
    scheme.host_page_bytes = mean(|one| one.host_page_bytes);
    scheme.copied_bytes = mean(|one| one.copied_bytes);
    scheme.media_bytes = scheme.host_page_bytes + scheme.copied_bytes;
    if let Some(own) = &mut scheme.collected {
        own.rewritten_bytes = mean(|one| one.collected.map_or(0, |bytes| bytes.rewritten_bytes));
        own.moved_bytes = scheme.copied_bytes;
        own.copied_bytes = own.moved_bytes.saturating_sub(own.rewritten_bytes);
        own.warranty_bytes = scheme.host_page_bytes + own.rewritten_bytes;
    }
    scheme.erased_bytes = mean(|one| one.erased_bytes);
    scheme.erased_units = mean(|one| one.erased_units);
    scheme.sealed_units = mean(|one| one.sealed_units);
    scheme.redirected_bytes = mean(|one| one.redirected_bytes);
    scheme.levelled_bytes = mean(|one| one.levelled_bytes);
    scheme.failed_programs = mean(|one| one.failed_programs);
    scheme.failed_erases = mean(|one| one.failed_erases);
    scheme.retired_units = mean(|one| one.retired_units);
    scheme.discarded_bytes = mean(|one| one.discarded_bytes);
    scheme.mapped_bytes = mean(|one| one.mapped_bytes);
    scheme.peak_mapped_bytes = mean(|one| one.peak_mapped_bytes);
    scheme.memory_bytes = mean(|one| one.memory_bytes);
    scheme.read_only = all().any(|one| one.read_only);
    scheme.streams = streams(all());
    scheme.streams_used = scheme.streams.len() as u32;
    let ratio = |of: fn(&SchemeResult) -> Option<f64>| {
        let known: Vec<f64> = all().filter_map(of).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    scheme.waf = ratio(|one| one.waf);
    scheme.waf_window = ratio(|one| one.waf_window);
    scheme.waf_second_half = ratio(|one| one.waf_second_half);
    let each = all().filter_map(|one| one.waf).collect();
    scheme.sampled = Some(SampledWaf::new(each, drawn));
}

/// The mean over the samples for each stream that any sample used.
fn streams<'a>(all: impl Iterator<Item = &'a SchemeResult>) -> Vec<StreamResult> {
    let mut pooled: Vec<StreamResult> = Vec::new();
    let mut count = 0;
    for scheme in all {
        count += 1;
        for stream in &scheme.streams {
            match pooled.iter_mut().find(|known| known.id == stream.id) {
                None => pooled.push(stream.clone()),
                Some(known) => {
                    known.host_page_bytes += stream.host_page_bytes;
                    known.copied_bytes += stream.copied_bytes;
                    known.media_bytes += stream.media_bytes;
                    known.erased_bytes += stream.erased_bytes;
                }
            }
        }
    }
    for stream in &mut pooled {
        stream.host_page_bytes /= count;
        stream.copied_bytes /= count;
        stream.media_bytes = stream.host_page_bytes + stream.copied_bytes;
        stream.erased_bytes /= count;
    }
    pooled.sort_by_key(|stream| stream.id);
    pooled
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const COUNTS: [&str; 12] = [
        "host_page_bytes",
        "copied_bytes",
        "erased_bytes",
        "erased_units",
        "sealed_units",
        "redirected_bytes",
        "levelled_bytes",
        "failed_programs",
        "failed_erases",
        "retired_units",
        "discarded_bytes",
        "mapped_bytes",
    ];

    /// A scheme's result that has this for each of its counts.
    fn counted(count: u64) -> Value {
        let mut result = json!({
            "name": "baseline", "parameters": {}, "streams_used": 0, "media_bytes": 2 * count, "waf": 2.0,
            "waf_window": null, "waf_second_half": null, "lifetime_vs_ordinary": null, "steady": true,
            "memory_bytes": count, "streams": [], "series": [],
        });
        for name in COUNTS {
            result[name] = count.into();
        }
        result
    }

    #[test]
    fn each_count_is_the_mean_to_the_nearest_whole() {
        for (counts, mean) in [([1, 1, 2], 1), ([1, 2, 2], 2), ([7, 7, 7], 7)] {
            let [mut first, second, third] =
                counts.map(|count| serde_json::from_value::<SchemeResult>(counted(count)).unwrap());
            pool(
                &mut first,
                &[&second, &third],
                Drawn {
                    sample: 8,
                    trace: 1,
                    unit_pages: 256,
                },
            );
            let pooled = serde_json::to_value(&first).unwrap();
            let expected = counted(mean);
            for name in COUNTS.into_iter().chain(["media_bytes", "memory_bytes"]) {
                assert_eq!(pooled[name], expected[name], "{name} of {counts:?}");
            }
        }
    }
}
