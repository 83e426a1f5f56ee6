//! A trace file without a name, for the process itself.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek};
use std::path::{Path, PathBuf};

use super::{Reader, Writer};
use crate::capture::Tables;
use crate::error::TraceError;

/// A trace without a name: it is written, then read as often as needed, and disappears with the
/// process, however that ends.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    path: PathBuf,
}

impl Writer<BufWriter<File>> {
    /// Begins a trace without a name where there is room for one as large as `output`: in its
    /// directory; elsewhere (`TMPDIR`) if that is a pipe or a device.
    ///
    /// # Errors
    /// [`TraceError::Create`] when there can be no file.
    pub fn scratch(output: &Path) -> Result<Writer<BufWriter<File>>, TraceError> {
        let directory = match output.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let is_file = fs::metadata(output).map_or(true, |found| found.is_file());
        let opened = if is_file {
            tempfile::tempfile_in(directory)
        } else {
            tempfile::tempfile()
        };
        let file = opened.map_err(|source| TraceError::Create {
            path: directory.into(),
            source,
        })?;
        Writer::to(output, BufWriter::new(file))
    }

    /// Ends the trace, and keeps it to be read.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn keep(self, tables: &Tables) -> Result<Scratch, TraceError> {
        let path = self.path().to_path_buf();
        let file = self.end(tables)?.into_inner();
        let file = file.map_err(io::IntoInnerError::into_error);
        match file {
            Ok(file) => Ok(Scratch { file, path }),
            Err(source) => Err(TraceError::Write { path, source }),
        }
    }
}

impl Scratch {
    /// Reads the trace from the beginning. IMPORTANT: use one reader at a time, since all share one
    /// position in the file.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn reader(&mut self) -> Result<Reader, TraceError> {
        let unread = |source| TraceError::Read {
            path: self.path.clone(),
            source,
        };
        let length_bytes = self.file.metadata().map_err(unread)?.len();
        self.file.rewind().map_err(unread)?;
        let file = self.file.try_clone().map_err(unread)?;
        Reader::of(&self.path, file, length_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;
    use crate::io::Io;

    #[test]
    fn what_has_no_name_is_read_as_often_as_need_be() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out");
        let mut writer = Writer::scratch(&output).unwrap();
        let ios: Vec<Io> = (0..20_000)
            .map(|page| Io::write(page * 4096, 4096))
            .collect();
        ios.iter().for_each(|io| writer.push(io).unwrap());
        let mut scratch = writer.keep(&Tables::new(Capture::default())).unwrap();
        for _ in 0..2 {
            let found: Result<Vec<Io>, _> = scratch.reader().unwrap().collect();
            assert_eq!(found.unwrap(), ios);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
