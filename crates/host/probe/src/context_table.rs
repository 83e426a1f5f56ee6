//! The table that turns writers into a bounded number of contexts.

use std::collections::HashMap;

use anabranch_trace::{Context, ContextId, ContextKind};

use crate::bounded::BoundedMap;
use crate::writer::{CallSite, Writer, signature_in};

/// Folding of stacks into contexts. The defaults are our choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldLimits {
    /// The most contexts, the unknown one included; at least 2.
    pub max_contexts: u32,
    /// The most contexts of one role (threads whose names differ in digits only).
    pub max_contexts_per_role: u32,
    /// The most stacks that are watched because they may yet earn a context; beyond that, the stack not seen for
    /// longest is forgotten.
    pub max_candidates: usize,
    /// Number of stacks of a role that get a context at their first write; later ones must earn it.
    pub free_contexts: u32,
    /// Bytes that a stack must have written to earn a context of its own; [`FoldLimits::earn_writes`] is the other way.
    pub earn_bytes: u64,
    /// Number of writes by which a stack earns a context of its own.
    pub earn_writes: u64,
    /// Number of contexts of a role after which the price of the next ones doubles.
    pub contexts_per_doubling: u32,
    /// Number of innermost calls by which stacks without a context of their own are grouped.
    pub shared_depth: usize,
    /// The most files in the table; later ones count as "no file".
    pub max_files: usize,
}

impl Default for FoldLimits {
    fn default() -> Self {
        FoldLimits {
            max_contexts: 1024,
            max_contexts_per_role: 128,
            max_candidates: 8192,
            free_contexts: 0,
            earn_bytes: 64 << 10,
            earn_writes: 4,
            contexts_per_doubling: 16,
            shared_depth: 4,
            // Some 100 MiB of memory.
            max_files: 1 << 20,
        }
    }
}

/// A group of stacks must write this many times as much as a single stack, so that the first writes of a stack that
/// soon gets its own context do not create one for its group. Our choice.
const GROUP_PRICE: u64 = 4;

/// Turns writers into contexts. Every answer is final and depends only on the calls so far, so a
/// replay of the trace sees the contexts that were seen live.
///
/// A writer's stack has a context of its own once it has written enough. Until then its writes
/// count for the *group* of all stacks with the same role and the same innermost calls, if that
/// group has a context, else for the role. The more contexts a role has earned, the more a new one
/// must have written: the thousands of stacks of an interpreter, or of code without frame
/// pointers, share a few contexts, while an application with some dozen call paths gets them all.
#[derive(Debug)]
pub(crate) struct ContextTable {
    limits: FoldLimits,
    rows: Vec<Row>,
    ids: HashMap<u64, ContextId>,
    earned_by_role: HashMap<u64, u32>,
    candidates: BoundedMap<u64, Written>,
    /// Bytes written for one request that is told, on average, where only those of samples are; 0 where all are.
    told_each_bytes: u64,
}

#[derive(Debug)]
struct Row {
    signature: u64,
    kind: ContextKind,
    role: Box<str>,
    path: Box<[CallSite]>,
    generation: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Written {
    bytes: u64,
    writes: u64,
}

/// A writer with the signatures of the contexts that its bytes may count for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claims {
    pub(crate) writer: Writer,
    /// Of all its calls, if it has any.
    own: Option<u64>,
    /// Of the innermost calls, if there are more.
    group: Option<u64>,
    /// Of no call: of an application's thread, or of the kernel's.
    role: u64,
}

impl Claims {
    /// Generations tell apart what applications write.
    fn generation(&self, generation: u8) -> u8 {
        match self.writer.kind {
            ContextKind::Application => generation,
            _ => 0,
        }
    }
}

/// A context that a writer's bytes may count for.
#[derive(Clone, Copy)]
struct Claim {
    signature: u64,
    kind: ContextKind,
    depth: usize,
    generation: u8,
    /// The price of the context, as a multiple of the limits.
    price: u64,
}

impl ContextTable {
    /// A table that holds the unknown context only.
    pub(crate) fn new(limits: FoldLimits) -> ContextTable {
        ContextTable {
            limits,
            rows: Vec::new(),
            ids: HashMap::new(),
            earned_by_role: HashMap::new(),
            candidates: BoundedMap::new(limits.max_candidates),
            told_each_bytes: 0,
        }
    }

    /// From now on one request is told for so many bytes written, on average: a shorter one stands for those not told.
    pub(crate) fn told_each(&mut self, bytes: u64) {
        self.told_each_bytes = bytes;
    }

    /// The claims of `writer`, for [`ContextTable::attribute`].
    pub(crate) fn claims(&self, writer: Writer) -> Claims {
        let is_application = writer.kind == ContextKind::Application;
        let (depth, shared_depth) = (writer.path().len(), self.limits.shared_depth);
        let has_group = is_application && shared_depth > 0 && depth > shared_depth;
        Claims {
            own: (is_application && depth > 0)
                .then(|| writer.signature(ContextKind::Application, depth)),
            group: has_group.then(|| writer.signature(ContextKind::Folded, shared_depth)),
            role: writer.signature(role_kind(writer.kind), 0),
            writer,
        }
    }

    /// The context that `bytes` written by a writer to a file of a generation count for.
    pub(crate) fn attribute(&mut self, claims: &Claims, generation: u8, bytes: u64) -> ContextId {
        let writer = &claims.writer;
        let generation = claims.generation(generation);
        let claim = |signature, kind, depth, price| Claim {
            signature: signature_in(signature, generation),
            kind,
            depth,
            generation,
            price,
        };
        let own = claims
            .own
            .map(|signature| claim(signature, ContextKind::Application, writer.path().len(), 1));
        let shared_depth = self.limits.shared_depth;
        let group = claims
            .group
            .map(|signature| claim(signature, ContextKind::Folded, shared_depth, GROUP_PRICE));
        let role = claim(claims.role, role_kind(writer.kind), 0, 0);
        for claim in own.into_iter().chain(group) {
            if let Some(&id) = self.ids.get(&claim.signature) {
                return id;
            }
            if self.earns(claims.role, &claim, bytes) {
                self.candidates.remove(&claim.signature);
                *self.earned_by_role.entry(claims.role).or_default() += 1;
                return self.add(writer, claim);
            }
        }
        match self.ids.get(&role.signature) {
            Some(&id) => id,
            None => self.add(writer, role),
        }
    }

    /// Whether [`ContextTable::attribute`] will always give the same answer from now on.
    pub(crate) fn is_settled(&self, claims: &Claims, generation: u8) -> bool {
        let last = claims.own.unwrap_or(claims.role);
        let signature = signature_in(last, claims.generation(generation));
        self.ids.contains_key(&signature)
    }

    /// The rows, numbered without gaps, the unknown context first.
    pub(crate) fn contexts(&self) -> Vec<Context> {
        self.contexts_from(0)
    }

    /// The rows from `first` on.
    pub(crate) fn contexts_from(&self, first: usize) -> Vec<Context> {
        let unknown = (first == 0).then(Context::unknown);
        let rows = self.rows.iter().zip(1..).skip(first.saturating_sub(1));
        let contexts = rows.map(|(row, id)| Context {
            id: ContextId(id),
            signature: row.signature,
            kind: row.kind,
            role: row.role.to_string(),
            frames: row.path.iter().map(CallSite::frame).collect(),
            generation: row.generation,
        });
        unknown.into_iter().chain(contexts).collect()
    }

    /// Counts `bytes` for a stack or group without a context. Answers whether it has earned one now.
    fn earns(&mut self, role: u64, claim: &Claim, bytes: u64) -> bool {
        let earned = self.earned_by_role.get(&role).copied().unwrap_or(0);
        // The last quarter is kept for roles, so that a late thread still finds a place.
        let full = self.next_id() >= self.limits.max_contexts - self.limits.max_contexts / 4;
        if full || earned + 1 >= self.limits.max_contexts_per_role {
            return false;
        }
        if earned < self.limits.free_contexts {
            return true;
        }
        let mut written = self.candidates.remove(&claim.signature).unwrap_or_default();
        let writes = (self.told_each_bytes / bytes.max(1)).max(1);
        written.bytes = written
            .bytes
            .saturating_add(bytes.max(self.told_each_bytes));
        written.writes = written.writes.saturating_add(writes);
        self.candidates.insert(claim.signature, written);
        let doublings = earned / self.limits.contexts_per_doubling.max(1);
        let price = claim.price << doublings.min(32);
        written.bytes >= self.limits.earn_bytes.saturating_mul(price)
            || written.writes >= self.limits.earn_writes.saturating_mul(price)
    }

    /// Adds a row for a claim. Answers with the unknown context when there is no room left.
    fn add(&mut self, writer: &Writer, claim: Claim) -> ContextId {
        let id = self.next_id();
        if id >= self.limits.max_contexts {
            return ContextId::UNKNOWN;
        }
        self.rows.push(Row {
            signature: claim.signature,
            kind: claim.kind,
            role: writer.role.clone(),
            path: writer.path()[..claim.depth].into(),
            generation: claim.generation,
        });
        self.ids.insert(claim.signature, ContextId(id));
        ContextId(id)
    }

    fn next_id(&self) -> u32 {
        u32::try_from(self.rows.len() + 1).unwrap_or(u32::MAX)
    }
}

/// The kind of a context that is made of a writer's role alone.
fn role_kind(kind: ContextKind) -> ContextKind {
    match kind {
        ContextKind::Application => ContextKind::Folded,
        _ => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::Object;
    use proptest::prelude::*;
    use std::sync::Arc;

    const PAGE: u64 = 4096;

    fn code() -> Arc<Object> {
        Arc::new(Object {
            build_id: "aa".into(),
            path: "/bin/a".into(),
        })
    }

    fn writer(comm: &str, offsets: &[u64]) -> Writer {
        let code = code();
        let path = offsets.iter().map(|&file_offset| CallSite {
            object: code.clone(),
            file_offset,
        });
        Writer::new(ContextKind::Application, comm, path.collect())
    }

    fn attribute(table: &mut ContextTable, writer: Writer, bytes: u64) -> ContextId {
        let claims = table.claims(writer);
        table.attribute(&claims, 0, bytes)
    }

    fn kind_of(table: &ContextTable, id: ContextId) -> ContextKind {
        table.contexts()[id.0 as usize].kind
    }

    #[test]
    fn a_stack_earns_its_context_by_bytes_or_by_writes() {
        let mut table = ContextTable::new(FoldLimits::default());
        let large = attribute(&mut table, writer("a", &[1, 2]), 1 << 20);
        assert_eq!(kind_of(&table, large), ContextKind::Application);
        let kinds = [(); 4].map(|()| {
            let id = attribute(&mut table, writer("a", &[1, 3]), PAGE);
            kind_of(&table, id)
        });
        let folded = ContextKind::Folded;
        assert_eq!(kinds, [folded, folded, folded, ContextKind::Application]);
    }

    #[test]
    fn the_first_stacks_of_a_role_have_their_contexts_at_once_where_they_are_free() {
        let mut table = ContextTable::new(FoldLimits {
            free_contexts: 2,
            ..FoldLimits::default()
        });
        let kinds = [1, 2, 1, 3].map(|call| {
            let id = attribute(&mut table, writer("a", &[call]), PAGE);
            kind_of(&table, id)
        });
        let own = ContextKind::Application;
        assert_eq!(kinds, [own, own, own, ContextKind::Folded]);
    }

    #[test]
    fn of_a_sample_a_short_request_earns_what_those_would_that_are_not_told() {
        let kinds = |told_each_bytes| {
            let mut table = ContextTable::new(FoldLimits::default());
            table.told_each(told_each_bytes);
            [PAGE, PAGE].map(|bytes| {
                let id = attribute(&mut table, writer("a", &[1]), bytes);
                kind_of(&table, id)
            })
        };
        let [own, folded] = [ContextKind::Application, ContextKind::Folded];
        assert_eq!(kinds(0), [folded, folded]);
        // One of two pages: two requests stand for four, which is the price.
        assert_eq!(kinds(2 * PAGE), [folded, own]);
        assert_eq!(kinds(4 * PAGE), [own, own]);
    }

    #[test]
    fn a_writer_without_a_path_counts_for_its_role() {
        let mut table = ContextTable::new(FoldLimits::default());
        let id = attribute(&mut table, writer("worker3", &[]), 1 << 30);
        let context = &table.contexts()[id.0 as usize];
        assert_eq!(
            (context.kind, context.role.as_str()),
            (ContextKind::Folded, "worker")
        );
        assert!(context.frames.is_empty());
    }

    #[test]
    fn the_kernels_writers_have_contexts_at_once() {
        let mut table = ContextTable::new(FoldLimits::default());
        let journal = Writer::new(ContextKind::Journal, "jbd2/loop0-8", Vec::new());
        let id = attribute(&mut table, journal, PAGE);
        let context = &table.contexts()[id.0 as usize];
        assert_eq!(
            (context.kind, context.role.as_str()),
            (ContextKind::Journal, "jbd/loop-")
        );
    }

    #[test]
    fn sixteen_thousand_garbage_stacks_share_a_few_contexts() {
        let mut table = ContextTable::new(FoldLimits::default());
        for garbage in 0..16_000 {
            for _ in 0..6 {
                attribute(
                    &mut table,
                    writer("java", &[1, 2, 3, 4, 1000 + garbage]),
                    2 * PAGE,
                );
            }
        }
        let contexts = table.contexts();
        assert!(contexts.len() < 100, "{} contexts", contexts.len());
        let group = attribute(&mut table, writer("java", &[1, 2, 3, 4, 7]), PAGE);
        assert_eq!(contexts[group.0 as usize].frames.len(), 4);
    }

    #[test]
    fn a_real_path_still_earns_a_context_amid_garbage() {
        let mut table = ContextTable::new(FoldLimits::default());
        for garbage in 0..16_000 {
            attribute(
                &mut table,
                writer("java", &[1, 2, 3, 4, 1000 + garbage]),
                16 * PAGE,
            );
            attribute(&mut table, writer("java", &[1, 2, 3, 5, 6]), 4 * PAGE);
        }
        let id = attribute(&mut table, writer("java", &[1, 2, 3, 5, 6]), PAGE);
        assert_eq!(kind_of(&table, id), ContextKind::Application);
    }

    #[test]
    fn rows_can_be_read_as_they_are_added() {
        let mut table = ContextTable::new(FoldLimits::default());
        assert_eq!(table.contexts_from(0), [Context::unknown()]);
        attribute(&mut table, writer("a", &[]), PAGE);
        attribute(&mut table, writer("b", &[]), PAGE);
        let all = table.contexts();
        assert_eq!(table.contexts_from(1), all[1..]);
        assert_eq!(table.contexts_from(2), all[2..]);
        assert!(table.contexts_from(3).is_empty());
    }

    #[test]
    fn a_full_table_answers_unknown() {
        let limits = FoldLimits {
            max_contexts: 4,
            ..FoldLimits::default()
        };
        let mut table = ContextTable::new(limits);
        let ids: Vec<u32> = ["a", "b", "c", "d"]
            .iter()
            .map(|role| attribute(&mut table, writer(role, &[]), PAGE).0)
            .collect();
        assert_eq!(ids, [1, 2, 3, 0]);
    }

    fn a_write() -> impl Strategy<Value = (u8, Vec<u64>, u64)> {
        (
            0_u8..6,
            proptest::collection::vec(0_u64..5, 0..8),
            1_u64..1 << 20,
        )
    }

    proptest! {
        #[test]
        fn answers_are_final_bounded_and_depend_on_the_calls_alone(writes in proptest::collection::vec(a_write(), 1..300)) {
            let limits = FoldLimits { max_contexts: 24, max_contexts_per_role: 8, max_candidates: 16, contexts_per_doubling: 2, ..FoldLimits::default() };
            let (mut table, mut again) = (ContextTable::new(limits), ContextTable::new(limits));
            let mut before = table.contexts();
            for (role, path, bytes) in writes {
                let writer = writer(&format!("role-{}", char::from(b'a' + role)), &path);
                let id = attribute(&mut table, writer.clone(), bytes);
                prop_assert_eq!(id, attribute(&mut again, writer.clone(), bytes));
                let contexts = table.contexts();
                prop_assert_eq!(&contexts[..before.len()], &before[..], "rows never change");
                let row = &contexts[id.0 as usize];
                prop_assert!(id == ContextId::UNKNOWN || *row.role == *writer.role);
                let offsets: Vec<u64> = writer.path().iter().map(|site| site.file_offset).collect();
                prop_assert!(row.frames.iter().map(|frame| frame.file_offset).eq(offsets.into_iter().take(row.frames.len())));
                before = contexts;
            }
            prop_assert!(before.len() <= 24);
            let mut per_role = HashMap::new();
            for context in &before[1..] { *per_role.entry(&context.role).or_insert(0) += 1; }
            prop_assert!(per_role.values().all(|&count| count <= 8));
            let mut signatures: Vec<u64> = before.iter().map(|context| context.signature).collect();
            signatures.sort_unstable();
            signatures.dedup();
            prop_assert_eq!(signatures.len(), before.len());
        }
    }
}
