//! Comparison with published figures.

use anabranch_replay::{Lane, Start};
use anabranch_ssd::Config;
use anabranch_trace::Io;

pub const PAGES: u32 = 1 << 20;
pub const ROUNDS: u32 = 10;

/// WAF over the last five of ten rounds of overwrites, after one sequential fill.
pub fn waf(scheme: &str, drive: &Config, overwrites: &[u32]) -> f64 {
    let spec = scheme.parse().unwrap();
    let mut lane = Lane::build(&spec, drive, &Start::default()).unwrap();
    let mut write = |pages: &mut dyn Iterator<Item = u32>| {
        pages.for_each(|page| {
            lane.apply(&Io::write(u64::from(page) * 4096, 4096))
                .unwrap()
        });
        lane.flush_batch().unwrap();
        *lane.counters()
    };
    write(&mut (0..PAGES));
    let (first, last) = overwrites.split_at(overwrites.len() / 2);
    let half = write(&mut first.iter().copied());
    let whole = write(&mut last.iter().copied());
    whole.since(&half).waf().unwrap()
}
