//! The files that contexts wrote, and a name for those of each.

use std::collections::{BTreeMap, HashMap};

use anabranch_placement::Names;
use anabranch_trace::{File, FileId};

use super::patterns::NamePatterns;

/// The most pairs of a context and a file that are counted (our choice: 24 MiB); a pair beyond names nobody.
const MOST_PAIRS: usize = 1 << 20;
/// A context is named by its largest files, which have this share of its bytes (our choice).
const SHARE: f64 = 0.9;
/// The fewest digits that long numbers share (our choice: those of a timeline in PostgreSQL's log).
const NUMBER: usize = 8;
/// The most names of files that have nothing in common (our choice).
const MOST_NAMES: usize = 3;

/// The files that contexts wrote, with the bytes of each.
#[derive(Debug, Default)]
pub struct FilesWritten {
    names: Vec<String>,
    written: HashMap<(u32, FileId), u64>,
}

impl FilesWritten {
    /// Learns names of files.
    pub fn learn(&mut self, names: &Names) {
        for (file, name) in &names.files {
            let row = file.0 as usize;
            if row >= self.names.len() {
                self.names.resize(row + 1, String::new());
            }
            self.names[row].clone_from(name);
        }
    }

    /// Learns by which names files are known: the rows of a trace from its first on.
    pub fn learn_next_names(&mut self, files: &[File]) {
        for (name, file) in self.names.iter_mut().zip(files) {
            if is_known_by_next(file) {
                name.clone_from(&file.next_name);
            }
        }
    }

    /// Counts bytes that a context wrote to a file.
    pub fn count(&mut self, context: u32, file: FileId, bytes: u64) {
        let is_full = self.written.len() >= MOST_PAIRS;
        match self.written.get_mut(&(context, file)) {
            Some(written) => *written += bytes,
            None if is_full => {}
            None => {
                self.written.insert((context, file), bytes);
            }
        }
    }

    /// The name of the files that each context wrote most to. A context without known files has none.
    pub fn titles(&self) -> HashMap<u32, String> {
        let patterns = NamePatterns::of(self.names.iter().map(String::as_str));
        let mut own: HashMap<u32, BTreeMap<&str, u64>> = HashMap::new();
        for ((context, file), bytes) in &self.written {
            let name = self.names.get(file.0 as usize).map_or("", String::as_str);
            *own.entry(*context).or_default().entry(name).or_default() += bytes;
        }
        let title = |(context, mut files): (u32, BTreeMap<&str, u64>)| {
            let all: u64 = files.values().sum();
            let nameless = files.remove("").unwrap_or(0);
            // The journal's bytes are nobody's file, but for a few.
            (nameless <= all / 2).then(|| (context, title(&files, &patterns)))
        };
        own.into_iter().filter_map(title).collect()
    }
}

/// Whether people know a file by the name that it was renamed to: `index` and not `index.lock`. A file that was put
/// aside (`app.log`, which became `app.log.1`) is known by the first name, and nobody knows one by a hash.
fn is_known_by_next(file: &File) -> bool {
    let is_aside = !file.name.is_empty() && file.next_name.starts_with(&file.name);
    !is_aside && has_letter(&NamePatterns::default().of_name(&file.next_name))
}

fn has_letter(pattern: &str) -> bool {
    pattern.contains(char::is_alphanumeric)
}

/// The names of a class, all of one pattern.
#[derive(Default)]
struct Class<'a> {
    bytes: u64,
    names: Vec<(u64, &'a str)>,
}

/// The name of several files: that of the one that has nearly all bytes, the pattern of those that share one, the
/// beginning or end that several patterns share, or else the largest.
fn title(files: &BTreeMap<&str, u64>, patterns: &NamePatterns) -> String {
    let all: u64 = files.values().sum();
    let mut largest: Vec<(u64, &str)> = files.iter().map(|(name, bytes)| (*bytes, *name)).collect();
    largest.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
    let mut covered = 0;
    let kept = largest.iter().position(|(bytes, _)| {
        covered += bytes;
        covered as f64 >= SHARE * all as f64
    });
    largest.truncate(kept.map_or(1, |last| last + 1));

    if let Some(title) = numbered(largest.iter().map(|(_, name)| *name)) {
        return title;
    }
    let mut classes: BTreeMap<String, Class<'_>> = BTreeMap::new();
    for (bytes, name) in &largest {
        let class = classes.entry(patterns.of_name(name)).or_default();
        class.bytes += bytes;
        class.names.push((*bytes, name));
    }
    if classes.len() > 1 {
        // Of `db.0.0` and `wal.0.0` the names share more than the patterns do, of random names it is the other way.
        let names = shared(largest.iter().map(|(_, name)| *name));
        let patterns = shared(classes.keys().map(String::as_str));
        let letters = |text: &String| {
            text.chars()
                .filter(|letter| letter.is_alphanumeric())
                .count()
        };
        let shared = [patterns, names].into_iter().max_by_key(letters);
        if let Some(shared) = shared.filter(|shared| !shared.is_empty()) {
            return shared;
        }
    }
    // Files of one extension are one class.
    let mut by_end: BTreeMap<&str, Vec<(&String, &Class<'_>)>> = BTreeMap::new();
    for (pattern, class) in &classes {
        by_end
            .entry(extension(pattern))
            .or_default()
            .push((pattern, class));
    }
    let mut titles: Vec<(u64, String)> = Vec::new();
    for (end, classes) in by_end {
        if end.is_empty() || classes.len() == 1 {
            let one = |(pattern, class): (&String, &Class<'_>)| (class.bytes, class.title(pattern));
            titles.extend(classes.into_iter().map(one));
        } else {
            let bytes = classes.iter().map(|(_, class)| class.bytes).sum();
            titles.push((bytes, format!("*{end}")));
        }
    }
    titles.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    listed(titles.into_iter().map(|(_, title)| title).collect())
}

/// The beginning that several long numbers share, as of a log's segments: `0000000100000000000000*`.
fn numbered<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let is_number = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_hexdigit()) && !NamePatterns::is_random(name)
    };
    let first = names.clone().next()?;
    let shared = names.clone().skip(1).map(|name| {
        let same = first.bytes().zip(name.bytes());
        same.take_while(|(one, other)| one == other).count()
    });
    let shared = shared.min()?;
    (shared >= NUMBER && names.clone().all(is_number)).then(|| format!("{}*", &first[..shared]))
}

impl Class<'_> {
    /// The name of one file, or the pattern of several or of a random name. Nobody knows a file as `*`: where the pattern
    /// has no letter these are the names themselves, if they are numbers, or the fact that they are random.
    fn title(&self, pattern: &str) -> String {
        let is_random = self
            .names
            .iter()
            .any(|(_, name)| NamePatterns::is_random(name));
        match self.names.as_slice() {
            _ if is_random && !has_letter(pattern) => "random names".to_owned(),
            [(_, name)] if !is_random => (*name).to_owned(),
            names if !has_letter(pattern) => {
                listed(names.iter().map(|(_, name)| (*name).to_owned()).collect())
            }
            _ => pattern.to_owned(),
        }
    }
}

fn listed(mut names: Vec<String>) -> String {
    let is_more = names.len() > MOST_NAMES;
    names.truncate(MOST_NAMES);
    names.join(", ") + if is_more { ", …" } else { "" }
}

/// The extension of a name, with its point; empty where it has none.
fn extension(name: &str) -> &str {
    let at = name.rfind('.').filter(|at| *at > 0);
    let end = at.map_or("", |at| &name[at..]);
    if end.contains(char::is_alphabetic) {
        end
    } else {
        ""
    }
}

/// The beginning and the end that all patterns share, cut at separators; empty where they share neither.
fn shared<'a>(mut patterns: impl Iterator<Item = &'a str>) -> String {
    let first = patterns.next().unwrap_or_default();
    let (mut front, mut back) = (first.len(), first.len());
    for pattern in patterns {
        let same = |one: &mut dyn Iterator<Item = char>, other: &mut dyn Iterator<Item = char>| {
            one.zip(other)
                .take_while(|(one, other)| one == other)
                .map(|(letter, _)| letter.len_utf8())
                .sum::<usize>()
        };
        front = front.min(same(&mut first.chars(), &mut pattern.chars()));
        back = back.min(same(&mut first.chars().rev(), &mut pattern.chars().rev()));
    }
    let separator = |letter: char| !letter.is_alphanumeric() && letter != '*';
    let front = first[..front]
        .rfind(separator)
        .map_or("", |at| &first[..=at]);
    let back = &first[first.len() - back..];
    let back = back.find(separator).map_or("", |at| &back[at..]);
    if front.len() + back.len() > first.len()
        || !(front.contains(char::is_alphanumeric) || back.len() > 1)
    {
        return String::new();
    }
    format!("{front}*{back}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(files: &[(&str, u64)]) -> String {
        let files: BTreeMap<&str, u64> = files.iter().copied().collect();
        title(&files, &NamePatterns::of(files.keys().copied()))
    }

    #[test]
    fn who_writes_mostly_to_no_file_is_not_named_by_one() {
        let mut files = FilesWritten::default();
        files.learn(&Names {
            files: vec![(FileId(1), "a.o".to_owned())],
            contexts: Vec::new(),
        });
        files.count(1, FileId(0), 10);
        files.count(1, FileId(1), 9);
        files.count(2, FileId(0), 9);
        files.count(2, FileId(1), 10);
        let titles = files.titles();
        assert_eq!((titles.get(&1), titles[&2].as_str()), (None, "a.o"));
    }

    #[test]
    fn several_files_are_named_by_what_their_names_have_in_common() {
        for (files, expected) in [
            (
                &[("db.0.0", 600), ("log.0.0", 600), ("wal.0.0", 599)][..],
                "*.0.0",
            ),
            (
                &[
                    ("sbtest1.ibd", 30),
                    ("sbtest2.ibd", 30),
                    ("sbtest3.ibd", 30),
                ],
                "sbtest*.ibd",
            ),
            (
                &[("ibdata1", 60), ("stock.ibd", 20), ("orders.ibd", 20)],
                "ibdata1, *.ibd",
            ),
            (&[("000012.sst", 1), ("000013.sst", 1)], "*.sst"),
            (
                &[("small", 1), ("middle", 2), ("large", 3)],
                "large, middle, small",
            ),
            (&[("16397", 5), ("16405", 4)], "16397, 16405"),
            (
                &[
                    ("00000001000000000000000A", 2),
                    ("00000001000000000000000B", 1),
                ],
                "00000001000000000000000*",
            ),
            (&[("my.db", 95), ("my.db-journal", 5)], "my.db"),
            (&[("tmp_obj_QBrbhZ", 1), ("tmp_obj_vBfhzd", 1)], "tmp_obj_*"),
            (&[("tmp_pack_l8TfY7", 9), ("x", 1)], "tmp_pack_*"),
            (
                &[
                    ("011b60e7ce7d4d412fe82c684d78b9c6e75a33", 2),
                    ("0304c93e47b6449610967082b29cb460923ecf", 1),
                ],
                "random names",
            ),
            (&[("ä.x", 1), ("ö.x", 1)], "*.x"),
            (&[("a", 5), ("b", 4), ("c", 3), ("d", 2)], "a, b, c, …"),
        ] {
            assert_eq!(titled(files), expected);
        }
    }

    #[test]
    fn a_file_is_known_by_the_name_that_it_was_renamed_to_unless_it_was_put_aside() {
        for (name, next_name, expected) in [
            ("index.lock", "index", "index"),
            ("cache-48000.pkl.tmp", "cache.pkl", "cache.pkl"),
            ("ib_logfile101", "ib_logfile0", "ib_logfile0"),
            ("", "late", "late"),
            ("plain", "", "plain"),
            ("app.log", "app.log.1", "app.log"),
            (
                "tmp_obj_QBrbhZ",
                "0304c93e47b6449610967082b29cb460923ecf",
                "tmp_obj_*",
            ),
        ] {
            let mut files = FilesWritten::default();
            files.learn(&Names {
                files: vec![(FileId(0), name.to_owned())],
                contexts: Vec::new(),
            });
            files.learn_next_names(&[File {
                name: name.to_owned(),
                next_name: next_name.to_owned(),
            }]);
            files.count(1, FileId(0), 10);
            assert_eq!(files.titles()[&1], expected);
        }
    }
}
