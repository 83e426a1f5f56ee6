//! Helpers of the schemes that place page by page.

use anabranch_ssd::{PageRange, StreamId};

use crate::{assign::Write, geometry::HostGeometry};

/// Asks `place` about each page of a write in turn, with the logical time at which that page is written, and answers
/// with the stream of the first. Schemes that ask for it
/// ([`Assign::goes_by_page`](crate::assign::Assign::goes_by_page)) get requests page by page, so that the first page is
/// mostly the only one.
#[inline]
pub(crate) fn place_each(write: &Write, mut place: impl FnMut(u32, u64) -> StreamId) -> StreamId {
    let PageRange { first, count } = write.pages;
    let stream = place(first, write.now_pages);
    for step in 1..count {
        place(
            first.saturating_add(step),
            write.now_pages + u64::from(step),
        );
    }
    stream
}

/// The part of a per-page table that a range covers, as far as the table goes.
pub(crate) fn part<T>(table: &mut [T], pages: PageRange) -> &mut [T] {
    let all = table.len();
    let first = (pages.first as usize).min(all);
    let end = usize::try_from(pages.end()).unwrap_or(usize::MAX);
    &mut table[first..end.clamp(first, all)]
}

/// Reads the entries of pages that are needed soon: the reads do not wait for one another, so that their cache misses overlap.
#[inline]
pub(crate) fn prefetch<T: Copy>(table: &[T], pages: &[u32]) {
    for &page in pages {
        std::hint::black_box(table.get(page as usize).copied());
    }
}

/// Number of classes of a scheme that shares them between the host's writes and copies: as many as asked for, at most
/// the drive's host streams, at least one.
pub(crate) fn shared_classes(wanted: u32, geometry: &HostGeometry) -> u8 {
    let most = u32::from(geometry.host_streams).min(u32::from(u8::MAX));
    wanted.clamp(1, most.max(1)) as u8
}

/// Streams for `wanted` classes that only copies use: the drive's internal streams first, then host streams from
/// `host_classes` on, which no other class uses. Where there are fewer, the last classes share the last of them; where
/// there is none, the last host stream takes all.
pub(crate) fn copy_streams(
    wanted: usize,
    host_classes: u16,
    geometry: &HostGeometry,
) -> Vec<StreamId> {
    let host = geometry.host_streams.max(1);
    let internal = host..host.saturating_add(geometry.internal_streams);
    let mut streams: Vec<StreamId> = internal
        .chain(host_classes..host)
        .take(wanted.max(1))
        .map(StreamId)
        .collect();
    let last = streams.last().copied().unwrap_or(StreamId(host - 1));
    streams.resize(wanted.max(1), last);
    streams
}

/// Draws the next number: splitmix64 (Vigna), the same on every machine.
pub(crate) fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::assign::Assign;
    use anabranch_trace::{ContextId, FileId, WriteHint};

    /// A drive of 64 pages in units of 8, with eight host streams and four internal ones.
    pub(crate) const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 64,
        page_bytes: 4096,
        host_streams: 8,
        internal_streams: 4,
        pages_per_unit: 8,
        physical_units: 12,
    };

    pub(crate) fn write(first: u32, count: u32, now_pages: u64) -> Write {
        Write {
            pages: PageRange::new(first, count),
            context: ContextId::UNKNOWN,
            file: FileId(0),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages,
        }
    }

    /// The stream of one page written.
    pub(crate) fn stream(scheme: &mut impl Assign, page: u32, now_pages: u64) -> u16 {
        scheme.assign(&write(page, 1, now_pages)).0
    }

    #[test]
    fn a_longer_request_is_placed_page_by_page() {
        let mut seen = Vec::new();
        let answer = place_each(&write(5, 3, 100), |page, now| {
            seen.push((page, now));
            StreamId(page as u16)
        });
        assert_eq!(answer, StreamId(5));
        assert_eq!(seen, [(5, 100), (6, 101), (7, 102)]);
    }

    #[test]
    fn classes_are_as_many_as_the_drive_has_host_streams() {
        assert_eq!(shared_classes(6, &DRIVE), 6);
        assert_eq!(shared_classes(20, &DRIVE), 8);
        assert_eq!(shared_classes(0, &DRIVE), 1);
    }

    #[test]
    fn copies_take_internal_streams_then_spare_host_streams_then_share_the_last() {
        let numbers = |wanted, host_classes, drive: &HostGeometry| -> Vec<u16> {
            let streams = copy_streams(wanted, host_classes, drive);
            streams.into_iter().map(|stream| stream.0).collect()
        };
        assert_eq!(numbers(4, 2, &DRIVE), [8, 9, 10, 11]);
        assert_eq!(numbers(6, 2, &DRIVE), [8, 9, 10, 11, 2, 3]);
        let narrow = HostGeometry {
            host_streams: 1,
            internal_streams: 2,
            ..DRIVE
        };
        assert_eq!(numbers(4, 1, &narrow), [1, 2, 2, 2]);
        let bare = HostGeometry {
            host_streams: 2,
            internal_streams: 0,
            ..DRIVE
        };
        assert_eq!(numbers(2, 2, &bare), [1, 1]);
    }
}
