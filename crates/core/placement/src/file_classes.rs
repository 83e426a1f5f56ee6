//! Classes of files, by what their names have in common.

use std::collections::HashMap;

use anabranch_trace::FileId;

/// The most files whose class is remembered; later ones get none. It is the most that the probe
/// keeps apart.
const MAX_FILES: usize = 1 << 20;
/// The most classes, the class of files without a name included (our choice).
pub(crate) const MAX_CLASSES: u16 = 1024;
/// Bytes of a class's name that are compared (our choice).
const MAX_NAME_BYTES: usize = 64;

/// The class of every file: files with the same extension share a class, and so do files without an
/// extension whose names differ only in digits.
///
/// Class 0 holds files without a name, and files beyond the bounds. Memory: 2 bytes for each file,
/// at most 2^20 files, and 1,024 names of at most 64 bytes.
#[derive(Debug, Clone, Default)]
pub struct FileClasses {
    names: HashMap<String, u16>,
    classes: Vec<u16>,
}

impl FileClasses {
    /// Notes a file's name.
    pub fn learn(&mut self, file: FileId, name: &str) {
        let row = file.0 as usize;
        if row >= MAX_FILES || name.is_empty() {
            return;
        }
        if row >= self.classes.len() {
            self.classes.resize(row + 1, 0);
        }
        self.classes[row] = self.class_of_name(name);
    }

    fn class_of_name(&mut self, name: &str) -> u16 {
        let class = class_name(name);
        let next = self.names.len() as u16 + 1;
        match self.names.get(&class) {
            Some(known) => *known,
            None if next < MAX_CLASSES => {
                self.names.insert(class, next);
                next
            }
            None => 0,
        }
    }

    /// The class of a file, below 1,024.
    #[inline]
    pub fn class_of(&self, file: FileId) -> u16 {
        self.classes.get(file.0 as usize).copied().unwrap_or(0)
    }

    /// The text that the names of a class have in common; `None` for class 0.
    pub fn name(&self, class: u16) -> Option<&str> {
        let known = self.names.iter().find(|(_, number)| **number == class);
        known.map(|(name, _)| name.as_str())
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        let entry = size_of::<(String, u16)>() + MAX_NAME_BYTES;
        self.classes.capacity() * size_of::<u16>() + self.names.capacity() * entry
    }
}

/// The text that names of a class have in common: the extension, as in `.sst`. Without an
/// extension, or with one that is only a number or a hash, it is the name with `#` for each run of
/// digits and for each hash, as in `binlog.#`. A hash is what [`hash_bytes`] takes for one:
/// PostgreSQL's log segments, nginx's cached files (`#.#` while they are written), UUIDs.
fn class_name(name: &str) -> String {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once('.') {
        Some((_, end)) if !is_number(end) && hash_bytes(end) < end.len() => {
            shortened(&format!(".{end}"))
        }
        _ => shortened(&without_digits(name)),
    }
}

fn without_digits(name: &str) -> String {
    let mut class = String::new();
    let (mut rest, mut begins_word) = (name, true);
    while let Some(letter) = rest.chars().next() {
        let hash = if begins_word { hash_bytes(rest) } else { 0 };
        if hash == 0 && !letter.is_ascii_digit() {
            class.push(letter);
        } else if !class.ends_with('#') {
            class.push('#');
        }
        begins_word = !letter.is_ascii_alphanumeric();
        rest = &rest[hash.max(letter.len_utf8())..];
    }
    class
}

/// Bytes of the hash that a text begins with, or 0: 16 and more hexadecimal digits (our choice), or a UUID.
fn hash_bytes(text: &str) -> usize {
    if begins_with_uuid(text) {
        return UUID_BYTES;
    }
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit);
    let count = digits.count();
    if count < 16 { 0 } else { count }
}

fn shortened(name: &str) -> String {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

/// The length of a UUID as text (RFC 9562, section 4).
pub const UUID_BYTES: usize = 36;

/// Whether a text begins with the letters of a UUID, whatever follows.
pub fn begins_with_uuid(text: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let is_of_uuid = |(at, byte): (usize, &u8)| {
        let hyphen = HYPHENS.contains(&at);
        (hyphen && *byte == b'-') || (!hyphen && byte.is_ascii_hexdigit())
    };
    let uuid = text.as_bytes().get(..UUID_BYTES);
    uuid.is_some_and(|bytes| bytes.iter().enumerate().all(is_of_uuid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_of_one_class_by_extension_or_by_name_without_digits() {
        for (name, class) in [
            ("000012.sst", ".sst"),
            ("MANIFEST-000004", "MANIFEST-#"),
            ("binlog.000017", "binlog.#"),
            ("ib_logfile0", "ib_logfile#"),
            ("test.db-wal", ".db-wal"),
            ("00000001000000000000002A", "#"),
            ("febc56eb48cae6f728318589b4730715.0000000001", "#.#"),
            ("febc56eb48cae6f728318589b4730715-tail-12", "#-tail-#"),
            ("tail.febc56eb48cae6f728318589b4730715", "tail.#"),
            ("febc56eb48cae6f728318589b4730715.jpg", ".jpg"),
            ("550e8400-e29b-41d4-a716-446655440000", "#"),
            ("tmp_550e8400-e29b-41d4-a716-446655440000_7", "tmp_#_#"),
            ("facade-of-cafe", "facade-of-cafe"),
            ("16384", "#"),
            ("16384_fsm", "#_fsm"),
            ("trailing.", "trailing."),
        ] {
            assert_eq!(class_name(name), class);
        }
        assert!(class_name(&"ä".repeat(500)).len() <= MAX_NAME_BYTES);
    }

    #[test]
    fn classes_and_files_are_bounded() {
        let mut classes = FileClasses::default();
        for file in 1..5000 {
            let name = format!("{}.x{}", file, "y".repeat(file as usize));
            classes.learn(FileId(file), &name);
        }
        classes.learn(FileId(u32::MAX), "a.log");
        let greatest = (0..5000).map(|file| classes.class_of(FileId(file))).max();
        assert!(greatest < Some(MAX_CLASSES));
        assert_eq!(classes.class_of(FileId(0)), 0);
        assert_eq!(classes.class_of(FileId(u32::MAX)), 0);
        assert!(classes.memory_bytes() < 400_000);
    }
}
