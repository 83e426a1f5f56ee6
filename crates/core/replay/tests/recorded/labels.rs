//! Labels of contexts whose call paths are alike in all or in a part.

use anabranch_replay::{FilesWritten, labels};
use anabranch_trace::{Context, ContextId, ContextKind, Frame};

use crate::{Random, hold};

const CALLS: [&str; 6] = [
    "rocksdb::DBImpl::Write(int)",
    "rocksdb::DBImpl::WriteImpl",
    "rocksdb::FlushJob::Run",
    "rocksdb::CompactionJob::Run",
    "main.(*Store).Put",
    "log_writer",
];

fn context(random: &mut Random, id: u32) -> Context {
    let kind = random.one_of(&[
        ContextKind::Application,
        ContextKind::Application,
        ContextKind::Kernel,
    ]);
    let role = random.one_of(&["db", "db:low-"]);
    let mut context = Context::new(ContextId(id), random.next(), kind, role);
    for _ in 0..random.below(5) {
        context.frames.push(Frame {
            build_id: String::new(),
            object: "/bin/db".to_owned(),
            file_offset: 0,
            symbol: Some(random.one_of(&CALLS).to_owned()),
        });
    }
    context
}

/// Contexts of which two in three are one of the three before, some with a call more.
fn alike(seed: u64) -> String {
    let mut random = Random(seed);
    let mut contexts: Vec<Context> = Vec::new();
    for id in 0..9 {
        let mut own = context(&mut random, id);
        let before = contexts.len().checked_sub(1 + random.below(3) as usize);
        if let Some(before) = before.filter(|_| id % 3 > 0) {
            let more: Vec<Frame> = own
                .frames
                .drain(..)
                .take(random.below(2) as usize)
                .collect();
            own = Context {
                id: own.id,
                ..contexts[before].clone()
            };
            own.frames.extend(more);
        }
        contexts.push(own);
    }
    labels(contexts.iter(), &FilesWritten::default(), &|_| None).join(" | ")
}

#[test]
fn contexts_are_told_apart_as_they_were() {
    hold("labels", &(0..80).map(alike).collect::<Vec<_>>());
}
