//! The named settings that are tried on miniature drives.

use super::super::{
    setting::{CLASSES, Copies, Guide, Setting, Victims},
    stream_budget::StreamBudget,
};
use crate::scheme::DeviceHalf;

/// A setting and the name that reports give it, one of its kind on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Candidate {
    pub name: &'static str,
    pub setting: Setting,
}

/// A row of the tables below.
fn row(
    name: &'static str,
    guide: Guide,
    classes: u8,
    copies: Copies,
    victims: Victims,
) -> Candidate {
    Candidate {
        name,
        setting: Setting {
            guide,
            classes,
            copies,
            victims,
        },
    }
}

/// All settings for a drive whose copies and victims `beside` decides, the first leader first.
///
/// A name ends in `-age` where a victim's age counts in full and not by its root, in `-emptiest` where it does not count,
/// and in `-copies` where copies have one stream of their own.
pub(in super::super) fn settings(budget: &StreamBudget, beside: DeviceHalf) -> Vec<Candidate> {
    match beside {
        DeviceHalf::Own => whole(budget),
        DeviceHalf::Relocation(_) => host_half(budget),
    }
}

/// The settings tried on a drive. Without `names` there is none that goes by files. Where the drive has room for few
/// classes, two rows may be one setting: the first has it.
pub(super) fn candidates(budget: &StreamBudget, beside: DeviceHalf, names: bool) -> Vec<Candidate> {
    let all = settings(budget, beside);
    let mut candidates: Vec<Candidate> = Vec::with_capacity(all.len());
    for one in all {
        let is_new = candidates.iter().all(|other| other.setting != one.setting);
        if is_new && (names || one.setting.guide == Guide::Lives) {
            candidates.push(one);
        }
    }
    candidates
}

/// Copies and victims are the scheme's; victims are sought among all units. The single streams go by nothing learned.
fn whole(budget: &StreamBudget) -> Vec<Candidate> {
    use Copies::{Chain, One, Together};
    use Guide::{Lives, Objects, Rules};
    use Victims::{CostBenefit, CostBenefitRoot, Emptiest};
    let (usual, two, objects) = (
        budget.classes(CLASSES),
        budget.classes(2),
        budget.most_classes(),
    );
    vec![
        row("rules", Rules, usual, One, CostBenefitRoot),
        row("classes", Lives, usual, Together, CostBenefitRoot),
        row("classes-age", Lives, usual, Together, CostBenefit),
        row("classes-copies", Lives, usual, One, CostBenefitRoot),
        row("classes-copies-age", Lives, usual, One, CostBenefit),
        row("two-classes-emptiest", Lives, two, Together, Emptiest),
        row("rules-age", Rules, usual, One, CostBenefit),
        row("single", Lives, 1, One, CostBenefitRoot),
        row("single-chain-age", Lives, 1, Chain, CostBenefit),
        row("single-emptiest", Lives, 1, One, Emptiest),
        row("objects", Objects, objects, One, CostBenefitRoot),
    ]
}

/// Copies and victims are the drive's. One class is a drive without streams.
fn host_half(budget: &StreamBudget) -> Vec<Candidate> {
    use Copies::Together;
    use Guide::{Lives, Objects, Rules};
    use Victims::Emptiest;
    let (usual, three, objects) = (
        budget.classes(CLASSES),
        budget.classes(3),
        budget.most_classes(),
    );
    vec![
        row("rules", Rules, usual, Together, Emptiest),
        row("classes", Lives, usual, Together, Emptiest),
        row("three-classes", Lives, three, Together, Emptiest),
        row("single", Lives, 1, Together, Emptiest),
        row("objects", Objects, objects, Together, Emptiest),
    ]
}
