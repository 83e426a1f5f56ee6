//! A host that collects on a steered drive, as its report tells it.

use serde::{Deserialize, Serialize};

use crate::{bytes, ratio};

/// A difference of less is none (our choice): to the three decimals that are shown.
const LEAST_SHARE: f64 = 0.001;

/// Counts of a host that collects, since the command began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostCollected {
    /// Bytes that the host wrote anew to the same addresses.
    pub rewritten_bytes: u64,
    /// Bytes that the drive copied by itself, by its log; null where it has none.
    pub copied_bytes: Option<u64>,
    /// Bytes that the drive was sent: those written and those rewritten. A warranty counts these.
    pub warranty_bytes: u64,
    /// Bytes of flash for each byte that users wrote, by the drive's log.
    pub waf: Option<f64>,
    /// The same of the host half alone, by the models.
    pub half_waf: Option<f64>,
    /// Bytes whose units the model does not know: the host collects once these are less than a unit.
    pub unknown_bytes: u64,
    /// Bytes of survivors that were left where they are, for the drive to copy.
    pub left_bytes: u64,
    /// Units that were ended since the drive's had another room than the model's.
    pub ended_units: u64,
    /// Reads and writes of survivors that the drive refused.
    pub failed_rewrites: u64,
    /// Requests that waited for a rewrite, or for room.
    pub waits: u64,
    /// Bytes that had been written when the host left the collecting to the drive; null if it never did.
    pub given_up_at_bytes: Option<u64>,
    /// Bytes of memory that the model holds, and the scheme.
    pub memory_bytes: u64,
    /// All of it in a sentence.
    #[serde(default)]
    pub words: String,
}

impl HostCollected {
    /// The counts with their sentence.
    pub fn with_words(self) -> HostCollected {
        HostCollected {
            words: self.sentence(),
            ..self
        }
    }

    /// A sentence on the bytes that host and drive have moved, and on what that is worth.
    fn sentence(&self) -> String {
        let copied = self
            .copied_bytes
            .map_or("an unknown amount".to_owned(), bytes);
        let mut words = format!(
            "the host wrote {} anew, and the drive copied {copied}: in all {} bytes of flash for each byte written",
            bytes(self.rewritten_bytes),
            ratio(self.waf)
        );
        if let (Some(waf), Some(half)) = (self.waf, self.half_waf) {
            let saved = 1.0 - waf / half;
            words += &format!(
                ", {} by the host half alone as modelled",
                ratio(self.half_waf)
            );
            if saved.abs() >= LEAST_SHARE {
                let more = if saved > 0.0 { "less" } else { "more" };
                words += &format!(": {:.1} % {more}", 100.0 * saved.abs());
            }
        }
        words + &format!("; a warranty counts {}", bytes(self.warranty_bytes))
    }

    /// Limits of it at this moment, in sentences.
    pub fn limitations(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if let Some(at) = self.given_up_at_bytes {
            limits.push(format!(
                "the host left the collecting to the drive when {} were written: it did not pay",
                bytes(at)
            ));
        } else if self.unknown_bytes > 0 {
            limits.push(format!(
                "the host does not know in which units {} of the drive lie: it collects once these are overwritten or \
                 discarded but for a unit (`fstrim`, or a file system made anew)",
                bytes(self.unknown_bytes)
            ));
        }
        if self.failed_rewrites > 0 {
            limits.push(format!(
                "{} reads and writes of survivors failed: these stay where they are",
                self.failed_rewrites
            ));
        }
        limits
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A host that rewrote a tenth of what was written.
    pub fn sample() -> HostCollected {
        HostCollected {
            rewritten_bytes: 100 << 20,
            copied_bytes: Some(0),
            warranty_bytes: 1100 << 20,
            waf: Some(1.1),
            half_waf: Some(1.25),
            unknown_bytes: 0,
            left_bytes: 0,
            ended_units: 0,
            failed_rewrites: 0,
            waits: 0,
            given_up_at_bytes: None,
            memory_bytes: 1 << 20,
            words: String::new(),
        }
        .with_words()
    }

    #[test]
    fn both_kinds_of_copies_and_their_sum_are_told() {
        let words = sample().words;
        assert_eq!(
            words,
            "the host wrote 100.00 MiB anew, and the drive copied 0 B: in all 1.100 bytes of flash for each byte written, \
             1.250 by the host half alone as modelled: 12.0 % less; a warranty counts 1.07 GiB"
        );
        let unsure = HostCollected {
            copied_bytes: None,
            waf: None,
            ..sample()
        };
        let words = unsure.with_words().words;
        assert!(words.contains("an unknown amount"), "{words}");
        assert!(sample().limitations().is_empty());
    }

    #[test]
    fn a_host_that_does_not_collect_says_why() {
        let unknown = HostCollected {
            unknown_bytes: 4096,
            failed_rewrites: 2,
            ..sample()
        };
        let limits = unknown.limitations();
        assert!(
            limits[0].contains("fstrim") && limits[1].contains("2 reads"),
            "{limits:?}"
        );
        let up = HostCollected {
            given_up_at_bytes: Some(1 << 30),
            ..unknown
        };
        assert!(up.limitations()[0].contains("1.00 GiB"));
    }
}
