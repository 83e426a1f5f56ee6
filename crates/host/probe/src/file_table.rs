//! The table that gives files their rows in the trace.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anabranch_trace::{File, FileId};

use crate::event::FileKey;

/// The beginning of tenants' directories: this and a number, right below the file system's root.
const TENANT: &str = "tenant-";
/// The most names of one file; the last one stays. Our choice: a file that is renamed over and over must not fill the
/// table.
const MAX_NAMES: u8 = 16;

/// Gives every file a row. Rows are never reused: a new file with an old inode number gets a new
/// row.
#[derive(Debug)]
pub(crate) struct FileTable {
    known: HashMap<FileKey, KnownFile>,
    files: Vec<File>,
    /// Names of files that were renamed and not written to since.
    renamed: HashMap<FileKey, String>,
    /// The tenants of files that have one.
    tenants: HashMap<FileKey, u32>,
    /// The most files; later ones count as "no file".
    max_files: usize,
    replaced: Arc<ReplacedRows>,
}

/// The rows whose file has a newer one, a bit for each: read beside the table without its lock.
#[derive(Debug)]
pub(crate) struct ReplacedRows(Box<[AtomicU64]>);

impl ReplacedRows {
    fn new(rows: usize) -> ReplacedRows {
        ReplacedRows((0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn insert(&self, row: FileId) {
        if let Some(word) = self.0.get(row.0 as usize / 64) {
            word.fetch_or(1 << (row.0 % 64), Ordering::Release);
        }
    }

    /// Whether the file of a row has a newer one.
    pub(crate) fn contains(&self, row: FileId) -> bool {
        let word = self.0.get(row.0 as usize / 64);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (row.0 % 64) & 1 == 1)
    }
}

/// Record of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownFile {
    /// Its row; row 0 for no file, and for files beyond the limit.
    pub id: FileId,
    generation: Option<u8>,
    /// Names that it has had.
    names: u8,
    /// Whether it has another name since its row was made.
    is_renamed: bool,
}

impl KnownFile {
    /// The file's generation; 0 if no write to it was seen.
    pub(crate) fn generation(&self) -> u8 {
        self.generation.unwrap_or(0)
    }
}

impl FileTable {
    /// A table that holds "no file" only, for at most `max_files` files.
    pub(crate) fn new(max_files: usize) -> FileTable {
        FileTable {
            known: HashMap::new(),
            files: vec![File::default()],
            renamed: HashMap::new(),
            tenants: HashMap::new(),
            max_files,
            replaced: Arc::new(ReplacedRows::new(max_files)),
        }
    }

    /// The rows that were replaced so far, and will be.
    pub(crate) fn replaced(&self) -> Arc<ReplacedRows> {
        self.replaced.clone()
    }

    /// Returns the file's record, which is made if there is none.
    pub(crate) fn get(&mut self, key: FileKey) -> KnownFile {
        if key == FileKey::default() {
            return KnownFile::default();
        }
        match self.known.get_mut(&key) {
            Some(known) if known.is_renamed => {
                // The row before, where there is no room for another.
                let before = *known;
                known.is_renamed = false;
                let name = self.renamed.remove(&key).unwrap_or_default();
                let now = self.add(key, name);
                if now.id == FileId::default() {
                    before
                } else {
                    now
                }
            }
            Some(known) => *known,
            None => self.add(key, String::new()),
        }
    }

    /// Whether the file has a row and a generation.
    pub(crate) fn knows(&self, key: FileKey) -> bool {
        let known = self.known.get(&key);
        key == FileKey::default() || known.is_some_and(|known| known.generation.is_some())
    }

    /// Records the name of a file. A file that is renamed, or was written to before its name was known, has a new row
    /// from its next request on, since rows never change: a live scheme then knows at each request what a replay of the
    /// trace knows.
    pub(crate) fn name(&mut self, key: FileKey, name: String) {
        if key == FileKey::default() {
            return;
        }
        let has_room = self.files.len() < self.max_files;
        let Some(known) = self.known.get_mut(&key) else {
            self.add(key, name);
            return;
        };
        let file = &mut self.files[known.id.0 as usize];
        if file.name == name || name.is_empty() || known.names >= MAX_NAMES {
            return;
        }
        if file.next_name.is_empty() {
            file.next_name.clone_from(&name);
        }
        if has_room {
            known.is_renamed = true;
            self.replaced.insert(known.id);
            self.renamed.insert(key, name);
        }
    }

    /// Notes the directory below the root in which a file was first seen: `tenant-7` belongs to
    /// tenant 7.
    pub(crate) fn place(&mut self, key: FileKey, directory: &str) {
        let number = directory.strip_prefix(TENANT).map(str::parse);
        if let Some(Ok(tenant)) = number
            && self.tenants.len() < self.max_files
        {
            self.tenants.entry(key).or_insert(tenant);
        }
    }

    /// The tenant that a file belongs to; 0 if it belongs to none.
    pub(crate) fn tenant(&self, key: FileKey) -> u32 {
        self.tenants.get(&key).copied().unwrap_or(0)
    }

    /// Notes the generation of a file that has a row. The first one stays.
    pub(crate) fn begin(&mut self, key: FileKey, generation: u8) {
        if let Some(known) = self.known.get_mut(&key) {
            known.generation.get_or_insert(generation);
        }
    }

    /// Adds a row for a file, if there is room. A file that had one keeps what else is known of it.
    fn add(&mut self, key: FileKey, name: String) -> KnownFile {
        let row = u32::try_from(self.files.len()).ok().map(FileId);
        let Some(row) = row.filter(|_| self.files.len() < self.max_files) else {
            return KnownFile::default();
        };
        let is_named = !name.is_empty();
        self.files.push(File {
            name,
            ..File::default()
        });
        let known = self.known.entry(key).or_default();
        known.id = row;
        known.names = known.names.saturating_add(u8::from(is_named));
        *known
    }

    /// The rows from `first` on.
    pub(crate) fn files_from(&self, first: usize) -> &[File] {
        self.files.get(first..).unwrap_or_default()
    }

    /// All rows.
    pub(crate) fn into_files(self) -> Vec<File> {
        self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(ino: u64, generation: u32) -> FileKey {
        FileKey {
            ino,
            generation,
            dev: 7,
        }
    }

    #[test]
    fn an_inode_number_used_again_is_another_file() {
        let mut table = FileTable::new(16);
        table.name(key(12, 1), "000001.log".into());
        table.name(key(12, 2), "000002.sst".into());
        assert_ne!(table.get(key(12, 1)).id, table.get(key(12, 2)).id);
        let names: Vec<String> = table
            .into_files()
            .into_iter()
            .map(|file| file.name)
            .collect();
        assert_eq!(names, ["", "000001.log", "000002.sst"]);
    }

    #[test]
    fn a_files_first_generation_stays_and_who_has_none_is_not_known_yet() {
        let mut table = FileTable::new(16);
        table.name(key(12, 1), "000001.sst".into());
        assert!(!table.knows(key(12, 1)));
        for generation in [2, 0] {
            table.begin(key(12, 1), generation);
        }
        assert!(table.knows(key(12, 1)));
        let generations =
            [key(12, 1), key(12, 2), FileKey::default()].map(|key| table.get(key).generation());
        assert_eq!(generations, [2, 0, 0]);
    }

    #[test]
    fn a_file_written_before_its_name_is_known_has_a_new_row_once_it_is() {
        let mut table = FileTable::new(16);
        let nameless = table.get(key(12, 1)).id;
        table.name(key(12, 1), "late".into());
        let named = table.get(key(12, 1)).id;
        assert_eq!(table.files_from(named.0 as usize).len(), 1);
        assert!(table.files_from(5).is_empty());
        let files = table.into_files();
        assert_eq!(files[nameless.0 as usize].name, "");
        assert_eq!(files[named.0 as usize].name, "late");
    }

    #[test]
    fn a_renamed_file_has_a_new_row_and_keeps_its_generation() {
        let mut table = FileTable::new(64);
        let mut ids = Vec::new();
        table.name(key(12, 1), "ib_logfile101".into());
        table.begin(key(12, 1), 1);
        for name in ["ib_logfile101", "ib_logfile0", "", "ib_logfile0"] {
            table.name(key(12, 1), name.into());
            ids.push(table.get(key(12, 1)).id.0);
        }
        assert_eq!(ids, [1, 2, 2, 2]);
        let replaced = table.replaced();
        assert_eq!(
            [0, 1, 2, 99].map(|row| replaced.contains(FileId(row))),
            [false, true, false, false]
        );
        assert_eq!(table.get(key(12, 1)).generation(), 1);
        assert_eq!(table.files_from(2)[0].name, "ib_logfile0");
    }

    #[test]
    fn a_file_that_is_not_written_to_after_it_was_renamed_has_one_row_with_both_names() {
        let mut table = FileTable::new(64);
        for name in ["index.lock", "index", "index.1"] {
            table.name(key(12, 1), name.into());
        }
        assert_eq!(table.get(key(13, 1)).id, FileId(2));
        let files = table.into_files();
        let names = |row: usize| (files[row].name.as_str(), files[row].next_name.as_str());
        assert_eq!([1, 2].map(names), [("index.lock", "index"), ("", "")]);
    }

    #[test]
    fn a_renamed_file_keeps_its_row_where_there_is_room_for_no_other() {
        let mut table = FileTable::new(3);
        table.name(key(12, 1), "first".into());
        table.name(key(12, 1), "second".into());
        table.name(key(13, 1), "other".into());
        let ids = [12, 12, 13].map(|ino| table.get(key(ino, 1)).id.0);
        assert_eq!(ids, [1, 1, 2]);
    }

    #[test]
    fn a_file_renamed_over_and_over_does_not_fill_the_table() {
        let mut table = FileTable::new(1024);
        for turn in 0..1000 {
            table.name(key(12, 1), format!("name-{turn}"));
            table.get(key(12, 1));
        }
        assert_eq!(table.files_from(1).len(), usize::from(MAX_NAMES));
    }

    #[test]
    fn a_file_belongs_to_the_tenant_whose_directory_it_was_made_in() {
        let mut table = FileTable::new(16);
        for (ino, directory) in [(1, "tenant-7"), (2, "tenants"), (3, ""), (4, "tenant-x")] {
            table.place(key(ino, 1), directory);
        }
        table.place(key(1, 1), "tenant-8");
        let tenants = [1, 2, 3, 4, 5].map(|ino| table.tenant(key(ino, 1)));
        assert_eq!(tenants, [7, 0, 0, 0, 0]);
    }

    #[test]
    fn a_full_table_answers_no_file() {
        let mut table = FileTable::new(3);
        let ids = [1, 2, 3, 1].map(|ino| table.get(key(ino, 1)).id.0);
        assert_eq!(ids, [1, 2, 0, 1]);
    }

    #[test]
    fn no_file_is_row_0() {
        let mut table = FileTable::new(16);
        table.name(FileKey::default(), "nothing".into());
        assert_eq!(table.get(FileKey::default()).id, FileId(0));
        assert_eq!(table.into_files().len(), 1);
    }
}
