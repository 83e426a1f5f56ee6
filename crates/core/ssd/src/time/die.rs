//! A die: does one thing at a time, and what it does next.

use std::collections::VecDeque;

use super::timing::Timing;

/// Work of a die besides host reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Pages are programmed, some of them the host's.
    Program {
        /// Index of the program operation among all of the drive's.
        place: u32,
        host_pages: u32,
        /// Those of the host's pages that a host which collects has written anew.
        rewritten_pages: u32,
        /// Whether it programs copies of pages that stay in the buffer: what a flush writes of an
        /// operation that is not yet full.
        draft: bool,
        /// The epoch of the operation, which says which flushes wait for it.
        epoch: u64,
    },
    /// Garbage collection reads pages.
    Read,
    /// The blocks of a unit are erased.
    Erase,
}

/// An operation in a die's queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) task: Task,
    /// Pages to move over the channel.
    pub(super) pages: u32,
    /// For an operation of garbage collection, its own number; for one of the host, the number of
    /// the operation it must follow, the erase of its unit.
    pub(super) number: u64,
}

/// The host reads pages that lie in one row of a die.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostRead {
    pub(super) request: u32,
    pub(super) pages: u32,
    pub(super) arrived: u64,
}

/// Whom a read is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reader {
    Host(HostRead),
    Collection { pages: u32 },
}

impl Reader {
    pub(super) fn pages(self) -> u32 {
        match self {
            Reader::Host(read) => read.pages,
            Reader::Collection { pages } => pages,
        }
    }
}

/// Activity of a die's cells.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cells {
    Idle,
    /// The cells' data go into the register, and from there over the channel.
    Reading(Reader),
    Sending(Reader),
    /// Programming or erasing.
    Busy(Operation),
}

/// The operation that comes next, chosen when the one before it began, so that data to program
/// are in the die's second register by then (page cache program of the ONFI standard).
#[derive(Debug, Clone, Copy)]
pub(super) enum Next {
    None,
    Filling(Operation),
    Ready(Operation),
}

#[derive(Debug)]
pub(super) struct Die {
    /// Host reads in the order they came; they go before all else.
    pub(super) reads: VecDeque<HostRead>,
    pub(super) host: VecDeque<Operation>,
    pub(super) collection: VecDeque<Operation>,
    pub(super) next: Next,
    pub(super) cells: Cells,
    /// When the cells began, and will be done.
    pub(super) since: u64,
    pub(super) until: u64,
    /// An interrupted operation and what is left of it.
    pub(super) suspended: Option<(Operation, u64)>,
    /// When the last of garbage collection's operations will have left the cells.
    pub(super) collection_until: u64,
    /// Time that garbage collection may take while the host waits.
    credit_ns: i64,
    pub(super) busy_ns: u64,
}

impl Die {
    pub(super) fn new() -> Die {
        Die {
            reads: VecDeque::new(),
            host: VecDeque::new(),
            collection: VecDeque::new(),
            next: Next::None,
            cells: Cells::Idle,
            since: 0,
            until: 0,
            suspended: None,
            collection_until: 0,
            credit_ns: 0,
            busy_ns: 0,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.cells, Cells::Idle)
    }

    /// Takes the operation that goes next: the host's, or garbage collection's while it has
    /// credit, or where the host has none that may go. Each operation of the host's brings
    /// garbage collection `share` of its own time.
    pub(super) fn choose(&mut self, share: &CollectionShare) -> Option<Operation> {
        let unerased = |operation: &Operation| {
            let first = self.collection.front();
            first.is_some_and(|first| first.number <= operation.number)
        };
        let host_goes = self.host.front().is_some_and(|first| !unerased(first));
        match (host_goes, self.collection.is_empty()) {
            (false, _) => self.collection.pop_front(),
            (true, true) => self.take_host(share),
            (true, false) if self.credit_ns <= 0 => self.take_host(share),
            (true, false) => {
                let operation = self.collection.pop_front()?;
                self.credit_ns -= share.cost_ns(&operation) as i64;
                Some(operation)
            }
        }
    }

    fn take_host(&mut self, share: &CollectionShare) -> Option<Operation> {
        self.credit_ns = (self.credit_ns + share.credit_ns).min(share.most_ns);
        self.host.pop_front()
    }
}

/// Host work after which older work counts half, in units (our choice: long enough to see several
/// collections, short enough to follow a workload).
const MEMORY_UNITS: u64 = 4;

/// Pace of garbage collection beside the host: as its work has been to the host's of
/// late, so that victims are emptied over the whole time in which the host fills what they
/// give, and an eighth faster, so that nothing piles up (our choice).
#[derive(Debug)]
pub(super) struct CollectionShare {
    timing: Timing,
    page_transfer_ns: u64,
    /// Work handed to the dies, older work counting less.
    collection_work_ns: u64,
    host_work_ns: u64,
    memory_ns: u64,
    /// Credit that each program operation of the host gives to garbage collection.
    credit_ns: i64,
    /// The most credit there can be: an erase and a program operation.
    most_ns: i64,
}

impl CollectionShare {
    pub(super) fn new(
        timing: Timing,
        page_transfer_ns: u64,
        programs_per_unit: u32,
    ) -> CollectionShare {
        CollectionShare {
            timing,
            page_transfer_ns,
            collection_work_ns: 0,
            host_work_ns: 0,
            memory_ns: MEMORY_UNITS * timing.program_ns * u64::from(programs_per_unit),
            credit_ns: 0,
            most_ns: (timing.erase_ns + timing.program_ns) as i64,
        }
    }

    fn cost_ns(&self, operation: &Operation) -> u64 {
        match operation.task {
            Task::Program { .. } => self.timing.program_ns,
            Task::Read => self.timing.read_ns + u64::from(operation.pages) * self.page_transfer_ns,
            Task::Erase => self.timing.erase_ns,
        }
    }

    /// Garbage collection has one more operation to do.
    pub(super) fn collect(&mut self, operation: &Operation) {
        self.collection_work_ns += self.cost_ns(operation);
        if operation.task == Task::Erase {
            let share = self.collection_work_ns as f64 / self.host_work_ns.max(1) as f64;
            self.credit_ns = (self.timing.program_ns as f64 * share * 1.125) as i64;
        }
    }

    /// The host has one more program operation to do.
    pub(super) fn write(&mut self) {
        self.host_work_ns += self.timing.program_ns;
        if self.host_work_ns > self.memory_ns {
            self.host_work_ns /= 2;
            self.collection_work_ns /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(task: Task, number: u64) -> Operation {
        Operation {
            task,
            pages: 1,
            number,
        }
    }

    fn program(number: u64) -> Operation {
        let task = Task::Program {
            place: 0,
            host_pages: 1,
            rewritten_pages: 0,
            draft: false,
            epoch: 0,
        };
        operation(task, number)
    }

    fn share() -> CollectionShare {
        let timing = Timing {
            read_ns: 40,
            program_ns: 100,
            erase_ns: 1000,
            channel_bytes_per_second: 1,
            planes: 1,
            flash_page_bytes: 4096,
            pages_per_word_line: 1,
            write_buffer_bytes: 4096,
            buffer_ns: 0,
            power_loss_protection: true,
            suspend_ns: None,
        };
        CollectionShare::new(timing, 10, 1000)
    }

    #[test]
    fn a_host_program_waits_for_the_erase_of_its_unit() {
        let mut die = Die::new();
        die.host.push_back(program(5));
        die.collection
            .extend([4, 5, 6].map(|number| operation(Task::Read, number)));
        let order: Vec<u64> = std::iter::from_fn(|| die.choose(&share()))
            .map(|operation| operation.number)
            .collect();
        assert_eq!(order, [4, 5, 5, 6]);
        assert!(die.host.is_empty());
    }

    /// 40 reads of 50 and an erase of 1000 to 30 program operations of 100: as much, and an eighth.
    #[test]
    fn collection_goes_on_beside_the_host_in_the_proportion_of_their_work() {
        let (mut share, mut die) = (share(), Die::new());
        for number in 1..=20 {
            for _ in 0..30 {
                share.write();
                die.host.push_back(program(0));
            }
            let mut collection = vec![operation(Task::Read, number); 40];
            collection.push(operation(Task::Erase, number));
            for operation in collection {
                share.collect(&operation);
                die.collection.push_back(operation);
            }
        }
        let mut work_ns = 0;
        let mut programs = 0;
        while programs < 300 {
            match die.choose(&share).map(|operation| operation.task) {
                Some(Task::Program { .. }) => programs += 1,
                Some(Task::Erase) => work_ns += 1000,
                _ => work_ns += 50,
            }
        }
        let share = f64::from(work_ns) / 30_000.0;
        assert!((1.05..1.2).contains(&share), "{share}");
    }
}
