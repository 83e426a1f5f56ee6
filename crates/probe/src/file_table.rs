//! Files -> rows of the trace's file table.

use std::collections::HashMap;

use anabranch_trace::{File, FileId};

use crate::event::FileKey;

/// Files kept apart; later ones count as "no file". Our choice: some 100 MiB of memory.
const MAX_FILES: usize = 1 << 20;

/// Gives every file a row. Rows are never reused: a new file under an old inode number is a new row.
#[derive(Debug)]
pub(crate) struct FileTable {
    ids: HashMap<FileKey, FileId>,
    files: Vec<File>,
}

impl FileTable {
    /// A table with nothing in it but "no file".
    pub(crate) fn new() -> FileTable {
        FileTable {
            ids: HashMap::new(),
            files: vec![File {
                name: String::new(),
            }],
        }
    }

    /// The row of the file; row 0 for the key of no file, and when there are too many.
    pub(crate) fn id(&mut self, key: FileKey) -> FileId {
        if key == FileKey::default() {
            return FileId(0);
        }
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = match u32::try_from(self.files.len()) {
            Ok(id) if self.files.len() < MAX_FILES => FileId(id),
            _ => return FileId(0),
        };
        self.ids.insert(key, id);
        self.files.push(File {
            name: String::new(),
        });
        id
    }

    /// Notes the name of a file. The first name stays: a file is known by what it was made as.
    pub(crate) fn name(&mut self, key: FileKey, name: String) {
        let row = self.id(key).0 as usize;
        if row > 0 && self.files[row].name.is_empty() {
            self.files[row].name = name;
        }
    }

    /// The rows.
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
        let mut table = FileTable::new();
        table.name(key(12, 1), "000001.log".into());
        table.name(key(12, 2), "000002.sst".into());
        assert_ne!(table.id(key(12, 1)), table.id(key(12, 2)));
        let names: Vec<String> = table
            .into_files()
            .into_iter()
            .map(|file| file.name)
            .collect();
        assert_eq!(names, ["", "000001.log", "000002.sst"]);
    }

    #[test]
    fn a_file_written_before_its_name_is_known_gets_it_later() {
        let mut table = FileTable::new();
        let id = table.id(key(12, 1));
        table.name(key(12, 1), "late".into());
        table.name(key(12, 1), "renamed".into());
        assert_eq!(table.into_files()[id.0 as usize].name, "late");
    }

    #[test]
    fn no_file_is_row_0() {
        let mut table = FileTable::new();
        table.name(FileKey::default(), "nothing".into());
        assert_eq!(table.id(FileKey::default()), FileId(0));
        assert_eq!(table.into_files().len(), 1);
    }
}
