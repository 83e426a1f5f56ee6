//! Every victim rule with every relocation, under random faults: no page is ever lost or wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driven;
mod flash;

use anabranch_ssd::{Config, DeviceError, relocate::RelocationKind};
use flash::{Operation, Rig, every_pair};
use proptest::prelude::*;

/// Cases for each of the 77 pairs.
const CASES: u32 = 100;

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
    every_pair(CASES, |config, kind, operations| {
        run(config, kind, operations)
    });
}
