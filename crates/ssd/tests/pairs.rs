//! Every victim rule with every relocation, under random faults: no page is ever lost or wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod flash;

use anabranch_ssd::{Config, DeviceError, Faults, Levelling, RelocationKind, VictimRule, Wear};
use flash::{Operation, RULES, Rig, operations, small, with_spare};
use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

/// Cases for each of the 77 pairs.
const CASES: u32 = 100;

prop_compose! {
    fn wear()(levelling in prop::sample::select(vec![Levelling::None, Levelling::Dynamic, Levelling::Static]),
              spread in 1_u32..4, rated_erases in 0_u32..40, retire_at_rating in any::<bool>()) -> Wear {
        Wear { levelling, spread, rated_erases, retire_at_rating }
    }
}

/// Means between failures: often none, sometimes every operation.
fn means(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 1 => 1..5_u64, 4 => 5..most]
}

prop_compose! {
    fn faults()(pages_per_program_failure in means(2000), erases_per_failure in means(200),
                factory_bad_units in 0_u32..4) -> Faults {
        Faults { pages_per_program_failure, erases_per_failure, factory_bad_units }
    }
}

prop_compose! {
    fn devices(rule: VictimRule)
        (pages in 1_u32..150, per_unit in 1_u32..14, spare in 0_u32..9, handles in 1_u16..4,
         internal in 0_u16..3, start in 1_u32..5, stop in 0_u32..3, group_bits in 0_u32..3,
         isolated in 0_u16..3, off in 700_u16..1000, wear in wear(), faults in faults(),
         seed in any::<u64>()) -> Config {
        let groups = 1 << group_bits;
        let config = Config {
            host_streams: handles * groups as u16,
            internal_streams: internal * groups as u16,
            victim_rule: rule,
            seed,
            gc_start_free_units: start,
            gc_stop_free_units: start + stop,
            reclaim_groups: groups,
            persistently_isolated: isolated.min(handles),
            streams_off_permille: off,
            wear,
            faults,
            ..small(pages, per_unit, 0)
        };
        with_spare(config, spare)
    }
}

fn cases(config: Config) -> impl Strategy<Value = (Config, Vec<Operation>)> {
    let operations = operations(config.logical_pages, config.host_streams, 60);
    (Just(config), operations)
}

/// A drive at its end: it says so to every change, and holds everything.
fn check_end(rig: &mut Rig, error: &DeviceError) -> Result<(), TestCaseError> {
    prop_assert!(matches!(error, DeviceError::ReadOnly { .. }), "{error}");
    prop_assert!(rig.device.is_read_only());
    let changes = [
        Operation::Write {
            first: 0,
            count: 1,
            stream: 0,
        },
        Operation::Scatter {
            pages: vec![0],
            stream: 0,
        },
        Operation::Discard { first: 0, count: 1 },
        Operation::Finish { stream: 0 },
    ];
    for change in changes {
        prop_assert_eq!(rig.apply(&change), Err(error.clone()));
    }
    rig.check().map_err(TestCaseError::fail)
}

fn run(
    config: &Config,
    kind: RelocationKind,
    operations: &[Operation],
) -> Result<(), TestCaseError> {
    let mut rig = Rig::new(config, kind.build(config));
    for operation in operations.iter().chain(operations) {
        let result = rig.apply(operation);
        rig.check().map_err(TestCaseError::fail)?;
        if let Err(error) = result {
            return check_end(&mut rig, &error);
        }
    }
    Ok(())
}

#[test]
fn under_faults_no_pair_of_rules_loses_a_page() {
    for rule in RULES {
        for kind in RelocationKind::ALL {
            let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            let settings = ProptestConfig {
                cases: CASES,
                failure_persistence: None,
                ..ProptestConfig::default()
            };
            let mut runner = TestRunner::new_with_rng(settings, random);
            let every = devices(rule).prop_flat_map(cases);
            if let Err(error) = runner.run(&every, |(config, operations)| {
                run(&config, kind, &operations)
            }) {
                panic!("{rule} with {kind}: {error}");
            }
        }
    }
}
