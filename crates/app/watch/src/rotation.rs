//! When a trace is ended and the next begun, and which of the old ones go.

/// Parts that the room for traces is cut into (our choice): the one at work is one of them.
const PARTS: u64 = 8;
/// Seconds that a trace lasts at most (our choice: what a killed watcher loses).
const LONGEST_S: u64 = 3600;
/// Seconds by which a trace may be dated later than it began (our choice): two that begin at once have two names.
const SLACK_S: u64 = 60;

/// Age and size limits of kept traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Seconds, if they go by age.
    pub age_s: Option<u64>,
    /// Bytes of all traces of a device, if that is limited.
    pub bytes: Option<u64>,
}

/// A trace that was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its file's name.
    pub name: String,
    /// When it was begun, in seconds since 1970.
    pub began_s: u64,
    /// Size of the trace's file, in bytes.
    pub bytes: u64,
}

impl Segment {
    /// The name of a trace of a device.
    pub fn name(device: &str, began_s: u64) -> String {
        format!("{device}-{began_s}.parquet")
    }

    /// A file that is a trace of a device, by its name.
    pub fn of(device: &str, name: &str, bytes: u64) -> Option<Segment> {
        let began = name.strip_prefix(device)?.strip_prefix('-')?;
        let began_s = began.strip_suffix(".parquet")?.parse().ok()?;
        let name = name.to_owned();
        Some(Segment {
            name,
            began_s,
            bytes,
        })
    }
}

impl Keep {
    /// Whether the trace at work, so old and so large, is to be ended.
    pub fn ends(&self, age_s: u64, bytes: u64) -> bool {
        let longest = self
            .age_s
            .map_or(LONGEST_S, |age| (age / PARTS).clamp(1, LONGEST_S));
        age_s >= longest
            || self
                .bytes
                .is_some_and(|most| bytes >= (most / PARTS).max(1))
    }

    /// Of ended traces those that go, the oldest first: what is too old, and what leaves no room for the one
    /// that is at work.
    pub fn gone<'a>(&self, segments: &'a [Segment], now_s: u64) -> Vec<&'a Segment> {
        let mut oldest: Vec<&Segment> = segments.iter().collect();
        // What began later than now was dated by a clock that was wrong (by some seconds, where two began at once).
        oldest.sort_by_key(|segment| {
            (
                segment.began_s <= now_s.saturating_add(SLACK_S),
                segment.began_s,
            )
        });
        let mut left: u64 = oldest.iter().map(|segment| segment.bytes).sum();
        let room = self.bytes.map(|most| most - most / PARTS);
        oldest.retain(|segment| {
            let is_old = self
                .age_s
                .is_some_and(|age| now_s.saturating_sub(segment.began_s) > age);
            let is_gone = is_old || room.is_some_and(|room| left > room);
            left -= if is_gone { segment.bytes } else { 0 };
            is_gone
        });
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_until_the_rest_fits_and_is_young() {
        let segment = |began_s| Segment::of("sda", &Segment::name("sda", began_s), 100).unwrap();
        let all = [segment(300), segment(100), segment(200)];
        let gone = |age_s, bytes| -> Vec<u64> {
            let keep = Keep { age_s, bytes };
            keep.gone(&all, 400).iter().map(|one| one.began_s).collect()
        };
        assert_eq!(gone(None, None), [0; 0]);
        assert_eq!(gone(Some(150), None), [100, 200]);
        // An eighth is left to the one at work.
        assert_eq!(gone(None, Some(300)), [100]);
        assert_eq!(gone(None, Some(343)), [0; 0]);
        assert_eq!(gone(Some(250), Some(100)), [100, 200, 300]);
    }

    #[test]
    fn only_our_own_files_are_traces() {
        for name in [
            "sdb-1.parquet",
            "sda-1.json",
            "sda-x.parquet",
            "sda1-1.parquet",
            "sda",
        ] {
            assert_eq!(Segment::of("sda", name, 1), None, "{name}");
        }
    }

    #[test]
    fn a_trace_ends_when_it_is_large_or_old() {
        let keep = Keep {
            age_s: Some(7 * 86_400),
            bytes: Some(800),
        };
        assert!(!keep.ends(3599, 99) && keep.ends(3600, 0) && keep.ends(0, 100));
        let short = Keep {
            age_s: Some(80),
            bytes: None,
        };
        assert!(short.ends(10, 0) && !short.ends(9, 1 << 40));
    }
}
