//! A server's shared state, in a world of its own.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use anabranch_placement::{Assign, Write};
use anabranch_ssd::StreamId;

use super::STREAMS;
use super::drive::Drive;
use crate::command::Target;
use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::placer::Placer;
use crate::retry::Controllers;
use crate::shared::Shared;
use crate::writers::{KnownWriters, Writers};

/// A stream for each context, 0 for unknown ones.
struct ByContext;

impl Assign for ByContext {
    fn assign(&mut self, write: &Write) -> StreamId {
        StreamId(write.context.0 as u16)
    }
}

/// One controller, whose state is told by the file of that name.
pub fn controllers(directory: &Arc<Path>, reached: &Arc<Mutex<&'static str>>) -> Controllers {
    let (directory, reached) = (Arc::clone(directory), Arc::clone(reached));
    Controllers::new(move || vec![directory.join(*reached.lock().unwrap())])
}

/// A server's shared state, with handles of which one is 0.
pub fn shared(
    drive: &Drive,
    writers: &Arc<KnownWriters>,
    metadata: Option<StreamId>,
    controllers: Controllers,
    ledger: Ledger,
) -> Arc<Shared> {
    let writers: Arc<dyn Writers> = Arc::clone(writers) as _;
    Arc::new(Shared {
        target: Target {
            namespace: 1,
            block_shift: drive.block_shift,
            directive: drive.directive,
            handles: vec![0, 3, 9, 5, 7],
        },
        placer: Mutex::new(Placer::new(Box::new(ByContext), metadata)),
        writers: RwLock::new(writers),
        counters: Counters::new(STREAMS.into()),
        ledger,
        controllers,
        pulses: Vec::new(),
        began: Instant::now(),
        has_ended: AtomicBool::new(false),
    })
}
