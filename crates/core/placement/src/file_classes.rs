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
/// extension, or with one that is only a number, it is the name with `#` for each run of digits, as
/// in `binlog.#`; for names of 16 and more hexadecimal digits, which PostgreSQL's log segments
/// have, it is `#`.
fn class_name(name: &str) -> String {
    if name.len() >= 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return "#".to_owned();
    }
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once('.') {
        Some((_, extension)) if !is_number(extension) => shortened(&format!(".{extension}")),
        _ => shortened(&without_digits(name)),
    }
}

fn without_digits(name: &str) -> String {
    let mut class = String::new();
    for letter in name.chars() {
        if !letter.is_ascii_digit() {
            class.push(letter);
        } else if !class.ends_with('#') {
            class.push('#');
        }
    }
    class
}

fn shortened(name: &str) -> String {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
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
