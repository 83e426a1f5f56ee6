//! The table that gives files their rows in the trace.

use std::collections::HashMap;

use anabranch_trace::{File, FileId};

use crate::event::FileKey;

/// The beginning of tenants' directories: this and a number, right below the file system's root.
const TENANT: &str = "tenant-";

/// Gives every file a row. Rows are never reused: a new file with an old inode number gets a new
/// row.
#[derive(Debug)]
pub(crate) struct FileTable {
    known: HashMap<FileKey, KnownFile>,
    files: Vec<File>,
    /// The tenants of files that have one.
    tenants: HashMap<FileKey, u32>,
    /// The most files; later ones count as "no file".
    max_files: usize,
}

/// Record of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownFile {
    /// Its row; row 0 for no file, and for files beyond the limit.
    pub id: FileId,
    generation: Option<u8>,
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
            files: vec![File {
                name: String::new(),
            }],
            tenants: HashMap::new(),
            max_files,
        }
    }

    /// Returns the file's record, which is made if there is none.
    pub(crate) fn get(&mut self, key: FileKey) -> KnownFile {
        if key == FileKey::default() {
            return KnownFile::default();
        }
        match self.known.get(&key) {
            Some(known) => *known,
            None => self.add(key, String::new()),
        }
    }

    /// Whether the file has a row and a generation.
    pub(crate) fn knows(&self, key: FileKey) -> bool {
        let known = self.known.get(&key);
        key == FileKey::default() || known.is_some_and(|known| known.generation.is_some())
    }

    /// Notes the name of a file. The first name stays, since a file is known by the name it was
    /// made with. A file that was written to before it had a name gets a new row from here on,
    /// since rows never change: a live scheme then knows at each request what a replay of the trace
    /// knows.
    pub(crate) fn name(&mut self, key: FileKey, name: String) {
        let known = self.known.get(&key);
        let known = known.map(|known| &self.files[known.id.0 as usize].name);
        let is_news = known.is_none_or(|known| known.is_empty() && !name.is_empty());
        if is_news && key != FileKey::default() {
            self.add(key, name);
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
        self.files.push(File { name });
        let known = self.known.entry(key).or_default();
        known.id = row;
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
        table.name(key(12, 1), "renamed".into());
        let named = table.get(key(12, 1)).id;
        assert_eq!(table.files_from(named.0 as usize).len(), 1);
        assert!(table.files_from(5).is_empty());
        let files = table.into_files();
        assert_eq!(files[nameless.0 as usize].name, "");
        assert_eq!(files[named.0 as usize].name, "late");
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
