//! A bounded number of label values for any number of contexts.

use std::collections::{BTreeMap, HashSet};

use anabranch_replay::ContextLives;

/// Contexts that have a label of their own, for as long as the process lives (our choice: a monitoring system
/// keeps a series for each).
const MOST: usize = 64;

/// Bytes by context, where all but a few count as one. Every number only rises.
#[derive(Debug, Clone, Default)]
pub struct ContextLabels {
    /// Of each context with a label: what it had written when it got it, and what it has written by now.
    own: BTreeMap<u32, (u64, u64)>,
    /// Contexts that were among the others.
    others: HashSet<u32>,
    /// Writes of the others.
    other_bytes: u64,
}

impl ContextLabels {
    /// Takes in what contexts have written by now, those with most bytes first, of so many bytes in all.
    pub fn update(&mut self, contexts: &[ContextLives], all_bytes: u64) {
        for context in contexts {
            let bytes = context.written_bytes;
            if let Some((_, now)) = self.own.get_mut(&context.id) {
                *now = bytes.max(*now);
            } else if self.own.len() < MOST {
                // Bytes that it wrote while it had no label stay with the others.
                let from = if self.others.remove(&context.id) {
                    bytes
                } else {
                    0
                };
                self.own.insert(context.id, (from, bytes));
            } else {
                self.others.insert(context.id);
            }
        }
        let own: u64 = self.own.values().map(|(from, now)| now - from).sum();
        self.other_bytes = self.other_bytes.max(all_bytes.saturating_sub(own));
    }

    /// Bytes of a context with a label since it has one.
    pub fn bytes_of(&self, context: u32) -> Option<u64> {
        self.own.get(&context).map(|(from, now)| now - from)
    }

    /// Contexts with a label, and their bytes.
    pub fn own(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.own.iter().map(|(id, (from, now))| (*id, now - from))
    }

    /// Bytes written by contexts without a label of their own.
    pub fn other_bytes(&self) -> u64 {
        self.other_bytes
    }
}

#[cfg(test)]
mod tests {
    use anabranch_replay::Lives;

    use super::*;

    fn context(id: u32, written_bytes: u64) -> ContextLives {
        ContextLives {
            id,
            signature: format!("{id:016x}"),
            label: String::new(),
            kind: None,
            role: String::new(),
            path: Vec::new(),
            writes: 1,
            written_bytes,
            lives: Lives::default(),
        }
    }

    #[test]
    fn labels_are_few_and_their_sum_is_all() {
        let mut labels = ContextLabels::default();
        let mut last = 0;
        for round in 1..=20_u64 {
            let contexts: Vec<_> = (0..200).map(|id| context(id, round * 10)).collect();
            labels.update(&contexts, round * 2000);
            assert_eq!(labels.own().count(), MOST);
            let own: u64 = labels.own().map(|(_, bytes)| bytes).sum();
            assert_eq!(own + labels.other_bytes(), round * 2000);
            assert!(labels.other_bytes() > last);
            last = labels.other_bytes();
        }
        assert_eq!(
            (labels.bytes_of(0), labels.bytes_of(199)),
            (Some(200), None)
        );
    }
}
