//! Mean predicted life of each file, which keeps the pages appended to it together.

use anabranch_trace::FileId;

use super::span::Eighths;

/// Files remembered, by their numbers' remainders; 32 KiB (our choice: more than a program appends
/// to at a time).
pub(super) const FILES: usize = 4096;
/// Weight of one page in its file's mean (our choice: 64 pages are a request of 256 KiB).
const FADING: f32 = 1.0 / 64.0;

/// One file's number, and the mean of the lives predicted for its last pages.
#[derive(Debug, Clone, Copy, Default)]
struct FileMean {
    file: FileId,
    mean: Eighths,
}

/// Pages new to their addresses are appended, and what is appended to one file mostly dies with
/// it. Several calls of one program write it (its blocks, its last one, its index), each with a
/// past of its own; the file's mean keeps its pages in one stream all the same.
#[derive(Debug)]
pub(super) struct FileMeans {
    means: Vec<FileMean>,
}

impl FileMeans {
    /// With room for so many files, a power of two.
    pub fn new(files: usize) -> FileMeans {
        FileMeans {
            means: vec![FileMean::default(); files],
        }
    }

    /// The file's mean after a page was appended whose own prediction is `predicted`; pages of no file keep theirs.
    #[inline]
    pub fn join(&mut self, file: FileId, predicted: Eighths) -> Eighths {
        if file == FileId::default() {
            return predicted;
        }
        let place = file.0 as usize & (self.means.len() - 1);
        let mean_of_file = &mut self.means[place];
        if mean_of_file.file != file {
            *mean_of_file = FileMean {
                file,
                mean: predicted,
            };
        }
        mean_of_file.mean += (predicted - mean_of_file.mean) * FADING;
        mean_of_file.mean
    }

    pub fn memory_bytes(&self) -> usize {
        self.means.capacity() * size_of::<FileMean>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_with_its_file_and_a_file_follows_its_pages() {
        let mut means = FileMeans::new(FILES);
        assert_eq!(means.join(FileId(3), 100.0), 100.0);
        let stray = means.join(FileId(3), 36.0);
        assert_eq!(stray, 99.0);
        for _ in 0..1000 {
            means.join(FileId(3), 36.0);
        }
        assert!(means.join(FileId(3), 36.0) < 37.0);
    }

    #[test]
    fn another_file_begins_anew_and_pages_of_no_file_are_by_themselves() {
        let mut means = FileMeans::new(FILES);
        means.join(FileId(3), 100.0);
        assert_eq!(means.join(FileId(3 + FILES as u32), 20.0), 20.0);
        means.join(FileId(0), 100.0);
        assert_eq!(means.join(FileId(0), 20.0), 20.0);
    }
}
