//! Patterns of file names: `*` stands for the parts that differ from one file, or one run, to the next.
//!
//! A name is cut at its separators. Numbers become `*`, and so do parts that are drawn at random:
//!
//! 1. UUIDs, and 8 and more hexadecimal digits with letters among them (hashes);
//! 2. six and more letters whose case or kind changes at every second letter (`mkstemp`, base 32 and 62);
//! 3. other parts of six and more letters, where another name differs from this one in nothing but such a part of the
//!    same length. Of `mkstemp`'s names every third looks like a word by itself.

use std::collections::HashSet;

use anabranch_placement::{UUID_BYTES, begins_with_uuid};

/// The fewest letters of a random part: those of `mkstemp`.
const LEAST: usize = 6;
/// The fewest hexadecimal digits of a hash: an abbreviated one of Git has 7, and dates of 8 digits have no letters.
const HASH: usize = 8;
/// From so many letters on a part is random if its kind of letter changes at every fourth (our choice: words of
/// CamelCase are longer).
const LONG: usize = 16;

/// The patterns of a set of names.
#[derive(Debug, Default)]
pub struct NamePatterns {
    /// Patterns with a random part, and the length of that part.
    random: HashSet<(String, usize)>,
}

impl NamePatterns {
    /// Finds the random parts of these names.
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> NamePatterns {
        let mut random = HashSet::new();
        for name in names {
            let parts = parts(name);
            let lengths = parts.iter().filter(|part| part.is_random);
            let lengths: HashSet<usize> = lengths.map(|part| part.text.len()).collect();
            if !lengths.is_empty() {
                let text = rendered(&parts);
                random.extend(lengths.into_iter().map(|length| (text.clone(), length)));
            }
        }
        NamePatterns { random }
    }

    /// Whether a part of a name is drawn at random, as far as the name tells by itself.
    pub fn is_random(name: &str) -> bool {
        parts(name).iter().any(|part| part.is_random)
    }

    /// The pattern of a name. Characters that have a meaning in patterns become `?`.
    pub fn of_name(&self, name: &str) -> String {
        let mut parts = parts(name);
        let long = |part: &Part<'_>| !part.is_random && part.text.len() >= LEAST;
        let places: Vec<usize> = (0..parts.len()).filter(|at| long(&parts[*at])).collect();
        // Each part by itself, then all of them: a name may have two of which neither is known by itself.
        let each = places.iter().map(std::slice::from_ref);
        for tried in each.chain([places.as_slice()]) {
            let before: Vec<bool> = parts.iter().map(|part| part.is_random).collect();
            tried.iter().for_each(|at| parts[*at].is_random = true);
            let text = rendered(&parts);
            let is_known =
                |at: &usize| self.random.contains(&(text.clone(), parts[*at].text.len()));
            if !tried.iter().all(is_known) {
                let kept = parts.iter_mut().zip(before);
                kept.for_each(|(part, before)| part.is_random = before);
            }
        }
        rendered(&parts)
    }
}

/// A part of a name: letters and digits, or the separators between them.
struct Part<'a> {
    text: &'a str,
    is_random: bool,
}

fn parts(name: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_uuid = is_uuid(rest);
        let end = if is_uuid {
            UUID_BYTES
        } else {
            let differs = |letter: char| letter.is_alphanumeric() != first.is_alphanumeric();
            rest.find(differs).unwrap_or(rest.len())
        };
        let (text, after) = rest.split_at(end);
        let is_random = is_uuid || is_random(text);
        parts.push(Part { text, is_random });
        rest = after;
    }
    parts
}

/// Whether a text begins with a UUID that ends where it should.
fn is_uuid(text: &str) -> bool {
    begins_with_uuid(text) && !text[UUID_BYTES..].starts_with(char::is_alphanumeric)
}

fn is_random(part: &str) -> bool {
    let bytes = part.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let has_letter = bytes.iter().any(u8::is_ascii_alphabetic);
    if part.len() < LEAST || !has_letter || !bytes.iter().all(u8::is_ascii_alphanumeric) {
        return false;
    }
    // Of a hash's digits three in eight are letters; `00000001000000000000000A` is a number.
    let letters = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .count();
    let is_hex = has_digit && bytes.iter().all(u8::is_ascii_hexdigit);
    let is_hash = is_hex && part.len() >= HASH && letters * 8 >= part.len();
    let a_word = if part.len() >= LONG { 4 } else { 2 };
    is_hash || words(bytes) * a_word >= part.len()
}

/// The words of CamelCase and the numbers in a part.
fn words(part: &[u8]) -> usize {
    let begins = |at: usize| {
        let (before, here) = (part[at - 1], part[at]);
        let next_is_lower = part.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        before.is_ascii_digit() != here.is_ascii_digit()
            || here.is_ascii_uppercase() && (before.is_ascii_lowercase() || next_is_lower)
    };
    1 + (1..part.len()).filter(|at| begins(*at)).count()
}

fn rendered(parts: &[Part<'_>]) -> String {
    let mut pattern = String::new();
    for part in parts {
        let letters = part.text.chars().map(|letter| match letter {
            _ if part.is_random => '*',
            '0'..='9' => '*',
            // A glob takes these for its own.
            '*' | '?' | '[' | ']' => '?',
            other => other,
        });
        for letter in letters {
            if letter != '*' || !pattern.ends_with('*') {
                pattern.push(letter);
            }
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_as_its_next_generation_will_be() {
        for (name, expected) in [
            ("000123.sst", "*.sst"),
            ("MANIFEST-000004", "MANIFEST-*"),
            ("nb-12-big-Data.db", "nb-*-big-Data.db"),
            ("ibdata1", "ibdata*"),
            ("plain", "plain"),
            ("odd[1]*", "odd?*??"),
            ("", ""),
        ] {
            assert_eq!(NamePatterns::default().of_name(name), expected);
        }
    }

    #[test]
    fn parts_that_are_drawn_at_random_stand_for_all_others() {
        for (name, expected) in [
            ("tmp_obj_QBrbhZ", "tmp_obj_*"),
            ("stats.tmp.mKWFJ0.tmp", "stats.tmp.*.tmp"),
            (
                "nb_txn_flush_6e0abcf0-e583-11f1-96d3-277a0ade11cb.log",
                "nb_txn_flush_*.log",
            ),
            (
                "pack-0a1b2c3d4e5f60718293a4b5c6d7e8f901234567.pack",
                "pack-*.pack",
            ),
            ("d1jjo1dcb02er9tr0g98d8a6fa8uglaM.o", "*.o"),
        ] {
            assert_eq!(NamePatterns::default().of_name(name), expected);
        }
    }

    #[test]
    fn names_of_words_stay() {
        for name in [
            "CommitLog",
            "MyFile",
            "order_line.ibd",
            "OPTIONS",
            "LevelDB.ldb",
            "innodb_table_stats.ibd",
            "deadbeef",
            "Größe.txt",
        ] {
            assert_eq!(NamePatterns::default().of_name(name), name);
        }
    }

    #[test]
    fn a_part_like_a_word_is_random_where_its_siblings_are() {
        let names = ["tmp_obj_QBrbhZ", "tmp_obj_vBfhzd", "tmp_obj_ndakoX"];
        let patterns = NamePatterns::of(names.into_iter());
        assert_eq!(names.map(|name| patterns.of_name(name)), ["tmp_obj_*"; 3]);
        assert_eq!(patterns.of_name("tmp_obj_packed"), "tmp_obj_*");
        let two = ["QBrbhZ.tmp.mKWFJ0", "vBfhzd.tmp.ndakoX"];
        let patterns_of_two = NamePatterns::of(two.into_iter());
        assert_eq!(
            two.map(|name| patterns_of_two.of_name(name)),
            ["*.tmp.*"; 2]
        );
        assert_eq!(patterns.of_name("tmp_obj_directory"), "tmp_obj_directory");
    }
}
