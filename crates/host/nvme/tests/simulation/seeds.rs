//! Seeds to run, and the command that repeats a failed one.

use std::ops::Range;

/// Tells how to repeat a run that panics: the seed, and the command that runs it.
pub struct SeedReport(pub u64, pub &'static str);

impl Drop for SeedReport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let SeedReport(seed, command) = self;
            eprintln!(
                "seed {seed} fails; to repeat it: ANABRANCH_SEEDS={seed}..{} {command}",
                *seed + 1
            );
        }
    }
}

/// `ANABRANCH_SEEDS=FROM..TO`, or else these.
pub fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("ANABRANCH_SEEDS") else {
        return usual;
    };
    let (from, to) = text.split_once("..").expect("ANABRANCH_SEEDS=FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}
