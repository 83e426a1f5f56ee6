//! A server's shared state, in a world of its own.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use anabranch_collect::Collector;
use anabranch_placement::{Assign, Halves, Policy, Write};
use anabranch_ssd::{Config, Keeps, PageRange, StreamId, relocate::RelocationKind};

use super::drive::SimulatedDrive;
use super::{SECTORS, STREAMS};
use crate::collecting::Collecting;
use crate::command::Target;
use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::page_locks::PageLocks;
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

/// The way in which a server places.
#[derive(Debug, Clone, Copy)]
pub enum PlacerKind {
    /// The drive collects. Metadata may have a stream of their own.
    Plain(Option<StreamId>),
    /// The host collects, and knows the drive's units or does not.
    Collecting(bool),
}

/// The placer of a host that collects: the last stream is for survivors, and a unit has four pages.
fn collecting_placer(is_known: bool) -> Placer {
    let model = Config {
        host_streams: STREAMS - 1,
        internal_streams: 1,
        ..Config::new((SECTORS / 8) as u32, 4, 24)
    };
    let relocation = RelocationKind::Gc.build(&model);
    let mut scheme = Policy::new(Halves::Apart(Box::new(ByContext), relocation));
    let collector = Collector::new(model.clone(), &model, Keeps::Units, scheme.relocation_mut());
    let mut collecting = Collecting::new(collector.expect("a model"), is_known);
    // What a model believes costs copies and no data: it begins full, so that it soon collects.
    for step in 0..model.logical_pages * 3 / 2 {
        let page = PageRange::new(step * 5 % model.logical_pages, 1);
        let stream = StreamId((page.first % 4) as u16);
        collecting.write(scheme.relocation_mut(), page, stream);
    }
    Placer::collecting(scheme, collecting)
}

/// A host half that places as the scheme of a host that collects.
pub fn host_half() -> Box<dyn Assign> {
    Box::new(ByContext)
}

/// A server's shared state, with handles of which one is 0.
pub fn shared(
    drive: &SimulatedDrive,
    writers: &Arc<KnownWriters>,
    kind: PlacerKind,
    controllers: Controllers,
    ledger: Ledger,
) -> Arc<Shared> {
    let writers: Arc<dyn Writers> = Arc::clone(writers) as _;
    let (placer, locks) = match kind {
        PlacerKind::Plain(metadata) => (Placer::new(Box::new(ByContext), metadata), None),
        PlacerKind::Collecting(is_known) => {
            let locks = PageLocks::new(STREAMS.into());
            (collecting_placer(is_known), Some(locks))
        }
    };
    Arc::new(Shared {
        target: Target {
            namespace: 1,
            block_shift: drive.block_shift,
            directive: drive.directive,
            handles: vec![0, 3, 9, 5, 7],
        },
        placer: Mutex::new(placer),
        writers: RwLock::new(writers),
        locks,
        counters: Counters::new(STREAMS.into()),
        ledger,
        controllers,
        pulses: Vec::new(),
        began: Instant::now(),
        has_ended: AtomicBool::new(false),
    })
}
