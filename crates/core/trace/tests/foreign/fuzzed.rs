//! The fuzzer's cases, replayed, and what it does to them in small.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[path = "../../../../../fuzz/src/traces.rs"]
mod traces;

fn corpus() -> Vec<Vec<u8>> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/traces");
    let mut files: Vec<_> = fs::read_dir(place)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn the_fuzzers_cases_hold() {
    let cases = corpus();
    assert!(cases.len() >= 18);
    cases.iter().for_each(|case| traces::traces(case));
}

proptest! {
    #[test]
    fn cases_read_as_any_format_hold(
        case in (0..corpus().len()).prop_map(|place| corpus()[place].clone()),
        how in any::<u8>(),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut case = case;
        case[0] = how;
        for (at, byte) in wounds {
            let at = at.index(case.len());
            case[at] = byte;
        }
        traces::traces(&case);
    }
}
