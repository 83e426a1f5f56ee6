//! The ends of the drive's units beside the model's: read once in a while, and made anew where they differ.

use std::sync::{Arc, PoisonError};

use anabranch_nvme_host::{Namespace, NamespaceError, PlacementHandle};
use anabranch_ssd::StreamId;

use crate::shared::Shared;
use crate::split::PAGE_BYTES;

/// A stream without a write under way.
pub(crate) struct Quiet {
    stream: StreamId,
    /// Writes that had begun.
    begun: u64,
    room_pages: u32,
}

/// The comparison of the drive's units and the model's.
pub struct UnitEnds {
    shared: Arc<Shared>,
}

impl UnitEnds {
    pub fn new(shared: Arc<Shared>) -> UnitEnds {
        UnitEnds { shared }
    }

    /// Compares the room of each stream that nobody writes to. Where it differs, drive and model both end their units. A drive
    /// that does not answer is asked again the next time.
    pub fn check(&self, drive: &Namespace) {
        let quiet = self.quiet();
        if quiet.is_empty() {
            return;
        }
        if let Ok(rooms) = drive.handles() {
            let _ = self.compare(&quiet, &rooms, |handles| drive.update_handles(handles));
        }
    }

    /// The streams that nobody writes to.
    pub(crate) fn quiet(&self) -> Vec<Quiet> {
        let placer = self.shared.placer.lock();
        let placer = placer.unwrap_or_else(PoisonError::into_inner);
        let (Some(model), Some(locks)) = (placer.model(), &self.shared.locks) else {
            return Vec::new();
        };
        let streams = (0..self.shared.target.handles.len() as u16).map(StreamId);
        let quiet = streams.filter_map(|stream| {
            Some(Quiet {
                stream,
                begun: locks.begun_writes(stream.index())?,
                room_pages: model.room(stream),
            })
        });
        quiet.collect()
    }

    /// Has drive and model end their units of streams whose rooms differ, and to which nobody has written since.
    pub(crate) fn compare(
        &self,
        quiet: &[Quiet],
        rooms: &[PlacementHandle],
        update: impl FnOnce(&[u16]) -> Result<(), NamespaceError>,
    ) -> Result<(), NamespaceError> {
        let shared = &self.shared;
        let Some(locks) = &shared.locks else {
            return Ok(());
        };
        // IMPORTANT: locked until the drive has ended its units. What is written meanwhile would be in another one than the
        // model believes.
        let placer = shared.placer.lock();
        let mut placer = placer.unwrap_or_else(PoisonError::into_inner);
        let block_bytes = 1_u64 << shared.target.block_shift;
        let differ = quiet.iter().filter(|one| {
            let handle = shared.target.handles.get(one.stream.index());
            let room = rooms.iter().find(|room| Some(&room.identifier) == handle);
            let is_other = room.is_some_and(|room| {
                room.room_blocks.saturating_mul(block_bytes) / PAGE_BYTES
                    != u64::from(one.room_pages)
            });
            is_other && locks.begun_writes(one.stream.index()) == Some(one.begun)
        });
        let streams: Vec<StreamId> = differ.map(|one| one.stream).collect();
        let handles = streams
            .iter()
            .filter_map(|stream| shared.target.handles.get(stream.index()));
        let handles: Vec<u16> = handles.copied().collect();
        if handles.is_empty() {
            return Ok(());
        }
        update(&handles)?;
        shared.counters.ended_units.add(handles.len() as u64);
        for stream in streams {
            placer.collect(|model, _| model.end_unit(stream));
        }
        Ok(())
    }
}
