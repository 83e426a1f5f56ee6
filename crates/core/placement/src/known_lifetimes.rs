//! Lifetimes of contexts, kept from one run to the next.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The version of the text that is written, and the only one that is read.
const VERSION: u32 = 1;
/// The most contexts that are kept (our choice: what `pcstream` can be told to learn).
const MAX_CONTEXTS: usize = 65_536;
/// Runs for which a context is kept without being seen (our choice).
const MAX_IDLE_RUNS: u32 = 8;

/// The reason why kept lifetimes cannot be used. The remedy is always the same: without the file,
/// lifetimes are learned again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LifetimesError {
    /// The text does not have the form of kept lifetimes.
    #[error("not lifetimes kept from an earlier run: {0}")]
    Form(String),
    /// The text is of another version.
    #[error(
        "lifetimes of version {0}; this program reads version {VERSION}: delete it to begin anew"
    )]
    Version(u32),
    /// The text was changed after it was written.
    #[error("lifetimes whose check sum is wrong: delete it to begin anew")]
    Checksum,
    /// A value is not possible.
    #[error("lifetimes of an impossible context, {0}: delete it to begin anew")]
    Value(String),
}

/// The lifetime known of one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownLifetime {
    /// The context's signature, the same in every run; 16 hexadecimal digits in the text.
    #[serde(with = "hexadecimal")]
    pub signature: u64,
    /// Mean lifetime of its data, in bytes written to the drive; at least 1.
    pub lifetime_bytes: u64,
    /// Bytes it wrote recently when it was last seen: the weight of its lifetime.
    pub written_bytes: u64,
    /// Runs since it was last seen.
    pub idle_runs: u32,
}

mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

/// Lifetimes of contexts, by signature. As text they are JSON with a version and a check sum; this
/// crate reads and writes no file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownLifetimes {
    /// The contexts in order of their signatures, each once.
    contexts: Vec<KnownLifetime>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    anabranch_lifetimes: u32,
    checksum: String,
    contexts: Vec<KnownLifetime>,
}

/// The first field alone, so that a version unknown is told from a text that is wrong.
#[derive(Deserialize)]
struct Head {
    anabranch_lifetimes: u32,
}

impl KnownLifetimes {
    /// Of a signature known twice the first counts; the unknown context's, 0, does not. Where there
    /// are more than 65,536, those idle for longest are left out.
    pub fn new(mut contexts: Vec<KnownLifetime>) -> KnownLifetimes {
        contexts.retain(|known| known.signature != 0);
        contexts.sort_by_key(|known| known.signature);
        contexts.dedup_by_key(|known| known.signature);
        if contexts.len() > MAX_CONTEXTS {
            contexts.sort_by_key(|known| known.idle_runs);
            contexts.truncate(MAX_CONTEXTS);
            contexts.sort_by_key(|known| known.signature);
        }
        KnownLifetimes { contexts }
    }

    /// The contexts, in order of their signatures.
    pub fn contexts(&self) -> &[KnownLifetime] {
        &self.contexts
    }

    /// The lifetime known of a context.
    pub fn get(&self, signature: u64) -> Option<&KnownLifetime> {
        let found = self
            .contexts
            .binary_search_by_key(&signature, |known| known.signature);
        found.ok().and_then(|row| self.contexts.get(row))
    }

    /// These lifetimes updated after a run that learned `newer`: contexts that the run did not see
    /// stay for some runs.
    pub fn after(&self, newer: &KnownLifetimes) -> KnownLifetimes {
        let unseen = self
            .contexts
            .iter()
            .filter(|known| newer.get(known.signature).is_none())
            .map(|known| KnownLifetime {
                idle_runs: known.idle_runs.saturating_add(1),
                ..*known
            })
            .filter(|known| known.idle_runs <= MAX_IDLE_RUNS);
        KnownLifetimes::new(newer.contexts.iter().copied().chain(unseen).collect())
    }

    /// The lifetimes that two learners found in one run, merged; of a context that both know, the
    /// one with more bytes written counts.
    pub fn joined(self, other: KnownLifetimes) -> KnownLifetimes {
        let mut all = self.contexts;
        all.extend(other.contexts);
        all.sort_by_key(|known| (known.idle_runs, std::cmp::Reverse(known.written_bytes)));
        KnownLifetimes::new(all)
    }

    /// Parses a text of lifetimes.
    ///
    /// # Errors
    /// When the text is of another form or version, or was changed since it was written.
    pub fn parse(text: &str) -> Result<KnownLifetimes, LifetimesError> {
        let form = |error: serde_json::Error| LifetimesError::Form(error.to_string());
        let head: Head = serde_json::from_str(text).map_err(form)?;
        if head.anabranch_lifetimes != VERSION {
            return Err(LifetimesError::Version(head.anabranch_lifetimes));
        }
        let document: Document = serde_json::from_str(text).map_err(form)?;
        if document.checksum != checksum(&document.contexts) {
            return Err(LifetimesError::Checksum);
        }
        let count = document.contexts.len();
        let known = KnownLifetimes::new(document.contexts);
        let impossible = known.contexts.iter().find(|one| one.lifetime_bytes == 0);
        match impossible {
            Some(one) => Err(LifetimesError::Value(format!("{:016x}", one.signature))),
            None if known.contexts.len() < count => {
                Err(LifetimesError::Value("0, or one named twice".to_owned()))
            }
            None => Ok(known),
        }
    }

    /// The text of the lifetimes, the same for the same lifetimes.
    pub fn text(&self) -> String {
        let document = Document {
            anabranch_lifetimes: VERSION,
            checksum: checksum(&self.contexts),
            contexts: self.contexts.clone(),
        };
        // Numbers and strings only: there is nothing in it that JSON has no form for.
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}

/// CRC-32 over the numbers of every row, in hexadecimal.
fn checksum(contexts: &[KnownLifetime]) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for known in contexts {
        hasher.update(&known.signature.to_le_bytes());
        hasher.update(&known.lifetime_bytes.to_le_bytes());
        hasher.update(&known.written_bytes.to_le_bytes());
        hasher.update(&known.idle_runs.to_le_bytes());
    }
    format!("{:08x}", hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(signature: u64, lifetime_bytes: u64) -> KnownLifetime {
        KnownLifetime {
            signature,
            lifetime_bytes,
            written_bytes: 1000,
            idle_runs: 0,
        }
    }

    fn lives() -> KnownLifetimes {
        KnownLifetimes::new(vec![known(u64::MAX, 4096), known(7, 1 << 40)])
    }

    #[test]
    fn what_is_known_survives_its_text() {
        let text = lives().text();
        assert_eq!(KnownLifetimes::parse(&text), Ok(lives()));
        assert!(text.contains("\"ffffffffffffffff\""), "{text}");
        assert_eq!(lives().get(7).map(|one| one.lifetime_bytes), Some(1 << 40));
        assert_eq!(lives().get(8), None);
    }

    #[test]
    fn what_is_none_is_refused_with_the_reason() {
        let text = lives().text();
        let parse = |text: &str| KnownLifetimes::parse(text).unwrap_err();
        assert!(matches!(parse("{}"), LifetimesError::Form(_)));
        assert!(matches!(parse(&text[..60]), LifetimesError::Form(_)));
        let changed = text.replace("4096", "4097");
        assert_eq!(parse(&changed), LifetimesError::Checksum);
        let newer = text.replace("lifetimes\": 1", "lifetimes\": 2");
        assert_eq!(parse(&newer), LifetimesError::Version(2));
        let zero = KnownLifetimes::new(vec![known(3, 0)]).text();
        assert!(parse(&zero).to_string().contains("0000000000000003"));
        let mut twice = lives();
        twice.contexts.push(known(7, 5));
        assert!(matches!(parse(&twice.text()), LifetimesError::Value(_)));
    }

    #[test]
    fn a_context_not_seen_is_kept_for_eight_runs() {
        let empty = KnownLifetimes::default();
        let mut later = lives();
        for runs in 1..=8 {
            later = later.after(&empty);
            assert_eq!(later.get(7).map(|one| one.idle_runs), Some(runs));
        }
        assert_eq!(later.after(&empty), empty);
        let seen = later.after(&KnownLifetimes::new(vec![known(7, 50)]));
        assert_eq!(seen.get(7), Some(&known(7, 50)));
    }

    #[test]
    fn of_two_that_one_run_learned_the_one_that_wrote_more_counts() {
        let small = KnownLifetime {
            written_bytes: 1,
            ..known(7, 10)
        };
        let joined = KnownLifetimes::new(vec![small]).joined(lives());
        assert_eq!(joined, lives());
    }

    #[test]
    fn what_is_known_is_bounded() {
        let many = (0..100_000).map(|signature| known(signature, 1));
        let bounded = KnownLifetimes::new(many.collect());
        assert_eq!(bounded.contexts().len(), MAX_CONTEXTS);
        assert_eq!(bounded.get(0), None);
    }
}
