//! A sweep as one self-contained page: the distribution of figures over its volumes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::looks::{Look, looks};
use crate::page::{MOST_DATA_BYTES, assembled, embeddable};

/// Programs of a sweep's page, in order.
const PROGRAMS: &[&str] = &[
    include_str!("page/heat.js"),
    include_str!("page/median.js"),
    include_str!("page/fleet/fleet.js"),
    include_str!("page/fleet/verdict.js"),
    include_str!("page/fleet/distribution.js"),
    include_str!("page/fleet/rivals.js"),
    include_str!("page/fleet/main.js"),
];

/// The data of a sweep that its page needs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fleet {
    /// The traces' names.
    pub traces: Vec<String>,
    /// Kinds of drives.
    pub drives: Vec<FleetDrive>,
    /// Schemes that the sweep compares, bounds among them.
    pub schemes: Vec<FleetScheme>,
    /// Figures of each drive and scheme over all volumes, as in a sweep's summary.
    pub groups: Vec<Value>,
    /// The cells; the page may have to leave some out.
    pub cells: Vec<FleetCell>,
}

/// A kind of drive.
#[derive(Debug, Clone, Serialize)]
pub struct FleetDrive {
    /// Its name in the summary's groups.
    pub name: String,
    /// Its settings: an object of plain values.
    pub settings: Value,
}

/// A scheme.
#[derive(Debug, Clone, Serialize)]
pub struct FleetScheme {
    /// The scheme's name.
    pub name: String,
    /// Whether the scheme knows the future, and so cannot be built.
    pub is_bound: bool,
    /// Whether the others are compared with this scheme.
    pub is_baseline: bool,
}

/// A cell: indices into the lists of traces, drives and schemes; the seed; bytes of the host, the
/// media and the copies; whether it was steady.
pub type FleetCell = (usize, usize, usize, u64, u64, u64, u64, bool);

/// The data that the page's programs read.
#[derive(Debug, Serialize)]
struct Data<'a> {
    version: &'a str,
    /// Sentences about what was left out to keep the page small.
    thinned: Vec<String>,
    #[serde(flatten)]
    fleet: &'a Fleet,
    /// Colour and line of each scheme.
    looks: BTreeMap<String, Look>,
}

/// Makes the page of a sweep. It needs no network and is at most 2 MB where the groups allow. Where
/// there are more cells than fit, it keeps those of evenly spaced traces, and says so; figures over
/// all volumes stay complete.
///
/// # Errors
/// When the data cannot be written as JSON, which is a defect of this program.
pub fn fleet_page(fleet: &Fleet) -> Result<String, serde_json::Error> {
    let mut every = 1;
    let mut data = embedded(fleet, every)?;
    while data.len() > MOST_DATA_BYTES && every < fleet.traces.len() {
        every *= 2;
        data = embedded(&with_every(fleet, every), every)?;
    }
    let title = match fleet.traces.len() {
        1 => format!("{} - Anabranch", fleet.traces[0]),
        traces => format!("{traces} volumes - Anabranch"),
    };
    Ok(assembled(&title, "", PROGRAMS, &data))
}

fn embedded(fleet: &Fleet, every: usize) -> Result<String, serde_json::Error> {
    let thinned = match every {
        1 => Vec::new(),
        _ => vec![format!(
            "of the cells those of every {every}th volume were kept, for the curves and the table of \
             cells; all other figures are over all volumes"
        )],
    };
    embeddable(&Data {
        version: env!("CARGO_PKG_VERSION"),
        thinned,
        looks: looks(fleet.schemes.iter().map(|scheme| scheme.name.as_str())),
        fleet,
    })
}

/// The fleet with the cells of every `every`-th trace only. All names stay, so that indices hold.
fn with_every(fleet: &Fleet, every: usize) -> Fleet {
    let kept: BTreeSet<usize> = (0..fleet.traces.len()).step_by(every).collect();
    let name = |(place, name): (usize, &String)| {
        if kept.contains(&place) {
            name.clone()
        } else {
            String::new()
        }
    };
    Fleet {
        traces: fleet.traces.iter().enumerate().map(name).collect(),
        cells: fleet
            .cells
            .iter()
            .filter(|cell| kept.contains(&cell.0))
            .copied()
            .collect(),
        ..fleet.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(traces: usize) -> Fleet {
        Fleet {
            traces: (0..traces)
                .map(|trace| format!("volumes/{trace:06}.parquet"))
                .collect(),
            drives: vec![FleetDrive {
                name: "d".into(),
                settings: serde_json::json!({}),
            }],
            schemes: vec![FleetScheme {
                name: "baseline".into(),
                is_bound: false,
                is_baseline: true,
            }],
            groups: Vec::new(),
            cells: (0..traces)
                .map(|trace| (trace, 0, 0, 0, 1 << 40, 1 << 41, 1 << 40, true))
                .collect(),
        }
    }

    #[test]
    fn a_fleet_of_a_hundred_thousand_has_a_small_page_that_says_what_it_left_out() {
        let page = fleet_page(&fleet(100_000)).unwrap();
        assert!(page.len() < 2_000_000, "{}", page.len());
        assert!(page.contains("th volume were kept"));
        assert!(
            !fleet_page(&fleet(1_000))
                .unwrap()
                .contains("th volume were kept")
        );
    }

    #[test]
    fn the_page_names_no_network() {
        let page = fleet_page(&fleet(1)).unwrap();
        for address in ["src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(address), "{address}");
        }
        assert!(!page.contains("/* data */"));
    }
}
