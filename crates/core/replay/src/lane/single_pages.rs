//! Writes of single pages to one stream, many at once: they need not go through the scheme and the lane one by one.

use anabranch_ssd::{StreamId, relocate::Relocate};
use anabranch_trace::{Io, Operation};

use super::{BATCH, Driven, Lane, LaneError};

impl Lane {
    /// Whether nobody but the device has to know of each request.
    pub(super) fn is_plain(&self) -> bool {
        let driven = &self.driven;
        self.rehearsal.is_none()
            && self.sample.is_none()
            && driven.batch_pages == BATCH
            && driven.watch.is_none()
            && driven.placements.is_none()
    }

    /// Gathers the pages of requests, without a branch a request. Answers whether each is a write of a single page of
    /// the drive.
    pub(super) fn gather_single_pages(&mut self, ios: &[Io]) -> bool {
        let mut are_single = true;
        for (page, io) in self.ahead.iter_mut().zip(ios) {
            *page = self.pages.page_of(io.offset_bytes) as u32;
            are_single &= (io.operation == Operation::Write) & self.pages.is_within_one(io);
        }
        are_single
    }

    /// Writes the first `count` pages that were gathered.
    pub(super) fn write_single_pages(
        &mut self,
        count: usize,
        stream: StreamId,
    ) -> Result<(), LaneError> {
        let pages = &self.ahead[..count];
        let before = self.driven.records;
        self.driven
            .place_single_pages(self.policy.relocation_mut(), pages, stream)?;
        // Fewer than `count` where the drive became read-only.
        self.clock_pages += self.driven.records - before;
        Ok(())
    }
}

impl Driven {
    /// As [`Driven::place`] for a request of each page.
    fn place_single_pages(
        &mut self,
        relocation: &mut dyn Relocate,
        mut pages: &[u32],
        stream: StreamId,
    ) -> Result<(), LaneError> {
        if stream != self.batch_stream {
            self.flush_batch(relocation)?;
            self.batch_stream = stream;
        }
        while !pages.is_empty() && !self.ended {
            let room = BATCH - self.batch.len();
            let (now, later) = pages.split_at(pages.len().min(room));
            self.batch.extend_from_slice(now);
            self.records += now.len() as u64;
            if now.len() == room {
                self.flush_batch(relocation)?;
            }
            pages = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use anabranch_placement::SchemeSpec;
    use anabranch_ssd::{Config, wear::Wear};
    use proptest::prelude::*;

    use super::*;
    use crate::lane::Start;

    const PAGES: u64 = 600;

    /// Mostly writes within a page, in runs longer than what a lane looks at together; now and then another request.
    fn requests() -> impl Strategy<Value = Vec<Io>> {
        let within = (0..PAGES, 0_u64..4096).prop_map(|(page, start)| {
            let length = (4096 - start).min(1 + start * 7 % 4096);
            Io::write(page * 4096 + start, length)
        });
        let run = prop::collection::vec(within, 1..700);
        let other =
            (0..PAGES + 1, 0_u64..9000, 0_usize..3).prop_map(|(page, length_bytes, kind)| Io {
                operation: [Operation::Discard, Operation::Read, Operation::Write][kind],
                ..Io::write(page * 4096 + 100, length_bytes)
            });
        prop::collection::vec((run, prop::option::of(other)), 1..8).prop_map(|parts| {
            let parts = parts.into_iter();
            parts
                .flat_map(|(run, other)| run.into_iter().chain(other))
                .collect()
        })
    }

    /// Performs the requests by `apply`, and shows the error, or all that the lane knows then.
    fn run(
        spec: &SchemeSpec,
        drive: &Config,
        ios: &[Io],
        apply: impl FnOnce(&mut Lane, &[Io]) -> Result<(), LaneError>,
    ) -> String {
        let mut lane = Lane::build(spec, drive, &Start::default()).unwrap();
        let applied = apply(&mut lane, ios).and_then(|()| lane.finish());
        let (counters, clock_pages) = (*lane.counters(), lane.clock_pages);
        let shown = applied.map(|()| {
            (
                counters,
                clock_pages,
                lane.series(),
                lane.peak_mapped_pages(),
            )
        });
        format!("{shown:?}")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn many_at_once_are_performed_as_one_by_one(ios in requests(), rated_erases in 0_u32..20) {
            // A drive of few erases ends read-only in the middle.
            let drive = Config {
                wear: Wear { rated_erases, retire_at_rating: rated_erases < 9, ..Wear::default() },
                ..Config::new(PAGES as u32, 16, 60)
            };
            for scheme in ["baseline", "baseline+gc", "sepbit", "pcstream"] {
                let spec = scheme.parse().unwrap();
                let one_by_one = run(&spec, &drive, &ios, |lane, ios| ios.iter().try_for_each(|io| lane.apply(io)));
                let at_once = run(&spec, &drive, &ios, |lane, ios| lane.apply_all(ios));
                prop_assert_eq!(at_once, one_by_one, "{}", scheme);
            }
        }
    }
}
