//! The size of a trace, in numbers that a person can check against what is known of it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::footprint::Footprint;
use super::times::Times;
use crate::io::{Io, Operation};

/// The most volumes that are told apart. Our choice: ten times those of the largest public trace.
const MOST_VOLUMES: usize = 1 << 16;

/// Counts the requests of a trace and their bytes, in bounded memory.
#[derive(Debug, Clone)]
pub struct Survey {
    /// By the operation's code.
    operations: [Total; 4],
    times: Times,
    bytes: Option<(u64, u64)>,
    footprint: Footprint,
    volumes: BTreeSet<u32>,
    /// The volume of the last request with data, which is mostly that of the next.
    last_volume: Option<u32>,
}

/// Requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// Number of requests.
    pub requests: u64,
    /// Bytes of those requests.
    pub bytes: u64,
}

/// Counts, bytes and times of the requests of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// From the earliest request to the latest, in nanoseconds.
    pub span_ns: u64,
    /// The longest time from one request to the next, in nanoseconds: nearly all of the span where one clock is wrong.
    pub longest_pause_ns: u64,
    /// Requests with an earlier time than the one before them.
    pub steps_back: u64,
    /// The longest of these steps, in nanoseconds. In a trace, times end at the first request's; see
    /// [`Importer::steps_back`](super::Importer::steps_back) for those of a clock.
    pub longest_step_back_ns: u64,
    /// Read requests and their bytes.
    pub read: Total,
    /// Writes.
    pub written: Total,
    /// Discards and their bytes.
    pub discarded: Total,
    /// Flush requests.
    pub flushes: u64,
    /// The lowest byte that a request names.
    pub first_byte: u64,
    /// One past the highest byte that a request names.
    pub end_byte: u64,
    /// Bytes that were ever written, in whole pages of 4 KiB.
    pub footprint_bytes: u64,
    /// Whether `footprint_bytes` is exact; otherwise it is an upper bound, for want of memory.
    pub footprint_is_exact: bool,
    /// Volumes, which have addresses of their own; 65,536 stands for that or more.
    pub volumes: u64,
}

impl Summary {
    /// Requests of all kinds.
    pub fn requests(&self) -> u64 {
        self.read.requests + self.written.requests + self.discarded.requests + self.flushes
    }
}

impl Default for Survey {
    fn default() -> Survey {
        Survey {
            operations: [Total::default(); 4],
            times: Times::default(),
            bytes: None,
            footprint: Footprint::new(),
            volumes: BTreeSet::new(),
            last_volume: None,
        }
    }
}

impl Survey {
    /// Counts a request.
    pub fn record(&mut self, io: &Io) {
        let total = &mut self.operations[io.operation as usize];
        total.requests += 1;
        total.bytes = total.bytes.saturating_add(io.length_bytes);
        self.times.record(io.time_ns);
        if io.operation == Operation::Flush {
            return;
        }
        let end_bytes = io.offset_bytes.saturating_add(io.length_bytes);
        self.bytes = widened(self.bytes, io.offset_bytes, end_bytes);
        let last_volume = self.last_volume.replace(io.tenant);
        if last_volume != Some(io.tenant) && self.volumes.len() < MOST_VOLUMES {
            self.volumes.insert(io.tenant);
        }
        if io.operation == Operation::Write {
            self.footprint
                .add(io.tenant, io.offset_bytes, io.length_bytes);
        }
    }

    /// The volumes so far, in order; not more than 65,536.
    pub fn volumes(&self) -> impl Iterator<Item = u32> {
        self.volumes.iter().copied()
    }

    /// The counts for the requests so far.
    pub fn summary(&self) -> Summary {
        let [read, written, discarded, flushed] = self.operations;
        let (first_byte, end_byte) = self.bytes.unwrap_or_default();
        let (footprint_bytes, footprint_is_exact) = self.footprint.bytes();
        Summary {
            span_ns: self.times.span_ns(),
            longest_pause_ns: self.times.longest_pause_ns,
            steps_back: self.times.steps_back,
            longest_step_back_ns: self.times.longest_step_back_ns,
            read,
            written,
            discarded,
            flushes: flushed.requests,
            first_byte,
            end_byte,
            footprint_bytes,
            footprint_is_exact,
            volumes: self.volumes.len() as u64,
        }
    }
}

fn widened(range: Option<(u64, u64)>, first: u64, last: u64) -> Option<(u64, u64)> {
    let (so_far_first, so_far_last) = range.unwrap_or((first, last));
    Some((so_far_first.min(first), so_far_last.max(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_adds_up() {
        let mut survey = Survey::default();
        let at = |time_ns, operation, io: Io| Io {
            time_ns,
            operation,
            ..io
        };
        let flush = Io {
            length_bytes: 0,
            ..Io::write(0, 0)
        };
        for io in [
            at(5, Operation::Write, Io::write(8192, 4096)),
            at(7, Operation::Write, Io::write(8192, 512)),
            at(6, Operation::Discard, Io::write(4096, 4096)),
            at(9, Operation::Read, Io::write(4096, 512)),
            at(9, Operation::Flush, flush),
        ] {
            survey.record(&io);
        }
        let total = |requests, bytes| Total { requests, bytes };
        let expected = Summary {
            span_ns: 4,
            longest_pause_ns: 3,
            steps_back: 1,
            longest_step_back_ns: 1,
            read: total(1, 512),
            written: total(2, 4608),
            discarded: total(1, 4096),
            flushes: 1,
            first_byte: 4096,
            end_byte: 12288,
            footprint_bytes: 4096,
            footprint_is_exact: true,
            volumes: 1,
        };
        assert_eq!(survey.summary(), expected);
    }
}
