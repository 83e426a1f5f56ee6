//! Statistics of each program context for reports. A placement learns from
//! [`ContextStats`](crate::ContextStats) instead, which is lean.

use std::ops::Range;

use anabranch_trace::ContextId;

use crate::{Death, LbaTable, LifetimeHistogram};

/// Statistics of one context over a whole run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextProfile {
    /// Write requests.
    pub writes: u64,
    /// Pages that the context wrote, rewritten ones each time.
    pub written_pages: u64,
    /// Lifetimes of the pages whose life ended, by overwrite or discard.
    pub lifetimes: LifetimeHistogram,
}

/// Follows a run and keeps a profile of each context. Memory: the table's bound, and up to
/// some 30 KiB for each context that has data die.
#[derive(Debug, Clone)]
pub struct ContextProfiles {
    table: LbaTable,
    profiles: Vec<ContextProfile>,
}

impl ContextProfiles {
    /// Profiles of a run on a drive of `logical_pages`, with a lifetime table of at most
    /// `max_table_bytes`, for contexts `0..contexts` (the rows of the trace's context table).
    pub fn new(logical_pages: u32, max_table_bytes: usize, contexts: usize) -> ContextProfiles {
        ContextProfiles {
            table: LbaTable::new(logical_pages, max_table_bytes),
            profiles: vec![ContextProfile::default(); contexts],
        }
    }

    /// Records that `context` writes `pages` at logical time `now_pages`. A context beyond the
    /// number given at the start counts as unknown.
    pub fn write(&mut self, pages: Range<usize>, context: ContextId, now_pages: u64) {
        if let Some(profile) = self.profiles.get_mut(context.0 as usize) {
            profile.writes += 1;
            profile.written_pages += pages.len() as u64;
        }
        let profiles = &mut self.profiles;
        let on_death = |death| record(profiles, death);
        self.table.write(pages, context, now_pages, on_death);
    }

    /// Records that the host discards `pages` at logical time `now_pages`.
    pub fn discard(&mut self, pages: Range<usize>, now_pages: u64) {
        let profiles = &mut self.profiles;
        self.table
            .discard(pages, now_pages, |death| record(profiles, death));
    }

    /// One profile per context, in the order of their ids.
    pub fn profiles(&self) -> &[ContextProfile] {
        &self.profiles
    }
}

fn record(profiles: &mut [ContextProfile], death: Death) {
    if let Some(profile) = profiles.get_mut(death.context.0 as usize) {
        profile.lifetimes.record(death.lifetime_pages, death.pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_counts_writes_and_both_ends_of_a_life() {
        let mut profiles = ContextProfiles::new(1000, 1 << 20, 3);
        profiles.write(0..100, ContextId(1), 0);
        profiles.write(100..300, ContextId(2), 100);
        profiles.write(0..50, ContextId(2), 300);
        profiles.discard(50..1000, 350);
        let first = &profiles.profiles()[1];
        assert_eq!((first.writes, first.written_pages), (1, 100));
        assert_eq!(first.lifetimes.pages(), 100);
        let second = &profiles.profiles()[2];
        assert_eq!((second.writes, second.written_pages), (2, 250));
        assert_eq!(second.lifetimes.pages(), 200);
        assert_eq!(profiles.profiles()[0], ContextProfile::default());
    }

    #[test]
    fn a_context_beyond_the_table_is_passed_over() {
        let mut profiles = ContextProfiles::new(10, 1 << 20, 1);
        profiles.write(0..5, ContextId(7), 0);
        profiles.discard(0..10, 5);
        assert_eq!(profiles.profiles(), [ContextProfile::default()]);
    }
}
