//! Requests for a scheme that looks ahead: it is told of many writes before they come.

use anabranch_placement::Write;
use anabranch_trace::{Io, Operation};

use super::{Lane, LaneError};

/// Requests of which it is told at once (our choice: a call into Python is then little beside them).
const ANNOUNCED: usize = 16_384;

impl Lane {
    /// As [`Lane::apply_all`], for such a scheme.
    pub(super) fn apply_announced(&mut self, ios: &[Io]) -> Result<(), LaneError> {
        ios.chunks(ANNOUNCED).try_for_each(|ios| {
            self.announce(ios);
            ios.iter().try_for_each(|io| self.apply(io))
        })
    }

    /// Tells the scheme of the writes among requests, up to the first that does not fit the drive.
    fn announce(&mut self, ios: &[Io]) {
        let mut now_pages = self.clock_pages;
        let writes = ios.iter().filter(|io| io.operation == Operation::Write);
        let pages = writes.map_while(|io| Some((io, self.pages.written(io).ok()?)));
        let writes = pages.filter(|(_, pages)| pages.count > 0);
        let writes = writes.map(|(io, pages)| {
            let write = Write::of(io, pages, now_pages);
            now_pages += u64::from(pages.count);
            write
        });
        let writes: Vec<Write> = writes.collect();
        self.policy.announce(&writes);
    }
}
