//! Which closed unit is collected next.

mod by_stream;
mod closed;
mod cost_benefit;
mod fifo;
mod greedy;
mod per_chip;
mod random;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub use by_stream::{ClosedUnit, ClosedUnits};

use crate::{config::Config, error::UnknownName, relocate::Relocate, types::StreamId};
use cost_benefit::CostBenefit;
use fifo::Fifo;
use greedy::Greedy;
use per_chip::PerChip;
use random::Choices;

/// The victim rules there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VictimRule {
    /// The unit with the fewest valid pages; of equals the one longest unchanged.
    #[default]
    Greedy,
    /// The unit with the highest benefit for its cost, `age x (1 - u) / 2u` with `u` its valid
    /// share and age the host pages written since it was closed (Rosenblum and Ousterhout, the
    /// log-structured file system, SOSP'91, §3.5; age since closing as SepBIT has it).
    CostBenefit,
    /// As cost-benefit, with the square root of the age: `√age x (1 - u) / u`, as `SepBIT`'s simulator
    /// has it (FAST'22, `selection/CostBenefit.java`), which its published figures were made with.
    CostBenefitRoot,
    /// The unit closed first.
    Fifo,
    /// Any unit, each as likely.
    Random,
    /// The one with the fewest valid pages of this many drawn at random.
    Choices(u8),
    /// The unit the scheme names ([`Relocate::choose_victim`]), or else the one with the fewest
    /// valid pages.
    Scheme,
    /// Greedy in each chip by itself, one victim of every chip in a round: the PCStream
    /// emulator's rule.
    PerChip,
}

/// The rules that have a name, in the order of the lists people see; `N-choices` has a number besides.
pub(crate) const NAMED: &[(VictimRule, &str)] = &[
    (VictimRule::Greedy, "greedy"),
    (VictimRule::CostBenefit, "cost-benefit"),
    (VictimRule::CostBenefitRoot, "cost-benefit-root"),
    (VictimRule::Fifo, "fifo"),
    (VictimRule::Random, "random"),
    (VictimRule::PerChip, "greedy-per-chip"),
    (VictimRule::Scheme, "scheme"),
];

impl fmt::Display for VictimRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMED.iter().find(|(rule, _)| rule == self)) {
            (VictimRule::Choices(choices), _) => write!(f, "{choices}-choices"),
            (_, Some((_, name))) => f.write_str(name),
            (_, None) => fmt::Debug::fmt(self, f),
        }
    }
}

impl FromStr for VictimRule {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<VictimRule, UnknownName> {
        if let Some((rule, _)) = NAMED.iter().find(|(_, name)| *name == text) {
            return Ok(*rule);
        }
        let names: Vec<&str> = NAMED.iter().map(|(_, name)| *name).collect();
        match text.strip_suffix("-choices").map(str::parse) {
            Some(Ok(choices @ 1..)) => Ok(VictimRule::Choices(choices)),
            _ => Err(UnknownName {
                what: "victim rule",
                word: text.to_owned(),
                known: names.join(", ") + ", and N-choices with N from 1 to 255",
            }),
        }
    }
}

impl Serialize for VictimRule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VictimRule {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<VictimRule, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// The closed units, ordered as their rule needs it. A rule costs constant or logarithmic time
/// for each victim, and next to nothing for each page that dies.
#[derive(Debug)]
pub(crate) enum Victims {
    Greedy(Greedy),
    CostBenefit(CostBenefit),
    Fifo(Fifo),
    Choices(Choices),
    PerChip(PerChip),
    ByStream(ClosedUnits),
}

impl Victims {
    /// For `units` units, numbered from 0.
    pub(crate) fn new(config: &Config, units: u32) -> Victims {
        let pages = config.pages_per_unit;
        match config.victim_rule {
            VictimRule::Greedy => Victims::Greedy(Greedy::new(units, pages)),
            VictimRule::CostBenefit => {
                Victims::CostBenefit(CostBenefit::new(units, pages, |age| age))
            }
            VictimRule::CostBenefitRoot => {
                Victims::CostBenefit(CostBenefit::new(units, pages, f64::sqrt))
            }
            VictimRule::Fifo => Victims::Fifo(Fifo::new(units)),
            VictimRule::Random => Victims::Choices(Choices::new(units, 1, config.seed)),
            VictimRule::Choices(choices) => {
                Victims::Choices(Choices::new(units, choices, config.seed))
            }
            VictimRule::PerChip => Victims::PerChip(PerChip::new(units, pages, config.chips)),
            VictimRule::Scheme => {
                Victims::ByStream(ClosedUnits::new(units, pages, config.streams()))
            }
        }
    }

    /// A unit of `stream`, opened at `opened_at`, was closed at logical time `now` with `valid`
    /// valid pages.
    pub(crate) fn insert(
        &mut self,
        unit: u32,
        valid: u32,
        stream: StreamId,
        opened_at: u64,
        now: u64,
    ) {
        match self {
            Victims::Greedy(rule) => rule.insert(unit, valid),
            Victims::CostBenefit(rule) => rule.insert(unit, valid, now),
            Victims::Fifo(rule) => rule.insert(unit),
            Victims::Choices(rule) => rule.insert(unit, valid),
            Victims::PerChip(rule) => rule.insert(unit, valid),
            Victims::ByStream(rule) => rule.insert(unit, valid, stream, opened_at, now),
        }
    }

    /// A closed unit is about to be emptied.
    pub(crate) fn remove(&mut self, unit: u32) {
        match self {
            Victims::Greedy(rule) => rule.remove(unit),
            Victims::CostBenefit(rule) => rule.remove(unit),
            Victims::Fifo(rule) => rule.remove(unit),
            Victims::Choices(rule) => rule.remove(unit),
            Victims::PerChip(rule) => rule.remove(unit),
            Victims::ByStream(rule) => rule.remove(unit),
        }
    }

    /// A closed unit now has `valid` valid pages.
    #[inline]
    pub(crate) fn moved(&mut self, unit: u32, valid: u32) {
        match self {
            Victims::Greedy(rule) => rule.moved(unit, valid),
            Victims::CostBenefit(rule) => rule.moved(unit, valid),
            Victims::Fifo(_) => {}
            Victims::Choices(rule) => rule.moved(unit, valid),
            Victims::PerChip(rule) => rule.moved(unit, valid),
            Victims::ByStream(rule) => rule.moved(unit, valid),
        }
    }

    /// The next victim; it stays until it is removed. A rule that does not look at valid pages
    /// may name a unit without a dead one.
    pub(crate) fn choose(
        &mut self,
        now: u64,
        scheme: &mut (impl Relocate + ?Sized),
    ) -> Option<u32> {
        match self {
            Victims::Greedy(rule) => rule.choose(),
            Victims::CostBenefit(rule) => rule.choose(now),
            Victims::Fifo(rule) => rule.choose(),
            Victims::Choices(rule) => rule.choose(),
            Victims::PerChip(rule) => rule.choose(),
            Victims::ByStream(rule) => match scheme.choose_victim(rule, now) {
                Some(unit) if rule.contains(unit) => Some(unit),
                _ => rule.fewest_valid(),
            },
        }
    }

    /// Whether a round of collection is under way that the rule wants finished.
    pub(crate) fn is_mid_round(&self) -> bool {
        match self {
            Victims::PerChip(rule) => rule.is_mid_round(),
            _ => false,
        }
    }

    /// What it takes to make the same lists again.
    pub(crate) fn order(&self) -> Order {
        let (entered, changed, chance) = match self {
            Victims::Greedy(rule) => (rule.listed(), Vec::new(), 0),
            Victims::CostBenefit(rule) => (rule.listed(), Vec::new(), 0),
            Victims::Fifo(rule) => (rule.listed(), Vec::new(), 0),
            Victims::Choices(rule) => (rule.listed(), Vec::new(), rule.chance()),
            Victims::PerChip(rule) => (rule.listed(), Vec::new(), rule.turn()),
            Victims::ByStream(rule) => {
                let (entered, changed) = rule.listed();
                (entered, changed, 0)
            }
        };
        Order {
            entered,
            changed,
            chance,
        }
    }

    /// Goes on at what [`Order::chance`] tells.
    pub(crate) fn set_chance(&mut self, chance: u64) {
        match self {
            Victims::Choices(rule) => rule.set_chance(chance),
            Victims::PerChip(rule) => rule.set_turn(chance),
            _ => {}
        }
    }
}

/// The order of closed units: inserted in the order of `entered`, then told of again in the order
/// of `changed`, they make the same lists.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) entered: Vec<u32>,
    /// Empty where `entered` says it all.
    pub(crate) changed: Vec<u32>,
    /// State of a rule that draws, or whose turn goes round.
    pub(crate) chance: u64,
}
