//! `fstream`: streams by what the file system writes (FStream, FAST'18).

use anabranch_ssd::StreamId;
use anabranch_trace::{ContextId, ContextKind};

use crate::{
    assign::{Assign, Names, Write},
    file_classes::{FileClasses, MAX_CLASSES},
    halves::Halves,
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// Contexts whose kind is remembered; later ones count as applications. 64 times what the probe
/// keeps apart by default (our choice).
const MAX_CONTEXTS: usize = 1 << 16;

/// The class of writes before they have one of their own. Classes of files have the numbers behind
/// these.
const OTHER: u16 = 0;
const JOURNAL: u16 = 1;
const METADATA: u16 = 2;
const FIRST_FILES: u16 = 2;

/// `fstream` in the catalogue. No parameters: `manual` takes the lists of names and extensions
/// that FStream takes as mount options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters;

impl HostScheme for Parameters {
    fn name(&self) -> &'static str {
        "fstream"
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(FStream::new(site.drive.host_streams)))
    }
}

/// Goes by what the file system knows of a write: its journal, its metadata (inodes, directories,
/// bitmaps and group descriptors), and files by extension or name.
///
/// Each of these classes gets the next stream when it is first written, for good: stream 0 is for
/// files without a name and for classes that come when all streams are given out. The paper
/// reserves a stream for each class by mount option; in order of coming, no stream is kept for
/// what a program never writes (our choice). Inodes, directories and bitmaps are one class here,
/// where FStream on ext4 has three: a block device sees them as pages of one cache.
///
/// Memory: that of the file classes, 1 byte for each of at most 65,536 contexts, 2 for each class.
#[derive(Debug, Clone)]
pub struct FStream {
    files: FileClasses,
    contexts: Vec<u8>,
    /// The stream of each class; 0 while it has none.
    streams: Vec<u16>,
    next_stream: u16,
    host_streams: u16,
}

impl FStream {
    /// The scheme for a drive with `host_streams` streams, at least 1.
    pub fn new(host_streams: u16) -> FStream {
        FStream {
            files: FileClasses::default(),
            contexts: Vec::new(),
            streams: vec![0; usize::from(FIRST_FILES + MAX_CLASSES)],
            next_stream: 1,
            host_streams,
        }
    }

    fn learn_context(&mut self, id: ContextId, kind: ContextKind) {
        let class = match kind {
            ContextKind::Journal => JOURNAL,
            ContextKind::Metadata => METADATA,
            _ => return,
        };
        let row = id.0 as usize;
        if row < MAX_CONTEXTS {
            if row >= self.contexts.len() {
                self.contexts.resize(row + 1, OTHER as u8);
            }
            self.contexts[row] = class as u8;
        }
    }

    #[inline]
    fn class(&self, write: &Write) -> u16 {
        let own = self.contexts.get(write.context.0 as usize).copied();
        match own.unwrap_or(0).into() {
            OTHER => match self.files.class_of(write.file) {
                0 => OTHER,
                class => FIRST_FILES + class,
            },
            class => class,
        }
    }
}

impl Assign for FStream {
    fn assign(&mut self, write: &Write) -> StreamId {
        let class = self.class(write);
        let stream = &mut self.streams[usize::from(class)];
        if *stream == 0 && class != OTHER && self.next_stream < self.host_streams {
            *stream = self.next_stream;
            self.next_stream += 1;
        }
        StreamId(*stream)
    }

    fn learn(&mut self, names: &Names) {
        for (file, name) in &names.files {
            self.files.learn(*file, name);
        }
        for context in &names.contexts {
            self.learn_context(context.id, context.kind);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.files.memory_bytes()
            + self.contexts.capacity()
            + self.streams.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::ContextName;
    use anabranch_ssd::PageRange;
    use anabranch_trace::{FileId, WriteHint};

    fn names() -> Names {
        let context = |id, kind| ContextName {
            id: ContextId(id),
            signature: u64::from(id),
            kind,
            role: String::new(),
        };
        let file = |id, name: &str| (FileId(id), name.to_owned());
        Names {
            files: vec![
                file(0, ""),
                file(1, "000004.log"),
                file(2, "000005.sst"),
                file(3, "000006.sst"),
                file(4, "MANIFEST-000001"),
            ],
            contexts: vec![
                context(1, ContextKind::Application),
                context(2, ContextKind::Journal),
                context(3, ContextKind::Metadata),
            ],
        }
    }

    fn stream(scheme: &mut FStream, context: u32, file: u32) -> u16 {
        let write = Write {
            pages: PageRange::new(0, 1),
            context: ContextId(context),
            file: FileId(file),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages: 0,
        };
        scheme.assign(&write).0
    }

    #[test]
    fn journal_metadata_and_kinds_of_files_get_streams_as_they_come() {
        let mut scheme = FStream::new(8);
        scheme.learn(&names());
        let writes = [
            (3, 0),
            (1, 2),
            (2, 0),
            (1, 3),
            (1, 1),
            (1, 4),
            (3, 2),
            (1, 0),
        ];
        let streams = writes.map(|(context, file)| stream(&mut scheme, context, file));
        assert_eq!(streams, [1, 2, 3, 2, 4, 5, 1, 0]);
    }

    #[test]
    fn what_comes_when_all_streams_are_given_out_shares_the_first() {
        let mut scheme = FStream::new(3);
        scheme.learn(&names());
        let streams = [(1, 1), (1, 2), (2, 0), (1, 4), (1, 3)];
        let streams = streams.map(|(context, file)| stream(&mut scheme, context, file));
        assert_eq!(streams, [1, 2, 0, 0, 2]);
        assert_eq!(stream(&mut FStream::new(1), 2, 1), 0);
    }

    #[test]
    fn names_that_come_later_change_nothing_for_those_that_were_there() {
        let (mut early, mut late) = (FStream::new(8), FStream::new(8));
        let all = names();
        early.learn(&all);
        late.learn(&Names {
            files: all.files[..2].to_vec(),
            contexts: all.contexts[..1].to_vec(),
        });
        assert_eq!(stream(&mut early, 1, 1), stream(&mut late, 1, 1));
        late.learn(&Names {
            files: all.files[2..].to_vec(),
            contexts: all.contexts[1..].to_vec(),
        });
        for (context, file) in [(2, 0), (1, 3), (1, 4), (3, 0)] {
            let expected = stream(&mut early, context, file);
            assert_eq!(stream(&mut late, context, file), expected);
        }
    }
}
