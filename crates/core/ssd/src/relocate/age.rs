//! Copies by the time since the host wrote them.

use super::{Destination, Erased, Relocate, Survivor, Victim};
use crate::{config::Config, types::StreamId};

/// Erased units whose lifespans are averaged (`SepBIT`, FAST'22, §3.4: 16 segments of class 1,
/// here of any host stream).
const LIFESPANS: u64 = 16;
/// A class ends at this many times the age at which the one before it ends (`SepBIT` §3.4: 4
/// and 16 times the mean lifespan).
const GROWTH: u64 = 4;

/// Copies go to internal streams by age: the first takes survivors younger than four mean lifespans
/// of a host stream's unit, the second those younger than sixteen, and so on; the last takes the
/// rest. These are `SepBIT`'s classes 4 to 6, for any number of them and any host half. Until
/// enough units were erased to know the mean, all survivors count as young.
#[derive(Debug)]
pub(super) struct Age {
    host_streams: u16,
    internal_streams: u16,
    /// Mean lifespan of a host stream's unit, in pages the host wrote; `None` while unknown.
    mean_lifespan: Option<u64>,
    /// Units erased, and the sum of their lifespans, since the mean was last taken.
    erased: u64,
    lifespans: u64,
}

impl Age {
    pub(super) fn new(config: &Config) -> Age {
        Age {
            host_streams: config.host_streams,
            internal_streams: config.internal_streams,
            mean_lifespan: None,
            erased: 0,
            lifespans: 0,
        }
    }
}

impl Relocate for Age {
    fn destination(&mut self, victim: &Victim) -> Destination {
        match self.internal_streams {
            0 => Destination::Stream(victim.stream),
            _ => Destination::Each,
        }
    }

    fn survivor(&mut self, _victim: &Victim, survivor: Survivor) -> StreamId {
        let mut class = 0;
        if let Some(mean) = self.mean_lifespan {
            let mut bound = mean.saturating_mul(GROWTH);
            while class + 1 < self.internal_streams && survivor.age_pages >= bound {
                class += 1;
                bound = bound.saturating_mul(GROWTH);
            }
        }
        StreamId(self.host_streams + class)
    }

    fn wants_ages(&self) -> bool {
        self.internal_streams > 0
    }

    fn erased(&mut self, erased: &Erased) {
        if erased.stream.0 >= self.host_streams {
            return;
        }
        self.erased += 1;
        self.lifespans += erased.now - erased.opened_at;
        if self.erased == LIFESPANS {
            self.mean_lifespan = Some((self.lifespans / LIFESPANS).max(1));
            self.erased = 0;
            self.lifespans = 0;
        }
    }

    fn state(&self) -> Vec<u64> {
        vec![self.mean_lifespan.unwrap_or(0), self.erased, self.lifespans]
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        let &[mean, erased, lifespans] = state else {
            return false;
        };
        self.mean_lifespan = (mean > 0).then_some(mean);
        self.erased = erased.min(LIFESPANS - 1);
        // No sum of sixteen lifespans comes near; what a file says may.
        self.lifespans = lifespans.min(u64::MAX >> 8);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    #[test]
    fn classes_end_at_four_and_sixteen_mean_lifespans() {
        let mut config = small();
        (config.host_streams, config.internal_streams) = (2, 3);
        let mut age = Age::new(&config);
        let victim = Victim {
            stream: StreamId(0),
            valid_pages: 1,
            opened_at: 0,
            now: 0,
        };
        let class = |age: &mut Age, age_pages| {
            let survivor = Survivor { page: 0, age_pages };
            age.survivor(&victim, survivor).0 - 2
        };
        assert_eq!(class(&mut age, u64::MAX), 0);
        for _ in 0..LIFESPANS {
            age.erased(&Erased {
                stream: StreamId(1),
                units_left: 3,
                opened_at: 50,
                now: 150,
            });
        }
        for (age_pages, expected) in [(0, 0), (399, 0), (400, 1), (1599, 1), (1600, 2), (9999, 2)] {
            assert_eq!(class(&mut age, age_pages), expected, "{age_pages}");
        }
    }
}
