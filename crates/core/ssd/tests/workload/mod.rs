//! The golden workloads, generated: one sequential fill, then ten times the drive in single-page
//! overwrites. The same distributions as the files the published figures were measured on, from
//! another generator; at a million pages the WAF of two seeds differs by about one in a thousand.

/// Sebastiano Vigna's splitmix64: enough for a workload, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next() as u32) * u64::from(bound)) >> 32) as u32
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// `rounds` times `pages` uniform overwrites.
pub fn uniform(pages: u32, rounds: u32, seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    (0..pages * rounds).map(|_| random.below(pages)).collect()
}

/// The same, zipf(0.9) by inverse distribution function; ranks lie at random pages.
pub fn zipf(pages: u32, rounds: u32, seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    let mut place: Vec<u32> = (0..pages).collect();
    for last in (1..pages).rev() {
        place.swap(last as usize, random.below(last + 1) as usize);
    }
    let mut sum = 0.0;
    let cumulated: Vec<f64> = (1..=pages)
        .map(|rank| {
            sum += f64::from(rank).powf(-0.9);
            sum
        })
        .collect();
    let rank = |random: &mut Random| {
        let wanted = random.unit() * sum;
        cumulated
            .partition_point(|&cumulated| cumulated < wanted)
            .min(pages as usize - 1)
    };
    (0..pages * rounds)
        .map(|_| place[rank(&mut random)])
        .collect()
}
