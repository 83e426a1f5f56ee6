//! What must hold of any bytes that are read as a text that people write, or as a result: profiles of drives,
//! rules, lifetimes, grids of sweeps, lists of schemes, loads, results.
//!
//! The fuzz target and `crates/app/cli/tests/fuzzed.rs` share this; it panics when it does not hold.

use anabranch_placement::{DeviceHalf, KnownLifetimes, SchemeSpec, Site};
use anabranch_replay::{Comparison, synthetic::Synthetic};
use anabranch_report::{
    Look, answer, comparison, difference, difference_table, notes, page, times,
};
use anabranch_ssd::{
    Config, Device, PageRange, StreamId, profile::Profile, relocate::RelocationKind,
};
use anabranch_sweep::Grid;

/// What the first byte says the rest is read as.
pub const KINDS: u8 = 7;

/// What is read is refused in words, or does what it is for. Whether it was taken.
pub fn texts(input: &[u8]) -> bool {
    let Some((&kind, bytes)) = input.split_first() else {
        return false;
    };
    let text = String::from_utf8_lossy(bytes);
    match kind % KINDS {
        0 => profile(&text),
        1 => schemes("manual:rules=x", &text),
        2 => schemes(&text, ""),
        3 => lifetimes(&text),
        4 => Grid::parse("fuzzed", &text).is_ok(),
        5 => Synthetic::parse(&text).is_ok(),
        _ => result(&text),
    }
}

/// A profile that can be resolved is a drive that takes writes, if it is small.
fn profile(text: &str) -> bool {
    let parsed = Profile::parse("fuzzed", text);
    let Ok(config) = parsed.and_then(|profile| profile.resolve("fuzzed")) else {
        return false;
    };
    let flash_pages = u64::from(config.physical_units) * u64::from(config.pages_per_unit);
    if flash_pages > 1 << 18 || config.host_streams > 1024 {
        return true;
    }
    let Ok(mut device) = Device::new(config, &()) else {
        return false;
    };
    for page in 0..device.config().logical_pages.min(64) {
        if device
            .write(&mut (), PageRange::new(page, 1), StreamId(0))
            .is_err()
        {
            break;
        }
    }
    device.verify().expect("a new drive is consistent");
    true
}

/// Schemes that are known can be set up for a drive, or say why not.
fn schemes(list: &str, file: &str) -> bool {
    let read = |_: &str| Ok(file.to_owned());
    let specs = SchemeSpec::read_list(list, &read, |_| true);
    let drive = Config {
        host_streams: 8,
        internal_streams: 8,
        ..Config::new(1024, 32, 56)
    };
    let site = Site::new(&drive, DeviceHalf::Relocation(RelocationKind::Fdp));
    let built = specs.map(|specs| {
        specs
            .iter()
            .take(8)
            .filter(|spec| spec.build(&site).is_ok())
            .count()
    });
    built.is_ok_and(|built| built > 0)
}

/// What is kept of lifetimes is read again as the same.
fn lifetimes(text: &str) -> bool {
    let Ok(known) = KnownLifetimes::parse(text) else {
        return false;
    };
    let again = KnownLifetimes::parse(&known.text()).expect("what we write can be read");
    assert_eq!(again.contexts().len(), known.contexts().len());
    true
}

/// A result can be shown in every way.
fn result(text: &str) -> bool {
    let Ok(outcome) = serde_json::from_str::<Comparison>(text) else {
        return false;
    };
    let csv = Look {
        csv: true,
        ..Look::default()
    };
    for look in [
        Look::default(),
        csv,
        Look {
            width: Some(60),
            ..Look::default()
        },
    ] {
        let two = [outcome.clone(), outcome.clone()];
        let _ = (
            comparison(&two, &look),
            times(&outcome, &look),
            answer(&outcome, &look),
        );
        let _ = difference_table(&difference(&outcome, &outcome), &look);
    }
    let _ = (notes(&outcome), page(&[outcome]));
    true
}
