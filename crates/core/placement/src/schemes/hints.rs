//! `hints`: the streams the application itself asked for.

use anabranch_ssd::StreamId;
use anabranch_trace::WriteHint;

use crate::{
    assign::{Assign, Write},
    halves::Halves,
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// Follows the application's write life-time hints (`F_SET_RW_HINT`), the papers' "Manual", as
/// they were *asked* for: a hint the kernel refused still counts (Debian's RocksDB asks with a
/// 4-byte value and gets EINVAL).
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    host_streams: u16,
}

impl Hints {
    /// The scheme for a drive with `host_streams` streams, at least 1.
    pub fn new(host_streams: u16) -> Hints {
        Hints { host_streams }
    }
}

impl Assign for Hints {
    #[inline]
    fn assign(&mut self, write: &Write) -> StreamId {
        hint_stream(write.hint, self.host_streams)
    }
}

/// The stream of a hint: none → 0, short → 1, medium → 2, long → 3, extreme → 4, as Linux 4.13 to
/// 5.17 mapped hints to NVMe streams (the hint's number less one). A drive with fewer than five
/// streams gives its last one to all the longer hints, so that what dies soonest stays apart for
/// longest; where Linux would not have used streams at all.
pub fn hint_stream(hint: WriteHint, host_streams: u16) -> StreamId {
    let wanted = match hint {
        WriteHint::NotSet | WriteHint::None => 0,
        WriteHint::Short => 1,
        WriteHint::Medium => 2,
        WriteHint::Long => 3,
        WriteHint::Extreme => 4,
    };
    StreamId(wanted.min(host_streams.saturating_sub(1)))
}

/// The entry `hints` of the catalogue, which has no parameters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters;

impl HostScheme for Parameters {
    fn name(&self) -> &'static str {
        "hints"
    }

    fn goes_by_hints(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(Hints::new(site.drive.host_streams)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::PageRange;
    use anabranch_trace::Io;

    #[test]
    fn each_hint_has_a_stream_of_its_own_where_there_are_five() {
        let streams = WriteHint::ALL.map(|hint| hint_stream(hint, 8).0);
        assert_eq!(streams, [0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_refused_hint_still_counts_as_asked() {
        let refused = Io {
            hint: WriteHint::Medium,
            hint_granted: false,
            ..Io::write(0, 4096)
        };
        let write = Write {
            pages: PageRange::new(0, 1),
            context: refused.context,
            file: refused.file,
            hint: refused.hint,
            tenant: 0,
            now_pages: 0,
        };
        assert_eq!(Hints::new(8).assign(&write), StreamId(2));
    }

    #[test]
    fn the_longer_hints_share_the_last_stream_of_a_smaller_drive() {
        let streams = |n| WriteHint::ALL.map(|hint| hint_stream(hint, n).0);
        assert_eq!(streams(4), [0, 0, 1, 2, 3, 3]);
        assert_eq!(streams(3), [0, 0, 1, 2, 2, 2]);
        assert_eq!(streams(2), [0, 0, 1, 1, 1, 1]);
        assert_eq!(streams(1), [0; 6]);
    }
}
