//! The host's requests under way, and what they took.

use std::collections::VecDeque;

use super::{
    events::NEVER,
    latency::Latency,
    pending::{Kind, Pending},
    report::{Latencies, TimeReport},
    series::Series,
};

/// A read, and in how many parts it has yet to come from the flash.
#[derive(Debug, Clone, Copy)]
struct FlashRead {
    pending: Pending,
    parts: u32,
}

#[derive(Debug)]
pub(super) struct Requests {
    page_bytes: u64,
    buffer_ns: u64,
    /// Requests not yet answered that somebody waits for.
    outstanding: u32,
    /// Answers on their way: when they arrive, in that order, since all take as long.
    answers: VecDeque<(u64, Pending)>,
    reads: Vec<FlashRead>,
    vacant: Vec<u32>,
    latencies: [Latency; 4],
    series: Series,
    /// The tag of the current request.
    pub(super) tag: u64,
    /// Requests with a name that were answered.
    pub(super) finished: Vec<u64>,
    /// Time writes waited for room in the buffer.
    pub(super) buffer_wait_ns: u64,
    /// Time reads waited while garbage collection held their die.
    pub(super) collection_wait_ns: u64,
}

impl Requests {
    pub(super) fn new(page_bytes: u64, buffer_ns: u64) -> Requests {
        Requests {
            page_bytes,
            buffer_ns,
            outstanding: 0,
            answers: VecDeque::new(),
            reads: Vec::new(),
            vacant: Vec::new(),
            latencies: Default::default(),
            series: Series::new(0),
            tag: 0,
            finished: Vec::new(),
            buffer_wait_ns: 0,
            collection_wait_ns: 0,
        }
    }

    /// Forgets what was measured. What is under way goes on.
    pub(super) fn restart(&mut self, now: u64) {
        self.latencies = Default::default();
        self.series = Series::new(now);
        self.buffer_wait_ns = 0;
        self.collection_wait_ns = 0;
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Counts a request that was issued.
    #[inline]
    pub(super) fn begin(&mut self, kind: Kind) {
        self.outstanding += u32::from(kind != Kind::Rewrite);
    }

    /// A request is answered from the buffer.
    #[inline]
    pub(super) fn answer(&mut self, pending: Pending, now: u64) {
        self.answers.push_back((now + self.buffer_ns, pending));
    }

    /// When the next answer from the buffer arrives.
    #[inline]
    pub(super) fn next_answer(&self) -> u64 {
        self.answers.front().map_or(NEVER, |&(at, _)| at)
    }

    /// The next answer from the buffer arrives.
    #[inline]
    pub(super) fn arrive(&mut self) {
        if let Some((at, pending)) = self.answers.pop_front() {
            self.end(pending, at);
        }
    }

    #[inline]
    fn end(&mut self, pending: Pending, now: u64) {
        if pending.tag != 0 {
            self.finished.push(pending.tag);
        }
        if pending.kind == Kind::Rewrite {
            return;
        }
        self.outstanding -= 1;
        let latency_ns = now - pending.started;
        self.latencies[pending.kind as usize].record(latency_ns);
        let bytes = u64::from(pending.pages) * self.page_bytes;
        self.series.record(pending.kind, bytes, latency_ns, now);
    }

    /// Registers a read that comes from the flash in parts. Answers its number.
    pub(super) fn read(&mut self, pending: Pending) -> u32 {
        let read = FlashRead { pending, parts: 0 };
        match self.vacant.pop() {
            Some(number) => {
                self.reads[number as usize] = read;
                number
            }
            None => {
                self.reads.push(read);
                self.reads.len() as u32 - 1
            }
        }
    }

    /// One more part of a read is to come from the flash.
    pub(super) fn part(&mut self, number: u32) {
        self.reads[number as usize].parts += 1;
    }

    /// Answers a read of which no part comes from the flash.
    pub(super) fn answer_without_flash(&mut self, number: u32, now: u64) {
        let read = self.reads[number as usize];
        if read.parts == 0 {
            self.vacant.push(number);
            self.answer(read.pending, now);
        }
    }

    /// Whether somebody waits for a read.
    pub(super) fn is_awaited(&self, number: u32) -> bool {
        self.reads[number as usize].pending.kind != Kind::Rewrite
    }

    /// Counts a part of a read that has come; the last one ends the read.
    pub(super) fn part_came(&mut self, number: u32, now: u64) {
        let read = &mut self.reads[number as usize];
        read.parts -= 1;
        if read.parts == 0 {
            let pending = read.pending;
            self.vacant.push(number);
            self.end(pending, now);
        }
    }

    /// Ends a flush: its last page is safe.
    pub(super) fn flushed(&mut self, pending: Pending, now: u64) {
        self.end(pending, now);
    }

    /// Garbage collection held a die for so long, until `now`.
    #[inline]
    pub(super) fn collected(&mut self, busy_ns: u64, now: u64) {
        self.series.collected(busy_ns, now);
    }

    pub(super) fn fill(&self, report: &mut TimeReport, now: u64) {
        let [read, write, discard, flush] = &self.latencies;
        report.latency = Latencies {
            read: read.summary(),
            write: write.summary(),
            discard: discard.summary(),
            flush: flush.summary(),
        };
        (report.interval_ns, report.intervals) = self.series.report(now);
        report.buffer_wait_ns = self.buffer_wait_ns;
        report.read_wait_for_collection_ns = self.collection_wait_ns;
    }
}
