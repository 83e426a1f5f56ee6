//! The named settings that are tried on miniature drives.

use super::super::{
    setting::{CLASSES, Copies, Guide, Setting, Victims},
    stream_budget::StreamBudget,
};
use crate::{halves::DeviceHalf, parameter::one_of};

one_of! {
    /// The name of a setting, or of the choice among all.
    SettingName {
        /// The cheapest on miniature drives.
        Cheapest = "cheapest",
        /// Rules over files' names.
        Rules = "rules",
        /// The same, a victim's age in full.
        RulesAge = "rules-age",
        /// Rules over files' names, and three classes of predicted lives where none matches.
        RulesClasses = "rules-classes",
        /// Classes of predicted lives.
        Classes = "classes",
        /// The same, a victim's age in full.
        ClassesAge = "classes-age",
        /// Classes, and one stream of copies; a victim's age in full.
        ClassesCopiesAge = "classes-copies-age",
        /// Three classes, of the host half alone.
        ThreeClasses = "three-classes",
        /// Two classes, the emptiest unit as victim.
        TwoClassesEmptiest = "two-classes-emptiest",
        /// One stream, and one of copies.
        Single = "single",
        /// One stream, and copies a stream further each time; a victim's age in full.
        SingleChainAge = "single-chain-age",
        /// One stream, and one of copies; the emptiest unit as victim.
        SingleEmptiest = "single-emptiest",
        /// A stream for each file while it is written.
        Objects = "objects",
    }
}

/// A setting and the name that reports give it, one of its kind on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Candidate {
    pub name: SettingName,
    pub setting: Setting,
}

/// A row of the tables below.
fn row(
    name: SettingName,
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
    use Guide::{Lives, Objects, Rules, RulesAndLives};
    use SettingName as Name;
    use Victims::{CostBenefit, CostBenefitRoot, Emptiest};
    let (usual, three, two) = (
        budget.classes(CLASSES),
        budget.classes(3),
        budget.classes(2),
    );
    let objects = budget.most_classes();
    vec![
        row(Name::Rules, Rules, usual, One, CostBenefitRoot),
        row(
            Name::RulesClasses,
            RulesAndLives,
            three,
            One,
            CostBenefitRoot,
        ),
        row(Name::Classes, Lives, usual, Together, CostBenefitRoot),
        row(Name::ClassesAge, Lives, usual, Together, CostBenefit),
        row(Name::ClassesCopiesAge, Lives, usual, One, CostBenefit),
        row(Name::TwoClassesEmptiest, Lives, two, Together, Emptiest),
        row(Name::RulesAge, Rules, usual, One, CostBenefit),
        row(Name::Single, Lives, 1, One, CostBenefitRoot),
        row(Name::SingleChainAge, Lives, 1, Chain, CostBenefit),
        row(Name::SingleEmptiest, Lives, 1, One, Emptiest),
        row(Name::Objects, Objects, objects, One, CostBenefitRoot),
    ]
}

/// Copies and victims are the drive's. One class is a drive without streams.
fn host_half(budget: &StreamBudget) -> Vec<Candidate> {
    use Copies::Together;
    use Guide::{Lives, Objects, Rules, RulesAndLives};
    use SettingName as Name;
    use Victims::Emptiest;
    let (usual, three, objects) = (
        budget.classes(CLASSES),
        budget.classes(3),
        budget.most_classes(),
    );
    vec![
        row(Name::Rules, Rules, usual, Together, Emptiest),
        row(Name::RulesClasses, RulesAndLives, three, Together, Emptiest),
        row(Name::Classes, Lives, usual, Together, Emptiest),
        row(Name::ThreeClasses, Lives, three, Together, Emptiest),
        row(Name::Single, Lives, 1, Together, Emptiest),
        row(Name::Objects, Objects, objects, Together, Emptiest),
    ]
}
