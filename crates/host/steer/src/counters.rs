//! Counts of a steered drive's requests, kept by all queues at once.

use std::sync::atomic::{AtomicU64, Ordering};

/// One number that several threads add to.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes written to each stream, in the order of the drive's handles.
    pub written_bytes: Vec<Count>,
    /// Bytes written anew to each stream, by a host that collects.
    pub rewritten_bytes: Vec<Count>,
    /// Reads and writes of survivors that the drive refused: these stay where they are.
    pub failed_rewrites: Count,
    /// Units that drive and model ended, since the drive's had another room than the model's.
    pub ended_units: Count,
    /// Requests that waited for a rewrite, or for room.
    pub waits: Count,
    /// Bytes that readers of the block device asked for.
    pub read_bytes: Count,
    /// Bytes discarded, zeroes that the drive may keep as holes included.
    pub discarded_bytes: Count,
    /// Bytes of zeroes written by command that the drive may not keep as holes: data of its default handle.
    pub zeroed_bytes: Count,
    /// Flush requests of the block device.
    pub flushes: Count,
    /// Requests to write.
    pub writes: Count,
    /// Of those, requests that more than one stream shared.
    pub split_writes: Count,
    /// Pages whose writer nobody knew.
    pub unknown_pages: Count,
    /// Pages of metadata and journal that went to a place of their own.
    pub metadata_pages: Count,
    /// Bytes that the drive took only without a directive: it had forgotten its streams.
    pub unplaced_bytes: Count,
    /// Commands that a reset of the drive cut off, and that were asked for again.
    pub repeated_commands: Count,
    /// Requests that ended with an error.
    pub errors: Count,
}

impl Counters {
    pub(crate) fn new(streams: usize) -> Counters {
        Counters {
            written_bytes: (0..streams).map(|_| Count::default()).collect(),
            rewritten_bytes: (0..streams).map(|_| Count::default()).collect(),
            ..Counters::default()
        }
    }

    /// Bytes that the drive counts as a host's: writes, zeroes by command, and rewrites.
    pub fn host_bytes(&self) -> u64 {
        self.all_written_bytes() + self.zeroed_bytes.get() + self.all_rewritten_bytes()
    }

    /// Bytes written anew to all streams.
    pub fn all_rewritten_bytes(&self) -> u64 {
        self.rewritten_bytes.iter().map(Count::get).sum()
    }

    /// Bytes written to all streams.
    pub fn all_written_bytes(&self) -> u64 {
        self.written_bytes.iter().map(Count::get).sum()
    }
}
