//! The rules of contexts.

use serde::Serialize;
use thiserror::Error;

/// A rule that a command breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Error, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The device has fewer contexts.
    #[error("a context beyond MAX_CONTEXT_ID")]
    Number,
    /// A context is closed before it is configured anew.
    #[error("an open context is configured anew")]
    Reopened,
    /// A reliability mode that is reserved, or that needs large units.
    #[error("a reserved reliability mode")]
    Reliability,
    /// A multiplier of 0, or beyond the device's.
    #[error("a multiplier of large units that the device does not have")]
    Multiplier,
    /// A context is configured before it is used.
    #[error("a closed context is used")]
    Closed,
    /// A context open for reads alone is written.
    #[error("a read-only context is written")]
    WriteInReadOnly,
    /// A context open for writes alone is read.
    #[error("a write-only context is read")]
    ReadInWriteOnly,
    /// A read of data that an open write-only context wrote.
    #[error("what an open write-only context wrote is read")]
    ReadOfWriteOnly,
    /// A write to data that an open read-only context read.
    #[error("what an open read-only context read is written")]
    WriteOfReadOnly,
    /// A large unit is accessed in order, from beginning to end.
    #[error("a large unit is accessed out of order")]
    UnitOrder,
    /// Writes of large units are of whole blocks of the best size (here pages).
    #[error("a large unit is written in parts of pages")]
    UnitGranularity,
    /// A large unit that is being written is changed from outside its context.
    #[error("a large unit that a context is writing is changed from outside")]
    UnitOfAnother,
    /// The command reaches beyond the device's end.
    #[error("an address beyond the device's end")]
    Address,
    /// Parts of a packed command are told by its first block, which a trace of commands lacks.
    #[error("a packed command, whose parts are not told")]
    Packed,
    /// The address of a queued task is CMD45's; the command that performs the task has its number alone.
    #[error("a queued task, whose address is not told")]
    TaskAddress,
}

impl Rule {
    /// Source of the rule. Rules of eMMC's contexts that JESD220G repeats for UFS are cited from there.
    pub fn clause(self) -> &'static str {
        match self {
            Rule::Number => "EXT_CSD CONTEXT_CAPABILITIES [496], bits 3:0",
            Rule::Reopened => "JESD220G, 13.4.10",
            Rule::Reliability => "EXT_CSD CONTEXT_CONF [51:37], bits 7:6",
            Rule::Multiplier => "EXT_CSD CONTEXT_CAPABILITIES [496], bits 6:4",
            Rule::Closed => "JESD220G, 13.4.10.1",
            Rule::WriteInReadOnly
            | Rule::ReadInWriteOnly
            | Rule::ReadOfWriteOnly
            | Rule::WriteOfReadOnly => "JESD220G, 13.4.10.2",
            Rule::UnitOrder | Rule::UnitGranularity | Rule::UnitOfAnother => "JESD220G, 13.4.10.3",
            Rule::Address => "device status, bit 31",
            Rule::Packed => "SET_BLOCK_COUNT (CMD23), bit 30",
            Rule::TaskAddress => "QUEUED_TASK_ADDRESS (CMD45)",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rules_of_one_clause_are_those_of_direction_and_those_of_large_units() {
        use Rule::*;
        let together: [&[Rule]; 10] = [
            &[Number],
            &[Reopened],
            &[Reliability],
            &[Multiplier],
            &[Closed],
            &[
                WriteInReadOnly,
                ReadInWriteOnly,
                ReadOfWriteOnly,
                WriteOfReadOnly,
            ],
            &[UnitOrder, UnitGranularity, UnitOfAnother],
            &[Address],
            &[Packed],
            &[TaskAddress],
        ];
        let clauses: BTreeSet<&str> = together.iter().map(|rules| rules[0].clause()).collect();
        assert_eq!(clauses.len(), together.len(), "{clauses:?}");
        assert!(!clauses.contains(""));
        for rules in together {
            let clause = rules[0].clause();
            assert!(
                rules.iter().all(|rule| rule.clause() == clause),
                "{rules:?}"
            );
        }
    }
}
