use anabranch_ssd::{
    Device,
    relocate::{Destination, Relocate, RelocationKind, Victim},
    victims::{ClosedUnit, ClosedUnits, VictimRule},
};
use anabranch_trace::{ContextId, FileId, WriteHint};

use super::{
    super::{
        page::Features,
        setting::{Copies, Victims, age, gain},
    },
    miniature::{HALF_LIFE_CAPACITIES, MiniaturePolicy, miniature_config},
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

fn all_settings(budget: &StreamBudget, beside: DeviceHalf, names: bool) -> Vec<Setting> {
    let candidates = candidates(budget, beside, names);
    candidates.iter().map(|one| one.setting).collect()
}

fn tuner(beside: DeviceHalf, margin_units: f64) -> (Tuner, Predictor) {
    let features = Features {
        contexts: true,
        history: true,
    };
    let sample = Sample::new(&GEOMETRY, 16, 1024, 1);
    let mut tuner = Tuner::new(&GEOMETRY.drive(), beside, sample, true).unwrap();
    tuner.margin_pages *= margin_units / MARGIN_UNITS;
    (tuner, Predictor::new(&GEOMETRY, features))
}

/// Writes pages of one writer; how often the lead changed.
fn run(
    (tuner, predictor): (&mut Tuner, &mut Predictor),
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
        let prediction = predictor.write(page, &write, *now);
        if now.is_multiple_of(2048) {
            predictor.classes.redraw();
        }
        changes += usize::from(tuner.write(predictor, page, prediction));
        *now += 1;
    }
    changes
}

fn at_random(writes: u32) -> impl Iterator<Item = u32> {
    let mut state = 1_u64;
    (0..writes).map(move |_| (crate::by_page::draw(&mut state) % u64::from(PAGES)) as u32)
}

#[test]
fn the_setting_that_copies_least_comes_to_lead() {
    let (mut tuner, mut predictor) = tuner(DeviceHalf::Own, 16.0);
    let first = tuner.leader();
    let mut now = 0;
    run(
        (&mut tuner, &mut predictor),
        &mut now,
        at_random(40 * PAGES),
    );
    let leader = tuner.leader();
    let copied = |miniature: &Miniature| miniature.drive.counters().copied_pages as f64;
    let best = tuner.miniatures.iter().map(copied).fold(f64::MAX, f64::min);
    let leads = |miniature: &&Miniature| miniature.candidate.setting == leader;
    let leading = tuner.miniatures.iter().find(leads).map(copied).unwrap();
    assert!(leading < best * 1.05, "{leader:?}: {leading} {best}");
    // Random deaths: there is little to part.
    assert!(leader.classes < first.classes);
}

#[test]
fn where_nothing_is_copied_the_lead_stays_once_rules_that_match_nothing_are_left() {
    let (mut tuner, mut predictor) = tuner(DeviceHalf::Own, 16.0);
    let mut now = 0;
    let round = (0..10 * PAGES).map(|step| step % PAGES);
    assert_eq!(run((&mut tuner, &mut predictor), &mut now, round), 1);
    assert_eq!(tuner.leaders()[1].reason, LeaderReason::RulesMatchLittle);
}

#[test]
fn a_greater_margin_changes_less() {
    let changes = |margin| {
        let (mut tuner, mut predictor) = tuner(DeviceHalf::Own, margin);
        let mut now = 0;
        run(
            (&mut tuner, &mut predictor),
            &mut now,
            at_random(20 * PAGES),
        )
    };
    // The rules are left, which match nothing.
    assert_eq!(changes(1e9), 1);
    assert!(changes(0.0) > 2);
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
            .choose_victim(closed, now, &StreamBudget::new(&GEOMETRY));
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
    let all = all_settings(&StreamBudget::new(&GEOMETRY), DeviceHalf::Own, true);
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
    let setting = Setting::classes(&StreamBudget::new(&GEOMETRY));
    let small = miniature_config(&GEOMETRY.drive(), sample, &setting);
    assert_eq!((small.pages_per_unit, small.logical_pages), (16, 1024));
    assert_eq!(small.physical_units, GEOMETRY.physical_units);
    let large = HostGeometry {
        logical_pages: 128 * 2048,
        physical_units: 2200,
        ..GEOMETRY
    };
    let sample = Sample::new(&large, 16, 1024, 1);
    let small = miniature_config(&large.drive(), sample, &setting);
    assert_eq!((small.pages_per_unit, small.logical_pages), (16, 256 * 16));
    // An eighth of the units, and seven eighths of half a unit for each of six classes.
    assert_eq!(small.physical_units, 275 + 2);
}

#[test]
fn a_drive_without_spare_has_no_miniature() {
    let full = HostGeometry {
        physical_units: 64,
        ..GEOMETRY
    };
    let sample = Sample::new(&full, 16, 1024, 1);
    assert!(Tuner::new(&full.drive(), DeviceHalf::Own, sample, true).is_none());
}

#[test]
fn settings_differ_and_fit_the_drive() {
    let halves = [DeviceHalf::Own, DeviceHalf::Relocation(RelocationKind::Fdp)];
    for (host_streams, beside) in (1..10).flat_map(|streams| halves.map(|half| (streams, half))) {
        let geometry = HostGeometry {
            host_streams,
            ..GEOMETRY
        };
        let settings = all_settings(&StreamBudget::new(&geometry), beside, true);
        for (index, setting) in settings.iter().enumerate() {
            assert!(u16::from(setting.classes) <= host_streams);
            assert!(!settings[..index].contains(setting));
        }
    }
}

#[test]
fn without_names_no_rules_are_rehearsed() {
    let budget = StreamBudget::new(&GEOMETRY);
    for beside in [DeviceHalf::Own, DeviceHalf::Relocation(RelocationKind::Gc)] {
        let ruled = |names| {
            let settings = all_settings(&budget, beside, names);
            settings
                .iter()
                .filter(|one| one.guide == Guide::Rules)
                .count()
        };
        assert!(ruled(true) > 0);
        assert_eq!(ruled(false), 0);
    }
}

#[test]
fn beside_a_drive_that_relocates_random_deaths_end_in_one_class() {
    let beside = DeviceHalf::Relocation(RelocationKind::Gc);
    let (mut tuner, mut predictor) = tuner(beside, 8.0);
    assert_eq!(tuner.leader().guide, Guide::Rules);
    // Files without names: the rules alone are left at once.
    let mut now = 0;
    run((&mut tuner, &mut predictor), &mut now, at_random(PAGES / 8));
    assert_eq!(tuner.leader().guide, Guide::RulesAndLives);
    assert!(tuner.leader().classes > 1);
    run(
        (&mut tuner, &mut predictor),
        &mut now,
        at_random(40 * PAGES),
    );
    // One class, or rules that none of this obeys: one stream.
    let Setting { guide, classes, .. } = tuner.leader();
    assert!(guide == Guide::Rules || classes == 1);
    // The drives collect by the rule and with the streams of the drive rehearsed for.
    for miniature in &tuner.miniatures {
        let config = miniature.drive.config();
        assert_eq!(config.victim_rule, VictimRule::Greedy);
        assert_eq!(config.internal_streams, 1);
    }
}

#[test]
fn rules_lead_once_they_matched_enough() {
    let beside = DeviceHalf::Relocation(RelocationKind::Gc);
    let (mut tuner, mut predictor) = tuner(beside, 8.0);
    predictor.learn(&Names {
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
            let _ = tuner.write(
                &predictor,
                page % PAGES,
                Prediction {
                    life: 60.0,
                    write,
                    object: StreamId::DEFAULT,
                },
            );
        }
        tuner.leader().guide
    };
    assert_eq!(lead(PAGES / 8, 0), Guide::RulesAndLives);
    assert_eq!(lead(PAGES / 2, 0), Guide::RulesAndLives);
    assert_eq!(lead(PAGES / 8, 1), Guide::Rules);
    assert_eq!(lead(40 * PAGES, 0), Guide::Rules, "they are not left again");
}

#[test]
fn debts_decide_before_anything_is_copied() {
    let (guide, leaders) = leader_after_a_file_is_removed(PAGES * 3 / 8);
    assert_eq!(guide, Guide::Objects);
    let last = leaders.last().unwrap();
    assert_eq!(
        (last.setting, last.reason),
        ("objects", LeaderReason::Cheaper)
    );
    let cost = |name| {
        last.costs
            .iter()
            .find(|one| one.setting == name)
            .unwrap()
            .pages
    };
    assert!(cost("objects") < cost("classes") && last.costs.len() == 6);
    assert!(leaders.is_sorted_by_key(|one| one.since_pages));
    assert_eq!(leaders[0].reason, LeaderReason::First);
}

#[test]
fn debts_decide_on_a_new_drive_of_which_most_was_never_written() {
    let (guide, _) = leader_after_a_file_is_removed(PAGES / 8);
    assert_eq!(guide, Guide::Objects);
}

/// The leader once two files of one writer, a page in turn, were written and one was removed as a whole.
fn leader_after_a_file_is_removed(file_pages: u32) -> (Guide, Vec<Leader>) {
    let beside = DeviceHalf::Relocation(RelocationKind::Gc);
    let (mut tuner, mut predictor) = tuner(beside, 2.0);
    let mut now = 0;
    let mut put = |tuner: &mut Tuner, predictor: &mut Predictor, page: u32, file: u32| {
        let write = Write {
            file: FileId(file),
            ..write(page, 1, now)
        };
        let prediction = predictor.write(page, &write, now);
        tuner.write(predictor, page, prediction);
        now += 1;
    };
    for page in 0..file_pages {
        put(&mut tuner, &mut predictor, page, 1);
        put(&mut tuner, &mut predictor, PAGES / 2 + page, 2);
    }
    assert_eq!(tuner.leader().guide, Guide::RulesAndLives);
    let removed = PageRange::new(0, file_pages);
    predictor.discard(removed, u64::from(2 * file_pages));
    tuner.discard(removed);
    for page in 0..PAGES / 8 {
        put(&mut tuner, &mut predictor, page, 3);
    }
    let copied = |miniature: &Miniature| miniature.drive.counters().copied_pages;
    assert_eq!(tuner.miniatures.iter().map(copied).sum::<u64>(), 0);
    (tuner.leader().guide, tuner.leaders().to_vec())
}

#[test]
fn the_cost_of_a_setting_counts_half_after_its_half_life() {
    let (mut tuner, mut predictor) = tuner(DeviceHalf::Own, 16.0);
    run((&mut tuner, &mut predictor), &mut 0, at_random(8 * PAGES));
    for miniature in &mut tuner.miniatures {
        let first = miniature.cost();
        let last = (0..EVALUATIONS * HALF_LIFE_CAPACITIES).fold(first, |_, _| miniature.cost());
        assert!(first > 0.0 && (first - 2.0 * last).abs() < 1e-6 * first);
    }
}

#[test]
fn pages_written_elsewhere_are_data_on_every_miniature() {
    let copied = |is_told: bool| {
        let beside = DeviceHalf::Relocation(RelocationKind::Gc);
        let (mut tuner, mut predictor) = tuner(beside, 16.0);
        if is_told {
            tuner.written_elsewhere(&predictor, PageRange::new(0, PAGES / 2));
        }
        let other_half = at_random(8 * PAGES).map(|page| PAGES / 2 + page / 2);
        run((&mut tuner, &mut predictor), &mut 0, other_half);
        let copied = |miniature: &Miniature| miniature.drive.counters().copied_pages;
        let copied: Vec<u64> = tuner.miniatures.iter().map(copied).collect();
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
fn copies_go_to_one_stream_unless_the_predictor_may_not_have_seen_them() {
    let (mut tuner, predictor) = tuner(DeviceHalf::Own, 16.0);
    let victim = Victim {
        stream: StreamId(2),
        valid_pages: 1,
        opened_at: 0,
        now: 1,
    };
    let whole = |tuner: &Tuner| -> Vec<bool> {
        let (budget, sample, predictor) = (tuner.budget, tuner.sample, &predictor);
        let is_whole = |miniature: &Miniature| {
            let mut policy = MiniaturePolicy {
                setting: miniature.candidate.setting,
                budget,
                sample,
                predictor,
                knows_all: miniature.knows_all,
            };
            policy.destination(&victim) != Destination::Each
        };
        tuner.miniatures.iter().map(is_whole).collect()
    };
    let one = |miniature: &Miniature| {
        matches!(
            miniature.candidate.setting.copies,
            Copies::One | Copies::Chain
        )
    };
    let ones: Vec<bool> = tuner.miniatures.iter().map(one).collect();
    assert_eq!(whole(&tuner), ones);
    tuner.written_elsewhere(&predictor, PageRange::new(0, PAGES));
    assert!(!whole(&tuner).contains(&true));
}
