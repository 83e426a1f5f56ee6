//! The victim rules by name: which closed unit is collected next.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::error::UnknownName;

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
    /// Cost-benefit with the square root of the age: `√age x (1 - u) / u`, as `SepBIT`'s simulator has it (FAST'22,
    /// `selection/CostBenefit.java`), which its published figures were made with.
    CostBenefitRoot,
    /// The unit closed first.
    Fifo,
    /// A unit drawn at random, each as likely.
    Random,
    /// The unit with the fewest valid pages of this many drawn at random.
    Choices(u8),
    /// The unit the scheme names ([`Relocate::choose_victim`](crate::relocate::Relocate::choose_victim)), or else the one with the fewest
    /// valid pages.
    Scheme,
    /// Greedy in each chip by itself, one victim of every chip in a round: the PCStream
    /// emulator's rule.
    PerChip,
}

/// The rules that have a name, in the order of the lists people see; `N-choices` has a number besides.
const NAMED: &[(VictimRule, &str)] = &[
    (VictimRule::Greedy, "greedy"),
    (VictimRule::CostBenefit, "cost-benefit"),
    (VictimRule::CostBenefitRoot, "cost-benefit-root"),
    (VictimRule::Fifo, "fifo"),
    (VictimRule::Random, "random"),
    (VictimRule::PerChip, "greedy-per-chip"),
    (VictimRule::Scheme, "scheme"),
];

impl VictimRule {
    /// Every rule with a fixed name; the N-choices rules are not among them.
    pub fn named() -> impl Iterator<Item = VictimRule> {
        NAMED.iter().map(|(rule, _)| *rule)
    }
}

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
