//! Rule that chooses the next closed unit to collect.

mod by_stream;
mod closed;
mod cost_benefit;
mod fifo;
mod greedy;
mod per_chip;
mod random;
mod rings;

pub use crate::victim_rule::VictimRule;
pub use by_stream::{ClosedUnit, ClosedUnits};

use crate::{config::Config, types::StreamId};
use cost_benefit::CostBenefit;
use fifo::Fifo;
use greedy::Greedy;
use per_chip::PerChip;
use random::Choices;

/// The closing of a unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Closing {
    /// Its valid pages.
    pub(crate) valid: u32,
    /// The stream whose pages it holds.
    pub(crate) stream: StreamId,
    /// Time of opening, in pages the host had written.
    pub(crate) opened_at: u64,
    /// The device's clock when it was closed.
    pub(crate) now: u64,
}

/// A victim rule at work: the closed units, ordered as it needs them. It costs constant or logarithmic
/// time for each victim, and next to nothing for each page that dies.
trait Rule {
    fn insert(&mut self, unit: u32, closing: Closing);

    /// A closed unit is about to be emptied.
    fn remove(&mut self, unit: u32);

    /// A closed unit now has `valid` valid pages.
    fn moved(&mut self, unit: u32, valid: u32);

    /// The next victim; it stays until it is removed. A rule that does not look at valid pages
    /// may name a unit without a dead one.
    fn choose(&mut self, now: u64) -> Option<u32>;

    /// The order from which the same lists can be made again.
    fn order(&self) -> Order;

    /// Sets the state that [`Order::chance`] holds.
    fn set_chance(&mut self, _chance: u64) {}

    /// Whether a round of collection is under way that the rule wants finished.
    fn is_mid_round(&self) -> bool {
        false
    }
}

/// Calls a method of whichever rule it is: a match, so that each call is the rule's own code.
macro_rules! victims {
    ($($rule:ident),+) => {
        /// The closed units, ordered as their rule needs it.
        #[derive(Debug)]
        pub(crate) enum Victims {
            $($rule($rule)),+
        }

        impl Victims {
            pub(crate) fn insert(&mut self, unit: u32, closing: Closing) {
                match self { $(Victims::$rule(rule) => rule.insert(unit, closing)),+ }
            }

            pub(crate) fn remove(&mut self, unit: u32) {
                match self { $(Victims::$rule(rule) => rule.remove(unit)),+ }
            }

            #[inline]
            pub(crate) fn moved(&mut self, unit: u32, valid: u32) {
                match self { $(Victims::$rule(rule) => rule.moved(unit, valid)),+ }
            }

            /// The next victim; it stays until it is removed. `named` is the scheme's choice, asked for only
            /// where the rule leaves it to the scheme.
            pub(crate) fn choose(
                &mut self,
                now: u64,
                named: impl FnOnce(&mut ClosedUnits) -> Option<u32>,
            ) -> Option<u32> {
                let by_scheme = match self {
                    Victims::ClosedUnits(closed) => named(closed).filter(|&unit| closed.contains(unit)),
                    _ => None,
                };
                by_scheme.or_else(|| match self { $(Victims::$rule(rule) => rule.choose(now)),+ })
            }

            pub(crate) fn order(&self) -> Order {
                match self { $(Victims::$rule(rule) => rule.order()),+ }
            }

            pub(crate) fn set_chance(&mut self, chance: u64) {
                match self { $(Victims::$rule(rule) => rule.set_chance(chance)),+ }
            }

            pub(crate) fn is_mid_round(&self) -> bool {
                match self { $(Victims::$rule(rule) => rule.is_mid_round()),+ }
            }
        }
    };
}

victims!(Greedy, CostBenefit, Fifo, Choices, PerChip, ClosedUnits);

impl Victims {
    /// Empty lists for `units` units, numbered from 0.
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
                Victims::ClosedUnits(ClosedUnits::new(units, pages, config.streams()))
            }
        }
    }
}

/// The order of closed units: inserted in the order of `entered`, then told of again in the order of `changed`, they
/// make the same lists.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) entered: Vec<u32>,
    /// Empty where the order of `entered` is enough.
    pub(crate) changed: Vec<u32>,
    /// State of a rule that draws at random or takes chips in turn; 0 for others.
    pub(crate) chance: u64,
}

impl Order {
    /// The order of a rule that needs `entered` only.
    fn entered(entered: Vec<u32>) -> Order {
        Order {
            entered,
            changed: Vec::new(),
            chance: 0,
        }
    }
}
