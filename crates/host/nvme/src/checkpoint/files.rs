//! The few things that keeping a state asks of a file system.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::Path,
};

/// Files of a state: the system's, or a test's replacement of them.
pub trait Files: fmt::Debug + Send + Sync {
    /// Opens a file to be read.
    ///
    /// # Errors
    /// When there is none ([`io::ErrorKind::NotFound`]), or it cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Input>>;

    /// Makes an empty file, in the place of one that may be there.
    ///
    /// # Errors
    /// When it cannot be made.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>>;

    /// Whether a file is there.
    fn is_there(&self, path: &Path) -> bool;

    /// Gives a file another's name, in that one's place.
    ///
    /// # Errors
    /// When it cannot.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// When it cannot.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes safe which files a directory has.
    ///
    /// # Errors
    /// When its device cannot.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// A file that is read.
pub trait Input: Read + Seek + Send {}

impl<T: Read + Seek + Send> Input for T {}

/// A file that is written.
pub trait Output: Write {
    /// Makes safe what was written.
    ///
    /// # Errors
    /// When its device cannot.
    fn sync(&mut self) -> io::Result<()>;
}

impl Output for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// The system's files.
#[derive(Debug)]
pub(super) struct System;

impl Files for System {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Input>> {
        Ok(Box::new(File::open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(File::create(path)?))
    }

    fn is_there(&self, path: &Path) -> bool {
        path.exists()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}
