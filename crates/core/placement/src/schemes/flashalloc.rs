//! `flashalloc`: a stream for each object while it is written (FlashAlloc, PVLDB 16, 2023).

use anabranch_ssd::StreamId;
use anabranch_trace::FileId;

use crate::{
    assign::{Assign, Write},
    geometry::HostGeometry,
    halves::Halves,
    parameter::{Period, named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

parameters! {
    /// Parameters of [`FlashAlloc`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Objects that have a stream at a time, as far as the drive has streams. How many the firmware allows is not
        /// told; 128 is our choice.
        objects: Count(1..=1024) = 128,
            "objects that have a stream at a time, as far as the drive has streams";
        /// Writes to the drive after which an object that was not written meanwhile has ended. FlashAlloc is told an
        /// object's size and ends it when that is written; no request tells a file's size. Our choice.
        idle: Period = Period::CapacityOver(64),
            "writes to the drive after which an object not written meanwhile has ended";
    }
}

impl HostScheme for Parameters {
    named!("flashalloc");

    fn goes_by_requests(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(FlashAlloc::new(self, &site.geometry())))
    }
}

/// The object that has a stream, or had it last.
#[derive(Debug, Clone, Copy)]
struct Holder {
    file: FileId,
    /// When it was last written.
    last_pages: u64,
}

/// Gives each object (a file) a stream while it is written, and gives the stream to another object when the first has
/// ended.
///
/// In FlashAlloc the host names an object's addresses beforehand, and the drive dedicates erased blocks to them; other
/// writes go to blocks that all share. Here an object begins with a file's first write. It takes the first stream that
/// nobody has, so that no more units are open than objects were
/// ever written side by side. When all streams are taken, it goes to stream 0
/// with the writes that belong to no file, and asks again with its next write (our choice: the paper says nothing of
/// objects beyond what the drive can open). A stream's unit is not closed when its object ends, which no host half can
/// do: the next object begins in what is left of it, where FlashAlloc leaves the rest of its last block.
///
/// Memory: 24 bytes for each object that may have a stream.
#[derive(Debug, Clone)]
pub struct FlashAlloc {
    /// Owners of stream 1, 2, and so on.
    holders: Vec<Option<Holder>>,
    idle_pages: u64,
}

impl FlashAlloc {
    /// For a drive; no object is open yet.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> FlashAlloc {
        let streams = geometry.host_streams.saturating_sub(1).into();
        let objects = parameters.objects.min(streams);
        FlashAlloc {
            holders: vec![None; objects as usize],
            idle_pages: parameters.idle.pages(geometry),
        }
    }

    /// The place of a file: its own, or the first that is free.
    fn place(&self, file: FileId, now_pages: u64) -> Option<usize> {
        let is_own = |holder: &Option<Holder>| holder.is_some_and(|one| one.file == file);
        let has_ended = |one: &Holder| now_pages.saturating_sub(one.last_pages) > self.idle_pages;
        let is_free = |holder: &Option<Holder>| holder.as_ref().is_none_or(has_ended);
        let own = self.holders.iter().position(is_own);
        own.or_else(|| self.holders.iter().position(is_free))
    }
}

impl Assign for FlashAlloc {
    fn assign(&mut self, write: &Write) -> StreamId {
        if write.file == FileId(0) {
            return StreamId::DEFAULT;
        }
        let Some(place) = self.place(write.file, write.now_pages) else {
            return StreamId::DEFAULT;
        };
        self.holders[place] = Some(Holder {
            file: write.file,
            last_pages: write.now_pages + u64::from(write.pages.count),
        });
        StreamId(place as u16 + 1)
    }

    fn memory_bytes(&self) -> usize {
        self.holders.capacity() * size_of::<Option<Holder>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::PageRange;
    use anabranch_trace::{ContextId, WriteHint};

    /// A scheme for a drive of 6,400 pages: an object has ended after 100.
    fn scheme(host_streams: u16, objects: u32) -> FlashAlloc {
        let geometry = HostGeometry {
            logical_pages: 6_400,
            page_bytes: 4096,
            host_streams,
            internal_streams: 8,
            pages_per_unit: 100,
            physical_units: 80,
        };
        let parameters = Parameters {
            objects,
            ..Parameters::default()
        };
        FlashAlloc::new(&parameters, &geometry)
    }

    /// Streams of writes of ten pages, each after what was written before it.
    fn streams(scheme: &mut FlashAlloc, files: impl IntoIterator<Item = u32>) -> Vec<u16> {
        let write = |(step, file)| Write {
            pages: PageRange::new(0, 10),
            context: ContextId(1),
            file: FileId(file),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages: step * 10,
        };
        let writes = (0_u64..).zip(files).map(write);
        writes.map(|write| scheme.assign(&write).0).collect()
    }

    #[test]
    fn objects_written_side_by_side_have_a_stream_each_and_what_has_no_name_has_none() {
        let found = streams(&mut scheme(8, 128), [7, 9, 7, 0, 4, 9, 7]);
        assert_eq!(found, [1, 2, 1, 0, 3, 2, 1]);
    }

    #[test]
    fn a_stream_is_given_back_when_its_object_was_not_written_for_long() {
        // The second file ends at 20; eleven writes of the first later, the third has its stream.
        let files = [7, 9].into_iter().chain([7; 10]).chain([5, 7, 9]);
        let found = streams(&mut scheme(8, 128), files);
        assert_eq!(found[..2], [1, 2]);
        assert_eq!(found[12..], [3, 1, 2], "idle for 100 pages and no more");
        let files = [7, 9].into_iter().chain([7; 11]).chain([5, 7, 9]);
        let found = streams(&mut scheme(8, 128), files);
        assert_eq!(found[13..], [2, 1, 3]);
    }

    #[test]
    fn objects_beyond_the_streams_share_the_first_until_one_ends() {
        let found = streams(&mut scheme(3, 128), [1, 2, 3, 1, 2, 3]);
        assert_eq!(found, [1, 2, 0, 1, 2, 0]);
        assert_eq!(streams(&mut scheme(8, 1), [1, 2, 1]), [1, 0, 1]);
        assert_eq!(streams(&mut scheme(1, 128), [1, 2]), [0, 0]);
    }
}
