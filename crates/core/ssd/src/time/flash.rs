//! The simulator: dies, channels, and the order in which things happen to them.

use super::{
    buffer::WriteBuffer,
    channel::{Channel, Transfer},
    die::{Cells, CollectionShare, Die, HostRead, Next, Operation, Reader, Task},
    events::{Events, NEVER},
    pending::{Kind, Pending},
    report::{FlashWork, TimeReport},
    requests::Requests,
    timing::Shape,
    units::UnitTimes,
    watch::Row,
};

/// The flash of a timed device, its write buffer and the requests under way. It watches the
/// device: what the translation layer decides becomes operations in the dies' queues.
#[derive(Debug)]
pub struct Flash {
    pub(super) shape: Shape,
    pub(super) now: u64,
    pub(super) units: UnitTimes,
    /// Whether the host's pages that are programmed now are survivors, which it writes anew.
    pub(super) rewriting: bool,
    pub(super) buffer: WriteBuffer,
    pub(super) requests: Requests,
    pub(super) share: CollectionShare,
    /// The row of a victim that garbage collection is reading.
    pub(super) row: Row,
    /// Operations that garbage collection has handed in.
    pub(super) collected: u64,
    /// The next event of each die, then of each channel.
    events: Events,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    work: FlashWork,
    suspensions: u64,
    /// When the measurement began.
    pub(super) started: u64,
}

impl Flash {
    pub(super) fn new(shape: Shape, units: u32) -> Flash {
        let timing = shape.timing;
        Flash {
            now: 0,
            units: UnitTimes::new(units, shape.programs_per_unit),
            rewriting: false,
            buffer: WriteBuffer::new(shape.buffer_pages),
            requests: Requests::new(shape.page_bytes, timing.buffer_ns),
            share: CollectionShare::new(timing, shape.transfer_ns(1), shape.programs_per_unit),
            row: Row::default(),
            collected: 0,
            events: Events::new(shape.dies + shape.channels),
            dies: (0..shape.dies).map(|_| Die::new()).collect(),
            channels: (0..shape.channels).map(|_| Channel::default()).collect(),
            work: FlashWork::default(),
            suspensions: 0,
            started: 0,
            shape,
        }
    }

    /// When something happens next; [`NEVER`] if nothing is under way.
    #[inline]
    pub(super) fn next_at(&self) -> u64 {
        self.requests.next_answer().min(self.events.first().at)
    }

    /// Lets the next thing happen.
    #[inline]
    pub(super) fn step(&mut self) {
        let event = self.events.first();
        let answer = self.requests.next_answer();
        let at = answer.min(event.at);
        if at == NEVER {
            return;
        }
        self.now = at;
        if answer == at {
            return self.requests.arrive();
        }
        match event.server.checked_sub(self.shape.dies) {
            None => self.die_turns(event.server),
            Some(channel) => self.channel_turns(channel),
        }
    }

    /// Lets everything happen that is due by `until`.
    pub(super) fn pass_until(&mut self, until: u64) {
        while self.next_at() <= until {
            self.step();
        }
    }

    /// Hands a die an operation of the host's.
    pub(super) fn hand_host(&mut self, die: u32, operation: Operation) {
        self.dies[die as usize].host.push_back(operation);
        self.wake(die);
    }

    /// Hands a die an operation of garbage collection's.
    pub(super) fn hand_collection(&mut self, die: u32, task: Task, pages: u32) {
        self.collected += 1;
        let operation = Operation {
            task,
            pages,
            number: self.collected,
        };
        self.share.collect(&operation);
        self.dies[die as usize].collection.push_back(operation);
        self.wake(die);
    }

    /// Hands a die a part of a host read.
    pub(super) fn hand_read(&mut self, number: u32, request: u32, pages: u32) {
        let arrived = self.now;
        let die = &mut self.dies[number as usize];
        die.reads.push_back(HostRead {
            request,
            pages,
            arrived,
        });
        match die.cells {
            Cells::Idle => self.go_on(number),
            Cells::Busy(operation) => self.suspend(number, operation),
            Cells::Reading(_) | Cells::Sending(_) => {}
        }
    }

    /// Interrupts an operation for a read that has come, if the drive can and it is worth it.
    fn suspend(&mut self, number: u32, operation: Operation) {
        let Some(suspend_ns) = self.shape.timing.suspend_ns else {
            return;
        };
        let now = self.now;
        let die = &mut self.dies[number as usize];
        let left_ns = die.until - now;
        if left_ns <= suspend_ns {
            return;
        }
        let Some(read) = die.reads.pop_front() else {
            return;
        };
        self.suspensions += 1;
        die.suspended = Some((operation, left_ns));
        if is_collection(&operation) {
            die.collection_until = now + suspend_ns;
            if self.requests.is_awaited(read.request) {
                self.requests.collection_wait_ns += suspend_ns;
            }
        }
        die.cells = Cells::Reading(Reader::Host(read));
        die.since = now;
        die.until = now + suspend_ns + self.shape.timing.read_ns;
        self.events.set(number, die.until);
    }

    /// Starts a die, if idle, on an operation that was just queued.
    fn wake(&mut self, number: u32) {
        if matches!(self.dies[number as usize].next, Next::None) {
            self.choose(number);
        }
        if self.dies[number as usize].is_idle() {
            self.go_on(number);
        }
    }

    /// Chooses the operation after the one at hand, and has its data brought.
    fn choose(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        let Some(operation) = die.choose(&self.share) else {
            return;
        };
        if !matches!(operation.task, Task::Program { .. }) {
            die.next = Next::Ready(operation);
            return;
        }
        die.next = Next::Filling(operation);
        let left_ns = self.shape.transfer_ns(operation.pages);
        self.transfer(Transfer {
            die: number,
            out: false,
            urgent: false,
            left_ns,
        });
    }

    fn transfer(&mut self, transfer: Transfer) {
        let channel = transfer.die % self.shape.channels;
        let at = self.channels[channel as usize].ask(transfer, self.now, self.shape.chunk_ns);
        self.events.set(self.shape.dies + channel, at);
    }

    /// Starts the next thing on a die whose cells are idle.
    fn go_on(&mut self, number: u32) {
        let now = self.now;
        let die = &mut self.dies[number as usize];
        if let Some(read) = die.reads.pop_front() {
            if self.requests.is_awaited(read.request) {
                self.requests.collection_wait_ns +=
                    die.collection_until.min(now).saturating_sub(read.arrived);
            }
            return self.sense(number, Reader::Host(read));
        }
        if let Some((operation, left_ns)) = die.suspended.take() {
            return self.work(number, operation, left_ns);
        }
        let Next::Ready(operation) = die.next else {
            return;
        };
        die.next = Next::None;
        match operation.task {
            Task::Read => {
                let pages = operation.pages;
                self.sense(number, Reader::Collection { pages });
            }
            Task::Program { .. } => self.work(number, operation, self.shape.timing.program_ns),
            Task::Erase => self.work(number, operation, self.shape.timing.erase_ns),
        }
        self.choose(number);
    }

    fn sense(&mut self, number: u32, reader: Reader) {
        let die = &mut self.dies[number as usize];
        die.cells = Cells::Reading(reader);
        die.since = self.now;
        die.until = self.now + self.shape.timing.read_ns;
        if let Reader::Collection { pages } = reader {
            die.collection_until = die.until + self.shape.transfer_ns(pages);
        }
        self.events.set(number, die.until);
    }

    /// Has the cells program or erase for `left_ns`.
    fn work(&mut self, number: u32, operation: Operation, left_ns: u64) {
        let die = &mut self.dies[number as usize];
        die.cells = Cells::Busy(operation);
        die.since = self.now;
        die.until = self.now + left_ns;
        if is_collection(&operation) {
            die.collection_until = die.until;
        }
        self.events.set(number, die.until);
    }

    /// Ends what a die's cells were doing.
    fn die_turns(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        match die.cells {
            Cells::Reading(reader) => {
                die.cells = Cells::Sending(reader);
                self.events.set(number, NEVER);
                let transfer = Transfer {
                    die: number,
                    out: true,
                    urgent: matches!(reader, Reader::Host(_)),
                    left_ns: self.shape.transfer_ns(reader.pages()),
                };
                self.transfer(transfer);
            }
            Cells::Busy(operation) => {
                self.complete(number, operation);
                self.set_idle(number);
            }
            Cells::Idle | Cells::Sending(_) => self.events.set(number, NEVER),
        }
    }

    /// Sets the cells idle, and starts the next thing.
    fn set_idle(&mut self, number: u32) {
        self.dies[number as usize].cells = Cells::Idle;
        self.go_on(number);
        if self.dies[number as usize].is_idle() {
            self.events.set(number, NEVER);
        }
    }

    /// A channel's transfer is done, or interrupted.
    fn channel_turns(&mut self, number: u32) {
        let (complete, at) = self.channels[number as usize].turn(self.now);
        self.events.set(self.shape.dies + number, at);
        let Some(transfer) = complete else {
            return;
        };
        let die = &mut self.dies[transfer.die as usize];
        if transfer.out {
            if let Cells::Sending(reader) = die.cells {
                self.sent(transfer.die, reader);
                self.set_idle(transfer.die);
            }
            return;
        }
        if let Next::Filling(operation) = die.next {
            die.next = Next::Ready(operation);
            if die.is_idle() {
                self.go_on(transfer.die);
            }
        }
    }

    /// Counts data that were read and have left their die.
    fn sent(&mut self, number: u32, reader: Reader) {
        let die = &mut self.dies[number as usize];
        let busy_ns = self.now - die.since;
        die.busy_ns += busy_ns;
        match reader {
            Reader::Host(read) => {
                if self.requests.is_awaited(read.request) {
                    self.work.host_reads.add(busy_ns);
                } else {
                    self.work.rewrites.add(busy_ns);
                    self.requests.collected(busy_ns, self.now);
                }
                self.requests.part_came(read.request, self.now);
            }
            Reader::Collection { .. } => {
                die.collection_until = self.now;
                self.work.collection_reads.add(busy_ns);
                self.requests.collected(busy_ns, self.now);
            }
        }
    }

    /// A program or erase operation is done.
    fn complete(&mut self, number: u32, operation: Operation) {
        let timing = self.shape.timing;
        let die = &mut self.dies[number as usize];
        let Task::Program {
            place,
            host_pages,
            rewritten_pages,
            draft,
            epoch,
        } = operation.task
        else {
            die.busy_ns += timing.erase_ns;
            self.requests.collected(timing.erase_ns, self.now);
            return self.work.erases.add(timing.erase_ns);
        };
        let busy_ns = timing.program_ns;
        die.busy_ns += busy_ns;
        let copies = operation.pages - host_pages;
        match (host_pages, copies) {
            (0, _) => {
                self.work.collection_programs.add(busy_ns);
                self.requests.collected(busy_ns, self.now);
            }
            (_, 0) if rewritten_pages == host_pages => {
                self.work.rewrites.add(busy_ns);
                self.requests.collected(busy_ns, self.now);
            }
            (_, 0) => self.work.host_programs.add(busy_ns),
            _ => {
                self.work.mixed_programs.add(busy_ns);
                let share = u128::from(busy_ns) * u128::from(copies) / u128::from(operation.pages);
                self.work.mixed_copies_busy_ns += share as u64;
                self.requests.collected(share as u64, self.now);
            }
        }
        if !draft {
            self.units.programmed(place);
        }
        if host_pages > 0 {
            self.buffer.finish(epoch);
            if !draft {
                self.buffer.free(host_pages);
            }
            self.admit();
        }
    }

    /// Lets what waits for the write buffer go on, as far as it can.
    pub(super) fn admit(&mut self) {
        while let Some(waiting) = self.buffer.next_write() {
            if waiting.write.kind == Kind::Write {
                self.requests.buffer_wait_ns += self.now - waiting.since;
            }
            self.requests.answer(waiting.write, self.now);
        }
        while let Some(held) = self.buffer.next_held() {
            self.hand_host(held.die, held.operation);
        }
        while let Some(flush) = self.buffer.next_flush() {
            self.requests.flushed(flush, self.now);
        }
    }

    /// Answers from the buffer a request that the translation layer has carried out.
    pub(super) fn answer(&mut self, kind: Kind, started: u64, pages: u32) {
        let pending = Pending {
            kind,
            started,
            pages,
            tag: self.requests.tag,
        };
        self.requests.begin(kind);
        let waits =
            matches!(kind, Kind::Write | Kind::Rewrite) && !self.buffer.admit(pending, self.now);
        if !waits {
            self.requests.answer(pending, self.now);
        }
    }

    /// Forgets what was measured. What is under way goes on.
    pub(super) fn restart(&mut self) {
        self.started = self.now;
        self.requests.restart(self.now);
        self.work = FlashWork::default();
        self.suspensions = 0;
        self.dies.iter_mut().for_each(|die| die.busy_ns = 0);
        self.channels
            .iter_mut()
            .for_each(|channel| channel.busy_ns = 0);
    }

    pub(super) fn report(&self) -> TimeReport {
        let elapsed_ns = self.now - self.started;
        let share = |busy_ns: u64, servers: u32| match elapsed_ns {
            0 => 0.0,
            _ => busy_ns as f64 / elapsed_ns as f64 / f64::from(servers),
        };
        let die_busy_ns: Vec<u64> = self.dies.iter().map(|die| die.busy_ns).collect();
        let channel_busy_ns: Vec<u64> = self
            .channels
            .iter()
            .map(|channel| channel.busy_ns)
            .collect();
        let mut report = TimeReport {
            elapsed_ns,
            work: self.work,
            die_utilisation: share(die_busy_ns.iter().sum(), self.shape.dies),
            channel_utilisation: share(channel_busy_ns.iter().sum(), self.shape.channels),
            collection_share: share(self.work.collection_busy_ns(), self.shape.dies),
            die_busy_ns,
            channel_busy_ns,
            suspensions: self.suspensions,
            ..TimeReport::default()
        };
        self.requests.fill(&mut report, self.now);
        report
    }
}

/// Whether an operation is garbage collection's alone.
fn is_collection(operation: &Operation) -> bool {
    match operation.task {
        Task::Program { host_pages, .. } => host_pages == 0,
        Task::Read | Task::Erase => true,
    }
}
