//! Numbers of contexts that hold while probes come and go: a context is known by its signature.

use std::collections::HashMap;

use anabranch_trace::{Context, ContextId};

/// Contexts kept apart over all probes of a device; later ones are unknown (our choice: four times what one
/// probe tells apart).
const MOST: usize = 4096;

/// The contexts of a device.
#[derive(Debug)]
pub struct ContextNumbers {
    by_signature: HashMap<u64, ContextId>,
    table: Vec<Context>,
    /// Maps the present probe's numbers to ours.
    of_probe: Vec<ContextId>,
}

impl Default for ContextNumbers {
    fn default() -> ContextNumbers {
        ContextNumbers {
            by_signature: HashMap::new(),
            table: vec![Context::unknown()],
            of_probe: Vec::new(),
        }
    }
}

impl ContextNumbers {
    /// Numbers of another probe are those that come.
    pub fn forget_probe(&mut self) {
        self.of_probe.clear();
    }

    /// Goes on with the contexts that were kept.
    pub fn restore(&mut self, table: Vec<Context>) {
        for row in table.into_iter().skip(1) {
            self.add(row);
        }
    }

    /// Rows of the present probe that are known.
    pub fn known(&self) -> usize {
        self.of_probe.len()
    }

    /// Takes in the probe's next rows; answers those that are new here, by their numbers here.
    pub fn learn(&mut self, rows: Vec<Context>) -> Vec<Context> {
        let before = self.table.len();
        for row in rows {
            let id = self.add(row);
            self.of_probe.push(id);
        }
        self.table[before..].to_vec()
    }

    fn add(&mut self, mut row: Context) -> ContextId {
        if row.signature == 0 {
            return ContextId::UNKNOWN;
        }
        if let Some(id) = self.by_signature.get(&row.signature) {
            return *id;
        }
        if self.table.len() >= MOST {
            return ContextId::UNKNOWN;
        }
        let id = ContextId(u32::try_from(self.table.len()).unwrap_or(0));
        self.by_signature.insert(row.signature, id);
        row.id = id;
        self.table.push(row);
        id
    }

    /// The number here of a context of the present probe.
    pub fn number_of(&self, context: ContextId) -> ContextId {
        let own = self.of_probe.get(context.0 as usize);
        own.copied().unwrap_or(ContextId::UNKNOWN)
    }

    /// All contexts, by their numbers.
    pub fn table(&self) -> &[Context] {
        &self.table
    }

    /// Names the addresses of some contexts.
    pub fn name(&mut self, named: Vec<Context>) {
        for context in named {
            if let Some(row) = self.table.get_mut(context.id.0 as usize) {
                row.frames = context.frames;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_trace::ContextKind;

    use super::*;

    fn row(id: u32, signature: u64) -> Context {
        Context {
            id: ContextId(id),
            signature,
            kind: ContextKind::Application,
            ..Context::unknown()
        }
    }

    #[test]
    fn a_context_has_the_same_number_by_whichever_probe_it_is_seen() {
        let mut numbers = ContextNumbers::default();
        numbers.learn(vec![Context::unknown(), row(1, 10), row(2, 20)]);
        assert_eq!(numbers.number_of(ContextId(2)), ContextId(2));
        numbers.forget_probe();
        let new = numbers.learn(vec![Context::unknown(), row(1, 20), row(2, 30)]);
        assert_eq!(new, [row(3, 30)]);
        assert_eq!(numbers.number_of(ContextId(1)), ContextId(2));
        assert_eq!(numbers.number_of(ContextId(9)), ContextId::UNKNOWN);
    }

    #[test]
    fn there_are_no_more_than_so_many() {
        let mut numbers = ContextNumbers::default();
        numbers.learn((0..10_000).map(|id| row(id, 1 + u64::from(id))).collect());
        assert_eq!(numbers.table().len(), MOST);
        assert_eq!(numbers.number_of(ContextId(9_999)), ContextId::UNKNOWN);
    }
}
