//! The ends of units beside a model's.

use std::sync::{Arc, Mutex};

use anabranch_nvme_host::PlacementHandle;
use anabranch_ssd::{PageRange, StreamId};

use super::drive::{LIVE, SimulatedDrive};
use super::random::Random;
use super::server::{PlacerKind, controllers, shared};
use super::{SECTORS, STREAMS};
use crate::drive::Directive;
use crate::ledger::Ledger;
use crate::unit_ends::UnitEnds;
use crate::writers::{KnownWriters, NoWriters};

#[test]
fn units_whose_room_differs_are_ended_and_those_that_are_written_to_are_left() {
    let mut random = Random::new(1);
    let mut drive = SimulatedDrive::new(SECTORS, Directive::Placement, &mut random);
    drive.block_shift = 12;
    let directory = Arc::from(std::path::Path::new("/"));
    let facts = super::Surroundings::new(&mut random).facts(&drive);
    let shared = shared(
        &drive,
        &Arc::new(KnownWriters::default()),
        PlacerKind::Collecting(true),
        controllers(&directory, &Arc::new(Mutex::new(LIVE))),
        Ledger::of_process(&facts),
    );
    let place = |page| {
        let mut runs = Vec::new();
        let mut placer = shared.placer.lock().unwrap();
        placer.place(PageRange::new(page, 1), false, &NoWriters, &mut runs);
    };
    let room = |stream| {
        let placer = shared.placer.lock().unwrap();
        placer
            .model()
            .map(|model| model.room(StreamId(stream)))
            .unwrap()
    };
    let ends = UnitEnds::new(Arc::clone(&shared));
    // The default stream's unit is begun, in the model and in the drive.
    while room(0) != 2 {
        place(1);
    }
    let quiet = ends.quiet();
    assert_eq!(quiet.len(), usize::from(STREAMS));
    let rooms = |default_blocks| -> Vec<PlacementHandle> {
        let of = |(stream, &identifier): (usize, &u16)| PlacementHandle {
            identifier,
            handle: identifier,
            room_blocks: if stream == 0 {
                default_blocks
            } else {
                room(stream as u16).into()
            },
        };
        shared.target.handles.iter().enumerate().map(of).collect()
    };
    let mut ended: Vec<u16> = Vec::new();
    let mut compare = |default_blocks| {
        let told = rooms(default_blocks);
        let outcome = ends.compare(&quiet, &told, |handles| {
            ended.extend(handles);
            Ok(())
        });
        outcome.unwrap();
        std::mem::take(&mut ended)
    };
    assert!(compare(2).is_empty(), "the same");
    // A write that began meanwhile explains the difference.
    let locks = shared.locks.as_ref().unwrap();
    locks.begin_write(0);
    assert!(compare(1).is_empty());
    locks.end_write(0);
    assert!(compare(1).is_empty(), "it was looked at before that write");
    let quiet = ends.quiet();
    let told = rooms(1);
    let outcome = ends.compare(&quiet, &told, |handles| {
        assert_eq!(handles, [0]);
        Ok(())
    });
    outcome.unwrap();
    assert_eq!((room(0), shared.counters.ended_units.get()), (4, 1));
}
