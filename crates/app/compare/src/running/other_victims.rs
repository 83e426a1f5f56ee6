//! The other end of the band in which a drive that is sold lies: which units its firmware collects is not published, and
//! it matters. An answer is reported for greedy victims, with the figure for victims by benefit and age.

use std::collections::BTreeMap;

use anabranch_placement::SchemeSpec;
use anabranch_replay::{ORDINARY, OtherVictims, SOLD, Start};
use anabranch_ssd::victims::VictimRule;
use anabranch_trace::Sample;

use super::Running;
use crate::{
    compared_drive::ComparedDrive,
    error::{CompareError, Result},
    options::ComparisonOptions,
};

/// Starts the ordinary drive and the one that is sold once more, with victims by benefit and age. `None` where the drive
/// is not greedy, takes time, or schemes are named: then the band is not asked for.
///
/// # Errors
/// When a scheme does not fit the drive.
pub(super) fn start(
    drive: &ComparedDrive,
    options: &ComparisonOptions,
    start: &Start<'_>,
    samples: &[Sample],
) -> Result<Option<Running>> {
    let is_asked = options.is_default() && start.clock.is_none();
    if !is_asked || drive.config.victim_rule != VictimRule::Greedy {
        return Ok(None);
    }
    let mut drive = drive.clone();
    drive.config.victim_rule = VictimRule::CostBenefitRoot;
    let pair = format!("{ORDINARY},{SOLD}");
    let specs = SchemeSpec::parse_list(&pair).map_err(CompareError::usage)?;
    let options = ComparisonOptions {
        schemes: vec![pair],
        lifetimes: None,
        details: false,
        ..options.clone()
    };
    Running::start(&specs, &drive, &options, start, samples, &[]).map(Some)
}

/// Waits for the pair, and returns its figures.
///
/// # Errors
/// When a lane has failed.
pub(super) fn finish(pair: Running) -> Result<OtherVictims> {
    let found = pair.finish(BTreeMap::new(), 0)?;
    let waf = |name: &str| {
        let mut schemes = found.schemes.iter();
        schemes.find(|scheme| scheme.name == name)?.waf_window
    };
    Ok(OtherVictims {
        victim_rule: found.device.victim_rule.to_string(),
        waf_before: waf(ORDINARY),
        waf_with: waf(SOLD),
    })
}
