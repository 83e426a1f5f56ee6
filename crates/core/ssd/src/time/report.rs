//! Time report of a run, as plain types.

use serde::{Deserialize, Serialize};

use super::{latency::LatencySummary, series::Interval};

/// Latencies by the kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Latencies {
    /// Latency of reads.
    pub read: LatencySummary,
    /// Writes, until they are in the write buffer.
    pub write: LatencySummary,
    /// Latency of discards.
    pub discard: LatencySummary,
    /// Latency of flushes.
    pub flush: LatencySummary,
}

/// Operations of one kind, and how long they held their dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Work {
    /// Operations done.
    pub operations: u64,
    /// Time they held a die's cells. A read counts until its data had left the die.
    pub busy_ns: u64,
}

impl Work {
    fn is_none(&self) -> bool {
        *self == Work::default()
    }

    pub(super) fn add(&mut self, busy_ns: u64) {
        self.operations += 1;
        self.busy_ns += busy_ns;
    }
}

/// Flash operations. Garbage collection includes wear levelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlashWork {
    /// Flash reads that serve the host's reads.
    pub host_reads: Work,
    /// Program operations of the host's pages only, flushed parts included.
    pub host_programs: Work,
    /// Program operations that hold pages of the host's and copies.
    pub mixed_programs: Work,
    /// Reads for garbage collection.
    pub collection_reads: Work,
    /// Program operations of copies only.
    pub collection_programs: Work,
    /// Erases of blocks.
    pub erases: Work,
    /// The part of the time of mixed programs that falls to copies, by pages.
    pub mixed_copies_busy_ns: u64,
    /// Reads of survivors and program operations of them only, by a host that collects.
    #[serde(default, skip_serializing_if = "Work::is_none")]
    pub rewrites: Work,
}

impl FlashWork {
    /// Time that all dies together were busy.
    pub fn busy_ns(&self) -> u64 {
        self.host_reads.busy_ns
            + self.host_programs.busy_ns
            + self.mixed_programs.busy_ns
            + self.collection_reads.busy_ns
            + self.collection_programs.busy_ns
            + self.erases.busy_ns
            + self.rewrites.busy_ns
    }

    /// Time that all dies together were busy for garbage collection, the drive's and the host's.
    pub fn collection_busy_ns(&self) -> u64 {
        self.rewrites.busy_ns
            + self.collection_reads.busy_ns
            + self.collection_programs.busy_ns
            + self.erases.busy_ns
            + self.mixed_copies_busy_ns
    }
}

/// Time and latencies of a run, from the start of the measurement to now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TimeReport {
    /// Simulated time that passed.
    pub elapsed_ns: u64,
    /// Latencies by the kind of request.
    pub latency: Latencies,
    /// Length of the intervals.
    pub interval_ns: u64,
    /// Throughput and latencies over time.
    pub intervals: Vec<Interval>,
    /// Flash operations.
    pub work: FlashWork,
    /// Share of the dies' time in which they were busy.
    pub die_utilisation: f64,
    /// Share of the channels' time in which they were busy.
    pub channel_utilisation: f64,
    /// Share of the dies' time that garbage collection took: the time lost to it.
    pub collection_share: f64,
    /// Time that each die was busy.
    pub die_busy_ns: Vec<u64>,
    /// Time that each channel was busy.
    pub channel_busy_ns: Vec<u64>,
    /// Sum of the times that host reads waited while garbage collection held their die.
    pub read_wait_for_collection_ns: u64,
    /// Sum of the times that host writes waited for room in the write buffer.
    pub buffer_wait_ns: u64,
    /// Times a program or erase operation was interrupted for a host read.
    pub suspensions: u64,
}
