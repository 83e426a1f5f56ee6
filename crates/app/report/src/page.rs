//! Results as one self-contained page: pictures, and the numbers behind each.

use std::collections::BTreeMap;

use anabranch_replay::Comparison;
use serde::Serialize;

use crate::{
    downsample::{LEVELS, thin},
    heading::{Heading, heading},
    looks::{Look, looks},
    table::verdict,
};

/// The most bytes of results in a page, so that it stays below 2 MB with its programs.
pub(crate) const MOST_DATA_BYTES: usize = 1_800_000;

const SKELETON: &str = include_str!("page/page.html");

/// Stylesheets, in order.
const STYLES: [&str; 2] = [
    include_str!("vendor/uplot/uPlot.min.css"),
    include_str!("page/page.css"),
];

/// The library that stands before our programs.
const LIBRARY: &str = include_str!("vendor/uplot/uPlot.iife.min.js");
/// Programs that every page begins with, in order. All of a page's programs share one scope.
const SHARED: &[&str] = &[
    include_str!("page/numbers.js"),
    include_str!("page/elements.js"),
    include_str!("page/colours.js"),
    include_str!("page/table.js"),
    include_str!("page/figure.js"),
    include_str!("page/svg.js"),
    include_str!("page/names.js"),
];
/// Programs of a result's page, in order.
const PROGRAMS: &[&str] = &[
    include_str!("page/plot.js"),
    include_str!("page/result.js"),
    include_str!("page/verdict.js"),
    include_str!("page/waf.js"),
    include_str!("page/map.js"),
    include_str!("page/contexts.js"),
    include_str!("page/flame.js"),
    include_str!("page/lifetimes.js"),
    include_str!("page/scatter.js"),
    include_str!("page/times.js"),
    include_str!("page/over_time.js"),
    include_str!("page/erases.js"),
    include_str!("page/heat.js"),
    include_str!("page/median.js"),
    include_str!("page/grid.js"),
    include_str!("page/main.js"),
];

/// The data that the page's programs read.
#[derive(Debug, Serialize)]
struct Data<'a> {
    version: &'a str,
    /// Sentences about what was left out to keep the page small.
    thinned: Vec<String>,
    results: Vec<Comparison>,
    /// The heading of each result.
    headings: Vec<Heading>,
    /// Colour and line of each scheme.
    looks: BTreeMap<String, Look>,
}

/// Makes one page of these results, in the order given. It needs no network and is at most 2 MB
/// where the results allow: curves, moments of the map and tails of tables are thinned for that,
/// and the page says so.
///
/// # Errors
/// When a result cannot be written as JSON, which is a defect of this program.
pub fn page(results: &[Comparison]) -> Result<String, serde_json::Error> {
    let title = title(results);
    Ok(assembled(&title, LIBRARY, PROGRAMS, &fitting(results)?))
}

/// The title of the page: the applications or traces of the results.
fn title(results: &[Comparison]) -> String {
    let line = results.first().map(|result| heading(result).line());
    let line = line.filter(|line| !line.is_empty());
    let more = match results.len() {
        0 | 1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    match line {
        Some(line) => format!("{line}{more} - Anabranch"),
        None => "Anabranch: would streams help?".to_owned(),
    }
}

/// The page put together from its title, a library, the shared programs and its own, and its data.
pub(crate) fn assembled(title: &str, library: &str, own: &[&str], data: &str) -> String {
    let styles = STYLES.join("\n");
    let programs = format!(
        "{library}\n(() => {{\n\"use strict\";\n{}\n}})();",
        [SHARED, own].concat().join("\n")
    );
    // The data come last, and the title, which stands before them: what they hold is not looked at
    // again.
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    SKELETON
        .replacen("/* styles */", &styles, 1)
        .replacen("/* programs */", &programs, 1)
        .replacen("/* data */", data, 1)
        .replacen("/* title */", &title, 1)
}

/// The results as JSON for a page, thinned until they fit.
fn fitting(results: &[Comparison]) -> Result<String, serde_json::Error> {
    let mut json = String::new();
    for level in LEVELS {
        let answering = results.iter().map(Comparison::answering);
        let mut results: Vec<Comparison> = answering.cloned().collect();
        for result in &mut results {
            result.verdict = Some(verdict(result));
        }
        let headings = results.iter().map(heading).collect();
        let schemes = results.iter().flat_map(|result| &result.schemes);
        let looks = looks(schemes.map(|scheme| scheme.name.as_str()));
        let thinned = thin(&mut results, level);
        json = embeddable(&Data {
            version: env!("CARGO_PKG_VERSION"),
            thinned,
            results,
            headings,
            looks,
        })?;
        if json.len() <= MOST_DATA_BYTES {
            break;
        }
    }
    Ok(json)
}

/// JSON that no browser can take for markup, whatever names it holds.
pub(crate) fn embeddable(data: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string(data)?.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_end_the_data() {
        let json = embeddable(&"</script><script>alert(1)</script><!--").unwrap();
        assert!(!json.contains('<'));
        let back: String = serde_json::from_str(&json).unwrap();
        assert_eq!(back, "</script><script>alert(1)</script><!--");
    }

    #[test]
    fn the_page_names_no_network() {
        let page = page(&[]).unwrap();
        let addresses = ["src=", "@import", "url(", "fetch(", "XMLHttpRequest"];
        for address in addresses {
            assert!(!page.contains(address), "{address}");
        }
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains("/* data */"));
    }
}
