//! A request's pages and their streams, cut into commands of one stream each. Pure.

use anabranch_ssd::StreamId;

/// Bytes of a page here, the unit in which writers are known and schemes think.
pub const PAGE_BYTES: u64 = 4096;

/// Consecutive pages of a request that go to one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Their count; at least 1.
    pub pages: u32,
    /// Stream of all of its pages.
    pub stream: StreamId,
}

/// A part of a request that one command carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its first byte, counted from the request's.
    pub offset_bytes: u32,
    /// Its length; at least 1.
    pub length_bytes: u32,
    /// Stream that the part goes to.
    pub stream: StreamId,
}

/// The pages that bytes touch: the first one and how many. A request that begins or ends within a
/// page touches the whole of it.
pub fn pages_of(start_bytes: u64, length_bytes: u32) -> (u64, u32) {
    let first = start_bytes / PAGE_BYTES;
    let end = (start_bytes + u64::from(length_bytes)).div_ceil(PAGE_BYTES);
    (
        first,
        u32::try_from(end.saturating_sub(first)).unwrap_or(u32::MAX),
    )
}

/// The pieces of a request, in order: `runs` are those of the pages it touches. Neighbouring runs
/// of one stream are one piece. Bytes that no run covers, which a caller never leaves, join the
/// last piece's stream.
pub fn split(start_bytes: u64, length_bytes: u32, runs: &[Run], pieces: &mut Vec<Piece>) {
    pieces.clear();
    let first_page_start = start_bytes / PAGE_BYTES * PAGE_BYTES;
    let mut page_end = first_page_start;
    let mut done = 0;
    let mut add = |to: u32, stream: StreamId| {
        let length_bytes = to - done;
        match pieces.last_mut() {
            _ if length_bytes == 0 => {}
            Some(last) if last.stream == stream => last.length_bytes += length_bytes,
            _ => pieces.push(Piece {
                offset_bytes: done,
                length_bytes,
                stream,
            }),
        }
        done = to;
    };
    let mut stream = StreamId::DEFAULT;
    for run in runs {
        page_end += u64::from(run.pages) * PAGE_BYTES;
        let to = page_end
            .saturating_sub(start_bytes)
            .min(length_bytes.into());
        stream = run.stream;
        add(u32::try_from(to).unwrap_or(length_bytes), stream);
    }
    add(length_bytes, stream);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(pages: u32, stream: u16) -> Run {
        Run {
            pages,
            stream: StreamId(stream),
        }
    }

    fn pieces(start: u64, length: u32, runs: &[Run]) -> Vec<(u32, u32, u16)> {
        let mut found = Vec::new();
        split(start, length, runs, &mut found);
        let tuple = |piece: &Piece| (piece.offset_bytes, piece.length_bytes, piece.stream.0);
        found.iter().map(tuple).collect()
    }

    #[test]
    fn a_request_of_one_stream_is_one_command() {
        let runs = [run(3, 2), run(1, 2)];
        assert_eq!(pieces(8192, 16384, &runs), [(0, 16384, 2)]);
    }

    #[test]
    fn a_change_of_stream_is_a_cut_between_pages() {
        let runs = [run(1, 0), run(2, 5), run(1, 0)];
        assert_eq!(
            pieces(4096, 16384, &runs),
            [(0, 4096, 0), (4096, 8192, 5), (12288, 4096, 0)]
        );
    }

    #[test]
    fn a_request_within_pages_is_cut_where_the_pages_end() {
        assert_eq!(pages_of(512, 4096), (0, 2));
        assert_eq!(
            pieces(512, 4096, &[run(1, 1), run(1, 2)]),
            [(0, 3584, 1), (3584, 512, 2)]
        );
    }

    #[test]
    fn pages_without_a_run_are_written_all_the_same() {
        assert_eq!(pieces(0, 8192, &[]), [(0, 8192, 0)]);
        assert_eq!(pieces(0, 12288, &[run(1, 3)]), [(0, 12288, 3)]);
    }

    proptest! {
        #[test]
        fn pieces_cover_the_request_and_every_page_goes_where_it_belongs(
            first_sector in 0..1_000_000_u64,
            sectors in 1..1024_u32,
            streams in proptest::collection::vec(0..4_u16, 130),
        ) {
            let (start, length) = (first_sector * 512, sectors * 512);
            let (first, count) = pages_of(start, length);
            let streams = &streams[..count as usize];
            let runs: Vec<Run> = streams.iter().map(|&stream| run(1, stream)).collect();
            let found = pieces(start, length, &runs);
            let mut at = 0;
            for &(offset, bytes, stream) in &found {
                prop_assert_eq!(offset, at);
                prop_assert!(bytes > 0);
                for byte in (offset..offset + bytes).step_by(512) {
                    let page = (start + u64::from(byte)) / PAGE_BYTES - first;
                    prop_assert_eq!(streams[page as usize], stream);
                }
                at += bytes;
            }
            prop_assert_eq!(at, length);
            prop_assert!(found.windows(2).all(|pair| pair[0].2 != pair[1].2));
        }
    }
}
