use anabranch_ssd::{relocate::RelocationKind, victims::ClosedUnit};
use anabranch_trace::{ContextId, FileId, WriteHint};

use super::{
    super::{
        page::Senses,
        setting::{age, gain},
    },
    *,
};
use crate::{
    assign::{Names, Write},
    by_page::tests::{DRIVE, write},
};

const PAGES: u32 = 8192;
const GEOMETRY: HostGeometry = HostGeometry {
    logical_pages: PAGES,
    pages_per_unit: 128,
    physical_units: 72,
    ..DRIVE
};

fn rehearsal(beside: DeviceHalf, margin: f64) -> (Rehearsal, Mind) {
    rehearsal_of(beside, margin, false)
}

fn rehearsal_of(beside: DeviceHalf, margin: f64, wide: bool) -> (Rehearsal, Mind) {
    let senses = Senses {
        contexts: true,
        history: true,
    };
    let sample = Sample::new(&GEOMETRY, 16, 1024, 1);
    let rehearsal = Rehearsal::new(&GEOMETRY.drive(), beside, sample, margin, true, wide).unwrap();
    (rehearsal, Mind::new(&GEOMETRY, senses))
}

/// Writes pages of one writer; how often the lead changed.
fn run(
    (rehearsal, mind): (&mut Rehearsal, &mut Mind),
    now: &mut u64,
    pages: impl Iterator<Item = u32>,
) -> usize {
    let mut changes = 0;
    for page in pages {
        let write = Write {
            pages: PageRange::new(page, 1),
            context: ContextId(1),
            file: FileId(0),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages: *now,
        };
        let outlook = mind.write(page, &write, *now);
        if now.is_multiple_of(2048) {
            mind.classes.redraw();
        }
        changes += usize::from(rehearsal.write(mind, page, outlook));
        *now += 1;
    }
    changes
}

fn at_random(writes: u32) -> impl Iterator<Item = u32> {
    let mut state = 1_u64;
    (0..writes).map(move |_| (crate::by_page::draw(&mut state) % u64::from(PAGES)) as u32)
}

#[test]
fn a_wide_rehearsal_seeks_victims_among_all_units() {
    let (rehearsal, _) = rehearsal_of(DeviceHalf::Own, 16.0, true);
    let narrow = |stage: &Stage| stage.setting.victims == Victims::Patient;
    assert_eq!(rehearsal.stages.len(), 11);
    assert!(!rehearsal.stages.iter().any(narrow));
    // Where victims are the drive's there is nothing more to try.
    let room = Room::new(&GEOMETRY);
    let beside = DeviceHalf::Relocation(RelocationKind::Gc);
    assert_eq!(
        settings(&room, beside, true, true),
        settings(&room, beside, true, false)
    );
}

#[test]
fn the_setting_that_copies_least_comes_to_lead() {
    for wide in [false, true] {
        the_best_leads(wide);
    }
}

fn the_best_leads(wide: bool) {
    let (mut rehearsal, mut mind) = rehearsal_of(DeviceHalf::Own, 16.0, wide);
    let first = rehearsal.leader();
    let mut now = 0;
    run((&mut rehearsal, &mut mind), &mut now, at_random(40 * PAGES));
    let leader = rehearsal.leader();
    let copied = |stage: &Stage| stage.drive.counters().copied_pages as f64;
    let best = rehearsal.stages.iter().map(copied).fold(f64::MAX, f64::min);
    let leads = |stage: &&Stage| stage.setting == leader;
    let leading = rehearsal.stages.iter().find(leads).map(copied).unwrap();
    assert!(leading < best * 1.05, "{leader:?}: {leading} {best}");
    // Random deaths: there is little to part.
    assert!(leader.classes < first.classes);
}

#[test]
fn where_nothing_is_copied_the_lead_stays() {
    let (mut rehearsal, mut mind) = rehearsal(DeviceHalf::Own, 16.0);
    let mut now = 0;
    let round = (0..10 * PAGES).map(|step| step % PAGES);
    assert_eq!(run((&mut rehearsal, &mut mind), &mut now, round), 0);
}

#[test]
fn a_greater_margin_changes_less() {
    let changes = |margin| {
        let (mut rehearsal, mut mind) = rehearsal(DeviceHalf::Own, margin);
        let mut now = 0;
        run((&mut rehearsal, &mut mind), &mut now, at_random(20 * PAGES))
    };
    assert_eq!(changes(1e9), 0);
    assert!(changes(0.0) > 1);
}

/// Chooses victims by a setting, and holds each against all closed units.
#[derive(Debug)]
struct Looked {
    setting: Setting,
    victims: u32,
}

impl Relocate for Looked {
    fn destination(&mut self, victim: &Victim) -> Destination {
        Destination::Stream(StreamId((victim.stream.0 + 1) % 3))
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        let score = |unit: ClosedUnit| {
            let age = age(&unit, now);
            let is_root = self.setting.victims == Victims::CostBenefitRoot;
            (if is_root { age.sqrt() } else { age }) * gain(&unit, GEOMETRY.pages_per_unit)
        };
        let chosen = self
            .setting
            .choose_victim(closed, now, &Room::new(&GEOMETRY));
        let all = (0..closed.units()).filter_map(|unit| closed.get(unit));
        let best = all.map(score).fold(0.0, f64::max);
        let found = chosen.and_then(|unit| closed.get(unit));
        assert_eq!(found.map_or(0.0, score), best);
        self.victims += 1;
        chosen
    }
}

#[test]
fn of_all_closed_units_the_best_is_found() {
    let all = settings(&Room::new(&GEOMETRY), DeviceHalf::Own, true, true);
    for setting in [all[0], all[1]] {
        let mut config = GEOMETRY.drive();
        config.victim_rule = VictimRule::Scheme;
        let mut looked = Looked {
            setting,
            victims: 0,
        };
        let mut drive = Device::new(config, &looked).unwrap();
        for (at, page) in at_random(60_000).enumerate() {
            // Half of the writes go to an eighth of the pages, which has a stream of its own.
            let (page, stream) = if at % 2 == 0 {
                (page / 8, 1)
            } else {
                (page, 0)
            };
            let range = PageRange::new(page, 1);
            drive.write(&mut looked, range, StreamId(stream)).unwrap();
        }
        assert!(looked.victims > 500, "{}", looked.victims);
    }
}

#[test]
fn a_miniature_has_the_spare_of_its_drive() {
    let sample = Sample::new(&GEOMETRY, 16, 1024, 1);
    let setting = settings(&Room::new(&GEOMETRY), DeviceHalf::Own, true, false)[0];
    let small = miniature(&GEOMETRY.drive(), sample, &setting);
    assert_eq!((small.pages_per_unit, small.logical_pages), (16, 1024));
    assert_eq!(small.physical_units, GEOMETRY.physical_units);
    let large = HostGeometry {
        logical_pages: 128 * 2048,
        physical_units: 2200,
        ..GEOMETRY
    };
    let sample = Sample::new(&large, 16, 1024, 1);
    let small = miniature(&large.drive(), sample, &setting);
    assert_eq!((small.pages_per_unit, small.logical_pages), (16, 256 * 16));
    // An eighth of the units, and seven eighths of half a unit for each of six classes.
    assert_eq!(small.physical_units, 275 + 2);
}

#[test]
fn a_drive_without_room_is_not_rehearsed() {
    let full = HostGeometry {
        physical_units: 64,
        ..GEOMETRY
    };
    let sample = Sample::new(&full, 16, 1024, 1);
    assert!(Rehearsal::new(&full.drive(), DeviceHalf::Own, sample, 1.0, true, false).is_none());
}

#[test]
fn settings_differ_and_fit_the_drive() {
    let halves = [DeviceHalf::Own, DeviceHalf::Relocation(RelocationKind::Fdp)];
    for (host_streams, beside) in (1..10).flat_map(|streams| halves.map(|half| (streams, half))) {
        let geometry = HostGeometry {
            host_streams,
            ..GEOMETRY
        };
        for wide in [false, true] {
            let settings = settings(&Room::new(&geometry), beside, true, wide);
            for (index, setting) in settings.iter().enumerate() {
                assert!(u16::from(setting.classes) <= host_streams);
                assert!(!settings[..index].contains(setting));
            }
        }
    }
}

#[test]
fn without_names_no_rules_are_rehearsed() {
    let room = Room::new(&GEOMETRY);
    for beside in [DeviceHalf::Own, DeviceHalf::Relocation(RelocationKind::Gc)] {
        let ruled = |names| {
            let settings = settings(&room, beside, names, false);
            settings
                .iter()
                .filter(|one| one.guide == Guide::Rules)
                .count()
        };
        assert_eq!((ruled(true), ruled(false)), (1, 0));
    }
}

#[test]
fn beside_a_drive_that_relocates_random_deaths_end_in_one_class() {
    let beside = DeviceHalf::Relocation(RelocationKind::Gc);
    let (mut rehearsal, mut mind) = rehearsal(beside, 8.0);
    assert_eq!(rehearsal.leader().guide, Guide::Rules);
    // Files without names: the rules are left at once.
    let mut now = 0;
    run((&mut rehearsal, &mut mind), &mut now, at_random(PAGES / 8));
    assert_eq!(rehearsal.leader().guide, Guide::Lives);
    assert!(rehearsal.leader().classes > 1);
    run((&mut rehearsal, &mut mind), &mut now, at_random(40 * PAGES));
    // One class, or rules that none of this obeys: one stream.
    let Setting { guide, classes, .. } = rehearsal.leader();
    assert!(guide == Guide::Rules || classes == 1);
    // The drives collect by the rule and with the streams of the drive rehearsed for.
    for stage in &rehearsal.stages {
        let config = stage.drive.config();
        assert_eq!(config.victim_rule, VictimRule::Greedy);
        assert_eq!(config.internal_streams, 1);
    }
}

#[test]
fn rules_lead_from_when_they_have_spoken_of_enough() {
    let beside = DeviceHalf::Relocation(RelocationKind::Gc);
    let (mut rehearsal, mut mind) = rehearsal(beside, 8.0);
    mind.learn(&Names {
        files: vec![(FileId(1), "log.aof".to_owned())],
        ..Names::default()
    });
    // In turn, so that nothing is copied and no setting saves anything.
    let mut lead = |writes: u32, file: u32| {
        for page in 0..writes {
            let write = &Write {
                file: FileId(file),
                ..write(0, 1, 0)
            };
            let _ = rehearsal.write(
                &mind,
                page % PAGES,
                Outlook {
                    life: 60.0,
                    write,
                    object: StreamId::DEFAULT,
                },
            );
        }
        rehearsal.leader().guide
    };
    assert_eq!(lead(PAGES / 8, 0), Guide::Lives);
    assert_eq!(lead(PAGES / 2, 0), Guide::Lives);
    assert_eq!(lead(PAGES / 8, 1), Guide::Rules);
    assert_eq!(lead(40 * PAGES, 0), Guide::Rules, "they are not left again");
}

#[test]
fn what_is_owed_tells_before_anything_is_copied() {
    let beside = DeviceHalf::Relocation(RelocationKind::Gc);
    let (mut rehearsal, mut mind) = rehearsal(beside, 2.0);
    let mut now = 0;
    let mut put = |rehearsal: &mut Rehearsal, mind: &mut Mind, page: u32, file: u32| {
        let write = Write {
            file: FileId(file),
            ..write(page, 1, now)
        };
        let outlook = mind.write(page, &write, now);
        rehearsal.write(mind, page, outlook);
        now += 1;
    };
    // Two files of one writer, a page in turn, of which one is removed as a whole.
    for page in 0..PAGES * 3 / 8 {
        put(&mut rehearsal, &mut mind, page, 1);
        put(&mut rehearsal, &mut mind, PAGES / 2 + page, 2);
    }
    assert_eq!(rehearsal.leader().guide, Guide::Lives);
    let removed = PageRange::new(0, PAGES * 3 / 8);
    mind.discard(removed, u64::from(PAGES) * 3 / 4);
    rehearsal.discard(removed);
    for page in 0..PAGES / 8 {
        put(&mut rehearsal, &mut mind, page, 3);
    }
    assert_eq!(rehearsal.leader().guide, Guide::Objects);
    let copied = |stage: &Stage| stage.drive.counters().copied_pages;
    assert_eq!(rehearsal.stages.iter().map(copied).sum::<u64>(), 0);
}

#[test]
fn what_a_setting_cost_counts_half_after_its_half_life() {
    let (mut rehearsal, mut mind) = rehearsal(DeviceHalf::Own, 16.0);
    run((&mut rehearsal, &mut mind), &mut 0, at_random(8 * PAGES));
    for stage in &mut rehearsal.stages {
        let first = stage.cost();
        let last = (0..JUDGEMENTS * HALF_LIFE_CAPACITIES).fold(first, |_, _| stage.cost());
        assert!(first > 0.0 && (first - 2.0 * last).abs() < 1e-6 * first);
    }
}

#[test]
fn what_was_written_elsewhere_is_data_on_every_miniature() {
    let copied = |is_told: bool| {
        let beside = DeviceHalf::Relocation(RelocationKind::Gc);
        let (mut rehearsal, mut mind) = rehearsal(beside, 16.0);
        if is_told {
            rehearsal.written_elsewhere(&mind, PageRange::new(0, PAGES / 2));
        }
        let other_half = at_random(8 * PAGES).map(|page| PAGES / 2 + page / 2);
        run((&mut rehearsal, &mut mind), &mut 0, other_half);
        let copied = |stage: &Stage| stage.drive.counters().copied_pages;
        let copied: Vec<u64> = rehearsal.stages.iter().map(copied).collect();
        copied
    };
    let (half, whole) = (copied(false), copied(true));
    assert!(
        half.iter()
            .zip(whole)
            .all(|(&half, whole)| whole > 4 * half.max(100))
    );
}

#[test]
fn copies_go_to_one_stream_unless_the_mind_may_not_know_them() {
    let (mut rehearsal, mind) = rehearsal_of(DeviceHalf::Own, 16.0, true);
    let victim = Victim {
        stream: StreamId(2),
        valid_pages: 1,
        opened_at: 0,
        now: 1,
    };
    let whole = |rehearsal: &Rehearsal| -> Vec<bool> {
        let (room, sample, mind) = (rehearsal.room, rehearsal.sample, &mind);
        let is_whole = |stage: &Stage| {
            let mut understudy = Understudy {
                setting: stage.setting,
                room,
                sample,
                mind,
                knows_all: stage.knows_all,
            };
            understudy.destination(&victim) != Destination::Each
        };
        rehearsal.stages.iter().map(is_whole).collect()
    };
    let one = |stage: &Stage| matches!(stage.setting.copies, Copies::One | Copies::Chain);
    let ones: Vec<bool> = rehearsal.stages.iter().map(one).collect();
    assert_eq!(whole(&rehearsal), ones);
    rehearsal.written_elsewhere(&mind, PageRange::new(0, PAGES));
    assert!(!whole(&rehearsal).contains(&true));
}
